#include "worker/engines/described.h"
#include "worker/engines/engine.h"
#include "worker/engines/iteration.h"
#include "worker/engines/plugin.h"

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
