/*
 * The environment of a process that uses the GPU for us: which GPU, over which MPS daemon or none,
 * and nothing of the user's own settings that would change what is measured.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/options.h"
#include "mps/control.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

enum {
    GPU_ENVIRONMENT_SET = 16,
    GPU_ENVIRONMENT_UNSET = MPS_INHERITED_MOST + 16,
};

/* NAME=value texts to put in, and names to take out, both ended by NULL: for
 * child_environment_new(). It points into itself and must not be copied. */
struct gpu_environment {
    char texts[GPU_ENVIRONMENT_SET][MPS_ENVIRONMENT_TEXT];
    size_t count;
    bool overflow;
    const char *set[GPU_ENVIRONMENT_SET + 1];
    const char *unset[GPU_ENVIRONMENT_UNSET + 1];
};

/* Of a process of a point: its settings that the option table has a variable for. gpu is the
 * number of a GPU of the run; process is its number among those started together, which injected
 * faults go by. STATUS_SYSTEM: a path is too long. */
enum status gpu_environment_make(const struct session *session, const struct point *point,
                                 unsigned gpu, unsigned process, struct gpu_environment *out);
