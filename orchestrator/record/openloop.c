#include "orchestrator/record/internal.h"

#include <stdio.h>

#include "statistics/statistics.h"
#include "orchestrator/plan/settings.h"

static double ips_of(uint64_t units)
{
    return (double)units / RATE_UNITS;
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
        json_t *object =
            json_pack("{s:f, s:o, s:I, s:b, s:f}", "offered_ips", ips_of(step->rate_units), key,
                      record_real_or_null(step->latency_us), "backlog", (json_int_t)step->backlog,
                      "held", (int)step->held, "seconds", step->seconds);
        if (step->failed_share > 0.0)
            json_object_set_new(object, "failed_share", json_real(step->failed_share));
        json_array_append_new(steps, object);
    }
    json_object_set_new(rate, "search", steps);
    if (search->capacity_ips > 0.0)
        json_object_set_new(rate, "capacity_ips", json_real(search->capacity_ips));
    if (search->coarse && search->failed_units)
        json_object_set_new(rate, "failed_ips", json_real(ips_of(search->failed_units)));
    if (search->beat_units)
        json_object_set_new(rate, "to_beat_ips", json_real(ips_of(search->beat_units)));
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

void record_add_rate(json_t *record, const struct point *point,
                     const struct measurement *measurement)
{
    if (!point_is_open(point))
        return;
    uint64_t units = point->goal.permille ? measurement->search.rate_units : point->work.rate_units;
    json_t *rate =
        json_pack("{s:o, s:s}", "offered_ips", units ? json_real(ips_of(units)) : json_null(),
                  "arrival", setting_word(OPTION_ARRIVAL, point));
    if (point->goal.permille)
        add_goal(rate, point, &measurement->search);
    if (measurement->status == STATUS_OK)
        add_counts(rate, measurement);
    if (measurement->status == STATUS_OK && measurement->last.open.saturated)
        warnings_add(warnings_of(record), "overloaded",
                     "more is offered than the layout serves, and the queue grows: latencies only "
                     "reflect how long the window was; offer less, or let --rate max-under-p99=5ms "
                     "find what fits");
    json_object_set_new(record, "rate", rate);
}

json_t *record_fixed(const struct point *point, const struct round_fixed *rounds, unsigned count)
{
    const struct round_fixed *best = &rounds[0];
    double each = (double)point->work.iterations;
    json_t *all = json_array();
    for (unsigned i = 0; i < count; i++) {
        best = rounds[i].throughput_ips > best->throughput_ips ? &rounds[i] : best;
        json_array_append_new(all, json_real(rounds[i].throughput_ips));
    }
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "iterations_per_worker",
                     (json_int_t)point->work.iterations, "begin_s", best->begin_s, "seconds",
                     best->seconds, "elapsed_mean_s", best->elapsed_s, "throughput_ips",
                     best->throughput_ips, "latency_mean_us", best->elapsed_s / each * 1e6,
                     "rounds_ips", all);
}
