#include "orchestrator/compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/paths.h"
#include "common/shell_word.h"
#include "statistics/histogram.h"
#include "common/text.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/fields.h"
#include "orchestrator/results/settings.h"

#define BATCHES 32 /* of a window whose record lacks the number */
/* Latencies in one bucket of a histogram are equal. */
#define LATENCY_RESOLUTION (1.0 / (1 << HISTOGRAM_SUB_BITS))
/* Of a command, in the line that reports a different one. */
#define COMMAND_BYTES 120

static enum status no_memory(void)
{
    return status_set(STATUS_MEMORY, "out of memory for a comparison");
}

/* A figure of each round; 0 where a round lacks it. */
static size_t rounds_of(const json_t *point, const char *figure, double values[EFFECT_MOST_ROUNDS])
{
    size_t count = 0, index;
    const json_t *round;
    json_array_foreach(json_object_get(point, "rounds"), index, round)
    {
        double value = number_at(round, figure);
        if (!(value > 0) || !isfinite(value))
            return 0;
        if (count < EFFECT_MOST_ROUNDS)
            values[count++] = value;
    }
    return count;
}

static struct estimate throughput_of(const json_t *point)
{
    double values[EFFECT_MOST_ROUNDS];
    double half = point_half_rel(point);
    size_t count = rounds_of(point, "throughput_ips", values);
    if (point_rate_is_searched(point))
        return estimate_from_half_width(number_at(point, "throughput_ips"), half, INFINITY);
    if (count > 1)
        return estimate_from_rounds(values, count);
    double batches = number_at(json_object_get(point, "interval"), "batches");
    return estimate_from_half_width(number_at(point, "throughput_ips"),
                                    isnan(half) ? INFINITY : half,
                                    (batches >= 2 ? batches : BATCHES) - 1);
}

