/* What the records of points show, as the observations that the search takes. */
#include <math.h>

#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/tune/internal.h"

/* Half an interval of too few iterations for one, over the square root of their number. */
#define FEW_REL 2.0

/* In the error of a layout whose buffers the memory of the GPU does not hold. */
#define NO_MEMORY "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"

double tune_value_of(const struct tune *tune, double ips, double p99_us, double joules)
{
    switch (tune->objective) {
    case TUNE_P99:
        return p99_us > 0.0 ? 1e6 / p99_us : 0.0;
    case TUNE_IPS_PER_WATT:
        return joules > 0.0 ? 1.0 / joules : 0.0;
    default:
        return ips;
    }
}

static double positive(const json_t *object, const char *key)
{
    double number = number_at(object, key);
    return isfinite(number) && number > 0.0 ? number : 0.0;
}

static bool over_memory(const struct tune *tune, const json_t *record)
{
    double bytes = positive(json_object_get(record, "tune"), "gpu_memory_bytes");
    return tune->max_memory_bytes && bytes > (double)tune->max_memory_bytes;
}

/* Of a layout that does not hold the best one's rate, what its own may be; as a share of the least
 * that it cannot hold. */
#define BEATEN_SHARE 0.8
#define BEATEN_LEAST 0.5

/* The value is the rate that was found, of good answers. */
static void observe_rate(const json_t *record, struct tune_observation *out)
{
    const json_t *rate = json_object_get(record, "rate"), *goal = json_object_get(rate, "goal");
    double offered = positive(rate, "offered_ips"), to_beat = positive(rate, "to_beat_ips");
    double latency_us = point_latency_us(record, text_at(goal, "percentile"));
    double good_share = 1.0 - point_failed_share(record);
    if (out->outcome == TUNE_MEASURED && offered > 0.0) {
        rate_step(rate, &out->low, &out->high);
        out->value = good_share * offered;
        out->low *= good_share;
        out->high *= good_share;
        out->beaten = latency_us > number_at(goal, "us");
    } else if (out->outcome == TUNE_INFEASIBLE && to_beat > 0.0) {
        double most = fmin(number_at(rate, "capacity_ips"), to_beat);
        out->outcome = TUNE_MEASURED;
        out->value = out->ips = BEATEN_SHARE * most;
        out->low = BEATEN_LEAST * most;
        out->high = most;
        out->beaten = true;
    } else if (out->outcome == TUNE_INFEASIBLE && rate) {
        /* One with more workers may hold some rate. */
        out->outcome = TUNE_FAILED;
    }
}

/* A percentile that is one of a request without a good answer is as far beyond the limit. */
#define FAILED_LATE 10.0

static void observe_all(const struct tune *tune, const json_t *record, struct tune_observation *out)
{
    /* An objective is about good answers, as throughput is; a limit about all requests. */
    bool limited = tune->rules.max_p99_us > 0.0;
    const json_t *latency = limited ? point_latency(record) : json_object_get(record, "latency_us");
    const json_t *bounds = json_object_get(json_object_get(latency, "bounds"), "p99");
    const json_t *interval = json_object_get(record, "ci95_rel");
    double joules = positive(json_object_get(record, "telemetry"), "joules_per_iteration");
    bool refused = strcmp(text_at(record, "status"), "infeasible") == 0;
    *out = (struct tune_observation){.outcome = refused ? TUNE_INFEASIBLE : TUNE_FAILED};
    out->crowded =
        refused && json_is_true(json_object_get(record, "mps")) &&
        mps_limits_refused((int)number_at(record, "cuda_error"), text_at(record, "error"));
    out->full = refused && strstr(text_at(record, "error"), NO_MEMORY);
    if (!point_is_measured(record))
        return;
    out->full = over_memory(tune, record);
    out->outcome = out->full ? TUNE_INFEASIBLE : TUNE_MEASURED;
    out->ips = positive(record, "throughput_ips");
    out->cpus = fmax(0.0, point_cpus_in_use(record));
    out->p99_us = positive(latency, "p99");
    out->p99_low_us = json_number_value(json_array_get(bounds, 0));
    out->p99_high_us = json_number_value(json_array_get(bounds, 1));
    if (limited && isinf(point_latency_us(record, "p99"))) {
        out->p99_us = out->p99_low_us = FAILED_LATE * tune->rules.max_p99_us;
        out->p99_high_us = 0.0;
    }
    out->value = tune_value_of(tune, out->ips, out->p99_us, joules);
    out->low = 0.0;
    out->high = INFINITY;
    /* Of too few iterations for an interval, about what their number gives. */
    double half = FEW_REL / sqrt(1.0 + positive(record, "iterations"));
    if (json_is_number(interval))
        half = json_number_value(interval);
    if (json_array_size(json_object_get(record, "rounds")) < 2)
        half = hypot(half, TUNE_BETWEEN_REL);
    if (tune->objective == TUNE_P99 && out->p99_low_us > 0.0) {
        out->low = 1e6 / out->p99_high_us;
        out->high = 1e6 / out->p99_low_us;
    } else if (half < 1.0 && tune->objective != TUNE_P99) {
        out->low = out->value * (1.0 - half);
        out->high = out->value * (1.0 + half);
    }
}

void tune_observe(const struct tune *tune, const json_t *record, struct tune_observation *out)
{
    observe_all(tune, record, out);
    if (json_object_get(json_object_get(record, "rate"), "goal"))
        observe_rate(record, out);
    else
        out->overloaded = point_is_overloaded(record);
}

void tune_keep_rate(struct tune *tune, size_t index, const struct tune_observation *seen)
{
    struct saturation *search = &tune->points[index].search;
    const json_t *rate = json_object_get(tune->campaign.records[index], "rate");
    if (tune->rules.resolution <= 0.0 || seen->outcome != TUNE_MEASURED || seen->beaten)
        return;
    search->rate_units = (uint64_t)(positive(rate, "offered_ips") * RATE_UNITS + 0.5);
    if (search->rate_units > tune->best_units)
        tune->best_units = search->rate_units;
}

/* What a look found in an earlier run, for the finals to go on from. */
static void keep_coarse(const json_t *record, struct saturation *search)
{
    double failed_ips = positive(json_object_get(record, "rate"), "failed_ips");
    search->coarse = search->rate_units > 0 && failed_ips > 0.0;
    search->failed_units = (uint64_t)(failed_ips * RATE_UNITS + 0.5);
}

void tune_take_over(struct tune *tune)
{
    struct tune_observation observation;
    for (size_t i = 0; i < tune->space.plan.count; i++) {
        const json_t *record = tune->campaign.records[i];
        if (!record || tune->campaign.beyond[i])
            continue;
        unsigned order = (unsigned)integer_at(json_object_get(record, "tune"), "order");
        tune->order = order > tune->order ? order : tune->order;
        if (tune->space.gpus > 1 && i >= tune->space.candidates)
            continue;
        tune_observe(tune, record, &observation);
        tune_keep_rate(tune, i, &observation);
        keep_coarse(record, &tune->points[i].search);
        tune_search_note(tune->search, i, &observation);
        if (observation.outcome == TUNE_MEASURED && number_at(record, "ready_s") > 0.0 &&
            !json_is_true(json_object_get(record, "reused")))
            tune_pace_learn_start(tune, &tune->space.plan.points[i], number_at(record, "ready_s"),
                                  number_at(record, "ready_cpu_s"));
    }
}
