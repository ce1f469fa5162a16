#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "explain/words.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/scaling.h"
#include "orchestrator/record/record.h"
#include "orchestrator/tune/internal.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/plan/shares.h"

/* GPUs that surely do less of as many times one alone share what they need of the host. What one
 * does may be known by a short look without an interval: then it may be off by so much. */
#define SCALING_SHARED 0.95
#define LOOK_SLACK 1.1

static json_t *record_of(const struct tune *tune, size_t point)
{
    return point == TUNE_NO_POINT ? NULL : tune->campaign.records[point];
}

/* -- the record -------------------------------------------------------------------------------- */

/* NULL: it is not given. */
static json_t *count_given(const struct tune *tune, enum option_id id)
{
    const struct options *options = tune->campaign.options;
    return options->values[id].count ? json_integer(options_integer(options, id)) : NULL;
}

static json_t *constraints_object(const struct tune *tune)
{
    return json_pack(
        "{s:o*, s:o*, s:o*, s:o*, s:o*}", "max_p99_us",
        tune->rules.max_p99_us > 0.0 ? json_real(tune->rules.max_p99_us) : NULL, "max_cpus",
        tune->rules.max_cpus > 0.0 ? json_real(tune->rules.max_cpus) : NULL, "max_processes",
        count_given(tune, OPTION_MAX_PROCESSES), "max_threads",
        count_given(tune, OPTION_MAX_THREADS), "max_gpu_memory_bytes",
        tune->max_memory_bytes ? json_integer((json_int_t)tune->max_memory_bytes) : NULL);
}

static json_t *summary_of(const struct tune *tune, size_t point)
{
    const json_t *record = record_of(tune, point);
    const json_t *latency = point_latency(record);
    char what[POINT_DESCRIPTION];
    point_describe(&tune->space.plan.points[point], what, sizeof what);
    json_t *object = json_pack("{s:I, s:s}", "point", (json_int_t)point, "what", what);
    if (!object || !record)
        return object;
    double cpus = point_cpus_in_use(record);
    json_t *rates = json_array();
    const json_t *gpu;
    size_t index;
    json_array_foreach(json_object_get(record, "per_gpu"), index, gpu)
    {
        json_array_append(rates, json_object_get(gpu, "throughput_ips"));
    }
    json_add(object, json_pack("{s:O*, s:O*, s:O*, s:O*, s:o*}", "throughput_ips",
                               json_object_get(record, "throughput_ips"), "per_gpu_ips",
                               json_array_size(rates) > 0 ? rates : NULL, "p99_us",
                               json_object_get(latency, "p99"), "p99_bounds_us",
                               json_object_get(json_object_get(latency, "bounds"), "p99"),
                               "cpus_in_use", isnan(cpus) ? NULL : json_real(cpus)));
    json_decref(rates);
    return object;
}

static json_t *winner_object(const struct tune *tune, const struct tune_judgement *judgement)
{
    json_t *object = summary_of(tune, judgement->winner);
    char *options = tune_sweep_words(tune, &tune->space.plan.points[judgement->winner]);
    if (options)
        json_add(object,
                 json_pack("{s:o*, s:o*, s:[o, o], s:i}", "options", json_string(options), "value",
                           json_real(judgement->value), "ci95", record_real_or_null(judgement->low),
                           record_real_or_null(judgement->high), "rounds", (int)judgement->rounds));
    free(options);
    const json_t *rate = json_object_get(record_of(tune, judgement->winner), "rate");
    if (tune_goal(tune)->permille)
        json_add(object, json_pack("{s:O*}", "rate_ips", json_object_get(rate, "offered_ips")));
    return object;
}

size_t tune_naive_point(const struct tune *tune, size_t naive)
{
    size_t own = tune->space.naive[naive].point;
    const struct plan *plan = &tune->space.plan;
    struct point twin = plan->points[own];
    if (tune->campaign.records[own] || twin.layout != LAYOUT_THREADS)
        return own;
    twin.layout = LAYOUT_THREADS_MPS;
    for (size_t i = 0; i < plan->count; i++)
        if (tune->campaign.records[i] && point_equal(&plan->points[i], &twin))
            return i;
    return own;
}

static json_t *naive_array(const struct tune *tune)
{
    json_t *array = json_array();
    for (size_t i = 0; i < tune->space.naive_count; i++) {
        size_t point = tune_naive_point(tune, i);
        json_t *object = summary_of(tune, point);
        const json_t *record = record_of(tune, point);
        json_add(object, json_pack("{s:s, s:s}", "layout", tune->space.naive[i].name, "status",
                                   record ? text_at(record, "status") : "not measured"));
        json_array_append_new(array, object);
    }
    return array;
}

