#include "orchestrator/plot/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/internal.h"
#include "orchestrator/results/settings.h"

#define LISTED_MAX 6

static bool is_hybrid(int layout)
{
    return layout < LAYOUT_KINDS &&
           strncmp(layout_name((enum layout_kind)layout), "hybrid", 6) == 0;
}

/* False if the figure cannot draw the point. */
static bool row_from_point(const json_t *point, const struct series_form *form,
                           bool hybrid_by_processes, struct series_row *row)
{
    double x = 0;
    if (!form->take(point, &x))
        return false;
    *row = (struct series_row){
        .point = point, .id = integer_at(point, "id"), .layout = point_layout(point), .x = x};
    if (form->whole_names)
        point_name(point, row->name);
    else if (is_hybrid(row->layout) && hybrid_by_processes)
        snprintf(row->name, POINT_TEXT_BYTES, "%.30s %" JSON_INTEGER_FORMAT "×T",
                 text_at(point, "layout"), integer_at(point, "processes"));
    else if (is_hybrid(row->layout))
        snprintf(row->name, POINT_TEXT_BYTES, "%.30s P×%" JSON_INTEGER_FORMAT,
                 text_at(point, "layout"), integer_at(point, "threads"));
    else
        snprintf(row->name, POINT_TEXT_BYTES, "%.60s", text_at(point, "layout"));
    for (int i = 0; i < SETTINGS_IDS; i++)
        if (!(form->ignored & 1u << i))
            settings_figure_text(point, (enum option_id)i, row->texts[i]);
    /* Of a rate that is x, the kind of arrivals stays. */
    if (form->ignored & 1u << OPTION_RATE && json_is_object(json_object_get(point, "rate")))
        snprintf(row->texts[OPTION_RATE], POINT_TEXT_BYTES, "%.20s arrivals",
                 text_at(json_object_get(point, "rate"), "arrival"));
    return true;
}

/* Rows of one series side by side, in the order of the plan. */
static int compare_alike(const void *left, const void *right)
{
    const struct series_row *a = *(struct series_row *const *)left;
    const struct series_row *b = *(struct series_row *const *)right;
    int order = a->layout < b->layout ? -1 : a->layout > b->layout;
    if (order == 0)
        order = strcmp(a->name, b->name);
    for (size_t i = 0; order == 0 && i < SETTINGS_IDS; i++)
        order = strcmp(a->texts[i], b->texts[i]);
    return order != 0 ? order : (a > b) - (a < b);
}

static bool same_series(const struct series_row *a, const struct series_row *b)
{
    bool same = a->layout == b->layout && strcmp(a->name, b->name) == 0;
    for (size_t i = 0; same && i < SETTINGS_IDS; i++)
        same = strcmp(a->texts[i], b->texts[i]) == 0;
    return same;
}

static int compare_in_plan(const void *left, const void *right)
{
    const struct series_row *a = left, *b = right;
    if (a->layout != b->layout)
        return a->layout < b->layout ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int compare_in_series(const void *left, const void *right)
{
    const struct series_row *a = left, *b = right;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Numbers the series in the order in which the plan has their first points. */
static enum status number_series(struct series_table *table)
{
    struct series_row **alike = calloc(table->count + 1, sizeof *alike);
    if (alike == NULL)
        return status_set(STATUS_MEMORY, "out of memory for %zu points", table->count);
    for (size_t i = 0; i < table->count; i++)
        alike[i] = &table->rows[i];
    qsort(alike, table->count, sizeof *alike, compare_alike);
    /* Each row gets the place of its series' first one, and then that one's number. */
    size_t first = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (i == 0 || !same_series(alike[i], alike[i - 1]))
            first = (size_t)(alike[i] - table->rows);
        alike[i]->series = first;
    }
    free(alike);
    for (size_t i = 0; i < table->count; i++) {
        struct series_row *row = &table->rows[i];
        row->series = row->series == i ? table->series_count++ : table->rows[row->series].series;
    }
    return STATUS_OK;
}

static enum status table_fill(const json_t *points, const struct series_form *form,
                              struct series_table *table)
{
    size_t index;
    const json_t *point;
    table->count = 0;
    table->unconverged = 0;
    table->series_count = 0;
    json_array_foreach(points, index, point)
    {
        if (!row_from_point(point, form, table->hybrid_by_processes, &table->rows[table->count]))
            continue;
        table->unconverged += strcmp(text_at(point, "status"), "unconverged") == 0;
        table->count++;
    }
    /* Points were measured in random order: the plan's is the reader's. */
    qsort(table->rows, table->count, sizeof *table->rows, compare_in_plan);
    enum status status = number_series(table);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < table->count; i++)
        for (size_t s = 0; s < SETTINGS_IDS; s++)
            if (strcmp(table->rows[i].texts[s], table->rows[0].texts[s]) != 0)
                table->varies[s] = true;
    qsort(table->rows, table->count, sizeof *table->rows, compare_in_series);
    return STATUS_OK;
}

