/*
 * What was measured beside the ceiling that binds each point, and the next one: a roofline of
 * layouts. The ceilings are those of `mpsweep explain --format json`.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/plot/series.h"

/* A row shows the next ceiling up to this factor above the one that binds. */
#define FAR_AWAY 10.0

#define NAMES_MAX 16 /* what the script has marks for */

/* Ceilings in the order of their marks, so that each looks the same in every figure; the first six
 * differ in colour, the first fourteen in shape. Those of other names follow. */
static const char *const marked[] = {
    "workers",        "process-launch", "gpu-launch",  "arithmetic",   "queues",  "cpus",
    "copy-both",      "copy-in",        "copy-out",    "time-slicing", "polling", "staging",
    "blocked-copies", "thread-cap",     "host-copies", "host-launch"};

#define MARKED (sizeof marked / sizeof *marked)

/* The names of all ceilings, in the order in which they come, and the mark of each. */
struct names {
    const char *at[NAMES_MAX];
    size_t marks[NAMES_MAX];
    size_t count;
};

/* The explanation that plot_explain() has given to a point. */
#define EXPLAINED "explained"

static json_t *ceilings_of(const json_t *point)
{
    return json_object_get(json_object_get(point, EXPLAINED), "ceilings");
}

static const char *name_of(const json_t *ceiling)
{
    const char *title = text_at(ceiling, "title");
    return title[0] != '\0' ? title : text_at(ceiling, "name");
}

static bool is_ceiling(const json_t *ceiling)
{
    return number_at(ceiling, "ips") > 0 && name_of(ceiling)[0] != '\0';
}

static bool binds(const json_t *ceiling)
{
    return json_is_true(json_object_get(ceiling, "binding"));
}

static double binding_ips(const json_t *point)
{
    size_t index;
    const json_t *ceiling;
    json_array_foreach(ceilings_of(point), index, ceiling)
    {
        if (is_ceiling(ceiling) && binds(ceiling))
            return number_at(ceiling, "ips");
    }
    return 0;
}

/* The lowest of the ceilings that do not bind, which may be below the one that does; NULL: there is
 * none, or it is far away. Marks of all would hide each other. */
static const json_t *next_ceiling(const json_t *point)
{
    size_t index;
    const json_t *ceiling, *next = NULL;
    double binding = binding_ips(point);
    json_array_foreach(ceilings_of(point), index, ceiling)
    {
        if (is_ceiling(ceiling) && !binds(ceiling) &&
            (next == NULL || number_at(ceiling, "ips") < number_at(next, "ips")))
            next = ceiling;
    }
    bool is_far = next != NULL && binding > 0 && number_at(next, "ips") > FAR_AWAY * binding;
    return is_far ? NULL : next;
}

static bool is_drawn(const json_t *point, const json_t *ceiling)
{
    return is_ceiling(ceiling) && (binds(ceiling) || ceiling == next_ceiling(point));
}

static bool has_ceiling(const json_t *point)
{
    size_t index;
    const json_t *ceiling;
    json_array_foreach(ceilings_of(point), index, ceiling)
    {
        if (is_ceiling(ceiling))
            return true;
    }
    return false;
}

static bool take(const json_t *point, double *x)
{
    *x = (double)integer_at(point, "workers");
    return point_is_measured(point) && number_at(point, "throughput_ips") > 0 && has_ceiling(point);
}

static size_t name_place(const struct names *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->at[i], name) != 0)
        i++;
    return i;
}

/* From 1. */
static size_t mark_of(const json_t *ceiling, size_t place)
{
    for (size_t i = 0; i < MARKED; i++)
        if (strcmp(marked[i], text_at(ceiling, "name")) == 0)
            return i + 1;
    return MARKED + 1 + place;
}

static void collect_names(const struct series_table *table, struct names *names)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t index;
        const json_t *ceiling;
        json_array_foreach(ceilings_of(table->rows[i].point), index, ceiling)
        {
            const char *name = name_of(ceiling);
            if (is_drawn(table->rows[i].point, ceiling) && names->count < NAMES_MAX &&
                name_place(names, name) == names->count) {
                names->marks[names->count] = mark_of(ceiling, names->count);
                names->at[names->count++] = name;
            }
        }
    }
}

static void write_ceilings(FILE *file, const struct series_table *table, const struct names *names,
                           double *least, double *most)
{
    fputs("# row, iterations/s, number of the ceiling, 1: the binding one\n$ceilings << EOD\n",
          file);
    for (size_t i = 0; i < table->count; i++) {
        size_t index;
        const json_t *ceiling;
        json_array_foreach(ceilings_of(table->rows[i].point), index, ceiling)
        {
            size_t place = name_place(names, name_of(ceiling));
            double ips = number_at(ceiling, "ips");
            if (!is_drawn(table->rows[i].point, ceiling) || place == names->count)
                continue;
            fprintf(file, "%zu %.6g %zu %d\n", i + 1, ips, place + 1, binds(ceiling) ? 1 : 0);
            *least = fmin(*least, ips);
            *most = fmax(*most, ips);
        }
    }
    fputs("EOD\n", file);
}

