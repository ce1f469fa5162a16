#include "orchestrator/plot/plot.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file_name.h"
#include "orchestrator/console/report.h"
#include "orchestrator/plot/internal.h"
#include "orchestrator/results/fields.h"

/* Inches. */
#define WIDTH_LEAST 2.5
#define WIDTH_MOST 20
#define WIDTH_DEFAULT 7

/* The script plots/NAME.gp draws what write() writes. */
struct figure {
    const char *name;
    plot_write *write;
    bool is_explained; /* write() needs plot_explain() */
    bool has_rows;     /* with their labels on the left, which take half of a page */
};

static const struct figure figures[] = {
    {"throughput", plot_throughput_write, false, false},
    {"latency", plot_latency_write, false, false},
    {"phases", plot_phases_write, false, true},
    {"launch", plot_launch_write, false, false},
    {"heatmap", plot_heatmap_write, false, false},
    {"host", plot_host_write, false, false},
    {"scaling", plot_scaling_write, false, false},
    {"gpus", plot_gpus_write, false, true},
    {"ceilings", plot_ceilings_write, true, true},
    {"search", plot_search_write, false, false},
    {"fleet", plot_fleet_write, false, false},
    {"probe", plot_probe_write, false, true},
    {"probe-series", plot_probe_series_write, false, false},
};

#define FIGURE_COUNT (sizeof figures / sizeof *figures)

struct request {
    const char *results;   /* the file */
    const char *output;    /* of all figures a directory, which is made */
    const char *explained; /* what explain printed, for the ceilings; NULL: computed from the
                            * calibrations in the results */
    double width_inches;
};

static const struct figure *find_figure(const char *name)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        if (strcmp(figures[i].name, name) == 0)
            return &figures[i];
    return NULL;
}

static enum status output_error(const char *output, int error)
{
    return status_set(STATUS_SYSTEM, "cannot write '%s': %s", output, strerror(error));
}

static enum status parse_width(const char *text, double *inches)
{
    static const struct {
        const char *name;
        double inches;
    } units[] = {{"in", 1}, {"mm", 1 / 25.4}, {"cm", 1 / 2.54}};
    char *unit;
    double number = strtod(text, &unit);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double width = number * units[i].inches;
        if (strcmp(unit, units[i].name) != 0 || !(width >= WIDTH_LEAST && width <= WIDTH_MOST))
            continue;
        *inches = width;
        return STATUS_OK;
    }
    return status_set(STATUS_USAGE,
                      "'%s' is not a width: it is 3.3in, 84mm or 8.4cm, from %gin to %din", text,
                      WIDTH_LEAST, WIDTH_MOST);
}

/* What the figure's writer needs, and where it writes to. */
static enum status begin(const struct figure *figure, const struct request *request,
                         const struct results *results, struct text_stream *data)
{
    enum status status = STATUS_OK;
    if (figure->has_rows && request->width_inches < WIDTH_DEFAULT)
        return status_set(STATUS_USAGE,
                          "the figure '%s' has a row for each point: it takes %din or more",
                          figure->name, WIDTH_DEFAULT);
    if (figure->is_explained)
        status = plot_explain(results, request->results, request->explained);
    if (status == STATUS_OK)
        status = plot_begin(data);
    if (status == STATUS_OK)
        fprintf(data->file, "page_width = %.5g\n", request->width_inches);
    return status;
}

static enum status draw_one(const struct figure *figure, const struct request *request,
                            const struct results *results, const char *output)
{
    struct text_stream data;
    enum status status = file_name_refuse_input(output, request->results);
    if (status == STATUS_OK)
        status = file_name_refuse_input(output, request->explained);
    if (status == STATUS_OK)
        status = begin(figure, request, results, &data);
    if (status != STATUS_OK)
        return status;
    status = figure->write(results, request->results, data.file);
    return plot_end(&data, status, figure->name, output);
}

enum status plot_svg(const struct results *results, const char *path, const char *figure,
                     char **out)
{
    struct text_stream data;
    const struct request request = {.results = path, .width_inches = WIDTH_DEFAULT};
    const struct figure *row = find_figure(figure);
    if (!row)
        return status_set(STATUS_USAGE, "there is no figure '%s'", figure);
    enum status status = begin(row, &request, results, &data);
    if (status != STATUS_OK)
        return status;
    status = row->write(results, path, data.file);
    return plot_end_svg(&data, status, row->name, out);
}

/* All figures go into a directory: a name that belongs to one of them is a mistake. */
static enum status check_directory(const char *output)
{
    if (plot_check_output(output) != STATUS_OK)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "'%s' is not the name of a directory: all figures go into one, as "
                      "DIRECTORY/NAME.svg",
                      output);
}

static enum status draw_each(const struct request *request, const struct results *results,
                             size_t *drawn)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        char path[PATH_MAX];
        size_t length = strlen(request->output);
        const char *slash = length > 0 && request->output[length - 1] == '/' ? "" : "/";
        if (snprintf(path, sizeof path, "%s%s%s.svg", request->output, slash, figures[i].name) >=
            (int)sizeof path)
            return output_error(request->output, ENAMETOOLONG);
        enum status status = draw_one(&figures[i], request, results, path);
        if (status != STATUS_OK && status != STATUS_USAGE)
            return status;
        if (status == STATUS_OK)
            printf("%s\n", path);
        else
            printf("no %s: %s\n", figures[i].name, status_text());
        *drawn += status == STATUS_OK;
    }
    return STATUS_OK;
}

/* Draws every figure that the results allow, as DIR/NAME.svg, and lists the others. STATUS_USAGE:
 * they allow none, and no directory was made. */
static enum status draw_all(const struct request *request, const struct results *results)
{
    size_t drawn = 0;
    bool made = mkdir(request->output, 0777) == 0;
    if (!made && errno != EEXIST)
        return output_error(request->output, errno);
    enum status status = draw_each(request, results, &drawn);
    if (made && drawn == 0)
        rmdir(request->output);
    return status != STATUS_OK || drawn > 0
               ? status
               : status_set(STATUS_USAGE, "'%s' has nothing to draw", request->results);
}

int plot_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    struct request request = {
        .results = invocation->operands[0],
        .output = options_text(options, OPTION_OUTPUT),
        .explained = options_text(options, OPTION_EXPLAINED),
    };
    const struct figure *figure = find_figure(options_text(options, OPTION_FIGURE));
    struct results results = {0};
    enum status status = parse_width(options_text(options, OPTION_WIDTH), &request.width_inches);
    if (status == STATUS_OK)
        status =
            figure != NULL ? plot_check_output(request.output) : check_directory(request.output);
    if (status == STATUS_OK)
        status = results_load(request.results, fields_of_figures, &results);
    if (status == STATUS_OK)
        results_make_displayable(&results);
    /* Of probes alone there is one figure to draw. */
    if (status == STATUS_OK && !options_is_given(options, OPTION_FIGURE) &&
        json_array_size(results.points) == 0 && json_array_size(results.probes) > 0)
        figure = find_figure("probe");
    if (status == STATUS_OK)
        status = figure != NULL ? draw_one(figure, &request, &results, request.output)
                                : draw_all(&request, &results);
    results_release(&results);
    return report(status);
}
