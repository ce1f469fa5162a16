#include "orchestrator/results/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/results/internal.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/scaling.h"
#include "orchestrator/plan/shares.h"

#define CELL 320      /* the longest list of shares */
#define CSV_CELL 1024 /* the longest list of sizes in bytes */

/* Settings that get a column when they vary, and how the heading says them when they do not. */
static const struct setting {
    const char *key, *title, *phrase;
    const char *joint; /* what stands before the phrase in the heading */
    bool sizes;        /* bytes, for people with M or G */
} settings[] = {
    {"gpus", "GPUs", "on each of %s GPUs", "", false},
    {"mps_daemons", "daemons", "MPS daemons %s", ", ", false},
    {"memory", "memory", "%s memory", ", ", false},
    {"sync", "sync", "sync %s", ", ", false},
    {"launch", "launch", "launch %s", ", ", false},
    {"connections", "queues", "%s queues a process", ", ", false},
    {"active_thread_percentage", "threads%", "%s% active threads", ", ", false},
    {"priority", "priority", "priority %s", ", ", false},
    {"memory_limit", "limit", "memory limit %s", ", ", true},
    {"schedule", "schedule", "schedule %s", ", ", false},
    {"bind", "bind", "bound %s", ", ", false},
    {"workload", "workload", "workload %s", ", ", false},
    {"workload_options", "options", "options '%s'", ", ", false},
    {"kernels", "kernels", "%s kernels", ", ", false},
    {"blocks", "blocks", "of %s blocks", " ", false},
    {"threads_per_block", "block", "× %s threads", " ", false},
    {"spin", "spin", "spin %s", ", ", false},
    {"bytes", "bytes", "%s bytes each way", ", ", false},
    {"delay_cycles", "cycles", "%s cycles", ", ", false},
};
#define SETTINGS (sizeof settings / sizeof settings[0])
#define GPU_SETTINGS                                                                               \
    2 /* the first ones are about several GPUs, and CSV has them only for those                    \
       */

static void setting_text(const json_t *point, const char *key, bool sizes, char *out, size_t size)
{
    const json_t *value = json_object_get(point, key);
    *out = '\0';
    if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
    else if (!value && strcmp(key, "gpus") == 0)
        snprintf(out, size, "1");
    else if (json_is_array(value) || sizes)
        shares_json_text(value, sizes, out, size);
    else if (json_is_integer(value))
        snprintf(out, size, "%lld", (long long)json_integer_value(value));
    if (!*out)
        snprintf(out, size, "-");
}

static bool varies(const json_t *points, const char *key)
{
    const json_t *first = json_object_get(json_array_get(points, 0), key);
    for (size_t i = 1; i < json_array_size(points); i++) {
        const json_t *other = json_object_get(json_array_get(points, i), key);
        if ((first || other) && !(first && other && json_equal(first, other)))
            return true;
    }
    return false;
}

static bool any_of_several_gpus(const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (json_object_get(json_array_get(points, i), "gpus"))
            return true;
    return false;
}

static bool any_fixed(const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (json_object_get(json_array_get(points, i), "fixed"))
            return true;
    return false;
}

enum { MOST_COLUMNS = 2 + SETTINGS + 13 };

struct table {
    const char *titles[MOST_COLUMNS];
    bool left[MOST_COLUMNS]; /* text stands left, numbers right */
    size_t columns;
    bool fixed;                    /* fixed work: a column more */
    struct scaling_index *singles; /* points of one GPU, where others have several; or NULL */
    size_t rows;
    char (*cells)[CELL];  /* rows x columns */
    const json_t *points; /* a row each; remarks may be longer than a cell */
};

static char *cell(struct table *table, size_t row, size_t column)
{
    return table->cells[row * table->columns + column];
}

static void add_column(struct table *table, const char *title, bool left)
{
    table->titles[table->columns] = title;
    table->left[table->columns] = left;
    table->columns++;
}

