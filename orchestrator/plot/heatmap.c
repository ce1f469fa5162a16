/*
 * Throughput by processes and threads a process, as a map: P×T points and its borders, the points
 * of one process and of one thread each. Of the streams a thread, a cell has the fewest that reach
 * its best.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/series.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/table.h"

#define SIDE_MAX 64

/* So far below the best of a cell its fewest streams may be. */
#define STREAMS_NEAR 0.01

/* A map of fewer cells shows nothing. */
#define CELLS_LEAST 4

/* A row for each point of one map; maps are the series of a table. */
struct map {
    const struct series_row **cells; /* borrowed; one for each P×T, then room for as many */
    size_t count;
    size_t hybrids;
    size_t repeated; /* points that another one is drawn for, though it has as many streams */
    bool has_streams;
    size_t others; /* points of other settings */
};

static const char *const over_mps[] = {"hybrid", "processes+mps", "threads+mps"};

static bool is_over_mps(const json_t *point)
{
    for (size_t i = 0; i < sizeof over_mps / sizeof *over_mps; i++)
        if (strcmp(text_at(point, "layout"), over_mps[i]) == 0)
            return true;
    return false;
}

/* Also what could not be measured has its cell. */
static bool take(const json_t *point, double *x)
{
    *x = 0;
    return point_layout(point) < LAYOUT_KINDS && integer_at(point, "processes") >= 1 &&
           integer_at(point, "processes") <= PLOT_WORKERS_MAX &&
           integer_at(point, "threads") >= 1 && integer_at(point, "threads") <= PLOT_WORKERS_MAX;
}

static bool same_map(const struct series_row *a, const struct series_row *b)
{
    bool same = is_over_mps(a->point) == is_over_mps(b->point);
    for (int s = 0; same && s < SETTINGS_IDS; s++)
        same = strcmp(a->texts[s], b->texts[s]) == 0;
    return same;
}

static bool same_cell(const struct series_row *a, const struct series_row *b)
{
    return integer_at(a->point, "processes") == integer_at(b->point, "processes") &&
           integer_at(a->point, "threads") == integer_at(b->point, "threads");
}

static json_int_t streams_of(const struct series_row *row)
{
    json_int_t streams = integer_at(row->point, "streams");
    return streams > 1 ? streams : 1;
}

/* -1 of a point without a number. */
static double ips_of(const struct series_row *row)
{
    return point_is_measured(row->point) ? number_at(row->point, "throughput_ips") : -1;
}

/* Whether another row of the same cell is to be drawn in its place. */
static bool is_outdone(const struct map *map, const struct series_row *row)
{
    double best = ips_of(row);
    for (size_t i = 0; i < map->count; i++)
        if (same_cell(map->cells[i], row))
            best = fmax(best, ips_of(map->cells[i]));
    double enough = best > 0 ? best * (1 - STREAMS_NEAR) : best;
    for (size_t i = 0; i < map->count; i++) {
        const struct series_row *other = map->cells[i];
        if (same_cell(other, row) && ips_of(other) >= enough &&
            (ips_of(row) < enough || streams_of(other) < streams_of(row)))
            return true;
    }
    return false;
}

/* Leaves each cell one of its rows, which differ in streams. */
static void choose_streams(struct map *map, const struct series_row **chosen)
{
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++)
        if (!is_outdone(map, map->cells[i]))
            chosen[count++] = map->cells[i];
    memcpy(map->cells, chosen, count * sizeof(*chosen));
    map->count = count;
    map->hybrids = 0;
    for (size_t i = 0; i < count; i++)
        map->hybrids += strncmp(text_at(chosen[i]->point, "layout"), "hybrid", 6) == 0;
}

/* The map of the settings of one row. Of several points in a cell a measured one is kept, and of
 * those the first in the plan. */
