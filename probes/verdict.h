/*
 * From samples to a verdict: pure functions.
 *
 * A round is one run of an arm in fresh processes, and what differs from process to process counts:
 * the median of each round is one observation, and the interval is Student's of their logarithms,
 * paired by round with those of the control, which ran shortly before or after. Of a single round
 * there are only the order statistics of its samples, which know nothing of other processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "probes/series.h"

#define PROBE_ROUNDS 100

/* A duration is at least this, the clock measures nothing shorter: keeps logarithms finite. */
#define PROBE_LEAST_US 1e-3

/* Describes all rounds. A number that is not known is NAN. */
struct probe_summary {
    uint64_t samples, dropped; /* measured; lost (probes/series.h) */
    double median_us;          /* geometric mean of the rounds' medians */
    double low_us, high_us;    /* its 95% interval */
    double mean_us, p99_us, max_us;
};

/* How many times as long an arm takes as its control, with the 95% interval. */
struct probe_effect {
    double ratio, low, high;
};

enum probe_verdict { PROBE_OBSERVED, PROBE_NOT_OBSERVED, PROBE_INCONCLUSIVE, PROBE_NEEDS };

/* "observed", "not observed", "inconclusive", "needs". */
const char *probe_verdict_name(enum probe_verdict verdict);

/* Summarises rounds. STATUS_MEMORY, or STATUS_WORKER where a round has no sample. */
enum status probe_summarise(const struct probe_series *rounds, unsigned count,
                            struct probe_summary *out);

/* Summarises them as if no round had been scaled. */
enum status probe_summarise_unscaled(const struct probe_series *rounds, unsigned count,
                                     struct probe_summary *out);

/* Compares an arm with its control, which both have `rounds` rounds. Errors as above. */
enum status probe_compare(const struct probe_series *arm, const struct probe_series *control,
                          unsigned rounds, struct probe_effect *out);

/* Judges an effect. Observed: all of the interval lies above what matters, matters_ratio times the
 * control's duration and matters_us more than it, whichever is more; not observed: all of it lies
 * below; else, and where there is no interval, inconclusive. */
enum probe_verdict probe_judge(const struct probe_effect *effect, double control_us,
                               double matters_ratio, double matters_us);