/* NULL where the energy is not known. */
static const json_t *joules_of(const json_t *point)
{
    const json_t *joules =
        json_object_get(json_object_get(point, "telemetry"), "joules_per_iteration");
    return json_is_number(joules) ? joules : NULL;
}

static bool any_joules(const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (joules_of(json_array_get(points, i)))
            return true;
    return false;
}

static void fill_joules(char *out, const json_t *point)
{
    const json_t *joules = joules_of(point);
    if (joules)
        snprintf(out, CELL, "%.3g", json_number_value(joules));
    else
        snprintf(out, CELL, "-");
}

/* Throughput, interval, latencies and fairness of one point. */
static void fill_numbers(struct table *table, size_t row, size_t column, const json_t *point)
{
    const json_t *latency = json_object_get(point, "latency_us");
    const json_t *interval = json_object_get(point, "ci95_rel");
    if (!latency) {
        for (size_t i = 0; i < (table->fixed ? 6 : 5); i++)
            snprintf(cell(table, row, column + i), CELL, "-");
        return;
    }
    text_number(number_at(point, "throughput_ips"), cell(table, row, column), CELL);
    if (json_is_number(interval))
        snprintf(cell(table, row, column + 1), CELL, "±%.1f%%",
                 100.0 * json_number_value(interval));
    else
        snprintf(cell(table, row, column + 1), CELL, "?");
    text_number(number_at(latency, "p50") / 1e3, cell(table, row, column + 2), CELL);
    text_number(number_at(latency, "p99") / 1e3, cell(table, row, column + 3), CELL);
    snprintf(cell(table, row, column + 4), CELL, "%.2f", number_at(point, "fairness_jain"));
    if (table->fixed)
        text_number(number_at(json_object_get(point, "fixed"), "throughput_ips"),
                    cell(table, row, column + 5), CELL);
}

/* How it compares with the same point on one GPU. */
static void fill_scaling(char *out, const struct scaling_index *index, const json_t *point)
{
    struct scaling scaling;
    bool found = index && scaling_find(index, point, &scaling);
    scaling_text(found ? &scaling : NULL, out, CELL);
}

static void fill_row(struct table *table, size_t row, const json_t *point, const bool *shown,
                     bool joules)
{
    size_t column = 0;
    snprintf(cell(table, row, column++), CELL, "%s", text_at(point, "layout"));
    snprintf(cell(table, row, column++), CELL, "%lld×%lld",
             (long long)integer_at(point, "processes"), (long long)integer_at(point, "threads"));
    for (size_t i = 0; i < SETTINGS; i++)
        if (shown[i])
            setting_text(point, settings[i].key, settings[i].sizes, cell(table, row, column++),
                         CELL);
    if (shown[SETTINGS])
        rate_cell(point, cell(table, row, column++), CELL);
    fill_numbers(table, row, column, point);
    if (joules)
        fill_joules(cell(table, row, table->columns - 1 - (table->singles != NULL)), point);
    if (table->singles)
        fill_scaling(cell(table, row, table->columns - 1), table->singles, point);
}

static void print_padded(FILE *out, const char *text, size_t width, bool left, bool last)
{
    size_t columns = text_columns(text);
    int padding = columns < width ? (int)(width - columns) : 0;
    if (left)
        fprintf(out, "%s%*s", text, last ? 0 : padding, "");
    else
        fprintf(out, "%*s%s", padding, "", text);
    if (!last)
        fputs("  ", out);
}

static void print_cells(FILE *out, struct table *table)
{
    size_t widths[MOST_COLUMNS] = {0};
    for (size_t c = 0; c < table->columns; c++) {
        widths[c] = text_columns(table->titles[c]);
        for (size_t r = 0; r < table->rows; r++) {
            size_t width = text_columns(cell(table, r, c));
            if (width > widths[c])
                widths[c] = width;
        }
    }
    size_t last = table->columns - 1;
    for (size_t c = 0; c <= last; c++)
        print_padded(out, table->titles[c], widths[c], table->left[c], c == last);
    fputc('\n', out);
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c <= last; c++)
            print_padded(out, cell(table, r, c), widths[c], table->left[c], c == last);
        table_print_remark(out, json_array_get(table->points, r));
        fputc('\n', out);
    }
}

