/*
 * Where the time of an iteration goes: the share of each phase, a row a point.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>

#include "common/text.h"
#include "orchestrator/plot/rows.h"

enum { H2D, LAUNCH, SYNC, D2H, PHASES };

static const char *const phases[PHASES] = {"h2d", "launch", "sync", "d2h"};

/* Mean microseconds of an iteration in a phase; 0 where the launch style hides it. */
static double phase_us(const json_t *point, size_t phase)
{
    const json_t *recorded = json_object_get(json_object_get(point, "phases"), phases[phase]);
    double mean = point_number(recorded, "mean");
    if (!(mean >= 0))
        mean = point_number(json_object_get(point, "phase_us"), phases[phase]);
    return mean >= 0 ? mean : 0;
}

/* Mean latency; the phases' sum where there is none, or where sampling made it the larger one. */
static double total_us(const json_t *point)
{
    double sum = 0;
    for (size_t i = 0; i < PHASES; i++)
        sum += phase_us(point, i);
    double mean = point_number(json_object_get(point, "latency_us"), "mean");
    return mean > sum ? mean : sum;
}

static bool take(const json_t *point, double *x)
{
    double sum = 0;
    *x = (double)point_integer(point, "workers");
    for (size_t i = 0; i < PHASES; i++)
        sum += phase_us(point, i);
    return point_is_measured(point) && sum > 0 && isfinite(total_us(point));
}

static void write_rows(FILE *file, const struct series_table *table)
{
    fputs("# row, then from left to right the end of each phase as a share of the iteration\n"
          "$rows << EOD\n",
          file);
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        const json_t *point = table->rows[i].point;
        double end = 0, total = total_us(point);
        fprintf(file, "%zu 0", i + 1);
        for (size_t p = 0; p < PHASES; p++) {
            end += phase_us(point, p) / total;
            fprintf(file, " %.5f", fmin(end, 1));
        }
        fputs(" 1\n", file);
    }
    fputs("EOD\narray totals[n_rows]\n", file);
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        char text[32];
        fprintf(file, "totals[%zu] = '%s ms'\n", i + 1,
                text_number(total_us(table->rows[i].point) / 1e3, text, sizeof text));
    }
}

enum status plot_phases_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    const struct series_form form = {.take = take};
    const struct series_heading heading = {
        .figure = "phases",
        .title = "Where the time of an iteration goes",
        .notes = "On the right: mean latency. With graph launch the copies are part of the graph, "
                 "and wait in the synchronisation. ",
        .missing = "without phases",
    };

    enum status status =
        plot_rows_begin(file, &heading, &form, results, path,
                        "with the time of its phases (phases or phase_us)", &table);
    if (status != STATUS_OK)
        return status;
    write_rows(file, &table);
    series_table_release(&table);
    return STATUS_OK;
}
