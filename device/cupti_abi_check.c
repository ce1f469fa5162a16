/*
 * Compares device/cupti_abi.h with the toolkit's cupti.h, at compile time: each constant's value,
 * each entry point's prototype, and where each field lies in every version of its record that the
 * headers know. Nothing here runs.
 */
#include <cuda.h>
#include <cupti.h>

#if CUPTI_API_VERSION >= 130000
/* Where older versions of the records went; a header of its own. */
#include <cupti_activity_deprecated.h>
#endif

#define MPSWEEP_CUPTI_ABI_TYPES_GIVEN
typedef CUcontext cuda_context;
typedef CUstream cuda_stream;
typedef CUevent cuda_event;
typedef CUfunction cuda_function;
typedef CUgraphExec cuda_graph_exec;
typedef CUptiResult cupti_result;
typedef CUpti_ActivityKind cupti_activity_kind;
typedef CUpti_CallbackDomain cupti_callback_domain;
typedef CUpti_ActivityThreadIdType cupti_thread_id_type;
typedef CUpti_Activity cupti_activity;
#include "device/cupti_abi.h"

#define CHECK_CONSTANT(ours, theirs, value)                                                        \
    _Static_assert((value) == (long long)(theirs), #ours " is not " #theirs);
CUPTI_ABI_CONSTANTS(CHECK_CONSTANT)

#define CHECK_PROTOTYPE(field, symbol, version, need, parameters)                                  \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUptiResult(*) parameters),   \
                   #symbol " has another prototype");
CUPTI_SYMBOLS(CHECK_PROTOTYPE)

#define SIZE_OF(type, field) sizeof(((type *)0)->field)
#define CHECK_FIELD(ours, field, theirs_field, theirs)                                             \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, theirs_field),                 \
                   #theirs "." #theirs_field " lies elsewhere");                                   \
    _Static_assert(SIZE_OF(struct ours, field) == SIZE_OF(theirs, theirs_field),                   \
                   #theirs "." #theirs_field " has another size");

/* Older headers know some of the versions only, each others. */
#if CUPTI_API_VERSION >= 130000
CUPTI_ABI_FIELDS(CHECK_FIELD)
#endif

extern const char mpsweep_cupti_abi_checked[];
const char mpsweep_cupti_abi_checked[] = "cupti.h";