static void print_heading(FILE *out, json_t *header, const json_t *points, const bool *shown)
{
    const json_t *gpu = json_object_get(header, "gpu");
    if (json_is_true(json_object_get(gpu, "emulated")))
        fputs("EMULATED GPU: these numbers show how mpsweep works, and nothing about hardware\n",
              out);
    fprintf(out, "%s, driver CUDA %s, %s\n", text_at(gpu, "name"), text_at(header, "driver"),
            text_at(header, "topology"));
    const char *policy;
    const json_t *binding;
    json_object_foreach(json_object_get(header, "binding"), policy, binding)
    {
        fprintf(out, "binding %s: %s\n", policy, json_string_value(binding));
    }
    bool begun = false;
    for (size_t i = 0; i < SETTINGS; i++) {
        char value[CELL], phrase[2 * CELL] = "";
        if (shown[i] || !json_object_get(json_array_get(points, 0), settings[i].key))
            continue;
        setting_text(json_array_get(points, 0), settings[i].key, settings[i].sizes, value,
                     sizeof value);
        /* What a built-in one does follows in numbers. */
        if (strcmp(value, "builtin") == 0 || strcmp(value, "delay") == 0)
            continue;
        struct text text = {.at = phrase, .size = sizeof phrase};
        /* The phrases stand in the table above, each with one %s. */
        const char *mark = strstr(settings[i].phrase, "%s");
        text_append(&text, "%.*s%s%s", (int)(mark - settings[i].phrase), settings[i].phrase, value,
                    mark + 2);
        fprintf(out, "%s%s", begun ? settings[i].joint : "", phrase);
        begun = true;
    }
    fputs(begun ? "\n\n" : "\n", out);
}

void table_print(FILE *out, json_t *header, const json_t *points)
{
    bool shown[SETTINGS + 1] = {false}; /* the last one: rates of open loops */
    struct table table = {.rows = json_array_size(points), .points = points};
    if (table.rows == 0)
        return;
    add_column(&table, "layout", true);
    add_column(&table, "P×T", false);
    for (size_t i = 0; i < SETTINGS; i++) {
        shown[i] = varies(points, settings[i].key);
        if (shown[i])
            add_column(&table, settings[i].title,
                       json_is_string(json_object_get(json_array_get(points, 0), settings[i].key)));
    }
    for (size_t r = 0; r < table.rows; r++)
        shown[SETTINGS] |= json_object_get(json_array_get(points, r), "rate") != NULL;
    if (shown[SETTINGS])
        add_column(&table, "offered/s", false);
    add_column(&table, "iterations/s", false);
    add_column(&table, "95%", false);
    add_column(&table, "p50 ms", false);
    add_column(&table, "p99 ms", false);
    add_column(&table, "fair", false);
    table.fixed = any_fixed(points);
    if (table.fixed)
        add_column(&table, "forum's/s", false);
    bool joules = any_joules(points);
    if (joules)
        add_column(&table, "J/iter", false);
    if (any_of_several_gpus(points) && scaling_index_new(points, &table.singles) == STATUS_OK)
        add_column(&table, "scaling", false);
    table.cells = calloc(table.rows * table.columns, sizeof *table.cells);
    if (!table.cells) {
        scaling_index_free(table.singles);
        return;
    }
    for (size_t r = 0; r < table.rows; r++)
        fill_row(&table, r, json_array_get(points, r), shown, joules);
    print_heading(out, header, points, shown);
    print_cells(out, &table);
    table_print_gpus(out, points);
    table_print_mixes(out, points);
    table_print_warnings(out, points);
    scaling_index_free(table.singles);
    free(table.cells);
}

void table_print_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_csv_number(FILE *out, const json_t *number)
{
    if (json_is_number(number))
        fprintf(out, ",%.6g", json_number_value(number));
    else
        fputc(',', out);
}

