/* What the table prints beside and below its numbers. */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "job/rate.h"
#include "orchestrator/results/internal.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/table.h"
#include "statistics/histogram.h"

/* On top of what would do on average: arrivals come by chance. */
#define MARGIN 1.1

/* Seconds of each round in which enough is offered for bounds of p99, to type. */
static double seconds_for_p99(const json_t *point)
{
    double offered = number_at(json_object_get(point, "rate"), "offered_ips");
    double rounds = (double)json_array_size(json_object_get(point, "rounds")) +
                    (double)integer_at(point, "rounds_left");
    return ceil(10.0 * MARGIN * HISTOGRAM_LEAST_P99 / offered / fmax(rounds, 1.0)) / 10.0;
}

/* What an open loop lacks, and what to give. Of what is offered more than it serves no window shows
 * a p99. */
static void add_unconverged_open(struct text *text, const json_t *point)
{
    long long iterations = integer_at(point, "iterations");
    const json_t *goal = json_object_get(json_object_get(point, "rate"), "goal");
    double seconds = seconds_for_p99(point);
    char limit[32], duration[32] = "a longer --max-duration";
    bool overloaded = point_is_overloaded(point);
    if (isfinite(seconds))
        snprintf(duration, sizeof duration, "--max-duration %.10g", seconds);
    if (iterations < HISTOGRAM_LEAST_P99)
        text_append(text, "%lld iteration%s, and p99 needs %d%s%s", iterations,
                    iterations == 1 ? "" : "s", HISTOGRAM_LEAST_P99, overloaded ? "" : ": give ",
                    overloaded ? "" : duration);
    else
        text_append(text, "%s under %s does not hold at the rate found: give a longer --duration",
                    text_at(goal, "percentile"),
                    rate_time_text(number_at(goal, "us") * 1e3, limit, sizeof limit));
}

static void add_stalled(struct text *text, const json_t *stalled)
{
    text_append(text, "process %lld, thread %lld stood still for %.3g s",
                integer_at(stalled, "process"), integer_at(stalled, "thread"),
                number_at(stalled, "seconds"));
}

/* With an interval as wide the window is not what is wrong, where one as long would be needed; nor
 * is the number of rounds, where as many would be. */
#define HOPELESS_REL 0.5
#define HOPELESS_S 600.0
#define HOPELESS_ROUNDS 50.0

/* Whether a warning of the point has that value in a field. */
static bool has(const json_t *point, const char *field, const char *value)
{
    const json_t *warnings = json_object_get(point, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strcmp(text_at(json_array_get(warnings, i), field), value) == 0)
            return true;
    return false;
}

/* What interval a closed loop reached, and what to give. */
static void add_unconverged_closed(struct text *text, const json_t *point)
{
    const json_t *rounds = json_object_get(point, "rounds");
    const json_t *interval = json_object_get(point, "interval");
    double reached = number_at(point, "ci95_rel"), longest = 0.0;
    char half[POINT_HALF_BYTES];
    for (size_t i = 0; i < json_array_size(rounds); i++)
        longest = fmax(longest, number_at(json_array_get(rounds, i), "seconds"));
    if (isnan(reached))
        text_append(text, "too few iterations for an interval");
    else
        text_append(text, "±%s", point_half_width(point, half));
    size_t done = json_array_size(rounds), left = (size_t)integer_at(point, "rounds_left");
    double needed = number_at(interval, "needs_rounds");
    /* The interval is narrow enough: there is another reason. */
    if (left == 0 && isnan(needed) && !json_object_get(interval, "needs_s") &&
        has(point, "kind", "unsteady")) {
        text_append(text, ", but the throughput changed within a window: see the warning");
        return;
    }
    if (left > 0)
        /* What the others will come to is not known: there is nothing to advise. */
        text_append(text, " after %zu of %zu rounds", done, done + left);
    else if (done > 1)
        text_append(text, " after %zu rounds", done);
    else
        text_append(text, " after %.2g s", longest);
    if (left > 0)
        return;
    /* Records that were joined may have more than what was advised before. */
    if (needed > HOPELESS_ROUNDS)
        text_append(text, ": look for other work on the CPUs, or give a longer --duration");
    else if (needed > (double)done)
        text_append(text, ": give --rounds %.0f", needed);
    else if (reached > HOPELESS_REL && number_at(interval, "needs_s") > HOPELESS_S)
        text_append(text, ": look for other work on the CPUs, or give --rounds 5");
    else if (json_object_get(interval, "needs_s"))
        text_append(text, ": give --max-duration %.10g", number_at(interval, "needs_s"));
}

