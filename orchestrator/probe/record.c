#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "files/results_read.h"
#include "config.h"
#include "orchestrator/probe/internal.h"
#include "orchestrator/record/record.h"

#define NOT_MEASURED "no round of it was measured"

/* The arm that the verdict is about: the probe's own, or, where that was not asked for, the first
 * that has a control. */
static const struct probe_arm_data *find_subject(const struct probe_outcome *outcome)
{
    const struct probe *probe = outcome->probe;
    const struct probe_arm_data *first = NULL;
    for (size_t i = 0; i < probe->arm_count; i++) {
        const struct probe_arm_data *data = &outcome->arms[i];
        if (!data->chosen || !data->arm->control)
            continue;
        if (strcmp(data->arm->name, probe->subject) == 0)
            return data;
        if (!first)
            first = data;
    }
    return first;
}

/* A lack of this machine is not a failure. */
static bool is_lacking(enum status status)
{
    return status == STATUS_UNSUPPORTED || status == STATUS_NOT_FOUND;
}

/* By the given metric of the control. Of both, what they have in common: an arm cut short by an
 * interrupt has fewer rounds. */
static enum status compare_arms(const struct probe_arm_data *arm,
                                const struct probe_arm_data *control, unsigned metric,
                                struct probe_effect *out)
{
    unsigned rounds = arm->rounds < control->rounds ? arm->rounds : control->rounds;
    return probe_compare(arm->series[0], control->series[metric], rounds, out);
}

/* A median does not show the few that hung, and these are an effect. */
static enum probe_verdict judge(const struct probe *probe, const struct probe_arm_data *arm,
                                const struct probe_arm_data *control,
                                const struct probe_effect *effect, double control_us)
{
    enum probe_verdict verdict =
        probe_judge(effect, control_us, probe->matters_ratio, (double)probe->matters_ns / 1e3);
    bool hung = arm->blocked[0] > 0 || control->blocked[probe->control_metric] > 0;
    return verdict == PROBE_NOT_OBSERVED && hung ? PROBE_INCONCLUSIVE : verdict;
}

static const char *why_inconclusive(const struct probe *probe, const struct probe_result *result)
{
    if (isnan(result->effect.low))
        return "too few samples for an interval: give --rounds 3 or more";
    if (result->control->blocked[probe->control_metric] > 0)
        return "samples of the control hung: there is nothing to compare with";
    if (result->subject->blocked[0] > 0)
        return "some hung, however long the median is";
    return "the interval holds effects that matter and effects that do not: more --rounds make it "
           "narrower";
}

/* Points of one curve do the same, only more or less of it. */
static bool is_remedy(const struct probe_outcome *outcome, const struct probe_arm *arm)
{
    const char *const *remedies = outcome->probe->remedies;
    for (size_t i = 0; remedies && remedies[i]; i++) {
        const struct probe_arm *remedy = probe_outcome_arm(outcome, remedies[i])->arm;
        if (arm == remedy ||
            (arm->series && remedy->series && strcmp(arm->series, remedy->series) == 0))
            return true;
    }
    return false;
}

/* Whether two arms do as much, where their x is known: smaller copies are not a remedy. */
static bool are_of_one_size(const struct probe_arm *one, const struct probe_arm *other)
{
    return !one->series || !other->series || one->x == other->x;
}

/* The fastest of the remedies that are faster for sure. */
static enum status find_remedy(const struct probe_outcome *outcome, struct probe_result *out)
{
    const char *const *remedies = outcome->probe->remedies;
    for (size_t i = 0; remedies && remedies[i]; i++) {
        const struct probe_arm_data *data = probe_outcome_arm(outcome, remedies[i]);
        struct probe_effect gain;
        if (!probe_arm_is_measured(data) || !are_of_one_size(out->subject->arm, data->arm))
            continue;
        enum status status = compare_arms(out->subject, data, 0, &gain);
        if (status != STATUS_OK)
            return status;
        if (gain.low > 1 && (!out->remedy || gain.ratio > out->gain.ratio)) {
            out->remedy = data;
            out->gain = gain;
        }
    }
    return STATUS_OK;
}

