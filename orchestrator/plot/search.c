/*
 * The search of a tune: what each point did, in the order in which they were first measured, with
 * the best so far, the winner, and the layouts that one would take without a search.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/settings.h"

#define MARKS_MOST 24

enum objective { THROUGHPUT, P99, PER_JOULE };

struct row {
    const json_t *point;
    double x, y;
    bool is_final;
};

struct rows {
    struct row *at;
    size_t count;
    enum objective objective;
    double limit_us; /* of the 99th percentile; INFINITY: none */
    bool each;       /* searched on one GPU, measured again on all: the throughput of each */
};

static enum objective objective_of(const json_t *tune)
{
    const char *name = text_at(tune, "objective");
    return strcmp(name, "p99") == 0            ? P99
           : strcmp(name, "ips-per-watt") == 0 ? PER_JOULE
                                               : THROUGHPUT;
}

/* The limit of the latency under which it searched. */
static double limit_of(const json_t *tune)
{
    const json_t *goal = json_object_get(tune, "goal");
    double limit = number_at(json_object_get(tune, "constraints"), "max_p99_us");
    if (strcmp(text_at(goal, "percentile"), "p99") == 0)
        limit = number_at(goal, "us");
    return limit > 0.0 ? limit : INFINITY;
}

static double value_of(const json_t *point, enum objective objective)
{
    switch (objective) {
    case P99:
        return number_at(json_object_get(point, "latency_us"), "p99") / 1e3;
    case PER_JOULE:
        return 1.0 / number_at(json_object_get(point, "telemetry"), "joules_per_iteration");
    default:
        return number_at(point, "throughput_ips");
    }
}

/* Whether layouts were looked at on fewer GPUs than the last ones. */
static bool are_mixed(const json_t *points)
{
    size_t index;
    const json_t *point;
    unsigned first = 0;
    bool mixed = false;
    json_array_foreach(points, index, point)
    {
        first = first ? first : point_gpus_of(point);
        mixed |= point_gpus_of(point) != first;
    }
    return mixed;
}

static int by_x(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->x > y->x) - (x->x < y->x);
}

static enum status take_rows(const struct results *results, struct rows *rows)
{
    size_t index;
    const json_t *point;
    rows->at = calloc(json_array_size(results->points) + 1, sizeof *rows->at);
    if (rows->at == NULL)
        return status_set(STATUS_MEMORY, "out of memory for a figure");
    json_array_foreach(results->points, index, point)
    {
        const json_t *about = json_object_get(point, "tune");
        double x = number_at(about, "first");
        double y = value_of(point, rows->objective);
        if (rows->each)
            y /= point_gpus_of(point);
        if (!point_is_measured(point) || !(x >= 1) || !isfinite(y) || y <= 0)
            continue;
        rows->at[rows->count++] =
            (struct row){point, x, y, strcmp(text_at(about, "stage"), "final") == 0};
    }
    qsort(rows->at, rows->count, sizeof *rows->at, by_x);
    return STATUS_OK;
}

static void write_points(FILE *file, const struct rows *rows)
{
    fputs("# order of measurement, value, layout, 1 for a finalist\n$points << EOD\n", file);
    for (size_t i = 0; i < rows->count; i++)
        fprintf(file, "%.0f %.6g %d %d\n", rows->at[i].x, rows->at[i].y,
                point_layout(rows->at[i].point) + 1, rows->at[i].is_final);
    fputs("EOD\n", file);
}

static void write_best(FILE *file, const struct rows *rows)
{
    double best = NAN, highest = 0, last = 1;
    fputs("# the best so far: of those under the limit\n$best << EOD\n", file);
    for (size_t i = 0; i < rows->count; i++) {
        double y = rows->at[i].y;
        double p99_us = number_at(json_object_get(rows->at[i].point, "latency_us"), "p99");
        if (!(p99_us > rows->limit_us))
            best = rows->objective == P99 ? fmin(best, y) : fmax(best, y);
        highest = fmax(highest, y);
        last = rows->at[i].x;
        if (!isnan(best))
            fprintf(file, "%.0f %.6g\n", rows->at[i].x, best);
    }
    if (isnan(best))
        fputs("0 NaN\n", file);
    fprintf(file, "EOD\nvalue_max = %.6g\norder_max = %.0f\n", highest, last);
}

static void write_layouts(FILE *file, const struct rows *rows)
{
    bool seen[LAYOUT_KINDS] = {false};
    size_t count = 0, at = 0;
    for (size_t i = 0; i < rows->count; i++) {
        int layout = point_layout(rows->at[i].point);
        if (layout < LAYOUT_KINDS && !seen[layout]) {
            seen[layout] = true;
            count++;
        }
    }
    fprintf(file, "n_layouts = %zu\narray layout_number[%zu]\narray layout_name[%zu]\n", count,
            count, count);
    for (int layout = 0; layout < LAYOUT_KINDS; layout++) {
        if (!seen[layout])
            continue;
        fprintf(file, "layout_number[%zu] = %d\n", ++at, layout + 1);
        plot_write_item(file, "layout_name", at, layout_name((enum layout_kind)layout));
    }
}