/* Series of P×T points are cut along P or along T, whichever gives the fewer. */
enum status series_table_make(const json_t *points, const struct series_form *form,
                              struct series_table *out)
{
    struct series_table table = {.hybrid_by_processes = true};
    table.rows = calloc(json_array_size(points) + 1, sizeof *table.rows);
    if (table.rows == NULL)
        return status_set(STATUS_MEMORY, "out of memory for %zu points", json_array_size(points));
    enum status status = table_fill(points, form, &table);
    size_t by_processes = table.series_count;
    table.hybrid_by_processes = false;
    if (status == STATUS_OK)
        status = table_fill(points, form, &table);
    if (status == STATUS_OK && by_processes < table.series_count) {
        table.hybrid_by_processes = true;
        status = table_fill(points, form, &table);
    }
    if (status != STATUS_OK)
        series_table_release(&table);
    else
        *out = table;
    return status;
}

enum status series_table_need(const struct results *results, const struct series_form *form,
                              const char *path, const char *what, struct series_table *out)
{
    struct series_table table;
    enum status status = series_table_make(results->points, form, &table);
    if (status != STATUS_OK)
        return status;
    if (table.count == 0) {
        series_table_release(&table);
        return status_set(STATUS_USAGE, "'%s' has no measured point %s", path, what);
    }
    *out = table;
    return STATUS_OK;
}

void series_table_release(struct series_table *table)
{
    free(table->rows);
    *table = (struct series_table){0};
}

/* Whether the text is a default, which the label of a single point leaves out. */
static bool is_usual(const char *text)
{
    return strcmp(text, "stream launch") == 0 || strcmp(text, "schedule auto") == 0;
}

static void title_text(const struct series_table *table, const struct series_row *row,
                       const char *name, bool brief, char *title, size_t size)
{
    int used = snprintf(title, size, "%s", name);
    for (size_t s = 0; s < SETTINGS_IDS && (size_t)used < size; s++)
        if (table->varies[s] && row->texts[s][0] != '\0' &&
            strcmp(row->texts[s], SETTINGS_DEFAULT_CONNECTIONS) != 0 &&
            !(brief && is_usual(row->texts[s])))
            used += snprintf(title + used, size - (size_t)used, ", %s", row->texts[s]);
}

/* "threads, pageable, no sync" */
static void series_title(const struct series_table *table, const struct series_row *row,
                         char *title, size_t size)
{
    title_text(table, row, row->name, false, title, size);
}

/* The same of one point, without defaults: "threads 1×16, pageable, no sync". */
static void series_label(const struct series_table *table, const struct series_row *row,
                         char *label, size_t size)
{
    char name[POINT_TEXT_BYTES];
    point_name(row->point, name);
    title_text(table, row, name, true, label, size);
}

void series_write(FILE *file, const struct series_table *table, const char *heading,
                  void (*write_row)(FILE *file, const struct series_row *row))
{
    fprintf(file, "n_series = %zu\n", table->series_count);
    fprintf(file, "array titles[n_series]\narray layout_of[n_series]\n"
                  "array variant_of[n_series]\n");
    int variant = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        bool first = i == 0 || row[-1].series != row->series;
        bool last = i + 1 == table->count || row[1].series != row->series;
        size_t number = row->series + 1;
        if (first) {
            char title[POINT_TEXT_BYTES * (SETTINGS_IDS + 1)];
            series_title(table, row, title, sizeof title);
            variant = i > 0 && row[-1].layout == row->layout ? variant + 1 : 1;
            fputc('\n', file);
            plot_write_item(file, "titles", number, title);
            fprintf(file, "layout_of[%zu] = %d\nvariant_of[%zu] = %d\n", number, row->layout + 1,
                    number, variant);
            if (write_row != NULL)
                fprintf(file, "# %s\n$series_%zu << EOD\n", heading, number);
        }
        if (write_row == NULL)
            continue;
        write_row(file, row);
        if (last)
            fputs("EOD\n", file);
    }
}