enum status probe_conclude(const struct probe_outcome *outcome, struct probe_result *out)
{
    const struct probe *probe = outcome->probe;
    out->verdict = PROBE_INCONCLUSIVE;
    out->subject = find_subject(outcome);
    if (!out->subject)
        return status_set(STATUS_USAGE, "no arm that has a control was asked for");
    out->control = probe_outcome_arm(outcome, out->subject->arm->control);
    const struct probe_arm_data *const both[] = {out->subject, out->control};
    for (size_t i = 0; i < 2; i++) {
        if (probe_arm_is_measured(both[i]))
            continue;
        snprintf(out->error, sizeof out->error, "%s: %s", both[i]->arm->name,
                 *both[i]->error ? both[i]->error : NOT_MEASURED);
        if (is_lacking(both[i]->status)) {
            out->verdict = PROBE_NEEDS;
            snprintf(out->needs, sizeof out->needs, "%s",
                     both[i]->status == STATUS_NOT_FOUND ? "MPS" : "another driver or GPU");
        }
        return STATUS_OK;
    }
    enum status status =
        probe_summarise(out->subject->series[0], out->subject->rounds, &out->subject_summary);
    if (status == STATUS_OK)
        status = probe_summarise(out->control->series[probe->control_metric], out->control->rounds,
                                 &out->control_summary);
    if (status == STATUS_OK)
        status = compare_arms(out->subject, out->control, probe->control_metric, &out->effect);
    /* A remedy needs no remedy. */
    out->needs_remedy = !is_remedy(outcome, out->subject->arm);
    if (status == STATUS_OK && out->needs_remedy)
        status = find_remedy(outcome, out);
    if (status != STATUS_OK)
        return status;
    out->verdict =
        judge(probe, out->subject, out->control, &out->effect, out->control_summary.median_us);
    if (out->verdict == PROBE_INCONCLUSIVE)
        snprintf(out->error, sizeof out->error, "%s", why_inconclusive(probe, out));
    return STATUS_OK;
}

static json_t *interval(double low, double high)
{
    return json_pack("[o, o]", record_real_or_null(low), record_real_or_null(high));
}

static json_t *times_object(const struct probe_summary *summary)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "median_us", record_real_or_null(summary->median_us),
        "ci95_us", interval(summary->low_us, summary->high_us), "mean_us",
        record_real_or_null(summary->mean_us), "p99_us", record_real_or_null(summary->p99_us),
        "max_us", record_real_or_null(summary->max_us));
}

static void add_summary(json_t *object, const struct probe_summary *summary)
{
    json_add(object, json_pack("{s:I, s:I}", "samples", (json_int_t)summary->samples, "dropped",
                               (json_int_t)summary->dropped));
    json_add(object, times_object(summary));
}

static json_t *more_metrics(const struct probe *probe, const struct probe_arm_data *data)
{
    json_t *metrics = json_array();
    for (unsigned m = 1; probe->metrics[m]; m++) {
        struct probe_summary summary;
        if (probe_summarise(data->series[m], data->rounds, &summary) != STATUS_OK)
            continue;
        json_t *metric = json_pack("{s:s, s:o*}", "metric", probe->metrics[m], "level",
                                   m == probe->level_metric ? json_true() : NULL);
        add_summary(metric, &summary);
        json_object_set_new(metric, "blocked", json_integer((json_int_t)data->blocked[m]));
        json_array_append_new(metrics, metric);
    }
    return metrics;
}

