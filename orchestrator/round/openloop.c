#include "orchestrator/round/openloop.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "statistics/statistics.h"
#include "common/text.h"
#include "orchestrator/record/record.h"
#include "orchestrator/record/warnings.h"

/* A queue that is not longer than this is one that may come and go. */
#define QUEUE_PER_WORKER 2
#define QUEUE_SHARE 0.05

static double ips_of(uint64_t units)
{
    return (double)units / RATE_UNITS;
}

uint64_t openloop_window_ns(const struct point *point, const struct round_limits *limits)
{
    uint64_t window_ns = limits->duration_ns;
    if (point->work.rate_units) {
        double wanted_ns = limits->samples / ips_of(point->work.rate_units) * 1e9;
        if (wanted_ns > (double)window_ns)
            window_ns = (uint64_t)fmin(wanted_ns, (double)limits->max_duration_ns);
    }
    return window_ns;
}

void openloop_collect(struct openloop_counts *counts, const struct shm_slot *slot)
{
    counts->late += slot->late;
    counts->backlog += slot->backlog;
    histogram_merge(&counts->service, &slot->service);
}

void openloop_judge(struct openloop_counts *counts, const struct point *point, double window_s)
{
    double offered = ips_of(point->work.rate_units) * window_s;
    double usual = QUEUE_PER_WORKER * point_workers(point) + QUEUE_SHARE * offered;
    counts->saturated = point->work.rate_units && (double)counts->backlog > usual;
}

void openloop_merge(struct openloop_counts *into, const struct openloop_counts *from)
{
    into->late += from->late;
    into->backlog += from->backlog;
    into->saturated |= from->saturated;
    histogram_merge(&into->service, &from->service);
}

bool openloop_holds(const struct rate_goal *goal, const struct round_result *result)
{
    double latency_ns = histogram_quantile_ns(&result->latency, goal->permille / 1e3);
    return !result->open.saturated && latency_ns <= (double)goal->latency_ns;
}

bool openloop_converged(const struct point *point, const struct measurement *measurement)
{
    const struct round_result *result = &measurement->last;
    if (point->goal.permille && !openloop_holds(&point->goal, result))
        return false;
    return result->iterations >= OPENLOOP_LEAST_SAMPLES;
}

static void add_goal(json_t *rate, const struct point *point, const struct saturation *search)
{
    json_object_set_new(rate, "goal",
                        json_pack("{s:s, s:f}", "percentile",
                                  rate_percentile_name(point->goal.permille), "us",
                                  (double)point->goal.latency_ns / 1e3));
    json_t *steps = json_array();
    for (unsigned i = 0; i < search->count; i++) {
        const struct saturation_step *step = &search->steps[i];
        char key[16];
        snprintf(key, sizeof key, "%s_us", rate_percentile_name(point->goal.permille));
        json_array_append_new(steps, json_pack("{s:f, s:f, s:b, s:f}", "offered_ips",
                                               ips_of(step->rate_units), key, step->latency_us,
                                               "held", (int)step->held, "seconds", step->seconds));
    }
    json_object_set_new(rate, "search", steps);
}

static void add_counts(json_t *rate, const struct measurement *measurement)
{
    const struct round_result *result = &measurement->last;
    const struct histogram *service = &result->open.service;
    double achieved = statistics_mean(measurement->throughputs, measurement->rounds);
    json_object_set_new(rate, "achieved_ips", json_real(achieved));
    json_object_set_new(rate, "late_share",
                        json_real((double)result->open.late / (double)result->iterations));
    json_object_set_new(rate, "backlog", json_integer((json_int_t)result->open.backlog));
    json_object_set_new(rate, "service_us",
                        json_pack("{s:f, s:f, s:f}", "mean", histogram_mean_ns(service) / 1e3,
                                  "p50", histogram_quantile_ns(service, 0.5) / 1e3, "p99",
                                  histogram_quantile_ns(service, 0.99) / 1e3));
    json_object_set_new(rate, "saturated", json_boolean(result->open.saturated));
}