static void print_csv_telemetry(FILE *out, const json_t *telemetry)
{
    print_csv_number(out, json_object_get(telemetry, "joules_per_iteration"));
    print_csv_number(out, json_object_get(json_object_get(telemetry, "power_w"), "mean"));
    print_csv_number(out, json_object_get(json_object_get(telemetry, "sm_clock_mhz"), "mean"));
}

void table_print_csv(FILE *out, const json_t *header, const json_t *points)
{
    bool emulated = json_is_true(json_object_get(json_object_get(header, "gpu"), "emulated"));
    bool fixed = any_fixed(points);
    size_t first = any_of_several_gpus(points) ? 0 : GPU_SETTINGS;
    fputs("layout,processes,threads,workers", out);
    for (size_t i = first; i < SETTINGS; i++)
        fprintf(out, ",%s", settings[i].key);
    fputs(",offered_ips,arrival,late_share,service_p99_us,saturated", out);
    fputs(",status,throughput_ips,ci95_rel,p50_us,p90_us,p99_us,mean_us,fairness_jain", out);
    if (fixed)
        fputs(",fixed_throughput_ips", out);
    fputs(",joules_per_iteration,power_w,sm_clock_mhz,emulated,error\n", out);
    for (size_t r = 0; r < json_array_size(points); r++) {
        const json_t *point = json_array_get(points, r);
        const json_t *latency = json_object_get(point, "latency_us");
        fprintf(out, "%s,%lld,%lld,%lld", text_at(point, "layout"),
                (long long)integer_at(point, "processes"), (long long)integer_at(point, "threads"),
                (long long)integer_at(point, "workers"));
        for (size_t i = first; i < SETTINGS; i++) {
            char value[CSV_CELL] = "";
            if (json_object_get(point, settings[i].key) || strcmp(settings[i].key, "gpus") == 0)
                setting_text(point, settings[i].key, false, value, sizeof value);
            fputc(',', out);
            table_print_csv_text(out, value);
        }
        rate_print_csv(out, point);
        fprintf(out, ",%s", text_at(point, "status"));
        const json_t *interval = json_object_get(point, "ci95_rel");
        char interval_text[32] = "";
        if (json_is_number(interval))
            snprintf(interval_text, sizeof interval_text, "%.4g", json_number_value(interval));
        if (latency)
            fprintf(out, ",%.6g,%s,%.6g,%.6g,%.6g,%.6g,%.4g", number_at(point, "throughput_ips"),
                    interval_text, number_at(latency, "p50"), number_at(latency, "p90"),
                    number_at(latency, "p99"), number_at(latency, "mean"),
                    number_at(point, "fairness_jain"));
        else
            fputs(",,,,,,,", out);
        const json_t *work = json_object_get(point, "fixed");
        if (work)
            fprintf(out, ",%.6g", number_at(work, "throughput_ips"));
        else if (fixed)
            fputc(',', out);
        print_csv_telemetry(out, json_object_get(point, "telemetry"));
        fprintf(out, ",%s,", emulated ? "yes" : "no");
        table_print_csv_text(out, text_at(point, "error"));
        fputc('\n', out);
    }
}

const char *table_setting_title(size_t index)
{
    return index < SETTINGS ? settings[index].title : NULL;
}

const char *table_setting_key(size_t index)
{
    return settings[index].key;
}

bool table_setting_varies(const json_t *points, size_t index)
{
    return varies(points, settings[index].key);
}

bool table_setting_is_text(const json_t *point, size_t index)
{
    return json_is_string(json_object_get(point, settings[index].key));
}

void table_setting_text(const json_t *point, size_t index, char *out, size_t size)
{
    setting_text(point, settings[index].key, settings[index].sizes, out, size);
}

void table_print_heading(FILE *out, json_t *header, const json_t *points)
{
    bool shown[SETTINGS];
    for (size_t i = 0; i < SETTINGS; i++)
        shown[i] = varies(points, settings[i].key);
    print_heading(out, header, points, shown);
}

void table_print_cell(FILE *out, const char *text, size_t width, bool left, bool last)
{
    print_padded(out, text, width, left, last);
}