static void add_comparison(json_t *object, const struct probe_outcome *outcome,
                           const struct probe_arm_data *data)
{
    const struct probe *probe = outcome->probe;
    const struct probe_arm_data *control =
        data->arm->control ? probe_outcome_arm(outcome, data->arm->control) : NULL;
    struct probe_effect effect;
    struct probe_summary summary;
    if (!control || !probe_arm_is_measured(control) ||
        compare_arms(data, control, probe->control_metric, &effect) != STATUS_OK ||
        probe_summarise(control->series[probe->control_metric], control->rounds, &summary) !=
            STATUS_OK)
        return;
    enum probe_verdict verdict = judge(probe, data, control, &effect, summary.median_us);
    json_add(object,
             json_pack("{s:o, s:o, s:s}", "ratio", record_real_or_null(effect.ratio), "ratio_ci95",
                       interval(effect.low, effect.high), "verdict", probe_verdict_name(verdict)));
    if (probe->limit)
        json_object_set_new(object, "limit",
                            json_string(probe->limit(outcome, data->arm, verdict)));
}

static const char *arm_status(const struct probe_arm_data *data)
{
    if (data->status != STATUS_OK)
        return is_lacking(data->status) ? "not here" : "failed";
    return data->rounds > 0 ? "ok" : "interrupted";
}

static json_t *arm_object(const struct probe_outcome *outcome, const struct probe_arm_data *data)
{
    const struct probe_arm *arm = data->arm;
    struct probe_summary summary;
    json_t *object =
        json_pack("{s:s, s:s, s:s?, s:i, s:b, s:s}", "arm", arm->name, "what", arm->what, "control",
                  arm->control, "processes", (int)probe_arm_processes(arm), "mps",
                  (arm->flags & PROBE_ARM_OVER_MPS) != 0, "status", arm_status(data));
    if (!object)
        return NULL;
    if (arm->series)
        json_add(object, json_pack("{s:s, s:f}", "series", arm->series, "x", arm->x));
    if (!probe_arm_is_measured(data)) {
        json_object_set_new(object, "error", json_text(*data->error ? data->error : NOT_MEASURED));
        return object;
    }
    json_object_set_new(object, "rounds", json_integer(data->rounds));
    if (probe_summarise(data->series[0], data->rounds, &summary) == STATUS_OK)
        add_summary(object, &summary);
    if (outcome->probe->level_metric &&
        probe_summarise_unscaled(data->series[0], data->rounds, &summary) == STATUS_OK)
        json_object_set_new(object, "unscaled", times_object(&summary));
    json_object_set_new(object, "blocked", json_integer((json_int_t)data->blocked[0]));
    add_comparison(object, outcome, data);
    json_t *more = more_metrics(outcome->probe, data);
    if (json_array_size(more) > 0)
        json_object_set(object, "metrics", more);
    json_decref(more);
    if (arm->flags & PROBE_ARM_OVER_MPS)
        json_object_set_new(object, "attached",
                            json_pack("{s:i, s:i}", "expected", (int)data->attached_expected,
                                      "seen", (int)data->attached_seen));
    return object;
}

static json_t *arms_array(const struct probe_outcome *outcome)
{
    json_t *arms = json_array();
    for (size_t i = 0; i < outcome->probe->arm_count; i++)
        if (outcome->arms[i].chosen)
            json_array_append_new(arms, arm_object(outcome, &outcome->arms[i]));
    return arms;
}

static json_t *effect_object(const struct probe *probe, const struct probe_result *result)
{
    if (!result->subject || !isfinite(result->effect.ratio) || result->effect.ratio <= 0)
        return json_null();
    return json_pack("{s:s, s:s, s:s, s:s*, s:s, s:o, s:o, s:o, s:o, s:f, s:f}", "arm",
                     result->subject->arm->name, "control", result->control->arm->name, "metric",
                     probe->metrics[0], "control_metric",
                     probe->control_metric ? probe->metrics[probe->control_metric] : NULL, "unit",
                     "us", "value", record_real_or_null(result->subject_summary.median_us),
                     "control_value", record_real_or_null(result->control_summary.median_us),
                     "ratio", record_real_or_null(result->effect.ratio), "ci95",
                     interval(result->effect.low, result->effect.high), "matters_ratio",
                     probe->matters_ratio, "matters_us", (double)probe->matters_ns / 1e3);
}

/* Samples come faster than there is room for where a call is very short, and the last of a round
 * are then missing. */
