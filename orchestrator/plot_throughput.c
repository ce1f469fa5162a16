/*
 * Throughput against the number of workers. A series is what shares every setting but the number
 * of workers; its title names the settings in which the series differ, and the caption those that
 * they share.
 */
#include "orchestrator/openloop.h"
#include "orchestrator/plot_figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/shares.h"

#define TEXT_BYTES 64
#define WORKERS_MAX 1000000
#define LISTED_MAX 6

/* What a title leaves unsaid. */
#define DEFAULT_CONNECTIONS "default connections"

/* A setting: the point's field, and how a value of it reads. */
struct setting {
    const char *field;
    const char *form; /* %s stands for the value; NULL: see setting_text() */
};

enum { SETTING_MEMORY, SETTING_SYNC, SETTING_CONNECTIONS = 3, SETTING_MEMORY_LIMIT = 6 };

static const struct setting settings[] = {
    [SETTING_MEMORY] = {"memory", "%s"},
    [SETTING_SYNC] = {"sync", NULL},
    {"launch", "%s launch"},
    [SETTING_CONNECTIONS] = {"connections", NULL},
    {"active_thread_percentage", "%s% active threads"},
    {"priority", "priority %s"},
    [SETTING_MEMORY_LIMIT] = {"memory_limit", "memory limit %s"},
    {"schedule", "schedule %s"},
    {"bind", "bind %s"},
    {"kernels", "%s kernels"},
    {"blocks", "%s blocks"},
    {"threads_per_block", "%s threads a block"},
    {"spin", "spin %s"},
    {"delay_cycles", "%s cycles"},
    {"rate", "%s"},
    {"bytes", NULL},
};

#define SETTING_COUNT (sizeof settings / sizeof *settings)

/* In the order of the legend; a series' number here, from 1, is its colour in plots/style.gp. */
static const char *const layouts[] = {
    "threads", "processes", "processes+mps", "threads+mps", "hybrid", "hybrid-timesliced",
};

#define LAYOUT_COUNT (sizeof layouts / sizeof *layouts)

struct row {
    json_int_t id;
    int layout; /* index in layouts; LAYOUT_COUNT for one that we do not know */
    int workers;
    double throughput_ips;
    double half_width_ips;
    char name[TEXT_BYTES]; /* layout, and for P×T the factor that the series keeps */
    char texts[SETTING_COUNT][TEXT_BYTES];
    size_t series;
};

struct table {
    struct row *rows;
    size_t count;
    size_t series_count;
    bool hybrid_by_processes; /* P×T series keep P; otherwise they keep T */
    bool varies[SETTING_COUNT];
    int unconverged;
};

static json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void bytes_text(json_int_t bytes, char text[TEXT_BYTES])
{
    double value = (double)bytes;
    const char *unit = "B";
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    for (size_t i = 0; i < 3 && value >= 1024; i++) {
        value /= 1024;
        unit = units[i];
    }
    snprintf(text, TEXT_BYTES, "%.4g %s each way", value, unit);
}

static void setting_text(const json_t *point, size_t index, char text[TEXT_BYTES])
{
    const struct setting *setting = &settings[index];
    const json_t *value = json_object_get(point, setting->field);
    const char *percent = setting->form != NULL ? strstr(setting->form, "%s") : NULL;
    char plain[TEXT_BYTES / 2] = "";
    text[0] = '\0';
    if (json_is_array(value) || index == SETTING_MEMORY_LIMIT)
        shares_json_text(value, index == SETTING_MEMORY_LIMIT, plain, sizeof plain);
    else if (json_is_object(value))
        openloop_name(value, plain, sizeof plain);
    else if (json_is_integer(value))
        snprintf(plain, sizeof plain, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_string(value))
        snprintf(plain, sizeof plain, "%.30s", json_string_value(value));
    if (plain[0] == '\0')
        return;
    if (index == SETTING_SYNC) {
        /* Only a pageable copy out after single launches has this choice. */
        if (strcmp(string_of(point, "memory"), "pageable") == 0 &&
            strcmp(string_of(point, "launch"), "graph") != 0)
            snprintf(text, TEXT_BYTES, "%s", strcmp(plain, "none") == 0 ? "no sync" : "sync");
    } else if (index == SETTING_CONNECTIONS) {
        if (json_is_true(json_object_get(point, "connections_default")))
            snprintf(text, TEXT_BYTES, "%s", DEFAULT_CONNECTIONS);
        else
            snprintf(text, TEXT_BYTES, "%s connections", plain);
    } else if (percent == NULL) {
        bytes_text(json_integer_value(value), text);
    } else {
        snprintf(text, TEXT_BYTES, "%.*s%s%s", (int)(percent - setting->form), setting->form, plain,
                 percent + 2);
    }
}

