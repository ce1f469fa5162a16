/*
 * What was measured beside every ceiling of each point, with the binding one named: a roofline of
 * layouts. The ceilings are those of `mpsweep explain --format json`.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/series.h"

/* A row shows the ceilings up to this factor above the one that binds. */
#define FAR_AWAY 10.0

#define NAMES_MAX 16 /* what the script has marks for */

/* The names of all ceilings, in the order in which they come. */
struct names {
    const char *at[NAMES_MAX];
    size_t count;
};

/* For the callbacks of a series, which take nothing else: set while the figure is written. */
static _Thread_local const json_t *explained_points;

static const json_t *explained_of(const json_t *point)
{
    size_t index;
    const json_t *explained;
    json_array_foreach(explained_points, index, explained)
    {
        if (json_is_integer(json_object_get(explained, "id")) &&
            integer_at(explained, "id") == integer_at(point, "id"))
            return explained;
    }
    return NULL;
}

static const char *ceiling_name(const json_t *ceiling)
{
    const char *title = text_at(ceiling, "title");
    return title[0] != '\0' ? title : text_at(ceiling, "name");
}

static bool is_ceiling(const json_t *ceiling)
{
    return number_at(ceiling, "ips") > 0 && ceiling_name(ceiling)[0] != '\0';
}

static double binding_ips(const json_t *point)
{
    size_t index;
    const json_t *ceiling;
    json_array_foreach(json_object_get(explained_of(point), "ceilings"), index, ceiling)
    {
        if (is_ceiling(ceiling) && json_is_true(json_object_get(ceiling, "binding")))
            return number_at(ceiling, "ips");
    }
    return 0;
}

static bool is_near(const json_t *ceiling, double binds)
{
    return is_ceiling(ceiling) && (binds <= 0 || number_at(ceiling, "ips") <= FAR_AWAY * binds);
}

static bool has_ceiling(const json_t *point)
{
    size_t index;
    const json_t *ceiling;
    json_array_foreach(json_object_get(explained_of(point), "ceilings"), index, ceiling)
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

static void collect_names(const struct series_table *table, struct names *names)
{
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        size_t index;
        const json_t *ceiling;
        json_array_foreach(json_object_get(explained_of(table->rows[i].point), "ceilings"), index,
                           ceiling)
        {
            const char *name = ceiling_name(ceiling);
            if (is_near(ceiling, binding_ips(table->rows[i].point)) && names->count < NAMES_MAX &&
                name_place(names, name) == names->count)
                names->at[names->count++] = name;
        }
    }
}

static void write_ceilings(FILE *file, const struct series_table *table, const struct names *names,
                           double *least, double *most)
{
    fputs("# row, iterations/s, number of the ceiling, 1: the binding one\n$ceilings << EOD\n",
          file);
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        size_t index;
        const json_t *ceiling;
        json_array_foreach(json_object_get(explained_of(table->rows[i].point), "ceilings"), index,
                           ceiling)
        {
            size_t place = name_place(names, ceiling_name(ceiling));
            double ips = number_at(ceiling, "ips");
            if (!is_near(ceiling, binding_ips(table->rows[i].point)) || place == names->count)
                continue;
            bool binds = json_is_true(json_object_get(ceiling, "binding"));
            fprintf(file, "%zu %.6g %zu %d\n", i + 1, ips, place + 1, binds ? 1 : 0);
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
    for (size_t i = 0; i < plot_rows_count(table); i++) {
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
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        const json_t *explained = explained_of(table->rows[i].point);
        const char *name = text_at(explained, "limited_by");
        size_t index;
        const json_t *ceiling;
        json_array_foreach(json_object_get(explained, "ceilings"), index, ceiling)
        {
            if (json_is_true(json_object_get(ceiling, "binding")))
                name = ceiling_name(ceiling);
        }
        plot_write_item(file, "binding", i + 1, name);
        double binds = binding_ips(table->rows[i].point);
        double measured = number_at(table->rows[i].point, "throughput_ips");
        size_t place = name_place(names, name);
        bool drawn = binds > 0 && place < names->count;
        fprintf(file, "reached[%zu] = %.4g\n", i + 1, binds > 0 ? measured / binds : 0.0);
        fprintf(file, "measured_ips[%zu] = %.6g\nbar_ips[%zu] = %.6g\nbar_name[%zu] = %zu\n", i + 1,
                measured, i + 1, drawn ? binds : 0.0, i + 1, place + 1);
    }
}

static enum status check_match(const struct results *results, const char *path)
{
    static const char *const fields[] = {"layout", "processes", "threads"};
    size_t index;
    const json_t *point;
    json_array_foreach(results->points, index, point)
    {
        const json_t *explained = explained_of(point);
        for (size_t i = 0; explained != NULL && i < sizeof fields / sizeof *fields; i++) {
            const json_t *other = json_object_get(explained, fields[i]);
            if (other != NULL && !json_equal(json_object_get(point, fields[i]), other))
                return status_set(STATUS_USAGE,
                                  "the explanations are not of '%s': point %" JSON_INTEGER_FORMAT
                                  " is another one there",
                                  path, integer_at(point, "id"));
        }
    }
    return STATUS_OK;
}

enum status plot_load_explained(const char *path, json_t **out)
{
    json_error_t error;
    char text[sizeof error.text];
    json_t *root = json_load_file(path, 0, &error);
    json_t *points = json_is_object(root) ? json_object_get(root, "points") : root;
    if (root == NULL)
        return status_set(STATUS_USAGE,
                          "'%s' is not what 'mpsweep explain --format json' prints: %s", path,
                          text_printable(error.text, strlen(error.text), text, sizeof text));
    if (!json_is_array(points)) {
        json_decref(root);
        return status_set(STATUS_USAGE,
                          "'%s' is not what 'mpsweep explain --format json' prints: no array of "
                          "points",
                          path);
    }
    *out = json_incref(points);
    json_decref(root);
    return STATUS_OK;
}

enum status plot_ceilings_write(const struct results *results, const json_t *explained,
                                const char *path, FILE *file)
{
    struct series_table table = {0};
    struct names names = {.count = 0};
    double least = INFINITY, most = 0;
    const struct series_form form = {.take = take};
    const struct series_heading heading = {
        .figure = "ceilings",
        .title = "Measured throughput and what it could reach",
        .notes = "Dot: measured, with its 95% confidence interval. Bar: the ceiling that binds, "
                 "named on the right with the share of it that was reached. Ceilings more than ten "
                 "times as high are left out. ",
        .missing = "without ceilings",
    };

    explained_points = explained;
    enum status status = check_match(results, path);
    if (status == STATUS_OK)
        status = plot_rows_begin(file, &heading, &form, results, path,
                                 "with ceilings in the explanations", &table);
    if (status != STATUS_OK)
        goto out;
    collect_names(&table, &names);
    fprintf(file, "n_names = %zu\narray names[n_names]\n", names.count);
    for (size_t i = 0; i < names.count; i++)
        plot_write_item(file, "names", i + 1, names.at[i]);
    write_ceilings(file, &table, &names, &least, &most);
    write_measured(file, &table, &least, &most);
    write_binding(file, &table, &names);
    fprintf(file, "ips_min = %.6g\nips_max = %.6g\n", least, most);
out:
    explained_points = NULL;
    series_table_release(&table);
    return status;
}
