/* gnuplot's pictures as parts of the page. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/plot/plot.h"
#include "orchestrator/report/internal.h"

/* In the order of the page. Beside a search, the throughput of all that it tried takes too much
 * room. */
static const struct {
    const char *name, *title;
    bool but_of_tune;
    size_t most_points; /* 0: any number; more would take minutes */
} figures[] = {
    {"search", "How the search found it", false, 0},
    {"throughput", "Throughput", true, 0},
    {"ceilings", "Measured beside what was possible", false, 0},
    {"latency", "Latency", false, 0},
    {"heatmap", "Processes × threads", false, 2000},
    {"phases", "Where the time goes", false, 0},
    {"host", "Throughput by CPUs in use", false, 0},
    {"scaling", "Scaling over GPUs", false, 0},
    {"gpus", "The GPUs beside each other", false, 0},
    {"fleet", "The nodes beside each other", false, 0},
    {"probe", "Probes", false, 0},
    {"probe-series", "Series of probes", false, 0},
};

/* Behind an element that the text begins with, and the white space there. */
static const char *behind(const char *text, const char *begin, const char *end)
{
    text += strspn(text, " \t\r\n");
    const char *found = strncmp(text, begin, strlen(begin)) == 0 ? strstr(text, end) : NULL;
    return found ? found + strlen(end) : text;
}

/* Each picture has the same names of its parts: in one page they need a prefix. */
static void write_parts(FILE *out, const char *svg, const char *prefix)
{
    static const char *const before[] = {" id=\"", " id='", "href='#", "href=\"#", "url(#"};
    bool in_tag = false;
    while (*svg) {
        size_t length = 0;
        in_tag = *svg == '<' || (in_tag && *svg != '>');
        for (size_t i = 0; in_tag && i < sizeof before / sizeof *before && !length; i++)
            if (strncmp(svg, before[i], strlen(before[i])) == 0)
                length = strlen(before[i]);
        if (length > 0)
            fprintf(out, "%.*s%s", (int)length, svg, prefix);
        else
            fputc(*svg, out);
        svg += length > 0 ? length : 1;
    }
}

/* Without what is of a file of its own: declarations, and the title that all of them share. */
static void write_picture(FILE *out, const char *svg, const char *title, const char *prefix)
{
    const char *begin = strstr(svg, "<svg"), *end = begin ? strchr(begin, '>') : NULL;
    if (!end)
        return;
    fputs("<svg role=\"img\" aria-label=\"", out);
    html_text(out, title);
    fprintf(out, "\" %.*s>", (int)(end - begin) - 4, begin + 4);
    write_parts(out, behind(behind(end + 1, "<title", "</title>"), "<desc", "</desc>"), prefix);
}

static void write_figure(FILE *out, const struct report_file *file, size_t figure, const char *svg)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "f%zu-%s-", file->number, figures[figure].name);
    fprintf(out, "<figure id=\"f%zu-%s\">\n", file->number, figures[figure].name);
    fputs("<div class=\"picture\" tabindex=\"0\">", out);
    write_picture(out, svg, figures[figure].title, prefix);
    fputs("</div></figure>\n", out);
}

static void write_left_out(FILE *out, const struct report_file *file, size_t figure)
{
    fprintf(out, "<p class=\"note\">%s: too large for this page. Draw it with <code>mpsweep plot ",
            figures[figure].title);
    html_shell_word(out, file->path);
    fprintf(out, " --figure %s -o %s.svg</code></p>\n", figures[figure].name, figures[figure].name);
}

enum status report_write_figures(FILE *out, const struct report_file *file, size_t most_bytes)
{
    size_t drawn = 0;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char *svg = NULL;
        if (figures[i].but_of_tune && file->results.tune)
            continue;
        size_t most = figures[i].most_points;
        if (most > 0 && json_array_size(file->results.points) > most) {
            write_left_out(out, file, i);
            continue;
        }
        enum status status = plot_svg(&file->results, file->path, figures[i].name, &svg);
        if (status == STATUS_USAGE)
            continue; /* the results have nothing to draw there */
        if (status != STATUS_OK)
            return status;
        if (drawn++ == 0)
            fputs("<h3>Figures</h3>\n<p class=\"note screen\">Click a figure; then turn the wheel "
                  "to zoom, drag to move, double-click for all of it.</p>\n",
                  out);
        size_t bytes = strlen(svg);
        if (bytes <= most_bytes)
            write_figure(out, file, i, svg);
        else
            write_left_out(out, file, i);
        most_bytes -= bytes <= most_bytes ? bytes : 0;
        free(svg);
    }
    return STATUS_OK;
}