static bool is_hybrid(int layout)
{
    return (size_t)layout < LAYOUT_COUNT && strncmp(layouts[layout], "hybrid", 6) == 0;
}

static int layout_index(const char *name)
{
    size_t i = 0;
    while (i < LAYOUT_COUNT && strcmp(layouts[i], name) != 0)
        i++;
    return (int)i;
}

/* True if the point has been measured; without a sound number it has not. */
static bool row_from_point(const json_t *point, bool hybrid_by_processes, struct row *row)
{
    const char *status = string_of(point, "status");
    const json_t *throughput = json_object_get(point, "throughput_ips");
    json_int_t workers = integer_of(point, "workers");
    if ((strcmp(status, "ok") != 0 && strcmp(status, "unconverged") != 0) ||
        !json_is_number(throughput) || workers < 1 || workers > WORKERS_MAX)
        return false;
    double relative = json_number_value(json_object_get(point, "ci95_rel"));
    *row = (struct row){
        .id = integer_of(point, "id"),
        .layout = layout_index(string_of(point, "layout")),
        .workers = (int)workers,
        .throughput_ips = json_number_value(throughput),
    };
    row->half_width_ips = row->throughput_ips * relative;
    if (row->throughput_ips < 0 || !isfinite(row->throughput_ips) || relative < 0 ||
        !isfinite(row->half_width_ips))
        return false;
    if (is_hybrid(row->layout) && hybrid_by_processes)
        snprintf(row->name, TEXT_BYTES, "%.30s %" JSON_INTEGER_FORMAT "×T",
                 string_of(point, "layout"), integer_of(point, "processes"));
    else if (is_hybrid(row->layout))
        snprintf(row->name, TEXT_BYTES, "%.30s P×%" JSON_INTEGER_FORMAT, string_of(point, "layout"),
                 integer_of(point, "threads"));
    else
        snprintf(row->name, TEXT_BYTES, "%.60s", string_of(point, "layout"));
    for (size_t i = 0; i < SETTING_COUNT; i++)
        setting_text(point, i, row->texts[i]);
    return true;
}

static bool same_series(const struct row *a, const struct row *b)
{
    bool same = a->layout == b->layout && strcmp(a->name, b->name) == 0;
    for (size_t i = 0; same && i < SETTING_COUNT; i++)
        same = strcmp(a->texts[i], b->texts[i]) == 0;
    return same;
}

