/* A table of the points of several GPUs: layout and P×T, then the settings that vary, then a column
 * for each GPU, then how far they are apart. */
#include <math.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/internal.h"
#include "orchestrator/results/table.h"

#define CELL 320

static size_t most_gpus(const json_t *points)
{
    size_t most = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        size_t gpus = json_array_size(json_object_get(json_array_get(points, i), "per_gpu"));
        most = gpus > most ? gpus : most;
    }
    return most;
}

static void add_columns(struct columns *table, const struct table_settings *settings,
                        const json_t *points, size_t gpus)
{
    char title[32];
    columns_add(table, "layout", COLUMNS_LEFT);
    columns_add(table, table_shape_title(points), COLUMNS_RIGHT);
    table_settings_add(table, settings, points);
    for (size_t gpu = 0; gpu < gpus; gpu++) {
        snprintf(title, sizeof title, "GPU %zu", gpu);
        columns_add(table, title, COLUMNS_RIGHT);
    }
    columns_add(table, "apart", COLUMNS_RIGHT);
}

static void add_row(struct columns *table, const struct table_settings *settings,
                    const json_t *point, size_t gpus)
{
    char text[CELL], shape[POINT_SHAPE_BYTES], p99[32];
    double apart = number_at(point, "gpu_imbalance");
    columns_cell(table, "%s", text_at(point, "layout"));
    columns_cell(table, "%s", point_shape(point, shape));
    for (size_t i = 0; i < settings->count; i++)
        columns_cell(table, "%s", table_setting_text(point, settings->rows[i], text, sizeof text));
    for (size_t gpu = 0; gpu < gpus; gpu++) {
        const json_t *of = json_array_get(json_object_get(point, "per_gpu"), gpu);
        double p99_ms = number_at(json_object_get(of, "latency_us"), "p99") / 1e3;
        if (of)
            columns_cell(table, "%s (%s)",
                         text_number(number_at(of, "throughput_ips"), text, sizeof text),
                         text_number(p99_ms, p99, sizeof p99));
        else
            columns_cell(table, "-");
    }
    if (isnan(apart))
        columns_cell(table, "-");
    else
        columns_cell(table, "%.1f%%", 100.0 * apart);
    columns_end_row(table);
}

void table_print_gpus(FILE *out, const json_t *points)
{
    struct columns table = {0};
    json_t *several = json_array();
    for (size_t i = 0; i < json_array_size(points); i++)
        if (json_object_get(json_array_get(points, i), "per_gpu"))
            json_array_append(several, json_array_get(points, i));
    size_t gpus = most_gpus(several);
    if (json_array_size(several) > 0) {
        fputs("\niterations/s of each GPU (p99 ms):\n", out);
        struct table_settings settings;
        table_settings_find(several, &settings);
        add_columns(&table, &settings, several, gpus);
        for (size_t i = 0; i < json_array_size(several); i++)
            add_row(&table, &settings, json_array_get(several, i), gpus);
        columns_print(out, &table, 0);
    }
    json_decref(several);
}