const char *table_remark(const json_t *point, char out[TABLE_REMARK])
{
    const char *status = text_at(point, "status");
    const json_t *rate = json_object_get(point, "rate");
    long long others = integer_at(point, "other_clients");
    char failure[POINT_FAILURE_TEXT];
    struct text text = {.at = out, .size = TABLE_REMARK};
    *out = '\0';
    if (!json_object_get(point, "latency_us")) {
        text_append(&text, "%s", point_failure(point, failure));
    } else if (strcmp(status, "unconverged") == 0) {
        const json_t *stalled = json_object_get(point, "stalled");
        text_append(&text, "unconverged: ");
        if (json_is_object(stalled))
            add_stalled(&text, stalled);
        else if (json_is_object(rate))
            add_unconverged_open(&text, point);
        else
            add_unconverged_closed(&text, point);
    } else if (strcmp(status, "ok") != 0) {
        text_append(&text, "%s", status);
    }
    if (point_is_overloaded(point))
        text_append(&text, "%soverloaded", text.length ? "  " : "");
    if (others)
        text_append(&text, "%sbeside %lld other MPS client%s", text.length ? "  " : "", others,
                    others == 1 ? "" : "s");
    return out;
}

/* -- below the table -- */

/* Points with that text; 0 if one before the first has it, where it has been printed. */
static size_t points_with(const json_t *points, size_t first, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        if (!has(json_array_get(points, i), "text", text))
            continue;
        if (i < first)
            return 0;
        count++;
    }
    return count;
}

/* What warnings are about: the points, and the settings in which they differ. */
struct labels {
    const json_t *points;
    struct table_settings varying;
};

static const char *label(const struct labels *labels, size_t first, const char *text,
                         char out[TABLE_LABEL])
{
    size_t count = points_with(labels->points, first, text);
    if (count > 1)
        snprintf(out, TABLE_LABEL, "%zu points", count);
    else
        table_label(json_array_get(labels->points, first), &labels->varying, out);
    return out;
}

/* Goes over what is to be printed: without a file, for the width of the longest label. */
static size_t each_warning(FILE *out, const struct labels *labels, size_t width)
{
    char name[TABLE_LABEL];
    size_t widest = 0;
    for (size_t p = 0; p < json_array_size(labels->points); p++) {
        const json_t *warnings = json_object_get(json_array_get(labels->points, p), "warnings");
        for (size_t i = 0; i < json_array_size(warnings); i++) {
            const char *text = text_at(json_array_get(warnings, i), "text");
            if (points_with(labels->points, p, text) == 0)
                continue;
            size_t columns = text_columns(label(labels, p, text, name));
            if (out)
                fprintf(out, "warning  %s:%*s %s\n", name, (int)(width - columns), "", text);
            if (columns > widest)
                widest = columns;
        }
    }
    return widest;
}

void table_print_warnings(FILE *out, const json_t *points)
{
    struct labels labels = {.points = points};
    table_settings_find(points, &labels.varying);
    size_t width = each_warning(NULL, &labels, 0);
    if (width == 0)
        return;
    fputc('\n', out);
    each_warning(out, &labels, width);
}

void table_print_rounds(FILE *out, const json_t *points)
{
    size_t measured = 0, single = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        size_t rounds = json_array_size(json_object_get(point, "rounds"));
        measured += rounds > 0;
        single += rounds == 1 && !json_object_get(point, "rounds_left");
    }
    if (single > 0)
        fprintf(
            out,
            "\nrounds   %s one: 95%% is that of one set of processes, and another may differ by "
            "more (--rounds 3)\n",
            single == measured ? "all points have" : "some points have");
}

