#include "orchestrator/compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "statistics/histogram.h"
#include "common/text.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/fields.h"
#include "orchestrator/results/settings.h"

#define ALPHA 0.025 /* on each side, as of a 95% interval */
#define BATCHES 32  /* of a window whose record lacks the number */
#define MOST_ROUNDS 1000
/* Latencies in one bucket of a histogram are equal. */
#define LATENCY_RESOLUTION (1.0 / (1 << HISTOGRAM_SUB_BITS))

static enum status no_memory(void)
{
    return status_set(STATUS_MEMORY, "out of memory for a comparison");
}

static struct estimate throughput_of(const json_t *point)
{
    double values[MOST_ROUNDS];
    size_t count = 0, index;
    const json_t *round;
    json_array_foreach(json_object_get(point, "rounds"), index, round)
    {
        double value = number_at(round, "throughput_ips");
        if (value > 0 && count < MOST_ROUNDS)
            values[count++] = value;
    }
    if (count > 1 && count == json_array_size(json_object_get(point, "rounds")))
        return estimate_from_rounds(values, count);
    const json_t *interval = json_object_get(point, "interval");
    double batches = number_at(interval, "batches");
    if (strcmp(text_at(interval, "method"), "wide") == 0)
        batches = 3; /* as wide as three values make it */
    double half = number_at(point, "ci95_rel");
    return estimate_from_half_width(number_at(point, "throughput_ips"),
                                    isnan(half) ? INFINITY : half,
                                    (batches >= 2 ? batches : BATCHES) - 1);
}

static struct estimate p99_of(const json_t *point)
{
    const json_t *latency = json_object_get(point, "latency_us");
    const json_t *bounds = json_object_get(json_object_get(latency, "bounds"), "p99");
    double value = number_at(latency, "p99");
    double low = json_number_value(json_array_get(bounds, 0));
    double high = json_number_value(json_array_get(bounds, 1));
    /* The value is the middle of a bucket, the bounds may be its edges. */
    return estimate_from_bounds(value,
                                low < value ? low
                                : low > 0   ? value
                                            : 0,
                                high > value ? high
                                : high > 0   ? value
                                             : 0,
                                LATENCY_RESOLUTION);
}

/* Of a figure that is the better the lower it is, as one of the opposite kind. */
static struct effect turned(const struct effect *effect)
{
    return (struct effect){-effect->log_ratio, effect->above, effect->below, effect->degrees_above,
                           effect->degrees_below};
}

static void fill_row(struct compare_row *row, const struct compare_pair *pair)
{
    const json_t *rate = json_object_get(pair->base, "rate");
    *row = (struct compare_row){.base = pair->base, .change = pair->change, .energy_ratio = NAN};
    row->base_measured = point_is_measured(row->base);
    row->change_measured = point_is_measured(row->change);
    row->verdict = row->throughput_verdict = row->p99_verdict = EFFECT_UNSURE;
    if (!row->base_measured || !row->change_measured)
        return;
    struct estimate base = throughput_of(row->base), change = throughput_of(row->change);
    row->has_throughput = base.value > 0 && change.value > 0;
    if (row->has_throughput)
        row->throughput = effect_of(&base, &change);
    base = p99_of(row->base);
    change = p99_of(row->change);
    row->has_p99 = base.value > 0 && change.value > 0;
    if (row->has_p99)
        row->p99 = effect_of(&base, &change);
    row->p99_has_interval = row->has_p99 && isfinite(row->p99.below) && isfinite(row->p99.above);
    row->p99_counts =
        row->p99_has_interval && json_is_object(rate) && json_object_get(rate, "search") == NULL;
    double joules = number_at(json_object_get(row->base, "telemetry"), "joules_per_iteration");
    double after = number_at(json_object_get(row->change, "telemetry"), "joules_per_iteration");
    if (joules > 0 && after > 0)
        row->energy_ratio = after / joules;
}

/* One figure of one point. */
struct test {
    struct effect effect; /* the better the higher */
    enum effect_verdict *verdict;
    bool
        *alone; /* set where it would be worse or better as the only one; NULL: it does not count */
};

/* Judges all tests together: if nothing has changed anywhere, any of them comes out as worse in at
 * most a share ALPHA of all cases, and the same for better. */
static enum status judge(struct comparison *comparison, struct test *tests, size_t count)
{
    double *chances = calloc(count + 1, sizeof *chances);
    bool *named = calloc(count + 1, sizeof *named);
    enum status status = chances != NULL && named != NULL ? STATUS_OK : no_memory();
    for (int sign = -1; status == STATUS_OK && sign <= 1; sign += 2) {
        enum effect_verdict beyond = sign < 0 ? EFFECT_WORSE : EFFECT_BETTER;
        for (size_t i = 0; i < count; i++)
            chances[i] = effect_chance(&tests[i].effect, comparison->threshold, sign);
        effect_holm(chances, count, ALPHA, named);
        for (size_t i = 0; i < count; i++) {
            enum effect_verdict own = effect_verdict(&tests[i].effect, comparison->threshold);
            if (own != beyond) {
                if (own == EFFECT_SAME || own == EFFECT_UNSURE)
                    *tests[i].verdict = own;
                continue;
            }
            bool holds = named[i] || !comparison->holm;
            *tests[i].verdict = holds ? beyond : EFFECT_UNSURE;
            if (!holds && tests[i].alone != NULL)
                *tests[i].alone = true;
        }
    }
    free(chances);
    free(named);
    return status;
}

