#include "orchestrator/record/internal.h"

#include <math.h>
#include <stdio.h>

/* A trend below this share is nothing to act on, however sure it is. */
#define DRIFT_MATTERS 0.02

/* A change of level is worth a word from this share of the throughput on. */
#define LEVEL_MATTERS 0.1

/* Nothing is done any more where before there was this many times as much, less one. */
#define STOPPED_BEFORE 200.0

/* What comes three times in a window on average is in it with 95% probability. */
#define COMES_SURELY 3.0

/* Iterations that take this many times the median, and together this share of the time, are
 * outliers. */
#define OUTLIER_MEDIANS 5.0
#define OUTLIER_TIME 0.05

/* Iterations of a program of which fewer are alike may be steps of its requests. */
#define STEPS_ALIKE 0.9

/* A window as long as 10 stalls shows one of them in its interval. */
#define STALL_WINDOWS 10.0

/* A window too short for its iterations or their correlation must be this much longer. */
#define BLIND_FACTOR 4.0

/* On top of the square-root law, since its estimate is one. */
#define MARGIN 1.1

/* null: it is one of the samples that never came. */
static json_t *us_or_null(const struct histogram *latency, double us)
{
    return histogram_is_never(latency, 1e3 * us) ? json_null() : json_real(us);
}

json_t *record_latency(const struct histogram *latency, const struct percentiles *rounds,
                       size_t count)
{
    static const char *const names[PERCENTILES] = {"p50", "p90", "p99", "p999"};
    json_t *object = json_object(), *all = json_object();
    for (size_t i = 0; i < PERCENTILES; i++) {
        double low, high, share = percentile_shares[i];
        bool known = percentiles_bounds(latency, rounds, count, i, &low, &high);
        bool enough = share <= 0.99 || latency->count >= HISTOGRAM_LEAST_P999;
        double value = histogram_quantile_ns(latency, share) / 1e3;
        json_object_set_new(object, names[i], enough ? us_or_null(latency, value) : json_null());
        json_object_set_new(
            all, names[i],
            known ? json_pack("[o, o]", us_or_null(latency, low), us_or_null(latency, high))
                  : json_null());
    }
    json_object_set_new(object, "max", json_real((double)latency->max_ns / 1e3));
    json_object_set_new(object, "mean", json_real(histogram_mean_ns(latency) / 1e3));
    json_object_set_new(object, "bounds", all);
    return object;
}

/* In the steady parts of all rounds; the last one's transient stands for the others'. */
static double recurring_s(const struct measurement *measurement)
{
    double sum = 0.0;
    for (unsigned i = 0; i < measurement->rounds; i++)
        sum += fmax(measurement->windows[i] - measurement->last.steady_from_s, 0.0);
    return sum / COMES_SURELY;
}

static double longest_window_s(const struct measurement *measurement)
{
    double longest = 0.0;
    for (unsigned i = 0; i < measurement->rounds; i++)
        longest = fmax(longest, measurement->windows[i]);
    return longest;
}

/* To two digits, upwards: a number to type. */
static double round_up(double value)
{
    double unit = pow(10.0, floor(log10(value)) - 1.0);
    return ceil(value / unit) * unit;
}

/* Adds what would do: more rounds where there are several, else a longer window, by the square-root
 * law. */
static void add_needs(json_t *object, const struct measurement *measurement,
                      const struct interval *interval, double precision_rel)
{
    double ratio = interval->half_rel / precision_rel;
    enum interval_method method = measurement->last.window.interval.method;
    bool blind = measurement->rounds == 1 && method == INTERVAL_UNKNOWN;
    double factor = blind ? BLIND_FACTOR : MARGIN * ratio * ratio;
    if (interval_meets(interval->half_rel, precision_rel) || !isfinite(factor))
        return;
    if (measurement->rounds > 1)
        json_object_set_new(object, "needs_rounds",
                            json_real(interval_rounds_for(interval, precision_rel / sqrt(MARGIN))));
    else
        json_object_set_new(object, "needs_s",
                            json_real(round_up(factor * longest_window_s(measurement))));
}