void table_print_searched(FILE *out, const json_t *points)
{
    const json_t *point;
    size_t index;
    bool steps = false, least = false;
    char half[POINT_HALF_BYTES];
    json_array_foreach(points, index, point)
    {
        steps |= point_rate_is_searched(point) && *point_half_width(point, half);
        least |= rate_is_least(json_object_get(point, "rate"));
    }
    if (steps)
        fputs("\nrates    95% of one that was searched is a step of the search\n", out);
    if (least)
        fputs("\n≥        looked at in short by a tune: it holds at least that rate\n", out);
}

/* An answer that comes at once has its first byte when it has its last. */
#define STREAMED 0.9

void table_print_first_bytes(FILE *out, const json_t *points)
{
    bool first = true;
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *times = json_object_get(point, "first_byte_us");
        char name[POINT_TEXT_BYTES], p50[32], p99[32];
        double median_us = number_at(json_object_get(point, "latency_us"), "p50");
        if (!times || !(number_at(times, "p50") < STREAMED * median_us))
            continue;
        point_name(point, name);
        fprintf(out, "%sanswers  %s: first byte p50 %s ms, p99 %s ms\n", first ? "\n" : "", name,
                text_number(number_at(times, "p50") / 1e3, p50, sizeof p50),
                text_number(number_at(times, "p99") / 1e3, p99, sizeof p99));
        first = false;
    }
}

/* Whether a point before it took the same for an iteration. */
static bool was_observed_before(const json_t *points, size_t index, const char *iteration)
{
    for (size_t i = 0; i < index; i++) {
        const json_t *observed = json_object_get(json_array_get(points, i), "observed");
        if (observed && strcmp(text_at(observed, "iteration"), iteration) == 0)
            return true;
    }
    return false;
}

/* What may be an iteration instead, and how to settle it. */
static const struct {
    const char *doubt, *remedy;
} remedies[] = {
    {"steps", "its waits are alike, and --tick sync counts each"},
    {"kinds", "a request may have several inputs, and --tick kernel:NAME counts those of one kind, "
              "nvtx:NAME requests"},
    {"waits", "a request may have several, and --tick nvtx:NAME or kernel:NAME counts it"},
};

void table_print_iteration(FILE *out, const json_t *point)
{
    const json_t *observed = json_object_get(point, "observed");
    const char *remedy = "--tick";
    if (!observed)
        return;
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strcmp(text_at(observed, "doubt"), remedies[i].doubt) == 0)
            remedy = remedies[i].remedy;
    fprintf(out, "an iteration is %s; %.0f%% of them are alike (%s)\n",
            text_at(observed, "iteration"), 100.0 * number_at(observed, "alike"), remedy);
}

void table_print_observed(FILE *out, const json_t *points)
{
    bool first = true;
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *observed = json_object_get(point, "observed");
        char name[POINT_TEXT_BYTES];
        if (!observed || was_observed_before(points, i, text_at(observed, "iteration")))
            continue;
        point_name(point, name);
        fprintf(out, "%sobserved %s: ", first ? "\n" : "", name);
        table_print_iteration(out, point);
        first = false;
    }
}

static void print_mix(FILE *out, const json_t *point, const json_t *workloads,
                      const struct table_settings *varying)
{
    char name[TABLE_LABEL], ips[32], p50[32], p99[32];
    fprintf(out, "mix      %s:", table_label(point, varying, name));
    for (size_t i = 0; i < json_array_size(workloads); i++) {
        const json_t *workload = json_array_get(workloads, i);
        const json_t *latency = json_object_get(workload, "latency_us");
        json_int_t workers = integer_at(workload, "workers");
        fprintf(out, "%s %s %s/s of %lld worker%s, p50 %s ms, p99 %s ms", i ? ";" : "",
                text_at(workload, "name"),
                text_number(number_at(workload, "throughput_ips"), ips, sizeof ips),
                (long long)workers, workers == 1 ? "" : "s",
                text_number(number_at(latency, "p50") / 1e3, p50, sizeof p50),
                text_number(number_at(latency, "p99") / 1e3, p99, sizeof p99));
    }
    fputc('\n', out);
}

void table_print_mixes(FILE *out, const json_t *points)
{
    bool first = true;
    struct table_settings varying;
    table_settings_find(points, &varying);
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *workloads = json_object_get(point, "workloads");
        if (json_array_size(workloads) < 2)
            continue;
        if (first)
            fputc('\n', out);
        first = false;
        print_mix(out, point, workloads, &varying);
    }
}