static int compare_in_plan(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->layout != b->layout)
        return a->layout < b->layout ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int compare_in_series(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    if (a->workers != b->workers)
        return a->workers < b->workers ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void table_fill(const json_t *points, struct table *table)
{
    size_t index;
    const json_t *point;
    table->count = 0;
    table->unconverged = 0;
    table->series_count = 0;
    json_array_foreach(points, index, point)
    {
        if (!row_from_point(point, table->hybrid_by_processes, &table->rows[table->count]))
            continue;
        table->unconverged += strcmp(string_of(point, "status"), "unconverged") == 0;
        table->count++;
    }
    /* Points were measured in random order: the plan's is the reader's. */
    qsort(table->rows, table->count, sizeof *table->rows, compare_in_plan);
    for (size_t i = 0; i < table->count; i++) {
        size_t earlier = 0;
        while (earlier < i && !same_series(&table->rows[earlier], &table->rows[i]))
            earlier++;
        table->rows[i].series = earlier < i ? table->rows[earlier].series : table->series_count++;
        for (size_t s = 0; s < SETTING_COUNT; s++)
            if (strcmp(table->rows[i].texts[s], table->rows[0].texts[s]) != 0)
                table->varies[s] = true;
    }
    qsort(table->rows, table->count, sizeof *table->rows, compare_in_series);
}

/* Series of P×T points are cut along P or along T, whichever gives the fewer. */
static enum status table_make(const json_t *points, struct table *table)
{
    table->rows = calloc(json_array_size(points) + 1, sizeof *table->rows);
    if (table->rows == NULL)
        return status_set(STATUS_MEMORY, "out of memory for %zu points", json_array_size(points));
    table->hybrid_by_processes = true;
    table_fill(points, table);
    size_t by_processes = table->series_count;
    table->hybrid_by_processes = false;
    table_fill(points, table);
    if (by_processes < table->series_count) {
        table->hybrid_by_processes = true;
        table_fill(points, table);
    }
    return STATUS_OK;
}

static void write_series(FILE *file, const struct table *table)
{
    fprintf(file, "n_series = %zu\n", table->series_count);
    fprintf(file, "array titles[n_series]\narray layout_of[n_series]\n"
                  "array variant_of[n_series]\n");
    int variant = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        bool first = i == 0 || row[-1].series != row->series;
        bool last = i + 1 == table->count || row[1].series != row->series;
        size_t number = row->series + 1;
        if (first) {
            char title[TEXT_BYTES * (SETTING_COUNT + 1)];
            int used = snprintf(title, sizeof title, "%s", row->name);
            for (size_t s = 0; s < SETTING_COUNT; s++)
                if (table->varies[s] && row->texts[s][0] != '\0' &&
                    strcmp(row->texts[s], DEFAULT_CONNECTIONS) != 0)
                    used +=
                        snprintf(title + used, sizeof title - (size_t)used, ", %s", row->texts[s]);
            variant = i > 0 && row[-1].layout == row->layout ? variant + 1 : 1;
            fprintf(file, "\ntitles[%zu] = ", number);
            plot_write_string(file, title);
            fprintf(file, "\nlayout_of[%zu] = %d\nvariant_of[%zu] = %d\n", number, row->layout + 1,
                    number, variant);
            fprintf(file, "# workers, iterations/s, half width of the 95%% interval\n");
            fprintf(file, "$series_%zu << EOD\n", number);
        }
        fprintf(file, "%d %.6g %.6g\n", row->workers, row->throughput_ips, row->half_width_ips);
        if (last)
            fputs("EOD\n", file);
    }
}

static void write_ranges(FILE *file, const struct table *table)
{
    const struct row *smallest = &table->rows[0];
    double highest = 0;
    int most = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        highest = fmax(highest, row->throughput_ips + row->half_width_ips);
        most = row->workers > most ? row->workers : most;
        if (row->workers < smallest->workers ||
            (row->workers == smallest->workers && row->throughput_ips > smallest->throughput_ips))
            smallest = row;
    }
    fprintf(file, "workers_max = %d\n", most);
    fprintf(file, "throughput_max = %.6g\n", highest);
    fprintf(file, "# the best of the smallest number of workers, per worker\n");
    fprintf(file, "ideal_slope = %.6g\n\n", smallest->throughput_ips / smallest->workers);
}

/* Puts a text in a list that has no repeats; one more than LISTED_MAX says that there are more. */
static void list_add(char list[LISTED_MAX + 1][TEXT_BYTES], int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(list[i], text) == 0)
            return;
    if (*count <= LISTED_MAX)
        snprintf(list[(*count)++], TEXT_BYTES, "%s", text);
}

