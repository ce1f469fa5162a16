/* What the table says beside and below its numbers. */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "job/rate.h"
#include "orchestrator/results/internal.h"
#include "orchestrator/results/point.h"
#include "statistics/histogram.h"

/* What an open loop lacks, and what to give. */
static void print_unconverged_open(FILE *out, const json_t *point)
{
    long long iterations = json_integer_value(json_object_get(point, "iterations"));
    const json_t *goal = json_object_get(json_object_get(point, "rate"), "goal");
    char limit[32];
    fputs("  unconverged: ", out);
    if (iterations < HISTOGRAM_LEAST_P99)
        fprintf(out,
                "%lld iteration%s, and p99 has no upper bound below %d: give a longer "
                "--max-duration",
                iterations, iterations == 1 ? "" : "s", HISTOGRAM_LEAST_P99);
    else
        fprintf(out, "%s under %s does not hold at the rate found: give a longer --duration",
                json_string_value(json_object_get(goal, "percentile")),
                rate_time_text(json_number_value(json_object_get(goal, "us")) * 1e3, limit,
                               sizeof limit));
}

/* What interval a closed loop reached, and what to give. */
static void print_unconverged_closed(FILE *out, const json_t *point)
{
    const json_t *rounds = json_object_get(point, "rounds");
    const json_t *interval = json_object_get(point, "interval");
    const json_t *reached = json_object_get(point, "ci95_rel");
    const json_t *needs_s = json_object_get(interval, "needs_s");
    const json_t *needs_rounds = json_object_get(interval, "needs_rounds");
    double longest = 0.0;
    for (size_t i = 0; i < json_array_size(rounds); i++)
        longest =
            fmax(longest, json_number_value(json_object_get(json_array_get(rounds, i), "seconds")));
    fputs("  unconverged", out);
    if (json_is_number(reached))
        fprintf(out, ": ±%.2g%%", 100.0 * json_number_value(reached));
    else
        fputs(": too few iterations to tell", out);
    if (json_array_size(rounds) > 1)
        fprintf(out, " after %zu rounds", json_array_size(rounds));
    else
        fprintf(out, " after %.2g s", longest);
    if (needs_rounds)
        fprintf(out, ": give --rounds %.0f", json_number_value(needs_rounds));
    else if (needs_s)
        fprintf(out, ": give --max-duration %.10g", json_number_value(needs_s));
}

void table_print_remark(FILE *out, const json_t *point)
{
    const char *status = text_at(point, "status");
    char failure[POINT_FAILURE_TEXT];
    if (!json_object_get(point, "latency_us")) {
        fprintf(out, "  %s", point_failure(point, failure));
    } else if (strcmp(status, "unconverged") == 0) {
        if (json_is_object(json_object_get(point, "rate")))
            print_unconverged_open(out, point);
        else
            print_unconverged_closed(out, point);
    } else if (strcmp(status, "ok") != 0) {
        fprintf(out, "  %s", status);
    }
    if (json_is_true(json_object_get(json_object_get(point, "rate"), "saturated")))
        fputs("  overloaded", out);
    const json_t *others = json_object_get(point, "other_clients");
    if (others)
        fprintf(out, "  beside %lld other MPS client%s", (long long)json_integer_value(others),
                json_integer_value(others) == 1 ? "" : "s");
}

/* -- below the table -- */

#define LONGEST_LABEL 80

static const char *text_of(const json_t *warning)
{
    const char *text = json_string_value(json_object_get(warning, "text"));
    return text ? text : "";
}

static bool has(const json_t *point, const char *text)
{
    const json_t *warnings = json_object_get(point, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strcmp(text_of(json_array_get(warnings, i)), text) == 0)
            return true;
    return false;
}

/* Points with that text; 0 if one before the first has it, where it has been printed. */
static size_t points_with(const json_t *points, size_t first, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        if (!has(json_array_get(points, i), text))
            continue;
        if (i < first)
            return 0;
        count++;
    }
    return count;
}

static const char *label(const json_t *points, size_t first, const char *text, char *out)
{
    const json_t *point = json_array_get(points, first);
    const char *layout = json_string_value(json_object_get(point, "layout"));
    size_t count = points_with(points, first, text);
    if (count > 1)
        snprintf(out, LONGEST_LABEL, "%zu points", count);
    else
        snprintf(out, LONGEST_LABEL, "%s %.0f×%.0f", layout ? layout : "",
                 json_number_value(json_object_get(point, "processes")),
                 json_number_value(json_object_get(point, "threads")));
    return out;
}

/* Goes over what is to be printed: without a file, for the width of the longest label. */
static size_t each_warning(FILE *out, const json_t *points, size_t width)
{
    char name[LONGEST_LABEL];
    size_t widest = 0;
    for (size_t p = 0; p < json_array_size(points); p++) {
        const json_t *warnings = json_object_get(json_array_get(points, p), "warnings");
        for (size_t i = 0; i < json_array_size(warnings); i++) {
            const char *text = text_of(json_array_get(warnings, i));
            if (points_with(points, p, text) == 0)
                continue;
            size_t columns = text_columns(label(points, p, text, name));
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
    size_t width = each_warning(NULL, points, 0);
    if (width == 0)
        return;
    fputc('\n', out);
    each_warning(out, points, width);
}

static void print_mix(FILE *out, const json_t *point, const json_t *workloads)
{
    char name[POINT_TEXT_BYTES], ips[32], p50[32], p99[32];
    const char *launch = text_at(point, "launch");
    point_name(point, name);
    fprintf(out, "mix      %s%s:", name, strcmp(launch, "graph") == 0 ? ", graph" : "");
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
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *workloads = json_object_get(point, "workloads");
        if (json_array_size(workloads) < 2)
            continue;
        if (first)
            fputc('\n', out);
        first = false;
        print_mix(out, point, workloads);
    }
}
