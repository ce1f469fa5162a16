#include "probes/verdict.h"

#include <math.h>

#include "statistics/statistics.h"

const char *probe_verdict_name(enum probe_verdict verdict)
{
    static const char *const names[] = {
        [PROBE_OBSERVED] = "observed",
        [PROBE_NOT_OBSERVED] = "not observed",
        [PROBE_INCONCLUSIVE] = "inconclusive",
        [PROBE_NEEDS] = "needs",
    };
    return names[verdict];
}

static double log_us(double us)
{
    return log(fmax(us, PROBE_LEAST_US));
}

/* Logarithms of a round's median, and of the ends of its interval; those are NAN where there are
 * too few samples. STATUS_WORKER. */
struct centre {
    double at, low, high;
};

static enum status find_centre(const struct probe_series *round, struct centre *out)
{
    if (round->count == 0)
        return status_set(STATUS_WORKER, "a round without a sample");
    *out = (struct centre){log_us(round->median_us * round->scale), NAN, NAN};
    if (!isnan(round->low_us)) {
        out->low = log_us(round->low_us * round->scale);
        out->high = log_us(round->high_us * round->scale);
    }
    return STATUS_OK;
}

/* Mean of logarithms, and half the width of Student's interval. */
static void log_interval(const double *logs, unsigned count, double *mean, double *half)
{
    double squares = 0;
    *mean = statistics_mean(logs, count);
    for (unsigned i = 0; i < count; i++)
        squares += (logs[i] - *mean) * (logs[i] - *mean);
    *half =
        count < 2 ? NAN : statistics_t975(count - 1) * sqrt(squares / (double)(count - 1) / count);
}

static enum status pool(const struct probe_series *rounds, unsigned count,
                        struct probe_summary *out)
{
    double sum_us = 0;
    for (unsigned r = 0; r < count; r++) {
        out->samples += rounds[r].samples;
        out->dropped += rounds[r].dropped;
        sum_us += rounds[r].mean_us * rounds[r].scale * (double)rounds[r].samples;
    }
    out->mean_us = sum_us / (double)out->samples;
    enum status status = probe_series_quantile(rounds, count, 1, &out->max_us);
    return status == STATUS_OK ? probe_series_quantile(rounds, count, 0.99, &out->p99_us) : status;
}

enum status probe_summarise(const struct probe_series *rounds, unsigned count,
                            struct probe_summary *out)
{
    double logs[PROBE_ROUNDS], mean, half;
    struct centre centre = {NAN, NAN, NAN};
    *out = (struct probe_summary){0, 0, NAN, NAN, NAN, NAN, NAN, NAN};
    if (count == 0 || count > PROBE_ROUNDS)
        return status_set(STATUS_WORKER, "no round was measured");
    for (unsigned r = 0; r < count; r++) {
        enum status status = find_centre(&rounds[r], &centre);
        if (status != STATUS_OK)
            return status;
        logs[r] = centre.at;
    }
    enum status status = pool(rounds, count, out);
    if (status != STATUS_OK)
        return status;
    log_interval(logs, count, &mean, &half);
    out->median_us = exp(mean);
    out->low_us = exp(count > 1 ? mean - half : centre.low);
    out->high_us = exp(count > 1 ? mean + half : centre.high);
    return STATUS_OK;
}

enum status probe_summarise_unscaled(const struct probe_series *rounds, unsigned count,
                                     struct probe_summary *out)
{
    struct probe_series unscaled[PROBE_ROUNDS];
    for (unsigned r = 0; r < count && r < PROBE_ROUNDS; r++) {
        unscaled[r] = rounds[r];
        unscaled[r].scale = 1;
    }
    return probe_summarise(unscaled, count, out);
}

enum status probe_compare(const struct probe_series *arm, const struct probe_series *control,
                          unsigned rounds, struct probe_effect *out)
{
    double logs[PROBE_ROUNDS], mean, half;
    struct centre of_arm = {0}, of_control = {0};
    *out = (struct probe_effect){NAN, NAN, NAN};
    if (rounds == 0 || rounds > PROBE_ROUNDS)
        return status_set(STATUS_WORKER, "no round was measured");
    for (unsigned r = 0; r < rounds; r++) {
        enum status status = find_centre(&arm[r], &of_arm);
        if (status == STATUS_OK)
            status = find_centre(&control[r], &of_control);
        if (status != STATUS_OK)
            return status;
        logs[r] = of_arm.at - of_control.at;
    }
    log_interval(logs, rounds, &mean, &half);
    double below = half, above = half;
    if (rounds == 1) {
        /* Each end comes from the ends that move the ratio that way. */
        below = hypot(of_arm.at - of_arm.low, of_control.high - of_control.at);
        above = hypot(of_arm.high - of_arm.at, of_control.at - of_control.low);
    }
    *out = (struct probe_effect){exp(mean), exp(mean - below), exp(mean + above)};
    return STATUS_OK;
}

enum probe_verdict probe_judge(const struct probe_effect *effect, double control_us,
                               double matters_ratio, double matters_us)
{
    double matters = fmax(matters_ratio, 1 + matters_us / fmax(control_us, PROBE_LEAST_US));
    /* Comparisons with NAN are false. */
    if (effect->low > matters)
        return PROBE_OBSERVED;
    if (effect->high < matters)
        return PROBE_NOT_OBSERVED;
    return PROBE_INCONCLUSIVE;
}
