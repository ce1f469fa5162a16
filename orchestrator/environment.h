/*
 * The environment of a process that uses the GPU for us: which GPU, over which MPS daemon or none,
 * and nothing of the user's own settings that would change what is measured.
 */
#ifndef MPSWEEP_ORCHESTRATOR_ENVIRONMENT_H
#define MPSWEEP_ORCHESTRATOR_ENVIRONMENT_H

#include <stdbool.h>

#include "mps/control.h"
#include "orchestrator/session.h"

/* NAME=value texts to put in, and names to take out, both ended by NULL: for
 * child_environment_new(). It points into itself and must not be copied. */
struct gpu_environment {
    char pipe_directory[MPS_ENVIRONMENT_TEXT], device[MPS_ENVIRONMENT_TEXT];
    char connections[64], percentage[64], process[64];
    const char *set[8];
    const char *unset[68];
};

/* process is its number among those started together, which injected faults go by; connections
 * and percentage 0 leave the driver's defaults. */
void gpu_environment_make(const struct session *session, bool over_mps, unsigned process,
                          unsigned connections, unsigned active_thread_percentage,
                          struct gpu_environment *out);

#endif