#define CHANGE_TEXT 48

/* "fell by 60.0%", of what was before: nothing falls by more than all of that. Returns out. */
static const char *change_text(double before, double after, char out[CHANGE_TEXT])
{
    double share = (after - before) / before;
    if (before > 0.0)
        snprintf(out, CHANGE_TEXT, "%s by %.1f%%", share > 0.0 ? "rose" : "fell",
                 100.0 * fmin(fabs(share), share > 0.0 ? INFINITY : 1.0));
    else
        snprintf(out, CHANGE_TEXT, "rose from 0");
    return out;
}

static void warn_unsteady(json_t *warnings, const struct point *point, const struct window *window,
                          double window_s, double steady_from_s)
{
    double warmup_s = (double)point->work.warmup_ns / 1e9;
    char changed[CHANGE_TEXT];
    change_text(1.0 + window->before_rel, 1.0, changed);
    if (window->settled)
        warnings_add(warnings, "unsteady",
                     "throughput %s after the first %.2g s of the window, which were left out: "
                     "give --warmup %.2g",
                     changed, steady_from_s, round_up(warmup_s + steady_from_s));
    else if (window->before_rel >= STOPPED_BEFORE)
        warnings_add(warnings, "unsteady",
                     "throughput %s within the window: look for what stopped it, and measure again",
                     changed);
    else
        warnings_add(warnings, "unsteady",
                     "throughput %s within the window, and may do so again: nothing was left out; "
                     "give --warmup %.2g if it settles, else --rounds 5",
                     changed, round_up(warmup_s + window_s));
}

/* The field stalled, with a warning that names the worker. */
static void add_stall(json_t *record, const struct point *point, const struct window_stall *stall)
{
    if (stall->workers == 0)
        return;
    unsigned slots = point_slots(point), streams = point_streams(point);
    unsigned process = stall->worker / slots, thread = stall->worker % slots / streams;
    double seconds = (double)stall->ns / 1e9, usual_s = (double)stall->usual_ns / 1e9;
    char others[64] = "", stream[48] = "", remedy[64] = "more --iterations";
    json_object_set_new(record, "stalled",
                        json_pack("{s:i, s:i, s:f, s:f, s:i}", "process", (int)process, "thread",
                                  (int)thread, "seconds", seconds, "usual_s", usual_s, "workers",
                                  (int)stall->workers));
    if (streams > 1) {
        unsigned number = stall->worker % streams;
        snprintf(stream, sizeof stream, ", stream %u of %u", number, streams);
        json_object_set_new(json_object_get(record, "stalled"), "stream",
                            json_integer((json_int_t)number));
    }
    if (stall->workers > 1)
        snprintf(others, sizeof others, ", the longest of %u workers", stall->workers);
    if (!point->work.iterations)
        snprintf(remedy, sizeof remedy, "--duration %.2g", round_up(STALL_WINDOWS * seconds));
    warnings_add(
        warnings_of(record), "stalled",
        "process %u of %u, thread %u of %u%s stood still for %.3g s%s; its usual iterations "
        "take up to %.3g s: look for what stopped it and measure again, or, if the work "
        "is like that, give %s",
        process, point_processes(point), thread, point->threads, stream, seconds, others, usual_s,
        remedy);
}

/* What take turns on a GPU, in words; NULL: the point has no such. */
static const char *those_in_turns(const struct point *point)
{
    if (point_over_mps(point))
        return NULL;
    if (point->processes > 1)
        return "processes";
    return point->contexts == CONTEXTS_OWN && point->threads > 1 ? "contexts" : NULL;
}

/* Of a program's requests the observer may have found the steps, which differ. */
static bool may_be_steps(const struct round_result *last)
{
    return *last->observed.what && last->observed.match < STEPS_ALIKE;
}