/* "All points: pinned, 220 kernels. ": what all series share; nothing if there is nothing. */
static void write_shared(FILE *out, const struct series_table *table)
{
    const char *separator = "All points: ";
    for (size_t s = 0; s < SETTINGS_IDS; s++) {
        if (table->varies[s] || table->rows[0].texts[s][0] == '\0')
            continue;
        fprintf(out, "%s%s", separator, table->rows[0].texts[s]);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputs(". ", out);
}

/* Adds a text to a list without repeats; it ends with one more than LISTED_MAX if there are more.
 */
static void list_add(char list[LISTED_MAX + 1][POINT_TEXT_BYTES], int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(list[i], text) == 0)
            return;
    if (*count <= LISTED_MAX)
        snprintf(list[(*count)++], POINT_TEXT_BYTES, "%s", text);
}

/* "Not drawn: 2 infeasible (threads+mps 1×48, …); 3 without WHAT (…)"; nothing if take() takes all
 * points. */
static void write_missing(FILE *out, const json_t *points,
                          bool (*take)(const json_t *point, double *x), const char *what)
{
    const char *const kinds[] = {"infeasible", "failed", "interrupted", what};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    char lists[KINDS][LISTED_MAX + 1][POINT_TEXT_BYTES];
    int listed[KINDS] = {0};
    int counts[KINDS] = {0};
    size_t index;
    const json_t *point;
    json_array_foreach(points, index, point)
    {
        double x;
        char text[POINT_TEXT_BYTES];
        size_t kind = 0;
        if (take(point, &x))
            continue;
        while (kind + 1 < KINDS && strcmp(kinds[kind], text_at(point, "status")) != 0)
            kind++;
        point_name(point, text);
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

enum status series_write_heading(FILE *file, const struct series_heading *heading,
                                 const struct series_form *form, const struct series_table *table,
                                 const struct results *results)
{
    struct text_stream out;
    char *notes = NULL;
    if (text_stream_open(&out)) {
        write_shared(out.file, table);
        fputs(heading->notes, out.file);
        write_missing(out.file, results->points, form->take, heading->missing);
        if (heading->rows_most > 0 && table->count > heading->rows_most)
            fprintf(out.file, " Not drawn for want of room: %zu more.",
                    table->count - heading->rows_most);
        notes = text_stream_close(&out);
    }
    enum status status =
        plot_write_heading(file, heading->figure, heading->title, results->header, notes);
    free(notes);
    return status;
}

/* -- rows ----------------------------------------------------------------------------------------
 */

size_t plot_rows_count(const struct series_table *table)
{
    return table->count < PLOT_ROWS_MAX ? table->count : PLOT_ROWS_MAX;
}

static void write_labels(FILE *file, const struct series_table *table)
{
    fprintf(file, "n_rows = %zu\narray labels[n_rows]\n", plot_rows_count(table));
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        char label[POINT_TEXT_BYTES * (SETTINGS_IDS + 1)];
        series_label(table, &table->rows[i], label, sizeof label);
        plot_write_item(file, "labels", i + 1, label);
    }
}

enum status plot_rows_begin(FILE *file, const struct series_heading *heading,
                            const struct series_form *form, const struct results *results,
                            const char *path, const char *what, struct series_table *out)
{
    struct series_table table;
    struct series_heading limited = *heading;
    limited.rows_most = PLOT_ROWS_MAX;
    enum status status = series_table_need(results, form, path, what, &table);
    if (status != STATUS_OK)
        return status;
    status = series_write_heading(file, &limited, form, &table, results);
    if (status != STATUS_OK) {
        series_table_release(&table);
        return status;
    }
    write_labels(file, &table);
    *out = table;
    return STATUS_OK;
}