void openloop_record(json_t *record, const struct point *point,
                     const struct measurement *measurement)
{
    if (!point_is_open(point))
        return;
    uint64_t units = point->goal.permille ? measurement->search.rate_units : point->work.rate_units;
    json_t *rate =
        json_pack("{s:o, s:s}", "offered_ips", units ? json_real(ips_of(units)) : json_null(),
                  "arrival", point_arrival(point));
    if (point->goal.permille)
        add_goal(rate, point, &measurement->search);
    if (measurement->status == STATUS_OK)
        add_counts(rate, measurement);
    if (measurement->status == STATUS_OK && measurement->last.open.saturated)
        warnings_add(warnings_of(record), "overloaded",
                     "more is offered than the layout serves, and the queue grows: latencies only "
                     "tell how long the window was; offer less, or let --rate max-under-p99=5ms "
                     "find what fits");
    json_object_set_new(record, "rate", rate);
}

static void append_arrival(struct text *text, const json_t *rate)
{
    const char *arrival = json_string_value(json_object_get(rate, "arrival"));
    if (arrival && strcmp(arrival, point_arrival(&(struct point){0})) != 0)
        text_append(text, " %s", arrival);
}

const char *openloop_name(const json_t *rate, char *out, size_t size)
{
    const json_t *goal = json_object_get(rate, "goal");
    const char *percentile = json_string_value(json_object_get(goal, "percentile"));
    char limit[32];
    struct text text = {.at = out, .size = size};
    double us = json_number_value(json_object_get(goal, "us"));
    if (percentile)
        text_append(&text, "%.8s under %s", percentile,
                    rate_time_text(us * 1e3, limit, sizeof limit));
    else
        text_append(&text, "%.10g/s", json_number_value(json_object_get(rate, "offered_ips")));
    append_arrival(&text, rate);
    return out;
}

const char *openloop_text(const json_t *point, char *out, size_t size)
{
    const json_t *rate = json_object_get(point, "rate");
    const json_t *offered = json_object_get(rate, "offered_ips");
    const json_t *goal = json_object_get(rate, "goal");
    struct text text = {.at = out, .size = size};
    *out = '\0';
    if (json_is_number(offered))
        text_append(&text, "%.5g", json_number_value(offered));
    else
        text_append(&text, "-");
    append_arrival(&text, rate);
    if (goal) {
        char limit[32];
        double us = json_number_value(json_object_get(goal, "us"));
        text_append(&text, " %s<%s", json_string_value(json_object_get(goal, "percentile")),
                    rate_time_text(us * 1e3, limit, sizeof limit));
    }
    return out;
}

void openloop_print_unconverged(FILE *out, const json_t *point)
{
    long long iterations = json_integer_value(json_object_get(point, "iterations"));
    const json_t *goal = json_object_get(json_object_get(point, "rate"), "goal");
    char limit[32];
    fputs("  unconverged: ", out);
    if (iterations < OPENLOOP_LEAST_SAMPLES)
        fprintf(out,
                "%lld iteration%s, and p99 has no upper bound below %d: give a longer "
                "--max-duration",
                iterations, iterations == 1 ? "" : "s", OPENLOOP_LEAST_SAMPLES);
    else
        fprintf(out, "%s under %s does not hold at the rate found: give a longer --duration",
                json_string_value(json_object_get(goal, "percentile")),
                rate_time_text(json_number_value(json_object_get(goal, "us")) * 1e3, limit,
                               sizeof limit));
}

void openloop_print_csv(FILE *out, const json_t *point)
{
    const json_t *rate = json_object_get(point, "rate");
    const json_t *offered = json_object_get(rate, "offered_ips");
    const json_t *late = json_object_get(rate, "late_share");
    const char *arrival = json_string_value(json_object_get(rate, "arrival"));
    fputc(',', out);
    if (json_is_number(offered))
        fprintf(out, "%.10g", json_number_value(offered));
    fprintf(out, ",%s", arrival ? arrival : "");
    if (!late) {
        fputs(",,,", out);
        return;
    }
    fprintf(out, ",%.4g,%.6g,%s", json_number_value(late),
            json_number_value(json_object_get(json_object_get(rate, "service_us"), "p99")),
            json_is_true(json_object_get(rate, "saturated")) ? "yes" : "no");
}
