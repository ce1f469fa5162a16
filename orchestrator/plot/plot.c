#include "orchestrator/plot/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/paths.h"
#include "common/text.h"
#include "files/atomic_file.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/plot/internal.h"

#define GNUPLOT_LIMIT_NS (60 * NS_PER_S)
#define GNUPLOT_OUTPUT_BYTES 8192

struct figure {
    const char *name;
    const char *script;
    enum status (*write)(const struct results *results, const char *path, FILE *file);
    enum status (*write_explained)(const struct results *results, const json_t *explained,
                                   const char *path, FILE *file); /* in place of write */
};

static const struct figure figures[] = {
    {"throughput", "plots/throughput.gp", plot_throughput_write, NULL},
    {"latency", "plots/latency.gp", plot_latency_write, NULL},
    {"phases", "plots/phases.gp", plot_phases_write, NULL},
    {"launch", "plots/launch.gp", plot_launch_write, NULL},
    {"heatmap", "plots/heatmap.gp", plot_heatmap_write, NULL},
    {"scaling", "plots/scaling.gp", plot_scaling_write, NULL},
    {"gpus", "plots/gpus.gp", plot_gpus_write, NULL},
    {"ceilings", "plots/ceilings.gp", NULL, plot_ceilings_write},
    {"search", "plots/search.gp", plot_search_write, NULL},
    {"fleet", "plots/fleet.gp", plot_fleet_write, NULL},
    {"probe", "plots/probe.gp", plot_probe_write, NULL},
    {"probe-series", "plots/probe-series.gp", plot_probe_series_write, NULL},
};

#define FIGURE_COUNT (sizeof figures / sizeof *figures)

const char *plot_figure_name(size_t index)
{
    return index < FIGURE_COUNT ? figures[index].name : NULL;
}

static const struct figure *find_figure(const char *name)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        if (strcmp(figures[i].name, name) == 0)
            return &figures[i];
    return NULL;
}

/* The extension with its dot, of the file's own name; "" if it has none. */
static const char *extension_of(const char *path)
{
    const char *base = path_file_name(path);
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? dot : "";
}

static enum status output_error(const char *output, int error)
{
    return status_set(STATUS_SYSTEM, "cannot write '%s': %s", output, strerror(error));
}

/* What matters of gnuplot's several lines of complaint: the one that names a line of a script,
 * else the last. Returns a part of errors, cut in place. */
static const char *complaint(char *errors)
{
    const char *best = NULL;
    bool best_named = false;
    char *rest = errors;
    for (char *line; (line = strsep(&rest, "\r\n")) != NULL;) {
        line += strspn(line, " \t");
        if (line[strspn(line, "^ \t")] == '\0')
            continue;
        bool named = strstr(line, " line ") != NULL;
        if (!best_named || named) {
            best = line;
            best_named = named;
        }
    }
    return best;
}

/* The data goes in by standard input: no file of it is left behind whatever happens. */
static enum status run_gnuplot(const char *script, const char *data, const char *picture)
{
    struct child_result result;
    char ending[64];
    const char *const argv[] = {
        "gnuplot", "--default-settings", "-c", script, "/dev/stdin", picture, NULL};
    const char *const set[] = {"LC_ALL=C.UTF-8", NULL};
    const char *const unset[] = {"GNUTERM", "GNUPLOT_LIB", NULL};
    struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = unset,
        .input = data,
        .output_cap = GNUPLOT_OUTPUT_BYTES,
        .deadline_ns = clock_now_ns() + GNUPLOT_LIMIT_NS,
        .merge_stderr = true,
    };
    enum status status = child_run(&options, &result);
    if (status == STATUS_NOT_FOUND)
        return status_set(status, "%s (apt-get install gnuplot-nox)", status_text());
    if (status != STATUS_OK)
        return status;
    struct stat info;
    const char *why = complaint(result.output);
    if (result.wait_status != 0)
        status = status_set(
            STATUS_SYSTEM, "gnuplot: %s",
            why != NULL ? why : child_ending_text(result.wait_status, ending, sizeof ending));
    else if (stat(picture, &info) != 0 || info.st_size == 0)
        status = status_set(STATUS_SYSTEM, "gnuplot: %s", why != NULL ? why : "drew nothing");
    child_result_release(&result);
    return status;
}

