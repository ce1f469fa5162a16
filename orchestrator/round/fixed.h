/*
 * Fixed work (--iterations): every worker runs the same number of iterations, and the round ends
 * when the slowest has finished. The figures are those of the forum's experiment, to stand beside
 * the ones of the common window.
 */
#pragma once

#include <jansson.h>

#include "job/options.h"
#include "orchestrator/round/round.h"

/* STATUS_USAGE where an option about the window is given that is as strong as --iterations. */
enum status fixed_check_options(const struct options *options);

/* iterations x workers / mean time of a worker: its n iterations x threads² / sum of all times. */
double fixed_throughput_ips(double iterations_each, const double *elapsed_s, unsigned workers);

/* From the workers' slots, once they have finished; the workers of the result are there. */
enum status fixed_collect(const struct shm *shm, struct round_result *result);

/* The field fixed: of the best of so many rounds, as the experiment gives it. NULL without memory.
 */
json_t *fixed_object(const struct point *point, const struct round_fixed *rounds, unsigned count);