static enum status judge_all(struct comparison *comparison)
{
    struct test *tests = calloc(2 * comparison->count + 1, sizeof *tests);
    enum status status = tests != NULL ? STATUS_OK : no_memory();
    /* Those that the exit status depends on, then the p99 latencies that are only shown. */
    for (int counted = 1; status == STATUS_OK && counted >= 0; counted--) {
        size_t count = 0;
        for (size_t i = 0; i < comparison->count; i++) {
            struct compare_row *row = &comparison->rows[i];
            if (counted && row->has_throughput)
                tests[count++] =
                    (struct test){row->throughput, &row->throughput_verdict, &row->alone};
            if (row->p99_has_interval && row->p99_counts == (counted == 1))
                tests[count++] = (struct test){turned(&row->p99), &row->p99_verdict,
                                               counted ? &row->alone : NULL};
        }
        status = judge(comparison, tests, count);
        if (counted == 0)
            break;
    }
    free(tests);
    return status;
}

static bool is_single(const json_t *point)
{
    return json_array_size(json_object_get(point, "rounds")) < 2;
}

/* One that was interrupted may have been well. */
static bool is_interrupted(const json_t *point)
{
    return strcmp(text_at(point, "status"), "interrupted") == 0;
}

static enum effect_verdict row_verdict(const struct compare_row *row)
{
    if (row->base_measured && !row->change_measured)
        return is_interrupted(row->change) ? EFFECT_UNSURE : EFFECT_WORSE;
    if (!row->base_measured && row->change_measured)
        return is_interrupted(row->base) ? EFFECT_UNSURE : EFFECT_BETTER;
    if (!row->p99_counts)
        return row->throughput_verdict;
    /* The stronger word of the two. */
    static const enum effect_verdict order[] = {EFFECT_WORSE, EFFECT_BETTER, EFFECT_UNSURE};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (row->throughput_verdict == order[i] || row->p99_verdict == order[i])
            return order[i];
    return EFFECT_SAME;
}

static bool is_emulated(const json_t *header)
{
    return json_is_true(json_object_get(json_object_get(header, "gpu"), "emulated"));
}

static bool is_same(const json_t *base, const json_t *change)
{
    return base == change || (base != NULL && change != NULL && json_equal(base, change));
}