static void fill_map(const struct series_table *table, const struct series_row *like,
                     struct map *map)
{
    map->count = map->repeated = map->others = 0;
    map->has_streams = false;
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        size_t at = 0;
        if (!same_map(row, like)) {
            map->others++;
            continue;
        }
        map->has_streams |= streams_of(row) > 1;
        while (at < map->count &&
               (!same_cell(map->cells[at], row) || streams_of(map->cells[at]) != streams_of(row)))
            at++;
        if (at < map->count) {
            bool better =
                point_is_measured(row->point) &&
                (!point_is_measured(map->cells[at]->point) || row->id < map->cells[at]->id);
            map->repeated++;
            if (better)
                map->cells[at] = row;
            continue;
        }
        map->cells[map->count++] = row;
    }
    choose_streams(map, map->cells + table->count);
}

/* The winner of a tune, or else the highest throughput; NULL: nothing was measured. */
static const struct series_row *find_best(const struct series_table *table, const json_t *tune)
{
    const json_t *winner = json_object_get(tune, "winner");
    const struct series_row *best = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        if (!point_is_measured(row->point))
            continue;
        if (json_is_object(winner) && row->id == integer_at(winner, "point"))
            return row;
        if (best == NULL || ips_of(row) > ips_of(best))
            best = row;
    }
    return best;
}

/* The map of the best, or of few cells the fullest: the one with the most P×T points, then the most
 * points at all. The caller frees its cells; NULL: no memory. */
static const struct series_row *choose_map(const struct series_table *table,
                                           const struct series_row *best, struct map *map)
{
    const struct series_row *fullest = NULL;
    size_t most = 0, most_hybrids = 0;
    map->cells = calloc(2 * table->count + 1, sizeof *map->cells);
    if (map->cells == NULL || best == NULL)
        return NULL;
    fill_map(table, best, map);
    if (map->count >= CELLS_LEAST)
        return best;
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = point_is_measured(table->rows[j].point) && same_map(&table->rows[j], row);
        if (seen || !point_is_measured(row->point))
            continue;
        fill_map(table, row, map);
        if (fullest == NULL || map->hybrids > most_hybrids ||
            (map->hybrids == most_hybrids && map->count > most)) {
            fullest = row;
            most = map->count;
            most_hybrids = map->hybrids;
        }
    }
    fill_map(table, fullest, map);
    return fullest;
}

struct axis {
    json_int_t values[SIDE_MAX];
    size_t count;
};

static int compare_integers(const void *left, const void *right)
{
    json_int_t a = *(const json_int_t *)left, b = *(const json_int_t *)right;
    return (a > b) - (a < b);
}

static size_t axis_place(const struct axis *axis, json_int_t value)
{
    size_t i = 0;
    while (i < axis->count && axis->values[i] != value)
        i++;
    return i;
}

/* The values of an axis, each once; those that find no room are left out. */
static void fill_axis(const struct map *map, const char *field, struct axis *axis)
{
    axis->count = 0;
    for (size_t i = 0; i < map->count; i++) {
        json_int_t value = integer_at(map->cells[i]->point, field);
        if (axis_place(axis, value) == axis->count && axis->count < SIDE_MAX)
            axis->values[axis->count++] = value;
    }
    qsort(axis->values, axis->count, sizeof *axis->values, compare_integers);
}

static void write_axis(FILE *file, const char *name, const struct axis *axis)
{
    fprintf(file, "n_%s = %zu\narray %s[n_%s]\n", name, axis->count, name, name);
    for (size_t i = 0; i < axis->count; i++)
        fprintf(file, "%s[%zu] = %" JSON_INTEGER_FORMAT "\n", name, i + 1, axis->values[i]);
}