static struct estimate p99_of(const json_t *point)
{
    double values[EFFECT_MOST_ROUNDS];
    const json_t *latency = json_object_get(point, "latency_us");
    const json_t *bounds = json_object_get(json_object_get(latency, "bounds"), "p99");
    double value = number_at(latency, "p99");
    double low = json_number_value(json_array_get(bounds, 0));
    double high = json_number_value(json_array_get(bounds, 1));
    size_t count = rounds_of(point, "p99_us", values);
    if (count > 1) {
        struct estimate estimate = estimate_from_rounds(values, count);
        estimate.below += LATENCY_RESOLUTION;
        estimate.above += LATENCY_RESOLUTION;
        return estimate;
    }
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

static double ratio_of(double base, double change)
{
    return base > 0 && change > 0 ? change / base : NAN;
}

static void fill_row(struct compare_row *row, const struct compare_pair *pair)
{
    const json_t *rate = json_object_get(pair->base, "rate");
    *row = (struct compare_row){
        .base = pair->base, .change = pair->change, .cpus_ratio = NAN, .energy_ratio = NAN};
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
    row->cpus_ratio = ratio_of(point_cpus_in_use(row->base), point_cpus_in_use(row->change));
    row->energy_ratio = ratio_of(point_joules(row->base), point_joules(row->change));
}

/* One figure of one point, and where its verdict goes. */
struct figure {
    enum effect_verdict *verdict;
    bool *alone; /* NULL: it does not count */
};

/* Adds a test to the others; its rounds are the newest of all values. */
static void add_test(const struct compare_row *row, const char *name, struct effect_test *test,
                     double *values)
{
    double own[EFFECT_MOST_ROUNDS];
    bool latency = strcmp(name, "p99_us") == 0;
    size_t base = rounds_of(row->base, name, own);
    for (size_t i = 0; i < base; i++)
        values[i] = latency ? -log(own[i]) : log(own[i]);
    size_t change = rounds_of(row->change, name, own);
    for (size_t i = 0; i < change; i++)
        values[base + i] = latency ? -log(own[i]) : log(own[i]);
    *test = (struct effect_test){.effect = latency ? turned(&row->p99) : row->throughput,
                                 .rounds = {values, base, change}};
}

static size_t rounds_at_most(const struct compare_row *row)
{
    size_t base = json_array_size(json_object_get(row->base, "rounds"));
    size_t change = json_array_size(json_object_get(row->change, "rounds"));
    return (base < EFFECT_MOST_ROUNDS ? base : EFFECT_MOST_ROUNDS) +
           (change < EFFECT_MOST_ROUNDS ? change : EFFECT_MOST_ROUNDS);
}

static enum status judge_all(struct comparison *comparison)
{
    size_t rounds = 1;
    for (size_t i = 0; i < comparison->count; i++)
        rounds += 2 * rounds_at_most(&comparison->rows[i]);
    struct effect_test *tests = calloc(2 * comparison->count + 1, sizeof *tests);
    struct figure *figures = calloc(2 * comparison->count + 1, sizeof *figures);
    double *values = calloc(rounds, sizeof *values);
    bool done = tests != NULL && figures != NULL && values != NULL;
    /* Those that the exit status depends on, then the p99 latencies that are only shown. */
    for (int counted = 1; done && counted >= 0; counted--) {
        size_t count = 0, used = 0;
        for (size_t i = 0; i < comparison->count; i++) {
            struct compare_row *row = &comparison->rows[i];
            if (counted && row->has_throughput) {
                figures[count] = (struct figure){&row->throughput_verdict, &row->alone};
                add_test(row, "throughput_ips", &tests[count], values + used);
                used += tests[count].rounds.base + tests[count].rounds.change;
                count++;
            }
            if (row->p99_has_interval && row->p99_counts == (counted == 1)) {
                figures[count] = (struct figure){&row->p99_verdict, counted ? &row->alone : NULL};
                add_test(row, "p99_us", &tests[count], values + used);
                used += tests[count].rounds.base + tests[count].rounds.change;
                count++;
            }
        }
        done = effect_judge(tests, count, comparison->threshold, comparison->holm);
        for (size_t i = 0; done && i < count; i++) {
            *figures[i].verdict = tests[i].verdict;
            if (figures[i].alone != NULL)
                *figures[i].alone |= tests[i].alone;
        }
    }
    free(tests);
    free(figures);
    free(values);
    return done ? STATUS_OK : no_memory();
}

static bool has_few_rounds(const struct compare_row *row)
{
    size_t base = json_array_size(json_object_get(row->base, "rounds"));
    size_t change = json_array_size(json_object_get(row->change, "rounds"));
    return row->has_throughput && (base < 2 || change < 2 || !effect_can_be_found(base, change));
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

static bool is_same(const json_t *base, const json_t *change)
{
    return base == change || json_equal(base, change);
}

static void add_difference(json_t *lines, const char *what, const json_t *base,
                           const json_t *change)
{
    char *first = base != NULL ? json_dumps(base, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *second = change != NULL ? json_dumps(change, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_array_append_new(lines, json_sprintf("%s: %.300s in BASE, %.300s in NEW", what,
                                              first != NULL ? first : "unknown",
                                              second != NULL ? second : "unknown"));
    free(first);
    free(second);
}

static void differ(json_t *lines, const char *what, const json_t *base, const json_t *change)
{
    if (!is_same(base, change))
        add_difference(lines, what, base, change);
}

/* Of settings that are the defaults there is no record. */
static void differ_emulated(json_t *lines, const json_t *base, const json_t *change)
{
    json_t *none = json_string("the defaults");
    differ(lines, "DIFFERENT EMULATED MACHINE", base ? base : none, change ? change : none);
    json_decref(none);
}

/* The words as one types them. A long command begins with the word before the one with that index,
 * which may be its option. NULL: there is no command, or no memory. */
static json_t *command_text(const json_t *words, size_t different)
{
    char brief[COMMAND_BYTES];
    struct text_stream out;
    long begin = 0;
    if (!json_is_array(words) || !text_stream_open(&out))
        return NULL;
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (i + 1 == different)
            begin = ftell(out.file);
        fputs(i > 0 ? " " : "", out.file);
        shell_word_write(out.file, word ? word : "?");
    }
    char *text = text_stream_close(&out);
    if (!text)
        return NULL;
    json_t *shown = strlen(text) < sizeof brief
                        ? json_string(text)
                        : json_sprintf("%s%s", begin > 0 ? "..." : "",
                                       text_shortened(text + begin, brief, sizeof brief));
    free(text);
    return shown;
}

static void differ_command(json_t *lines, const json_t *base, const json_t *change)
{
    size_t different = 0;
    if (is_same(base, change))
        return;
    while (different < json_array_size(base) &&
           json_equal(json_array_get(base, different), json_array_get(change, different)))
        different++;
    json_t *first = command_text(base, different), *second = command_text(change, different);
    add_difference(lines, "DIFFERENT COMMAND", first, second);
    json_decref(first);
    json_decref(second);
}

/* A file with other content under the same path. what: as a difference begins. */
static void differ_content(json_t *lines, const char *what, const json_t *file, const json_t *other)
{
    char text[320], path[256];
    if (strcmp(text_at(file, "path"), text_at(other, "path")) != 0)
        return;
    snprintf(text, sizeof text, "%s '%s'", what,
             text_displayed(text_at(file, "path"), path, sizeof path));
    differ(lines, text, json_object_get(file, "digest"), json_object_get(other, "digest"));
}

/* A header of another version lacks some. */
static void differ_files(json_t *lines, const char *what, const json_t *base, const json_t *change)
{
    for (size_t i = 0; i < json_array_size(base); i++)
        for (size_t j = 0; j < json_array_size(change); j++)
            differ_content(lines, what, json_array_get(base, i), json_array_get(change, j));
}

static void differ_workload(json_t *lines, const json_t *base, const json_t *change)
{
    const json_t *name = json_object_get(base, "name"), *name2 = json_object_get(change, "name");
    differ(lines, "DIFFERENT WORKLOAD", name, name2);
    if (is_same(name, name2))
        differ_command(lines, json_object_get(base, "argv"), json_object_get(change, "argv"));
    /* Another version of the program may be what is compared; what is sent is not. */
    differ_files(lines, "different content of", json_object_get(base, "files"),
                 json_object_get(change, "files"));
    differ_files(lines, "DIFFERENT CONTENT OF", json_object_get(base, "request_files"),
                 json_object_get(change, "request_files"));
}

static void note_other_machine(json_t *lines, const char *file, const json_t *header)
{
    char remark[ORIGIN_REMARK];
    if (*origin_remark(header, remark))
        json_array_append_new(lines, json_sprintf("%s: %s", file, remark));
}

/* CPUs' worth of time; 0 in either form: there is none. */
static void differ_quota(json_t *lines, const json_t *base, const json_t *change)
{
    const json_t *quotas[] = {base, change};
    json_t *shown[2];
    if (json_is_number(base) && json_is_number(change) &&
        json_number_value(base) == json_number_value(change))
        return;
    for (int i = 0; i < 2; i++)
        shown[i] = json_is_number(quotas[i]) && !(json_number_value(quotas[i]) > 0.0)
                       ? json_string("none")
                       : json_deep_copy(quotas[i]);
    differ(lines, "different CPU quota", shown[0], shown[1]);
    json_decref(shown[0]);
    json_decref(shown[1]);
}

/* What speaks against laying the two files beside each other, the gravest first. */
static json_t *header_differences(const struct comparison *comparison)
{
    json_t *lines = json_array();
    const json_t *base = comparison->base.header, *change = comparison->change.header;
    const json_t *gpu = json_object_get(base, "gpu"), *other = json_object_get(change, "gpu");
    const json_t *name = json_object_get(gpu, "name"), *name2 = json_object_get(other, "name");
    static const struct {
        const char *field, *what;
    } fields[] = {{"driver", "DIFFERENT DRIVER"},           {"host", "different host"},
                  {"cpus", "different number of CPUs"},     {"topology", "different processors"},
                  {"kernel", "different operating system"}, {"mpsweep", "different mpsweep"}};
    if (comparison->one_file)
        json_array_append_new(lines, json_string("BASE and NEW are one file"));
    note_other_machine(lines, "BASE", base);
    note_other_machine(lines, "NEW", change);
    differ(lines, "DIFFERENT GPU", name, name2);
    if (is_same(name, name2) &&
        !is_same(json_object_get(gpu, "uuid"), json_object_get(other, "uuid")))
        json_array_append_new(lines, json_string("another GPU of the same kind"));
    differ_workload(lines, json_object_get(base, "workload"), json_object_get(change, "workload"));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        differ(lines, fields[i].what, json_object_get(base, fields[i].field),
               json_object_get(change, fields[i].field));
    differ_emulated(lines, json_object_get(base, "emulated_machine"),
                    json_object_get(change, "emulated_machine"));
    differ_quota(lines, json_object_get(base, "cpu_quota"), json_object_get(change, "cpu_quota"));
    return lines;
}

static enum status check_files(const struct comparison *comparison)
{
    bool base = origin_is_emulated(comparison->base.header);
    bool change = origin_is_emulated(comparison->change.header);
    char unlike[512] = "";
    struct text text = {.at = unlike, .size = sizeof unlike};
    if (base != change)
        return status_set(STATUS_USAGE,
                          "'%s' is of an emulated GPU and '%s' of a real one: their numbers have "
                          "nothing to do with each other",
                          base ? comparison->base_path : comparison->change_path,
                          base ? comparison->change_path : comparison->base_path);
    if (comparison->match.count > 0)
        return STATUS_OK;
    compare_match_unlike(comparison->base.points, comparison->change.points, &text);
    return status_set(STATUS_USAGE,
                      "no point of '%s' has the settings of one of '%s': nothing to compare%s",
                      comparison->change_path, comparison->base_path, unlike);
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
    struct comparison comparison = {.base_path = base_path,
                                    .change_path = change_path,
                                    .threshold = threshold,
                                    .holm = holm,
                                    .one_file = same_file_at(base_path, change_path)};
    enum status status = results_load(base_path, fields_of_comparisons, &comparison.base);
    if (status == STATUS_OK)
        status = results_load(change_path, fields_of_comparisons, &comparison.change);
    if (status == STATUS_OK)
        status = results_refuse_probes(&comparison.base, base_path);
    if (status == STATUS_OK)
        status = results_refuse_probes(&comparison.change, change_path);
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
    comparison.differences = header_differences(&comparison);
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
        comparison.few += has_few_rounds(row);
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
        if (differs && own[0] != '\0' && strcmp(own, SETTINGS_DEFAULT_QUEUES) != 0)
            text_append(&text, "%s%s", text.length > 0 ? ", " : "", own);
    }
}

void comparison_remark(const struct compare_row *row, char *out, size_t size)
{
    const json_t *point = row->base_measured ? row->change : row->base;
    const char *which = row->base_measured ? "NEW" : "BASE";
    char failure[POINT_FAILURE_TEXT];
    if (row->base_measured && row->change_measured)
        snprintf(out, size, "%s", row->has_throughput ? "" : "no throughput to compare");
    else if (!row->base_measured && !row->change_measured)
        snprintf(out, size, "BASE %.20s, NEW %.20s", text_at(row->base, "status"),
                 text_at(row->change, "status"));
    else
        snprintf(out, size, "%s %s", which, point_failure(point, failure));
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