static void differ(json_t *lines, const char *what, const json_t *base, const json_t *change)
{
    if (is_same(base, change))
        return;
    char *first = base != NULL ? json_dumps(base, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *second = change != NULL ? json_dumps(change, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_array_append_new(lines, json_sprintf("%s: %.300s in BASE, %.300s in NEW", what,
                                              first != NULL ? first : "unknown",
                                              second != NULL ? second : "unknown"));
    free(first);
    free(second);
}

static void note_other_machine(json_t *lines, const char *file, const json_t *header)
{
    char remark[ORIGIN_REMARK];
    if (*origin_remark(header, remark))
        json_array_append_new(lines, json_sprintf("%s: %s", file, remark));
}

/* What speaks against laying the two files beside each other, the gravest first. */
static json_t *header_differences(const json_t *base, const json_t *change)
{
    json_t *lines = json_array();
    const json_t *gpu = json_object_get(base, "gpu"), *other = json_object_get(change, "gpu");
    const json_t *name = json_object_get(gpu, "name"), *name2 = json_object_get(other, "name");
    static const struct {
        const char *field, *what;
    } fields[] = {{"driver", "DIFFERENT DRIVER"},       {"host", "different host"},
                  {"cpus", "different number of CPUs"}, {"cpu_quota", "different CPU quota"},
                  {"topology", "different processors"}, {"kernel", "different operating system"},
                  {"mpsweep", "different mpsweep"}};
    note_other_machine(lines, "BASE", base);
    note_other_machine(lines, "NEW", change);
    differ(lines, "DIFFERENT GPU", name, name2);
    if (is_same(name, name2) &&
        !is_same(json_object_get(gpu, "uuid"), json_object_get(other, "uuid")))
        json_array_append_new(lines, json_string("another GPU of the same kind"));
    differ(lines, "DIFFERENT WORKLOAD", json_object_get(json_object_get(base, "workload"), "name"),
           json_object_get(json_object_get(change, "workload"), "name"));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        differ(lines, fields[i].what, json_object_get(base, fields[i].field),
               json_object_get(change, fields[i].field));
    return lines;
}

static enum status check_files(const struct comparison *comparison)
{
    bool base = is_emulated(comparison->base.header);
    bool change = is_emulated(comparison->change.header);
    if (base != change)
        return status_set(STATUS_USAGE,
                          "'%s' is of an emulated GPU and '%s' of a real one: their numbers have "
                          "nothing to do with each other",
                          base ? comparison->base_path : comparison->change_path,
                          base ? comparison->change_path : comparison->base_path);
    if (comparison->match.count == 0)
        return status_set(STATUS_USAGE,
                          "no point of '%s' has the settings of one of '%s': nothing to compare",
                          comparison->change_path, comparison->base_path);
    return STATUS_OK;
}

static void find_varying(struct comparison *comparison)
{
    for (int s = 0; s < SETTINGS_IDS; s++) {
        char other[POINT_TEXT_BYTES];
        settings_figure_text(comparison->rows[0].base, (enum option_id)s, comparison->settings[s]);
        for (size_t i = 1; i < comparison->count && !comparison->varies[s]; i++) {
            settings_figure_text(comparison->rows[i].base, (enum option_id)s, other);
            comparison->varies[s] = strcmp(comparison->settings[s], other) != 0;
        }
    }
}

enum status comparison_make(const char *base_path, const char *change_path, double threshold,
                            bool holm, struct comparison *out)
{
    struct comparison comparison = {
        .base_path = base_path, .change_path = change_path, .threshold = threshold, .holm = holm};
    enum status status = results_load(base_path, fields_of_comparisons, &comparison.base);
    if (status == STATUS_OK)
        status = results_load(change_path, fields_of_comparisons, &comparison.change);
    if (status == STATUS_OK)
        results_make_displayable(&comparison.base);
    if (status == STATUS_OK)
        results_make_displayable(&comparison.change);
    if (status == STATUS_OK)
        status = compare_match(comparison.base.points, comparison.change.points, &comparison.match);
    if (status == STATUS_OK)
        status = check_files(&comparison);
    if (status != STATUS_OK)
        goto out;
    comparison.rows = calloc(comparison.match.count, sizeof *comparison.rows);
    comparison.differences = header_differences(comparison.base.header, comparison.change.header);
    if (comparison.rows == NULL || comparison.differences == NULL) {
        status = no_memory();
        goto out;
    }
    for (; comparison.count < comparison.match.count; comparison.count++)
        fill_row(&comparison.rows[comparison.count], &comparison.match.pairs[comparison.count]);
    find_varying(&comparison);
    status = judge_all(&comparison);
    if (status != STATUS_OK)
        goto out;
    for (size_t i = 0; i < comparison.count; i++) {
        struct compare_row *row = &comparison.rows[i];
        row->verdict = row_verdict(row);
        comparison.alone += row->alone && row->verdict == EFFECT_UNSURE;
        comparison.single +=
            row->has_throughput && (is_single(row->base) || is_single(row->change));
        if (row->base_measured || row->change_measured)
            comparison.counts[row->verdict]++;
        else
            comparison.neither++;
    }
    *out = comparison;
    comparison = (struct comparison){0};
out:
    comparison_release(&comparison);
    return status;
}

void comparison_release(struct comparison *comparison)
{
    results_release(&comparison->base);
    results_release(&comparison->change);
    compare_match_release(&comparison->match);
    json_decref(comparison->differences);
    free(comparison->rows);
    *comparison = (struct comparison){0};
}

void comparison_settings(const struct comparison *comparison, const json_t *point, char *out,
                         size_t size)
{
    struct text text = {.at = out, .size = size};
    *out = '\0';
    for (int s = 0; s < SETTINGS_IDS; s++) {
        char own[POINT_TEXT_BYTES];
        settings_figure_text(point, (enum option_id)s, own);
        bool differs = comparison->varies[s] || strcmp(comparison->settings[s], own) != 0;
        if (differs && own[0] != '\0' && strcmp(own, SETTINGS_DEFAULT_CONNECTIONS) != 0)
            text_append(&text, "%s%s", text.length > 0 ? ", " : "", own);
    }
}

void comparison_remark(const struct compare_row *row, char *out, size_t size)
{
    const json_t *point = row->base_measured ? row->change : row->base;
    const char *which = row->base_measured ? "NEW" : "BASE";
    const char *error = text_at(point, "error");
    if (row->base_measured && row->change_measured)
        snprintf(out, size, "%s", row->has_throughput ? "" : "no throughput to compare");
    else if (!row->base_measured && !row->change_measured)
        snprintf(out, size, "BASE %.20s, NEW %.20s", text_at(row->base, "status"),
                 text_at(row->change, "status"));
    else
        snprintf(out, size, "%s %.20s%s%s", which, text_at(point, "status"),
                 error[0] != '\0' ? ": " : "", error);
}

char *comparison_summary(const struct comparison *comparison)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    for (int v = 0; v < EFFECT_VERDICTS; v++)
        fprintf(out.file, "%s%zu %s", v > 0 ? ", " : "", comparison->counts[v],
                effect_verdict_name((enum effect_verdict)v));
    const char *separator = "; ";
    const struct {
        size_t count;
        const char *what;
    } rest[] = {{comparison->neither, "without a number in both"},
                {json_array_size(comparison->match.only_base), "only in BASE"},
                {json_array_size(comparison->match.only_change), "only in NEW"}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        if (rest[i].count == 0)
            continue;
        fprintf(out.file, "%s%zu %s", separator, rest[i].count, rest[i].what);
        separator = ", ";
    }
    return text_stream_close(&out);
}
