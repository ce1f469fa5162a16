/*
 * A workload that does nothing: what an iteration costs without any work, which is what mpsweep
 * itself, the launch and an empty stream's synchronisation take.
 *
 *     cc -O2 -shared -fPIC -o null.so null.c
 *     mpsweep sweep --workload ./null.so --layout threads:1-4
 *
 * In mpsweep's source tree add -I include.
 */
#include <mpsweep/workload.h>
#include <stddef.h>

static int describe(const char *options, struct mpsweep_description *out)
{
    (void)options;
    out->name = "null";
    out->version = "1";
    out->capabilities =
        MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_THREAD_SAFE | MPSWEEP_WORKLOAD_STREAM_SAFE;
    return 0;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    (void)worker;
    (void)instance;
    return 0;
}

static int iterate(void *instance)
{
    (void)instance;
    return 0;
}

static void fini(void *instance)
{
    (void)instance;
}

const struct mpsweep_workload mpsweep_workload = {
    MPSWEEP_WORKLOAD_ABI,
    sizeof(struct mpsweep_workload),
    describe,
    init,
    iterate,
    NULL,
    fini,
    NULL,
};