static void write_measured(FILE *file, const struct series_table *table, double *least,
                           double *most)
{
    fputs("# row, measured iterations/s, ends of its 95% interval\n$measured << EOD\n", file);
    for (size_t i = 0; i < table->count; i++) {
        const json_t *point = table->rows[i].point;
        double ips = number_at(point, "throughput_ips");
        double relative = number_at(point, "ci95_rel");
        double half = relative >= 0 && relative < 1 ? relative : 0;
        fprintf(file, "%zu %.6g %.6g %.6g\n", i + 1, ips, ips * (1 - half), ips * (1 + half));
        *least = fmin(*least, ips);
        *most = fmax(*most, ips);
    }
    fputs("EOD\n", file);
}

/* Behind each row: the ceiling that binds it, and how much of it was reached, 0 if not known. */
static void write_binding(FILE *file, const struct series_table *table, const struct names *names)
{
    fputs("array binding[n_rows]\narray reached[n_rows]\narray measured_ips[n_rows]\n"
          "array bar_ips[n_rows]\narray bar_name[n_rows]\n",
          file);
    for (size_t i = 0; i < table->count; i++) {
        const json_t *point = table->rows[i].point;
        const char *name = text_at(json_object_get(point, EXPLAINED), "limited_by");
        size_t index;
        const json_t *ceiling;
        json_array_foreach(ceilings_of(point), index, ceiling)
        {
            if (binds(ceiling))
                name = name_of(ceiling);
        }
        plot_write_item(file, "binding", i + 1, name);
        double binding = binding_ips(point);
        double measured = number_at(point, "throughput_ips");
        size_t place = name_place(names, name);
        bool drawn = binding > 0 && place < names->count;
        fprintf(file, "reached[%zu] = %.4g\n", i + 1, binding > 0 ? measured / binding : 0.0);
        fprintf(file, "measured_ips[%zu] = %.6g\nbar_ips[%zu] = %.6g\nbar_name[%zu] = %zu\n", i + 1,
                measured, i + 1, drawn ? binding : 0.0, i + 1, place + 1);
    }
}

/* Whether an explanation is of the point that has its id: another results file has other points. */
static bool is_of(const json_t *explained, const json_t *point)
{
    static const char *const fields[] = {"layout", "processes", "threads"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *field = json_object_get(explained, fields[i]);
        if (field != NULL && !json_equal(json_object_get(point, fields[i]), field))
            return false;
    }
    return true;
}

static json_t *find_explained(const json_t *all, json_int_t id)
{
    size_t index;
    json_t *explained;
    json_array_foreach(all, index, explained)
    {
        if (json_is_integer(json_object_get(explained, "id")) && integer_at(explained, "id") == id)
            return explained;
    }
    return NULL;
}

/* Gives each point its explanation out of all. */
static enum status give_explanations(const struct results *results, const char *path,
                                     const json_t *all)
{
    size_t index;
    json_t *point;
    json_array_foreach(results->points, index, point)
    {
        json_t *explained = find_explained(all, integer_at(point, "id"));
        if (explained != NULL && !is_of(explained, point))
            return status_set(STATUS_USAGE,
                              "the explanations are not of '%s': point %" JSON_INTEGER_FORMAT
                              " is another one there",
                              path, integer_at(point, "id"));
        if (explained != NULL)
            json_object_set(point, EXPLAINED, explained);
    }
    return STATUS_OK;
}

/* The points of what explain printed into a file: an array, or an object that holds one, as a new
 * reference. STATUS_USAGE. */
static enum status load_explained(const char *path, json_t **out)
{
    json_error_t error;
    char text[sizeof error.text];
    json_t *root = json_load_file(path, 0, &error);
    json_t *points = json_is_object(root) ? json_object_get(root, "points") : root;
    enum status status = STATUS_OK;
    if (json_is_array(points))
        *out = json_incref(points);
    else
        status = status_set(
            STATUS_USAGE, "'%s' is not what 'mpsweep explain --format json' prints: %s", path,
            root == NULL ? text_printable(error.text, strlen(error.text), text, sizeof text)
                         : "no array of points");
    json_decref(root);
    return status;
}

enum status plot_explain(const struct results *results, const char *path, const char *explained)
{
    json_t *all = NULL;
    enum status status = explained != NULL ? load_explained(explained, &all)
                                           : explain_results_json(results, path, &all);
    if (status == STATUS_OK)
        status = give_explanations(results, path, all);
    json_decref(all);
    return status;
}

enum status plot_ceilings_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    struct names names = {.count = 0};
    double least = INFINITY, most = 0;
    static const struct series_figure figure = {
        .name = "ceilings",
        .title = "Measured throughput and what it could reach",
        .notes =
            "Dot: measured, with its 95% confidence interval. Bar: the ceiling that binds, "
            "named on the right with the share of it that was reached. Mark: the lowest of the "
            "other ceilings, where it is at most ten times as high; the rest are left out. ",
        .needed = "with ceilings in the explanations",
        .missing = "without ceilings",
        .take = take,
        .has_rows = true,
    };

    enum status status = series_begin(file, &figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    collect_names(&table, &names);
    fprintf(file, "n_names = %zu\narray names[n_names]\narray marks[n_names]\n", names.count);
    for (size_t i = 0; i < names.count; i++) {
        plot_write_item(file, "names", i + 1, names.at[i]);
        fprintf(file, "marks[%zu] = %zu\n", i + 1, names.marks[i]);
    }
    write_ceilings(file, &table, &names, &least, &most);
    write_measured(file, &table, &least, &most);
    write_binding(file, &table, &names);
    fprintf(file, "ips_min = %.6g\nips_max = %.6g\n", least, most);
    series_table_release(&table);
    return STATUS_OK;
}