/* The points of what explain printed: an array, or an object that holds one. */
static enum status load_explained(const char *path, json_t **out)
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

/* The figure's data file in memory; the caller frees it. */
static enum status make_data(const struct figure *figure, const struct plot_request *request,
                             const struct results *results, char **data, size_t *bytes)
{
    json_t *explained = NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *file = NULL;

    enum status status = STATUS_OK;
    if (figure->write_explained != NULL)
        status = request->explained != NULL
                     ? load_explained(request->explained, &explained)
                     : explain_results_json(results, request->results, &explained);
    if (status != STATUS_OK)
        return status;
    file = open_memstream(&text, &length);
    if (file == NULL) {
        status = status_set(STATUS_MEMORY, "out of memory for the data of a figure");
        goto out;
    }
    status = figure->write_explained != NULL
                 ? figure->write_explained(results, explained, request->results, file)
                 : figure->write(results, request->results, file);
    if (fclose(file) != 0 && status == STATUS_OK)
        status = status_set(STATUS_MEMORY, "out of memory for the data of a figure");
    if (status != STATUS_OK)
        goto out;
    *data = text;
    *bytes = length;
    text = NULL;
out:
    free(text);
    json_decref(explained);
    return status;
}

enum status plot_check_output(const char *output)
{
    static const char *const known[] = {".svg", ".png", ".pdf", ".gp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(extension_of(output), known[i]) == 0)
            return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "cannot tell the format of '%s': name it .svg, .png, .pdf or .gp", output);
}

enum status plot_draw(const char *script, const char *data, size_t bytes, const char *output)
{
    struct atomic_file file;
    char path[PATH_MAX];
    bool data_only = strcmp(extension_of(output), ".gp") == 0;
    enum status status = plot_check_output(output);
    if (status == STATUS_OK && !data_only)
        status = path_find_data(script, path, sizeof path);
    if (status == STATUS_OK)
        status = atomic_file_open(output, ATOMIC_FILE_REPLACE | ATOMIC_FILE_NAMED, &file);
    if (status != STATUS_OK)
        return status;
    if (data_only)
        fwrite(data, 1, bytes, file.stream);
    else
        status = run_gnuplot(path, data, file.temporary);
    if (status == STATUS_OK)
        return atomic_file_commit(&file);
    atomic_file_discard(&file);
    return status;
}

static enum status write_one(const struct figure *figure, const struct plot_request *request,
                             const struct results *results, const char *output)
{
    char *data = NULL;
    size_t bytes = 0;
    enum status status = make_data(figure, request, results, &data, &bytes);
    if (status == STATUS_OK)
        status = plot_draw(figure->script, data, bytes, output);
    free(data);
    return status;
}

/* Every figure that the results allow, as DIR/NAME.svg. What they do not allow is no error, unless
 * that is all. */
static enum status write_all(const struct plot_request *request, const struct results *results,
                             FILE *report)
{
    size_t drawn = 0;
    if (mkdir(request->output, 0777) != 0 && errno != EEXIST)
        return output_error(request->output, errno);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        char path[PATH_MAX];
        size_t length = strlen(request->output);
        const char *slash = length > 0 && request->output[length - 1] == '/' ? "" : "/";
        if (snprintf(path, sizeof path, "%s%s%s.svg", request->output, slash, figures[i].name) >=
            (int)sizeof path)
            return output_error(request->output, ENAMETOOLONG);
        enum status status = write_one(&figures[i], request, results, path);
        if (status != STATUS_OK && status != STATUS_USAGE)
            return status;
        if (status == STATUS_OK)
            fprintf(report, "%s\n", path);
        else
            fprintf(report, "no %s: %s\n", figures[i].name, status_text());
        drawn += status == STATUS_OK;
    }
    return drawn > 0 ? STATUS_OK
                     : status_set(STATUS_USAGE, "'%s' has nothing to draw", request->results);
}

enum status plot_write(const struct plot_request *request, FILE *report)
{
    struct results results = {0};
    const struct figure *figure = find_figure(request->figure);

    enum status status = figure != NULL ? plot_check_output(request->output) : STATUS_OK;
    if (status == STATUS_OK)
        status = results_load(request->results, &results);
    if (status == STATUS_OK)
        status = figure != NULL ? write_one(figure, request, &results, request->output)
                                : write_all(request, &results, report);
    results_release(&results);
    return status;
}
