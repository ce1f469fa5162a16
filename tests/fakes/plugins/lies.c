/* A plug-in that is wrong in its struct: built once for each way. */
#include "include/mpsweep/workload.h"
#include <stddef.h>
#include <stdlib.h>

#ifndef LIE_ABI
#define LIE_ABI MPSWEEP_WORKLOAD_ABI
#endif
#ifndef LIE_SIZE
#define LIE_SIZE sizeof(struct mpsweep_workload)
#endif
#ifndef LIE_INIT
#define LIE_INIT init
#endif
/* With a smaller size this is not a field. */
#ifndef LIE_COMPLETED
#define LIE_COMPLETED NULL
#endif
#ifndef LIE_CHECK
#define LIE_CHECK check
#endif

static int describe(const char *options, struct mpsweep_description *out)
{
    (void)options;
    out->name = "liar";
    out->capabilities =
        MPSWEEP_WORKLOAD_CHECKS | MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_THREAD_SAFE;
    return 0;
}

static inline int init(const struct mpsweep_worker *worker, void **instance)
{
    (void)worker, (void)instance;
    return 0;
}

static int iterate(void *instance)
{
    (void)instance;
    return 0;
}

static inline int check(void *instance)
{
    (void)instance;
    return 0;
}

static void fini(void *instance)
{
    (void)instance;
}

static inline int crash(void *instance, int *more)
{
    (void)instance, (void)more;
    abort();
}

const struct mpsweep_workload mpsweep_workload = {
    LIE_ABI, LIE_SIZE, describe, LIE_INIT, iterate, LIE_CHECK, fini, LIE_COMPLETED,
};
