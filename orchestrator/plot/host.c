/*
 * Throughput against the CPUs in use: what a layout costs the host. The front joins the layouts
 * that no other one outdoes with as few CPUs.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <stdlib.h>

#include "common/json.h"
#include "orchestrator/plot/series.h"

/* So far apart two throughputs, or two numbers of CPUs, count as different. */
#define FRONT_STEP 0.01

static double ips_of(const struct series_row *row)
{
    return number_at(row->point, "throughput_ips");
}

static bool take(const json_t *point, double *x)
{
    *x = point_cpus_in_use(point);
    return point_is_measured(point) && *x >= 0 && *x <= PLOT_WORKERS_MAX;
}

static bool take_given_rate(const json_t *point, double *x)
{
    return take(point, x) && series_offered_ips(point) > 0 && !point_rate_is_searched(point);
}

static void write_row(FILE *file, const struct series_row *row)
{
    fprintf(file, "%.6g %.6g\n", row->x, ips_of(row));
}

static int compare_cpus(const void *left, const void *right)
{
    const struct series_row *a = *(const struct series_row *const *)left;
    const struct series_row *b = *(const struct series_row *const *)right;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return (ips_of(a) < ips_of(b)) - (ips_of(a) > ips_of(b));
}

/* The rows of the front, from few CPUs to many, to the beginning of an array of all rows; returns
 * their number. */
static size_t find_front(const struct series_row **rows, size_t count)
{
    size_t front = 0;
    qsort(rows, count, sizeof *rows, compare_cpus);
    for (size_t i = 0; i < count; i++) {
        const struct series_row *last = front > 0 ? rows[front - 1] : NULL;
        if (last && ips_of(rows[i]) <= ips_of(last) * (1 + FRONT_STEP))
            continue;
        if (last && rows[i]->x <= last->x * (1 + FRONT_STEP))
            front--;
        rows[front++] = rows[i];
    }
    return front;
}

static enum status write_front(FILE *file, const struct series_table *table)
{
    const struct series_row **rows = calloc(table->count, sizeof *rows);
    double cpus_max = 0, throughput_max = 0;
    if (rows == NULL)
        return status_set(STATUS_MEMORY, "out of memory for %zu points", table->count);
    for (size_t i = 0; i < table->count; i++) {
        rows[i] = &table->rows[i];
        cpus_max = fmax(cpus_max, rows[i]->x);
        throughput_max = fmax(throughput_max, ips_of(rows[i]));
    }
    size_t front = find_front(rows, table->count);
    fprintf(file, "cpus_max = %.6g\nthroughput_max = %.6g\n", cpus_max, throughput_max);
    fputs("# CPUs, iterations/s, layout\n$front << EOD\n", file);
    for (size_t i = 0; i < front; i++) {
        char shape[POINT_SHAPE_BYTES];
        fprintf(file, "%.6g %.6g %s\n", rows[i]->x, ips_of(rows[i]),
                point_shape(rows[i]->point, shape));
    }
    fputs("EOD\n", file);
    free(rows);
    return STATUS_OK;
}

enum status plot_host_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    struct series_figure figure = {
        .name = "host",
        .title = "Throughput by CPUs in use",
        .notes = "Grey: the most that any layout does with as many CPUs, in steps of 1% or more; "
                 "some with P×T or P×T×S. ",
        .needed = "with the CPU time that it used",
        .missing = "without a CPU time",
        .take = take,
    };
    if (series_takes_any(results, take_given_rate))
        series_join_rates(&figure);
    enum status status = series_table_make(&figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    status = series_write_heading(file, &figure, &table, results);
    if (status == STATUS_OK)
        status = write_front(file, &table);
    if (status == STATUS_OK)
        series_write(file, &table, "CPUs, iterations/s", write_row);
    series_table_release(&table);
    return status;
}