/* What all GPUs do beside one alone, as the search looked at it; false: there is none. */
static bool find_scaling(const struct tune *tune, size_t winner, struct scaling *out)
{
    const json_t *alone =
        tune->phase == TUNE_ON_ALL_GPUS ? record_of(tune, tune->points[winner].on_one) : NULL;
    json_t *looks = json_pack("[O*]", alone);
    json_t *singles = looks ? scaling_singles(looks) : NULL;
    bool found = singles && scaling_find(singles, record_of(tune, winner), out);
    out->base = NULL; /* of looks */
    json_decref(singles);
    json_decref(looks);
    return found;
}

/* False: GPUs that surely share the host do less than each could, for a reason that a calibration
 * of one does not show. */
static bool add_scaling(const struct tune *tune, json_t *record, size_t winner)
{
    struct scaling scaling;
    if (!find_scaling(tune, winner, &scaling))
        return true;
    double high = isnan(scaling.high) ? LOOK_SLACK * scaling.efficiency : scaling.high;
    bool shared = high < SCALING_SHARED;
    json_add(record, json_pack("{s:{s:f, s:o, s:o, s:b}}", "scaling", "efficiency",
                               scaling.efficiency, "low", record_real_or_null(scaling.low), "high",
                               record_real_or_null(scaling.high), "shared", shared));
    return !shared;
}

/* What limits the winner, where a calibration shows it. */
static void add_limits(const struct tune *tune, json_t *record, size_t winner)
{
    char text[1024];
    struct explain_set set;
    json_t *points = json_array();
    json_array_append(points, record_of(tune, winner));
    const struct results results = {.header = tune->campaign.header,
                                    .calibrations = tune->campaign.calibrations,
                                    .points = points};
    const struct remedy_limits unknown = {0};
    if (explain_set_make(&results, &set) != STATUS_OK) {
        json_decref(points);
        return;
    }
    if (set.count == 1 && explain_set_calibrate_all(&set, &results, "") == STATUS_OK &&
        set.calibration_count == 1 && explain_set_compute(&set, &unknown) == STATUS_OK) {
        const struct explanation *point = &set.points[0];
        if (point->binding.kind != CEILING_KINDS) {
            double ceiling_ips = point->ceilings.ips[point->binding.kind];
            binding_reason(&point->binding, &point->ceilings, &point->point, point->calibration,
                           text, sizeof text);
            json_add(record,
                     json_pack("{s:s, s:{s:s, s:s, s:f, s:f}}", "limited_by",
                               ceiling_name(point->binding.kind), "limit", "title",
                               ceiling_title(point->binding.kind, &point->point), "reason", text,
                               "ips", ceiling_ips, "reached", point->measured_ips / ceiling_ips));
        }
    }
    explain_set_release(&set);
    json_decref(points);
}

/* What is missing, of an unfinished search. */
static json_t *unfinished_object(const struct tune *tune, const struct tune_judgement *judgement)
{
    double share = judgement->reached_share, budget_s = judgement->enough_budget_s;
    double finals_s = judgement->finals_budget_s;
    char *command = budget_s > 0.0 ? tune_again_words(tune, budget_s) : NULL;
    json_t *object = json_pack(
        "{s:o*, s:o*, s:f, s:o*, s:o*, s:o*, s:o*}", "share", share > 0.0 ? json_real(share) : NULL,
        "of", share > 0.0 ? json_real(judgement->value / share) : NULL, "better_chance",
        judgement->better_chance, "open", judgement->open ? json_true() : NULL, "budget_s",
        budget_s > 0.0 ? json_real(budget_s) : NULL, "command",
        command ? json_string(command) : NULL, "finals_budget_s",
        finals_s > 0.0 ? json_real(ceil(finals_s)) : NULL);
    free(command);
    return object;
}

/* Layouts whose rate was not searched, since they do not hold the best one's; NULL: there are none.
 */
static json_t *cut_short_object(const struct tune *tune)
{
    int count = 0;
    double below_ips = 0.0;
    for (size_t i = 0; i < tune->space.plan.count; i++) {
        const json_t *record = record_of(tune, i);
        const json_t *rate = json_object_get(record, "rate");
        double to_beat_ips = number_at(rate, "to_beat_ips");
        if (!(to_beat_ips > 0.0) || strcmp(text_at(record, "status"), "infeasible") != 0)
            continue;
        count++;
        below_ips = fmax(below_ips, fmin(to_beat_ips, number_at(rate, "capacity_ips")));
    }
    return count ? json_pack("{s:i, s:f}", "count", count, "below_ips", below_ips) : NULL;
}

static const char *ending_of(const struct tune *tune, const struct tune_judgement *judgement)
{
    if (tune->interrupted)
        return "interrupted";
    if (judgement->complete && !tune->late)
        return "complete";
    return judgement->cut || tune->late ? "budget" : "failed";
}