static void note_dropped(const struct probe_outcome *outcome, json_t *notes)
{
    char text[256];
    for (size_t a = 0; a < outcome->probe->arm_count; a++) {
        const struct probe_arm_data *data = &outcome->arms[a];
        for (unsigned m = 0; probe_arm_is_measured(data) && outcome->probe->metrics[m]; m++) {
            struct probe_summary summary;
            if (probe_summarise(data->series[m], data->rounds, &summary) != STATUS_OK ||
                summary.dropped == 0)
                continue;
            uint64_t all = summary.samples + summary.dropped;
            snprintf(text, sizeof text,
                     "arm %s, %s: the last %llu of %llu samples are left out, a process has room "
                     "for %d in a round",
                     data->arm->name, outcome->probe->metrics[m],
                     (unsigned long long)summary.dropped, (unsigned long long)all, PROBE_SAMPLES);
            json_array_append_new(notes, json_string(text));
        }
    }
}

/* Numbers that notes are about go into the object `inferred`, by name. */
static json_t *notes_array(const struct probe_outcome *outcome, json_t *inferred)
{
    json_t *array = json_array();
    for (size_t i = 0; outcome->probe->infer[i]; i++) {
        struct probe_note note = {0};
        if (!outcome->probe->infer[i](outcome, &note))
            continue;
        json_array_append_new(array, json_string(note.text));
        if (note.quantity)
            json_object_set_new(inferred, note.quantity, record_real_or_null(note.value));
    }
    note_dropped(outcome, array);
    return array;
}

json_t *probe_record(const struct probe_outcome *outcome, const struct probe_result *result,
                     double seconds)
{
    const struct probe *probe = outcome->probe;
    char verdict[96];
    bool helps = result->verdict == PROBE_OBSERVED && result->needs_remedy;
    snprintf(verdict, sizeof verdict, "%s%s%s", probe_verdict_name(result->verdict),
             *result->needs ? " " : "", result->needs);
    json_t *inferred = json_object();
    json_t *arms = result->subject ? arms_array(outcome) : json_array();
    json_t *record = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "type", "probe", "probe",
                               probe->name, "verdict", verdict, "question", probe->question,
                               "effect", effect_object(probe, result), "arms", arms, "notes",
                               notes_array(outcome, inferred));
    if (record && json_object_size(inferred) > 0)
        json_object_set(record, "inferred", inferred);
    json_decref(inferred);
    if (!record)
        return NULL;
    json_add(record,
             json_pack("{s:o, s:o*, s:o}", "error",
                       *result->error ? json_text(result->error) : json_null(), "ended_early",
                       *result->ended_early ? json_text(result->ended_early) : NULL, "remedy",
                       helps ? json_string(probe->remedy) : json_null()));
    if (helps && result->remedy)
        json_add(record,
                 json_pack("{s:s, s:o, s:o}", "remedy_arm", result->remedy->arm->name,
                           "remedy_gain", record_real_or_null(result->gain.ratio),
                           "remedy_gain_ci95", interval(result->gain.low, result->gain.high)));
    json_add(record, json_pack("{s:s*, s:f}", "xlabel", probe->xlabel, "seconds", seconds));
    return record;
}

json_t *probe_header(const struct probing *probing)
{
    char started[32];
    clock_wall_iso8601(started);
    json_t *record = json_pack("{s:s, s:i, s:s, s:s}", "type", "header", "schema", RESULTS_SCHEMA,
                               "mpsweep", PACKAGE_VERSION, "started", started);
    if (!record || record_add_machine(&probing->session, record) != STATUS_OK) {
        json_decref(record);
        return NULL;
    }
    json_t *names = json_array();
    for (size_t i = 0; i < probing->count; i++)
        json_array_append_new(names, json_string(probing->outcomes[i].probe->name));
    json_add(record, json_pack("{s:o, s:I, s:f, s:s*}", "probes", names, "seed",
                               (json_int_t)options_integer(probing->options, OPTION_PROBE_SEED),
                               "timeout_s", options_real(probing->options, OPTION_PROBE_TIMEOUT),
                               "arms", options_text(probing->options, OPTION_PROBE_ARMS)));
    return record;
}
