/* A plug-in that is wrong in its struct: built once for each way. */
#include "include/mpsweep/workload.h"
#include <stddef.h>

#ifndef LIE_ABI
#define LIE_ABI MPSWEEP_WORKLOAD_ABI
#endif
#ifndef LIE_SIZE
#define LIE_SIZE sizeof(struct mpsweep_workload)
#endif
#ifndef LIE_INIT
#define LIE_INIT init
#endif
#ifndef LIE_CHECK
#define LIE_CHECK check
#endif

static int describe(const char *options, struct mpsweep_description *out)
{
    (void)options;
    out->name = "liar";
    out->capabilities = MPSWEEP_WORKLOAD_CHECKS;
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

const struct mpsweep_workload mpsweep_workload = {
    LIE_ABI, LIE_SIZE, describe, LIE_INIT, iterate, LIE_CHECK, fini,
};
