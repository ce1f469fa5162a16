/*
 * Makes the iteration of a workload as long as that of a program, by any way of measuring. Pure.
 *
 * A trace shows what an iteration does, but not how long it takes without it: tracing makes the
 * host slower, and the gaps between kernels longer. That is known of the whole iteration only, so
 * the workload is measured and its times corrected: the host's where the program's host keeps the
 * GPU waiting, else those of the kernels.
 */
#pragma once

#include <stdbool.h>

#include "common/status.h"
#include "job/workload_text.h"

struct fit {
    struct workload *workload; /* the nearest that was found, in the end */
    double asked_ns;           /* what an iteration is to take */
    double took_ns;            /* what one of the workload takes */
    bool host;                 /* its host keeps the GPU waiting: that changes first */
    bool busy;                 /* host time that is added computes; it sleeps otherwise */
    double turns_per_ns;       /* of the host's work, see STEP_WORK */
    /* Sets took_ns to what the workload takes now, and may learn turns_per_ns. Where there are no
     * kernels of such durations it makes the workload `before` again, and measures that. */
    enum status (*measure)(struct fit *fit, const struct workload *before);
    void *data;
};

/* The workload was measured before. Errors of measure are handed on. */
enum status fit_length(struct fit *fit);