static void add_winner(const struct tune *tune, json_t *record,
                       const struct tune_judgement *judgement)
{
    json_t *equal = json_array();
    for (size_t i = 0; judgement->equal_count > 1 && i < judgement->equal_count; i++)
        json_array_append_new(equal, json_integer((json_int_t)judgement->equal[i]));
    json_object_set_new(record, "winner", winner_object(tune, judgement));
    json_object_set_new(record, "equal", equal);
    if (judgement->verdict == TUNE_UNFINISHED)
        json_object_set_new(record, "unfinished", unfinished_object(tune, judgement));
    if (judgement->reason != TUNE_MORE)
        json_object_set_new(record, "preferred",
                            json_pack("{s:s, s:I, s:I}", "for", tune_reason_name(judgement->reason),
                                      "over", (json_int_t)judgement->most, "equals",
                                      (json_int_t)judgement->equal_count));
    if (judgement->next != TUNE_NO_POINT)
        json_object_set_new(record, "margin",
                            json_pack("{s:I, s:o, s:[o, o]}", "over", (json_int_t)judgement->next,
                                      "rel", record_real_or_null(judgement->margin), "ci95",
                                      record_real_or_null(judgement->margin_low),
                                      record_real_or_null(judgement->margin_high)));
    json_add(record, json_pack("{s:o*}", "cut_short", cut_short_object(tune)));
    if (add_scaling(tune, record, judgement->winner))
        add_limits(tune, record, judgement->winner);
}

enum status tune_make_record(struct tune *tune)
{
    struct tune_judgement judgement;
    tune_judge(tune, &judgement);
    double seconds = (double)(clock_now_ns() - tune->campaign.started_ns) / 1e9;
    json_t *record = json_pack(
        "{s:s, s:s, s:o, s:o, s:f, s:I, s:I, s:s, s:b, s:s, s:s}", "type", "tune", "objective",
        tune_objective_name(tune->objective), "constraints", constraints_object(tune), "budget_s",
        record_real_or_null(tune->pace.budget_s), "seconds", seconds, "space",
        (json_int_t)tune->space.candidates, "measured", (json_int_t)judgement.measured, "guide",
        tune->guided ? "calibration" : "measuring", "exhaustive", tune->rules.exhaustive, "ended",
        ending_of(tune, &judgement), "verdict", tune_verdict_name(judgement.verdict));
    if (!record)
        return status_set(STATUS_MEMORY, "out of memory for a record");
    const struct rate_goal *goal = tune_goal(tune);
    if (goal->permille)
        json_object_set_new(record, "goal",
                            json_pack("{s:s, s:f}", "percentile",
                                      rate_percentile_name(goal->permille), "us",
                                      (double)goal->latency_ns / 1e3));
    if (judgement.winner != TUNE_NO_POINT) {
        add_winner(tune, record, &judgement);
    } else {
        json_object_set_new(record, "winner", json_null());
        json_object_set_new(record, "equal", json_array());
        if (judgement.closest != TUNE_NO_POINT)
            json_object_set_new(record, "closest", summary_of(tune, judgement.closest));
    }
    json_object_set_new(record, "naive", naive_array(tune));
    json_decref(tune->record);
    tune->record = record;
    return STATUS_OK;
}

static bool is_point(const struct tune *tune, json_int_t point)
{
    return point >= 0 && (size_t)point < tune->space.plan.count;
}

/* Whether all points that a record names are in the plan: the file may be edited. */
static bool names_points(const struct tune *tune, const json_t *record)
{
    const json_t *equal = tune_record_equals(record);
    bool all = is_point(tune, integer_at(json_object_get(record, "winner"), "point")) &&
               is_point(tune, integer_at(json_object_get(record, "closest"), "point")) &&
               is_point(tune, integer_at(json_object_get(record, "margin"), "over")) &&
               is_point(tune, integer_at(json_object_get(record, "preferred"), "over"));
    for (size_t i = 0; i < json_array_size(equal); i++)
        all = all && is_point(tune, json_integer_value(json_array_get(equal, i)));
    return all;
}

const json_t *tune_record_equals(const json_t *record)
{
    const json_t *equal = json_object_get(record, "equal");
    return equal ? equal : json_object_get(record, "tied");
}

bool tune_record_answers(const struct tune *tune, const json_t *record)
{
    json_t *constraints = constraints_object(tune);
    /* What all layouts were looked at for answers a search among some of them, too. */
    bool answers =
        (!tune->rules.exhaustive || json_is_true(json_object_get(record, "exhaustive"))) &&
        strcmp(text_at(record, "ended"), "complete") == 0 &&
        strcmp(text_at(record, "objective"), tune_objective_name(tune->objective)) == 0 &&
        json_equal(json_object_get(record, "constraints"), constraints) &&
        names_points(tune, record);
    json_decref(constraints);
    return answers;
}