static const struct row *row_of(const struct rows *rows, json_int_t id)
{
    for (size_t i = 0; i < rows->count; i++)
        if (integer_at(rows->at[i].point, "id") == id)
            return &rows->at[i];
    return NULL;
}

static void write_mark(FILE *file, size_t at, const struct row *row, const char *text,
                       bool is_winner)
{
    fprintf(file, "mark_x[%zu] = %.0f\nmark_y[%zu] = %.6g\nmark_is_best[%zu] = %d\n", at, row->x,
            at, row->y, at, is_winner);
    char marked[2 * POINT_TEXT_BYTES];
    bool certain = strcmp(text_at(row->point, "status"), "unconverged") != 0;
    snprintf(marked, sizeof marked, "%s%s", text, certain ? "" : ", unconverged");
    plot_write_item(file, "mark_text", at, marked);
}

static void write_marks(FILE *file, const struct rows *rows, const json_t *tune)
{
    const json_t *winner = json_object_get(tune, "winner");
    const json_t *naive = json_object_get(tune, "naive");
    const struct row *best =
        json_is_object(winner) ? row_of(rows, integer_at(winner, "point")) : NULL;
    size_t count = 0;
    fprintf(file,
            "array mark_x[%d]\narray mark_y[%d]\narray mark_text[%d]\narray mark_is_best[%d]\n",
            MARKS_MOST, MARKS_MOST, MARKS_MOST, MARKS_MOST);
    for (size_t i = 0; i < json_array_size(naive) && count < MARKS_MOST - 1; i++) {
        const json_t *one = json_array_get(naive, i);
        const struct row *row = row_of(rows, integer_at(one, "point"));
        if (row != NULL && row != best)
            write_mark(file, ++count, row, text_at(one, "layout"), false);
    }
    if (best != NULL) {
        char text[POINT_TEXT_BYTES + 16], name[POINT_TEXT_BYTES];
        point_name(best->point, name);
        snprintf(text, sizeof text, "best: %s", name);
        write_mark(file, ++count, best, text, true);
    }
    fprintf(file, "n_marks = %zu\n", count);
}

static bool any_least(const struct rows *rows)
{
    bool any = false;
    for (size_t i = 0; i < rows->count; i++)
        any |= rate_is_least(json_object_get(rows->at[i].point, "rate"));
    return any;
}

static char *notes_text(const struct rows *rows, const json_t *tune)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    if (tune != NULL)
        fprintf(out.file,
                "Measured %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
                " layouts in %.0f s; verdict: %s. Best: %s. ",
                integer_at(tune, "measured"), integer_at(tune, "space"), number_at(tune, "seconds"),
                text_at(tune, "verdict"),
                json_is_object(json_object_get(tune, "winner"))
                    ? text_at(json_object_get(tune, "winner"), "what")
                    : "none");
    fprintf(out.file,
            "Filled: finalists, with their last value; hollow: a first look, or a longer "
            "one. Line: the %s so far",
            rows->objective == P99 ? "lowest" : "highest");
    if (isfinite(rows->limit_us))
        fprintf(out.file, " under the limit, a p99 of %.4g ms.", rows->limit_us / 1e3);
    else
        fputc('.', out.file);
    if (any_least(rows))
        fputs(" Hollow ones may hold more than what is drawn.", out.file);
    if (rows->each)
        fputs(" Looks are on one GPU, finalists and naive layouts on all.", out.file);
    return text_stream_close(&out);
}

enum status plot_search_write(const struct results *results, const char *path, FILE *file)
{
    static const char *const labels[] = {
        [THROUGHPUT] = "throughput (iterations/s)",
        [P99] = "99th percentile of the latency (ms)",
        [PER_JOULE] = "iterations a joule",
    };
    struct rows rows = {.objective = objective_of(results->tune),
                        .limit_us = limit_of(results->tune)};
    rows.each = rows.objective == THROUGHPUT && are_mixed(results->points);
    char *notes = NULL;
    enum status status = take_rows(results, &rows);
    if (status != STATUS_OK)
        goto out;
    if (rows.count == 0) {
        status = status_set(STATUS_USAGE, "'%s' holds no search of 'mpsweep tune'", path);
        goto out;
    }
    notes = notes_text(&rows, results->tune);
    status = plot_write_heading(file, "search", "The search for the best layout", results->header,
                                notes);
    if (status != STATUS_OK)
        goto out;
    fprintf(file, "ylabel = '%s'\n",
            rows.each ? "throughput of a GPU (iterations/s)" : labels[rows.objective]);
    write_layouts(file, &rows);
    write_marks(file, &rows, results->tune);
    write_points(file, &rows);
    write_best(file, &rows);
out:
    free(notes);
    free(rows.at);
    return status;
}
