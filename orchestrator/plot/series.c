#include "orchestrator/plot/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/internal.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/table.h"

#define LISTED_MAX 6
#define TITLE_BYTES (POINT_TEXT_BYTES * (SETTINGS_IDS + 2))

bool series_takes_any(const struct results *results, bool (*take)(const json_t *point, double *x))
{
    size_t index;
    const json_t *point;
    double x;
    json_array_foreach(results->points, index, point)
    {
        if (take(point, &x))
            return true;
    }
    return false;
}

void series_join_rates(struct series_figure *figure)
{
    figure->ignored |= 1u << OPTION_RATE;
    figure->whole_names = true;
}

double series_offered_ips(const json_t *point)
{
    return number_at(json_object_get(point, "rate"), "offered_ips");
}

static bool is_hybrid(int layout)
{
    return layout < LAYOUT_KINDS &&
           strncmp(layout_name((enum layout_kind)layout), "hybrid", 6) == 0;
}

/* False if the figure cannot draw the point. */
static bool row_from_point(const json_t *point, const struct series_figure *figure,
                           bool hybrid_by_processes, struct series_row *row)
{
    double x = 0;
    if (!figure->take(point, &x))
        return false;
    *row = (struct series_row){
        .point = point, .id = integer_at(point, "id"), .layout = point_layout(point), .x = x};
    if (figure->whole_names)
        point_name(point, row->name);
    else if (integer_at(point, "streams") > 1)
        snprintf(row->name, POINT_TEXT_BYTES,
                 "%.30s %" JSON_INTEGER_FORMAT "×%" JSON_INTEGER_FORMAT "×S",
                 text_at(point, "layout"), integer_at(point, "processes"),
                 integer_at(point, "threads"));
    else if (is_hybrid(row->layout) && hybrid_by_processes)
        snprintf(row->name, POINT_TEXT_BYTES, "%.30s %" JSON_INTEGER_FORMAT "×T",
                 text_at(point, "layout"), integer_at(point, "processes"));
    else if (is_hybrid(row->layout))
        snprintf(row->name, POINT_TEXT_BYTES, "%.30s P×%" JSON_INTEGER_FORMAT,
                 text_at(point, "layout"), integer_at(point, "threads"));
    else
        snprintf(row->name, POINT_TEXT_BYTES, "%.60s", text_at(point, "layout"));
    for (int i = 0; i < SETTINGS_IDS; i++)
        if (i != OPTION_STREAMS && !(figure->ignored & 1u << i))
            settings_figure_text(point, (enum option_id)i, row->texts[i]);
    /* Of a rate that separates no series, the kind of arrivals does. */
    if (figure->ignored & 1u << OPTION_RATE && json_is_object(json_object_get(point, "rate")))
        snprintf(row->texts[OPTION_RATE], POINT_TEXT_BYTES, "%.20s arrivals",
                 text_at(json_object_get(point, "rate"), "arrival"));
    return true;
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

bool series_begins_at(const struct series_table *table, size_t index)
{
    return index == 0 || table->rows[index - 1].series != table->rows[index].series;
}

bool series_ends_at(const struct series_table *table, size_t index)
{
    return index + 1 == table->count || series_begins_at(table, index + 1);
}

/* What the rows of one series share. */
static const char *series_key(const struct series_row *row, char key[TITLE_BYTES])
{
    struct text text = {.at = key, .size = TITLE_BYTES};
    text_append(&text, "%d\n%s", row->layout, row->name);
    for (size_t i = 0; i < SETTINGS_IDS; i++)
        text_append(&text, "\n%s", row->texts[i]);
    return key;
}

/* Numbers the series in the order in which the plan has their first points. False: no memory. */
static bool number_series(struct series_table *table)
{
    json_t *numbers = json_object();
    json_int_t count = 0, number = 0;
    for (size_t i = 0; i < table->count && number >= 0; i++) {
        char key[TITLE_BYTES];
        number = json_place(numbers, series_key(&table->rows[i], key), count);
        count += number == count;
        table->rows[i].series = (size_t)number;
    }
    table->series_count = (size_t)count;
    json_decref(numbers);
    return number >= 0;
}

static bool table_fill(const json_t *points, const struct series_figure *figure,
                       struct series_table *table)
{
    size_t index;
    const json_t *point;
    table->count = 0;
    table->unconverged = 0;
    json_array_foreach(points, index, point)
    {
        if (!row_from_point(point, figure, table->hybrid_by_processes, &table->rows[table->count]))
            continue;
        table->unconverged += strcmp(text_at(point, "status"), "unconverged") == 0;
        table->count++;
    }
    /* Points were measured in random order: the plan's is the reader's. */
    qsort(table->rows, table->count, sizeof *table->rows, compare_in_plan);
    if (!number_series(table))
        return false;
    for (size_t i = 0; i < table->count; i++)
        for (size_t s = 0; s < SETTINGS_IDS; s++)
            if (strcmp(table->rows[i].texts[s], table->rows[0].texts[s]) != 0)
                table->varies[s] = true;
    qsort(table->rows, table->count, sizeof *table->rows, compare_in_series);
    return true;
}

/* Series of P×T points are cut along P or along T, whichever gives the fewer. */
static bool table_fill_best(const json_t *points, const struct series_figure *figure,
                            struct series_table *table)
{
    table->hybrid_by_processes = true;
    if (!table_fill(points, figure, table))
        return false;
    size_t by_processes = table->series_count;
    table->hybrid_by_processes = false;
    if (!table_fill(points, figure, table))
        return false;
    table->hybrid_by_processes = by_processes < table->series_count;
    return !table->hybrid_by_processes || table_fill(points, figure, table);
}

enum status series_table_make(const struct series_figure *figure, const struct results *results,
                              const char *path, struct series_table *out)
{
    size_t count = json_array_size(results->points);
    struct series_table table = {.rows = calloc(count + 1, sizeof *table.rows)};
    enum status status = STATUS_OK;
    if (table.rows == NULL || !table_fill_best(results->points, figure, &table))
        status = status_set(STATUS_MEMORY, "out of memory for %zu points", count);
    else if (table.count == 0)
        status = status_set(STATUS_USAGE, "'%s' has no measured point %s", path, figure->needed);
    if (status == STATUS_OK)
        *out = table;
    else
        series_table_release(&table);
    return status;
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

/* "threads, pageable, no sync": a name and the settings in which the table's rows differ, in brief
 * without usual ones. */
static void title_text(const struct series_table *table, const struct series_row *row,
                       const char *name, bool brief, char *title, size_t size)
{
    int used = snprintf(title, size, "%s", name);
    for (size_t s = 0; s < SETTINGS_IDS && (size_t)used < size; s++)
        if (table->varies[s] && row->texts[s][0] != '\0' &&
            strcmp(row->texts[s], SETTINGS_DEFAULT_QUEUES) != 0 &&
            !(brief && is_usual(row->texts[s])))
            used += snprintf(title + used, size - (size_t)used, ", %s", row->texts[s]);
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
        size_t number = row->series + 1;
        if (series_begins_at(table, i)) {
            char title[TITLE_BYTES];
            title_text(table, row, row->name, false, title, sizeof title);
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
        if (series_ends_at(table, i))
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

/* "Not drawn: 2 infeasible (threads+mps 1×48, …); 3 without WHAT (…)"; nothing if the figure takes
 * all points. */
static void write_missing(FILE *out, const json_t *points, const struct series_figure *figure)
{
    const char *const kinds[] = {"infeasible", "failed", "interrupted", figure->missing};
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
        if (figure->take(point, &x))
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

enum status series_write_heading(FILE *file, const struct series_figure *figure,
                                 const struct series_table *table, const struct results *results)
{
    struct text_stream out;
    char *notes = NULL, unfinished[TABLE_UNFINISHED];
    if (text_stream_open(&out)) {
        write_shared(out.file, table);
        fputs(figure->notes, out.file);
        write_missing(out.file, results->points, figure);
        if (figure->has_rows && table->count > PLOT_ROWS_MAX)
            fprintf(out.file, " Not drawn for want of room: %zu more.",
                    table->count - PLOT_ROWS_MAX);
        if (*table_unfinished(results, unfinished))
            fprintf(out.file, " %s.", unfinished);
        notes = text_stream_close(&out);
    }
    enum status status =
        plot_write_heading(file, figure->name, figure->title, results->header, notes);
    free(notes);
    return status;
}

static enum status write_labels(FILE *file, const struct series_table *table)
{
    json_t *labels = json_array();
    for (size_t i = 0; i < table->count; i++) {
        char name[POINT_TEXT_BYTES], label[TITLE_BYTES];
        point_name(table->rows[i].point, name);
        title_text(table, &table->rows[i], name, true, label, sizeof label);
        json_array_append_new(labels, json_string_nocheck(label));
    }
    return plot_write_labels(file, labels, table->count);
}

enum status series_begin(FILE *file, const struct series_figure *figure,
                         const struct results *results, const char *path, struct series_table *out)
{
    struct series_table table;
    enum status status = series_table_make(figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    status = series_write_heading(file, figure, &table, results);
    if (status == STATUS_OK && figure->has_rows) {
        table.count = table.count < PLOT_ROWS_MAX ? table.count : PLOT_ROWS_MAX;
        status = write_labels(file, &table);
    }
    if (status == STATUS_OK)
        *out = table;
    else
        series_table_release(&table);
    return status;
}
