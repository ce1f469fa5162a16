#include "worker/engines/engine.h"

#include <stdlib.h>

#include "worker/engines/described.h"
#include "worker/engines/iteration.h"
#include "worker/engines/plugin.h"

static enum status builtin_open(const struct worker_process *process, const struct shm_slot *slot,
                                void **out)
{
    (void)slot;
    struct iteration *iteration = malloc(sizeof *iteration);
    if (!iteration)
        return status_set(STATUS_MEMORY, "out of host memory");
    enum status status = iteration_open(process, iteration);
    if (status != STATUS_OK) {
        free(iteration);
        return status;
    }
    *out = iteration;
    return STATUS_OK;
}

static enum status builtin_run(void *work, struct iteration_times *times)
{
    return iteration_run(work, times);
}

static void builtin_close(void *work)
{
    iteration_close(work);
    free(work);
}

static void builtin_buffers(const void *work, struct engine_buffer out[ENGINE_BUFFERS])
{
    const struct iteration *iteration = work;
    size_t bytes = iteration->process->shm.header->settings.bytes;
    out[0] = (struct engine_buffer){iteration->host_in, bytes};
    out[1] = (struct engine_buffer){iteration->host_out, bytes};
}

static const struct engine builtin = {.name = "builtin",
                                      .open = builtin_open,
                                      .run = builtin_run,
                                      .close = builtin_close,
                                      .buffers = builtin_buffers};

const struct engine *engine_for(const struct shm_settings *settings)
{
    switch (settings->workload) {
    case WORKLOAD_CHAIN:
    case WORKLOAD_DELAY:
        return &builtin;
    case WORKLOAD_PLUGIN:
        return &plugin_engine;
    case WORKLOAD_DESCRIBED:
        return &described_engine;
    default:
        return NULL;
    }
}
