/*
 * How fast each GPU was in each point of several GPUs, beside the mean of the point.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/series.h"
#include "orchestrator/results/scaling.h"

/* What the script has marks for. */
#define GPUS_DRAWN 16

static bool take(const json_t *point, double *x)
{
    struct imbalance imbalance;
    *x = 0;
    return point_is_measured(point) && imbalance_of(point, &imbalance);
}

static json_int_t gpu_number(const json_t *point, size_t index)
{
    return integer_at(json_array_get(json_object_get(point, "per_gpu"), index), "gpu");
}

static void write_rates(FILE *file, const struct series_table *table)
{
    double widest = 0;
    json_int_t most = 0;
    fputs("# row, number of the GPU, percent above the mean\n$rates << EOD\n", file);
    for (size_t i = 0; i < table->count; i++) {
        struct imbalance imbalance = {0};
        const json_t *point = table->rows[i].point;
        imbalance_of(point, &imbalance);
        for (unsigned g = 0; g < imbalance.gpus; g++) {
            double ips =
                number_at(json_array_get(json_object_get(point, "per_gpu"), g), "throughput_ips");
            double above = 100 * (ips / imbalance.mean_ips - 1);
            if (gpu_number(point, g) < 0 || gpu_number(point, g) >= GPUS_DRAWN)
                continue;
            fprintf(file, "%zu %" JSON_INTEGER_FORMAT " %.5g\n", i + 1, gpu_number(point, g),
                    above);
            most = gpu_number(point, g) > most ? gpu_number(point, g) : most;
            widest = fmax(widest, fabs(above));
        }
    }
    fprintf(file, "EOD\nn_gpus = %" JSON_INTEGER_FORMAT "\nwidest = %.5g\n", most + 1, widest);
}

/* Behind each row: what a GPU did on average, and how far apart they were. */
static void write_texts(FILE *file, const struct series_table *table)
{
    static const char *const words[] = {
        [IMBALANCE_SPREAD] = "slowest", [IMBALANCE_SLOW] = "slow", [IMBALANCE_FAST] = "fast"};
    fputs("array texts[n_rows]\narray interval[n_rows]\n", file);
    for (size_t i = 0; i < table->count; i++) {
        struct imbalance imbalance = {0};
        const json_t *point = table->rows[i].point;
        double interval = point_half_rel(point);
        char number[32], text[160];
        imbalance_of(point, &imbalance);
        snprintf(text, sizeof text, "%s/s each, %.1f%% apart",
                 text_number(imbalance.mean_ips, number, sizeof number), 100 * imbalance.relative);
        if (imbalance_matters(&imbalance, point))
            snprintf(text + strlen(text), sizeof text - strlen(text), ": GPU %u %s",
                     imbalance_odd(&imbalance)->number, words[imbalance.kind]);
        plot_write_item(file, "texts", i + 1, text);
        fprintf(file, "interval[%zu] = %.5g\n", i + 1, interval > 0 ? 100 * interval : 0.0);
    }
}

enum status plot_gpus_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    static const struct series_figure figure = {
        .name = "gpus",
        .title = "Each GPU beside the mean of its point",
        .notes = "A mark each GPU of a point; grey: the 95% confidence interval of the point's "
                 "total. Apart: the fastest and the slowest GPU, as a share of the mean. ",
        .needed = "of several GPUs: measure with --device all",
        .missing = "of one GPU",
        .take = take,
        .whole_names = true,
        .has_rows = true,
    };

    enum status status = series_begin(file, &figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    write_texts(file, &table);
    write_rates(file, &table);
    series_table_release(&table);
    return STATUS_OK;
}