static void warn_outliers_of(json_t *warnings, const struct point *point,
                             const struct round_result *last, const char *workload,
                             const struct histogram *latency)
{
    const char *in_turns = those_in_turns(point);
    char cause[160] = "look for other work on these CPUs and this GPU";
    double share, time_share, median = histogram_quantile_ns(latency, 0.5);
    histogram_above(latency, OUTLIER_MEDIANS * median, &share, &time_share);
    if (in_turns)
        snprintf(cause, sizeof cause,
                 "probably they waited for time slices, as the %s take turns on the GPU; over MPS "
                 "there are none",
                 in_turns);
    else if (may_be_steps(last))
        snprintf(cause, sizeof cause,
                 "a request may have several of them, which --tick nvtx:NAME counts as one; or "
                 "there is other work on these CPUs and this GPU");
    if (time_share >= OUTLIER_TIME)
        warnings_add(warnings, "outliers",
                     "%.2g%% of the iterations%s%s took over %.0f times the median of %.3g ms, and "
                     "%.0f%% of the time: %s",
                     100.0 * share, workload ? " of " : "", workload ? workload : "",
                     OUTLIER_MEDIANS, median / 1e6, 100.0 * time_share, cause);
}

/* Those of each workload of a mix: iterations of one are no measure for another. */
static void warn_outliers(json_t *warnings, const struct point *point,
                          const struct round_result *last)
{
    if (!last->workloads)
        warn_outliers_of(warnings, point, last, NULL, &last->latency);
    for (unsigned i = 0; i < last->workload_count; i++)
        warn_outliers_of(warnings, point, last, point->mix->workloads[i].name,
                         &last->workloads[i].latency);
}

/* The trend is a straight line through the mean in the middle of the window. */
static void warn_drift(json_t *warnings, const struct window *window, double window_s)
{
    char changed[CHANGE_TEXT];
    double half = window->drift_rel / 2.0;
    warnings_add(warnings, "drift",
                 "throughput %s within a window of %.2g s: give a longer --warmup, "
                 "and look at the GPU's clocks and temperature",
                 change_text(1.0 - half, 1.0 + half, changed), window_s);
}

/* One warning of the two: a change of level within the window makes a trend, too; one that was left
 * out matters less than a trend of what was kept. */
static void warn_change(json_t *warnings, const struct point *point,
                        const struct round_result *last)
{
    const struct window *window = &last->window;
    bool drifts = fabs(window->drift_rel) >= DRIFT_MATTERS;
    bool changes = fabs(window->before_rel) >= LEVEL_MATTERS;
    if (changes && !(drifts && window->settled))
        warn_unsteady(warnings, point, window, last->window_s, last->steady_from_s);
    else if (drifts)
        warn_drift(warnings, window, last->window_s);
}

void record_add_precision(json_t *record, const struct point *point,
                          const struct measurement *measurement, const struct interval *interval,
                          double precision_rel)
{
    const struct round_result *last = &measurement->last;
    const struct window *window = &last->window;
    bool several = measurement->rounds > 1;
    enum interval_method method = several ? INTERVAL_BETWEEN_ROUNDS : window->interval.method;
    json_t *object = json_pack(
        "{s:s, s:I, s:f, s:o, s:f, s:f, s:f, s:f}", "method", interval_method_name(method),
        "batches", (json_int_t)window->interval.batches, "lag1", window->interval.lag1,
        "between_rounds_rel", several ? json_real(interval->between_rel) : json_null(),
        "steady_from_s", last->steady_from_s, "before_rel", window->before_rel, "drift_rel",
        window->drift_rel, "recurring_s", recurring_s(measurement));
    add_needs(object, measurement, interval, precision_rel);
    json_object_set_new(record, "interval", object);
    json_t *warnings = warnings_of(record);
    add_stall(record, point, &window->stall);
    /* A worker that stands still makes throughput fall, and its iteration long. */
    if (window->stall.workers > 0)
        return;
    warn_change(warnings, point, last);
    warn_outliers(warnings, point, last);
}