static void write_cells(FILE *file, const struct map *map)
{
    struct axis processes, threads;
    double least = INFINITY, most = 0;
    fill_axis(map, "processes", &processes);
    fill_axis(map, "threads", &threads);
    write_axis(file, "processes", &processes);
    write_axis(file, "threads", &threads);
    fprintf(file,
            "has_streams = %d\n# place on the axis of processes, of threads, iterations/s (-1: "
            "none), text, streams a thread\n$cells << EOD\n",
            map->has_streams);
    for (size_t i = 0; i < map->count; i++) {
        const json_t *point = map->cells[i]->point;
        size_t x = axis_place(&processes, integer_at(point, "processes"));
        size_t y = axis_place(&threads, integer_at(point, "threads"));
        double ips = ips_of(map->cells[i]);
        char text[32] = "0";
        if (x == processes.count || y == threads.count)
            continue;
        if (ips >= 0) {
            least = fmin(least, ips);
            most = fmax(most, ips);
        }
        if (ips > 0)
            text_number(ips, text, sizeof text);
        else if (ips < 0)
            strcpy(text, strcmp(text_at(point, "status"), "infeasible") == 0 ? "×" : "!");
        fprintf(file, "%zu %zu %.6g %s ×%" JSON_INTEGER_FORMAT "\n", x + 1, y + 1, ips, text,
                streams_of(map->cells[i]));
    }
    fprintf(file, "EOD\nthroughput_min = %.6g\nthroughput_max = %.6g\n", least, most);
}

static bool has_unmeasured(const struct map *map)
{
    for (size_t i = 0; i < map->count; i++)
        if (!point_is_measured(map->cells[i]->point))
            return true;
    return false;
}

static char *notes_text(const struct series_row *like, const struct series_row *best,
                        const struct map *map, const struct results *results)
{
    struct text_stream out;
    char name[POINT_TEXT_BYTES], ips[32], unfinished[TABLE_UNFINISHED];
    if (!text_stream_open(&out))
        return NULL;
    fputs(is_over_mps(like->point) ? "Over MPS" : "Without MPS", out.file);
    for (int s = 0; s < SETTINGS_IDS; s++)
        if (like->texts[s][0] != '\0')
            fprintf(out.file, ", %s", like->texts[s]);
    fputs(". ", out.file);
    if (map->has_streams)
        fprintf(
            out.file,
            "Below a throughput: the streams a thread, the fewest within %g%% of the cell's best. ",
            100 * STREAMS_NEAR);
    if (has_unmeasured(map))
        fputs("Hatched: × infeasible, ! failed or interrupted. ", out.file);
    if (map->others > 0)
        fprintf(out.file, "Not drawn: %zu of other settings", map->others);
    if (!same_map(like, best)) {
        point_name(best->point, name);
        fprintf(out.file, ", among them the best, %s with %s", name,
                text_number(ips_of(best), ips, sizeof ips));
    }
    if (map->others > 0)
        fputs(". ", out.file);
    if (map->repeated > 0)
        fprintf(out.file, "%zu cell%s measured more than once: the first of the plan is drawn. ",
                map->repeated, map->repeated > 1 ? "s" : "");
    if (*table_unfinished(results, unfinished))
        fprintf(out.file, "%s.", unfinished);
    return text_stream_close(&out);
}

enum status plot_heatmap_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table = {0};
    struct map map = {0};
    char *notes = NULL, title[160];
    static const struct series_figure figure = {.needed = "to plot", .take = take};

    enum status status = series_table_make(&figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    const struct series_row *best = find_best(&table, results->tune);
    const struct series_row *like = choose_map(&table, best, &map);
    if (map.cells == NULL)
        status = status_set(STATUS_MEMORY, "out of memory for %zu points", table.count);
    else if (like == NULL)
        status = status_set(STATUS_USAGE, "'%s' has no measured point %s", path, figure.needed);
    if (status != STATUS_OK)
        goto out;
    const char *rate = like->texts[OPTION_RATE];
    notes = notes_text(like, best, &map, results);
    snprintf(title, sizeof title, "Throughput by processes%s%s%s (iterations/s)",
             map.has_streams ? ", threads and streams" : " and threads", *rate ? ", " : "", rate);
    status = plot_write_heading(file, "heatmap", title, results->header, notes);
    if (status == STATUS_OK)
        write_cells(file, &map);
out:
    free(notes);
    free(map.cells);
    series_table_release(&table);
    return status;
}
