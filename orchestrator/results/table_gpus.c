#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/results/internal.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/table.h"

#define CELL 48
#define MOST_SETTINGS 32

/* Layout and P×T, then the settings that vary, then a column for each GPU, then how far they are
 * apart. */
struct columns {
    size_t settings[MOST_SETTINGS], setting_count;
    size_t gpus, count;
    size_t *widths;
};

enum { LAYOUT, SIZE, FIRST_SETTING };

static size_t first_gpu(const struct columns *columns)
{
    return FIRST_SETTING + columns->setting_count;
}

/* Of a point; of none, the title. */
static void cell_text(const struct columns *columns, const json_t *point, size_t column,
                      char text[CELL])
{
    size_t gpu = column - first_gpu(columns);
    if (column == LAYOUT) {
        snprintf(text, CELL, "%s", point ? text_at(point, "layout") : "layout");
    } else if (column == SIZE && point) {
        snprintf(text, CELL, "%lld×%lld", (long long)integer_at(point, "processes"),
                 (long long)integer_at(point, "threads"));
    } else if (column == SIZE) {
        snprintf(text, CELL, "P×T");
    } else if (column < first_gpu(columns)) {
        size_t setting = columns->settings[column - FIRST_SETTING];
        if (point)
            table_setting_text(point, setting, text, CELL);
        else
            snprintf(text, CELL, "%s", table_setting_title(setting));
    } else if (gpu == columns->gpus) {
        snprintf(text, CELL, "apart");
        if (point && json_is_number(json_object_get(point, "gpu_imbalance")))
            snprintf(text, CELL, "%.1f%%", 100.0 * number_at(point, "gpu_imbalance"));
        else if (point)
            snprintf(text, CELL, "-");
    } else if (!point) {
        snprintf(text, CELL, "GPU %zu", gpu);
    } else {
        const json_t *of = json_array_get(json_object_get(point, "per_gpu"), gpu);
        char rate[32], p99[32];
        snprintf(text, CELL, "-");
        if (of)
            snprintf(text, CELL, "%s (%s)",
                     text_number(number_at(of, "throughput_ips"), rate, sizeof rate),
                     text_number(number_at(json_object_get(of, "latency_us"), "p99") / 1e3, p99,
                                 sizeof p99));
    }
}

static void widen(const struct columns *columns, const json_t *point)
{
    char text[CELL];
    for (size_t c = 0; c < columns->count; c++) {
        cell_text(columns, point, c, text);
        size_t width = text_columns(text);
        if (width > columns->widths[c])
            columns->widths[c] = width;
    }
}

static void print_row(FILE *out, const struct columns *columns, const json_t *any,
                      const json_t *point)
{
    char text[CELL];
    for (size_t c = 0; c < columns->count; c++) {
        bool is_setting = c >= FIRST_SETTING && c < first_gpu(columns);
        bool left =
            c == LAYOUT ||
            (is_setting && table_setting_is_text(any, columns->settings[c - FIRST_SETTING]));
        cell_text(columns, point, c, text);
        table_print_cell(out, text, columns->widths[c], left, c + 1 == columns->count);
    }
    fputc('\n', out);
}

static void choose_columns(const json_t *points, struct columns *columns)
{
    *columns = (struct columns){0};
    for (size_t i = 0; table_setting_title(i) && columns->setting_count < MOST_SETTINGS; i++)
        if (table_setting_varies(points, i))
            columns->settings[columns->setting_count++] = i;
    for (size_t i = 0; i < json_array_size(points); i++) {
        size_t gpus = json_array_size(json_object_get(json_array_get(points, i), "per_gpu"));
        columns->gpus = gpus > columns->gpus ? gpus : columns->gpus;
    }
    columns->count = first_gpu(columns) + columns->gpus + 1;
}

void table_print_gpus(FILE *out, const json_t *points)
{
    struct columns columns;
    json_t *several = json_array();
    for (size_t i = 0; i < json_array_size(points); i++) {
        json_t *point = json_array_get(points, i);
        if (json_object_get(point, "per_gpu"))
            json_array_append(several, point);
    }
    choose_columns(several, &columns);
    columns.widths = calloc(columns.count, sizeof *columns.widths);
    const json_t *first = json_array_get(several, 0);
    if (first && columns.widths) {
        widen(&columns, NULL);
        for (size_t i = 0; i < json_array_size(several); i++)
            widen(&columns, json_array_get(several, i));
        fputs("\niterations/s of each GPU (p99 ms):\n", out);
        print_row(out, &columns, first, NULL);
        for (size_t i = 0; i < json_array_size(several); i++)
            print_row(out, &columns, first, json_array_get(several, i));
    }
    free(columns.widths);
    json_decref(several);
}