/* "Not drawn: 2 infeasible (threads+mps 1×48, ...); 1 failed (...)"; nothing if all points were
 * measured. */
static void missing_text(FILE *out, const json_t *points)
{
    static const char *const kinds[] = {"infeasible", "failed", "interrupted", "without a number"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    char lists[KINDS][LISTED_MAX + 1][TEXT_BYTES];
    int listed[KINDS] = {0};
    int counts[KINDS] = {0};
    size_t index;
    const json_t *point;
    json_array_foreach(points, index, point)
    {
        struct row row;
        char text[TEXT_BYTES];
        size_t kind = 0;
        if (row_from_point(point, false, &row))
            continue;
        while (kind + 1 < KINDS && strcmp(kinds[kind], string_of(point, "status")) != 0)
            kind++;
        snprintf(text, sizeof text, "%.20s %" JSON_INTEGER_FORMAT "×%" JSON_INTEGER_FORMAT,
                 string_of(point, "layout"), integer_of(point, "processes"),
                 integer_of(point, "threads"));
        counts[kind]++;
        list_add(lists[kind], &listed[kind], text);
    }
    const char *separator = "Not drawn: ";
    for (size_t kind = 0; kind < KINDS; kind++) {
        if (counts[kind] == 0)
            continue;
        fprintf(out, "%s%d %s (", separator, counts[kind], kinds[kind]);
        for (int i = 0; i < listed[kind] && i < LISTED_MAX; i++)
            fprintf(out, "%s%s", i > 0 ? ", " : "", lists[kind][i]);
        fputs(listed[kind] > LISTED_MAX ? ", …)" : ")", out);
        separator = "; ";
    }
}

/* What the series share, and what is not drawn. The caller frees it; NULL: no memory. */
static char *notes_text(const struct table *table, const json_t *points)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    const char *separator = "All points: ";
    for (size_t s = 0; s < SETTING_COUNT; s++) {
        if (table->varies[s] || table->rows[0].texts[s][0] == '\0')
            continue;
        fprintf(out, "%s%s", separator, table->rows[0].texts[s]);
        separator = ", ";
    }
    fprintf(out, "%sError bars: 95%% confidence intervals", separator[0] == ',' ? ". " : "");
    if (table->unconverged > 0)
        fprintf(out, "; wider than asked for at %d point%s", table->unconverged,
                table->unconverged > 1 ? "s" : "");
    fputs(". ", out);
    missing_text(out, points);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

enum status plot_throughput_write(const struct results *results, const char *path, FILE *file)
{
    struct table table = {0};
    char *machine = NULL;
    char *notes = NULL;
    const json_t *gpu = json_object_get(results->header, "gpu");

    enum status status = table_make(results->points, &table);
    if (status != STATUS_OK)
        goto out;
    if (table.count == 0) {
        status = status_set(STATUS_USAGE, "'%s' has no measured point to plot", path);
        goto out;
    }
    machine = plot_machine_text(results->header);
    notes = notes_text(&table, results->points);
    if (machine == NULL || notes == NULL) {
        status = status_set(STATUS_MEMORY, "out of memory for a caption");
        goto out;
    }
    fputs("# Data of a figure, written by mpsweep plot. To draw it:\n"
          "#     gnuplot -c plots/throughput.gp THIS_FILE PICTURE.svg\n",
          file);
    fputs("figure = 'throughput'\ntitle = 'Throughput by number of workers'\n"
          "xlabel = 'workers (processes × threads)'\nylabel = 'throughput (iterations/s)'\n",
          file);
    fprintf(file, "emulated = %d\n", json_is_true(json_object_get(gpu, "emulated")) ? 1 : 0);
    plot_write_captions(file, (const char *const[]){machine, notes, NULL});
    write_ranges(file, &table);
    write_series(file, &table);
out:
    free(notes);
    free(machine);
    free(table.rows);
    return status;
}
