/* The points as a table, and their warnings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/report/internal.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"

/* More rows than a browser should fit the widths of columns to. */
#define MANY 2000

/* The ceiling that limits a point; NULL: none is known. */
static const json_t *binding_of(const json_t *explained)
{
    size_t index;
    const json_t *ceiling;
    json_array_foreach(json_object_get(explained, "ceilings"), index, ceiling)
    {
        if (json_is_true(json_object_get(ceiling, "binding")))
            return ceiling;
    }
    return NULL;
}

bool report_limit_of(const struct report_file *file, const json_t *point, struct report_limit *out)
{
    char id[32];
    snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT, integer_at(point, "id"));
    const json_t *explained = json_object_get(file->explained, id);
    const json_t *ceiling = binding_of(explained);
    *out = (struct report_limit){
        .title = text_at(ceiling, "title"),
        .reason = text_at(explained, "reason"),
        .ips = number_at(ceiling, "ips"),
        .reached = number_at(explained, "reached"),
        .remedy = text_at(json_object_get(explained, "remedy"), "advice"),
        .nearer = json_is_false(json_object_get(json_object_get(explained, "remedy"), "lifts")),
        .options = text_at(json_object_get(explained, "remedy"), "options"),
    };
    return *out->title;
}

void report_write_throughput(FILE *out, const json_t *point)
{
    char text[32];
    double ips = point_is_measured(point) ? number_at(point, "throughput_ips") : NAN;
    if (isfinite(ips) && rate_is_least(json_object_get(point, "rate")))
        fprintf(out, "<td>≥%s</td>", text_number(ips, text, sizeof text));
    else
        html_number(out, "td", ips);
}

static void write_half_width(FILE *out, const json_t *point)
{
    char half[POINT_HALF_BYTES];
    if (point_is_measured(point) && *point_half_width(point, half))
        fprintf(out, "<td>±%s</td>", half);
    else
        fputs("<td>–</td>", out);
}

static void write_percent(FILE *out, double share)
{
    if (isfinite(share))
        fprintf(out, "<td>%.1f%%</td>", 100.0 * share);
    else
        fputs("<td>–</td>", out);
}

static void write_point(FILE *out, const struct report_file *file, const json_t *point)
{
    char label[REPORT_LABEL], failure[POINT_FAILURE_TEXT];
    struct report_limit limit;
    bool measured = point_is_measured(point);
    report_limit_of(file, point, &limit);
    fprintf(out, "<tr%s>", point == file->best ? " class=\"best\"" : "");
    fprintf(out, "<td>%" JSON_INTEGER_FORMAT "</td>", integer_at(point, "id"));
    html_element(out, "th scope=\"row\"", report_label(point, label));
    report_write_throughput(out, point);
    write_half_width(out, point);
    html_number(out, "td", number_at(json_object_get(point, "latency_us"), "p99") / 1e3);
    html_number(out, "td", limit.ips);
    html_element(out, "td class=\"text\"", *limit.title ? limit.title : "–");
    write_percent(out, limit.reached);
    html_element(out, "td class=\"text status\"",
                 measured ? text_at(point, "status") : point_failure(point, failure));
    char *command = report_command_of(file, point);
    html_element(out, "td class=\"code\"", command ? command : "its job file");
    fputs("</tr>\n", out);
    free(command);
}

static double rank(const json_t *point)
{
    return point_is_measured(point) ? number_at(point, "throughput_ips") : -1;
}

/* The highest throughput first, and what was not measured last. */
static int by_rank(const void *a, const void *b)
{
    const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
    json_int_t id = integer_at(left, "id"), other = integer_at(right, "id");
    if (rank(left) != rank(right))
        return rank(left) > rank(right) ? -1 : 1;
    return (id > other) - (id < other);
}

