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

/* What an MPS client may have of the GPU; OPTION_SHARE_DEFAULT: what the daemon gives. */
struct gpu_share {
    int64_t active_thread_percentage, priority, memory_limit_bytes;
};

enum {
    GPU_ENVIRONMENT_SET = 9,
    GPU_ENVIRONMENT_INHERITED = 64,
    GPU_ENVIRONMENT_UNSET = GPU_ENVIRONMENT_INHERITED + 3,
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

/* gpu is the number of a GPU of the run; process is its number among those started together, which
 * injected faults go by; connections 0 leaves the driver's default, and share NULL the daemon's.
 * STATUS_SYSTEM: a path is too long. */
enum status gpu_environment_make(const struct session *session, bool over_mps, unsigned gpu,
                                 unsigned process, unsigned connections,
                                 const struct gpu_share *share, struct gpu_environment *out);

/* The same of a process of a point, with its share. */
enum status gpu_environment_of_point(const struct session *session, const struct point *point,
                                     unsigned process, struct gpu_environment *out);
