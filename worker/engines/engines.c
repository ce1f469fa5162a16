#include "worker/engines/described.h"
#include "worker/engines/engine.h"
#include "worker/engines/iteration.h"
#include "worker/engines/plugin.h"

static enum status wait_for(const struct worker_process *process, const struct engine_wait *wait,
                            struct iteration_times *times)
{
    if (wait->what == ENGINE_CLOCK) {
        clock_sleep_until(wait->until_ns);
        engine_lap(times);
        return STATUS_OK;
    }
    enum status status = worker_synchronize(process, wait->stream);
    times->sync_ns += engine_lap(times);
    return status;
}

enum status engine_finish(const struct engine *engine, const struct worker_process *process,
                          void *work, struct iteration_times *times, struct engine_wait wait)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && wait.what != ENGINE_DONE) {
        status = wait_for(process, &wait, times);
        wait = (struct engine_wait){.what = ENGINE_DONE};
        if (status == STATUS_OK)
            status = engine->advance(work, times, &wait);
    }
    return status;
}

enum status engine_run(const struct engine *engine, const struct worker_process *process,
                       void *work, struct iteration_times *times)
{
    struct engine_wait wait = {.what = ENGINE_DONE};
    enum status status = engine->advance(work, times, &wait);
    return status == STATUS_OK ? engine_finish(engine, process, work, times, wait) : status;
}

const struct engine *engine_for(const struct shm_settings *settings)
{
    switch (settings->workload) {
    case WORKLOAD_CHAIN:
    case WORKLOAD_DELAY:
        return &builtin_engine;
    case WORKLOAD_PLUGIN:
        return &plugin_engine;
    case WORKLOAD_DESCRIBED:
        return &described_engine;
    default:
        return NULL;
    }
}