static enum status write_rows(FILE *out, const struct report_file *file)
{
    size_t index, count = json_array_size(file->results.points);
    json_t *point, **points = calloc(count, sizeof(json_t *));
    if (!points)
        return status_set(STATUS_MEMORY, "out of memory for the points of '%s'", file->path);
    json_array_foreach(file->results.points, index, point)
    {
        points[index] = point;
    }
    qsort(points, count, sizeof(json_t *), by_rank);
    for (index = 0; index < count; index++)
        write_point(out, file, points[index]);
    free(points);
    return STATUS_OK;
}

static bool any_is_least(const struct report_file *file)
{
    size_t index;
    const json_t *point;
    bool any = false;
    json_array_foreach(file->results.points, index, point)
    {
        any |= point_is_measured(point) && rate_is_least(json_object_get(point, "rate"));
    }
    return any;
}

static bool any_is_searched(const struct report_file *file)
{
    size_t index;
    const json_t *point;
    bool any = false;
    json_array_foreach(file->results.points, index, point)
    {
        any |= point_is_measured(point) && point_rate_is_searched(point) &&
               isfinite(point_half_rel(point));
    }
    return any;
}

enum status report_write_points(FILE *out, const struct report_file *file)
{
    static const char *const titles[][2] = {
        {"#", ""},
        {"point", "text"},
        {"iterations/s", ""},
        {"95%", ""},
        {"p99 ms", ""},
        {"ceiling/s", ""},
        {"ceiling", "text"},
        {"reached", ""},
        {"status", "text status"},
        {"measures it again", "text code"},
    };
    bool many = json_array_size(file->results.points) > MANY;
    fprintf(out, "<h3>Points</h3>\n<div class=\"wide\"><table class=\"points%s\">\n<thead><tr>",
            many ? " many" : "");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        fprintf(out, "<th scope=\"col\" class=\"%s\">%s</th>", titles[i][1], titles[i][0]);
    fputs("</tr></thead>\n<tbody>\n", out);
    enum status status = write_rows(out, file);
    fputs("</tbody></table></div>\n", out);
    if (many)
        fputs("<noscript><style>.many tbody tr { display: table-row !important; "
              "}</style></noscript>\n",
              out);
    if (any_is_searched(file))
        fputs("<p class=\"note\">95% of a rate that was searched is a step of the search.</p>\n",
              out);
    if (any_is_least(file))
        fputs("<p class=\"note\">≥: looked at in short, it holds at least that rate.</p>\n", out);
    if (*file->unexplained) {
        fputs("<p class=\"note\">Ceilings are not known: ", out);
        html_text(out, file->unexplained);
        fputs(".</p>\n", out);
    }
    return status;
}

/* Of each different text how many points have it, and the label of the first. */
static json_t *collect_warnings(const struct report_file *file)
{
    json_t *all = json_object();
    for (size_t i = 0; i < json_array_size(file->results.points); i++) {
        const json_t *warning, *point = json_array_get(file->results.points, i);
        size_t index;
        json_array_foreach(json_object_get(point, "warnings"), index, warning)
        {
            char label[REPORT_LABEL];
            const char *text = text_at(warning, "text");
            const json_t *known = json_object_get(all, text);
            json_object_set_new(
                all, text,
                known ? json_pack("{s:I, s:s}", "count", integer_at(known, "count") + 1, "label",
                                  text_at(known, "label"))
                      : json_pack("{s:i, s:s}", "count", 1, "label", report_label(point, label)));
        }
    }
    return all;
}

void report_write_warnings(FILE *out, const struct report_file *file)
{
    json_t *all = collect_warnings(file), *seen;
    const char *text;
    if (json_object_size(all) > 0) {
        fputs("<h3>Warnings</h3>\n<ul>\n", out);
        json_object_foreach(all, text, seen)
        {
            json_int_t count = integer_at(seen, "count");
            fputs("<li><strong>", out);
            if (count > 1)
                fprintf(out, "%" JSON_INTEGER_FORMAT " points", count);
            else
                html_text(out, text_at(seen, "label"));
            fputs(":</strong> ", out);
            html_text(out, text);
            fputs("</li>\n", out);
        }
        fputs("</ul>\n", out);
    }
    json_decref(all);
}
