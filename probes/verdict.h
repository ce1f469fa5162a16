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

/* Of all rounds. A number that is not known is NAN. */
struct probe_summary {
    uint64_t samples, dropped; /* that there were; that nothing is known of (probes/series.h) */
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

/* STATUS_MEMORY, or STATUS_WORKER where a round has no sample. */
enum status probe_summarise(const struct probe_series *rounds, unsigned count,
                            struct probe_summary *out);

/* The same as if no round had been scaled. */
enum status probe_summarise_unscaled(const struct probe_series *rounds, unsigned count,
                                     struct probe_summary *out);

/* Both have so many rounds. Errors as above. */
enum status probe_compare(const struct probe_series *arm, const struct probe_series *control,
                          unsigned rounds, struct probe_effect *out);

/* Observed: all of the interval lies above what matters, matters_ratio times the control's duration
 * and matters_us more than it, whichever is more; not observed: all of it lies below; else, and
 * where there is no interval, inconclusive. */
enum probe_verdict probe_judge(const struct probe_effect *effect, double control_us,
                               double matters_ratio, double matters_us);

/* -- what a whole probe gave --------------------------------------------------------------------
 */

struct probe;
struct probe_arm;

struct probe_arm_data {
    const struct probe_arm *arm;
    bool chosen;
    /* OK; or why there is nothing of it: STATUS_UNSUPPORTED and STATUS_NOT_FOUND where it cannot be
     * had here, anything else where it failed */
    enum status status;
    char error[512];
    unsigned rounds;                                         /* measured */
    struct probe_series series[PROBE_METRICS][PROBE_ROUNDS]; /* owned */
    uint64_t blocked[PROBE_METRICS];
    unsigned attached_expected, attached_seen; /* MPS clients of the last round */
};

struct probe_outcome {
    const struct probe *probe;
    struct probe_arm_data *arms; /* as many as the probe has, in its order */
};

struct probe_note {
    char text[256];
    const char *quantity; /* the name in the record of the number that it is about, or NULL */
    double value;
};

/* Scales the first metric of each round of an arm by how much its level metric says that its
 * processes are slower or faster than those of the other rounds of arms with the same control.
 * Nothing happens to a round without samples of it, or where the probe has none. To
 * be called once, when all is measured. */
enum status probe_level(struct probe_outcome *outcome);

/* The data of an arm by name, if it was measured; else NULL. */
const struct probe_arm_data *probe_outcome_arm(const struct probe_outcome *outcome,
                                               const char *name);
