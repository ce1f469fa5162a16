#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/paths.h"
#include "common/text.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/report/internal.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/table.h"

/* Of all figures of the page: a page of a thousand points stays below two million bytes. */
#define FIGURE_BYTES ((size_t)1 << 20)

/* The assembler copies the files in, so that the page needs no other file. */
#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global report_" #name "\n"                                                           \
            ".hidden report_" #name "\n"                                                           \
            "report_" #name ":\n"                                                                  \
            ".incbin \"" MPSWEEP_SOURCE_DIR "/orchestrator/report/" file "\"\n"                    \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char report_##name[] __attribute__((visibility("hidden")));
EMBED(style, "page.css")
EMBED(script, "page.js")

/* -- the best layout --------------------------------------------------------------------------- */

static void write_figures_of_best(FILE *out, const struct report_file *file)
{
    const json_t *best = file->best, *winner = json_object_get(file->results.tune, "winner");
    char interval[POINT_INTERVAL_BYTES], step[RATE_STEP_BYTES];
    fputs("<p class=\"key\">", out);
    html_number(out, "strong", number_at(best, "throughput_ips"));
    fputs(" iterations/s", out);
    if (*rate_step_text(json_object_get(best, "rate"), 1.0 - point_failed_share(best), step))
        fprintf(out, " (%s)", step);
    else if (*point_interval(best, winner, interval))
        fprintf(out, " (95%%: %s)", interval);
    fputs(", p99 ", out);
    html_number(out, "strong", number_at(json_object_get(best, "latency_us"), "p99") / 1e3);
    fputs(" ms</p>\n", out);
}

static void write_command(FILE *out, const char *command)
{
    fputs("<pre>", out);
    html_text(out, command);
    fputs("</pre>\n", out);
}

static void write_limit(FILE *out, const struct report_limit *limit)
{
    char number[32];
    fputs("<p>It reaches ", out);
    fprintf(out, "<strong>%.1f%%</strong> of what ", 100.0 * limit->reached);
    html_element(out, "strong", limit->title);
    fprintf(out, " allows, %s iterations/s: ", text_number(limit->ips, number, sizeof number));
    html_text(out, limit->reason);
    fputs(".</p>\n", out);
    if (*limit->remedy) {
        fprintf(out, "<p>What would %s: ", limit->nearer ? "come nearer to it" : "lift it");
        html_text(out, limit->remedy);
        fputs(*limit->options ? ":</p>\n" : ".</p>\n", out);
    }
    if (*limit->options)
        write_command(out, limit->options);
}

/* NULL: there is none. */
static const json_t *point_with(const struct report_file *file, json_int_t id)
{
    size_t index;
    const json_t *point;
    json_array_foreach(file->results.points, index, point)
    {
        if (integer_at(point, "id") == id)
            return point;
    }
    return NULL;
}

/* What a user would have had without a search. */
static void write_naive(FILE *out, const struct report_file *file)
{
    const json_t *naive, *tune = file->results.tune;
    double best = number_at(file->best, "throughput_ips");
    size_t index;
    if (json_array_size(json_object_get(tune, "naive")) == 0)
        return;
    fputs(
        "<table class=\"naive\">\n<thead><tr><th scope=\"col\" class=\"text\">without a search</th>"
        "<th scope=\"col\">iterations/s</th><th scope=\"col\">the best does</th></tr></thead>\n"
        "<tbody>\n",
        out);
    json_array_foreach(json_object_get(tune, "naive"), index, naive)
    {
        double ips = number_at(naive, "throughput_ips");
        fputs("<tr>", out);
        html_element(out, "th scope=\"row\"", text_at(naive, "what"));
        const json_t *point = point_with(file, integer_at(naive, "point"));
        bool least = rate_is_least(json_object_get(point, "rate"));
        if (point)
            report_write_throughput(out, point);
        else
            html_number(out, "td", ips);
        bool certain = strcmp(text_at(naive, "status"), "unconverged") != 0;
        if (ips > 0 && isfinite(best))
            fprintf(out, "<td>%s%.2f×%s</td></tr>\n", least ? "≤" : "", best / ips,
                    certain ? "" : ", unconverged");
        else
            fputs("<td>–</td></tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
}

static void write_skipped(FILE *out, const struct emit_choice *choice)
{
    char label[REPORT_LABEL];
    for (size_t i = 0; i < choice->skipped_count; i++) {
        const struct emit_skipped *one = &choice->skipped[i];
        fprintf(out, "<p>Better, but not taken: point %" JSON_INTEGER_FORMAT ", ",
                integer_at(one->point, "id"));
        html_text(out, report_label(one->point, label));
        fputs(", with ", out);
        html_number(out, "strong", number_at(one->point, "throughput_ips"));
        fputs(" iterations/s, ", out);
        html_text(out, one->reason);
        fputs(".</p>\n", out);
    }
    if (choice->skipped_more > 0)
        fprintf(out, "<p>Better, but not taken: %zu more.</p>\n", choice->skipped_more);
}

static void write_best(FILE *out, const struct report_file *file)
{
    char label[REPORT_LABEL];
    struct report_limit limit;
    fputs("<section class=\"winner\">\n", out);
    if (!file->best) {
        fputs("<h3>No best layout</h3>\n", out);
        html_element(out, "p", file->why);
        fputs("</section>\n", out);
        return;
    }
    html_element(out, "h3", report_label(file->best, label));
    write_figures_of_best(out, file);
    fprintf(out, "<p>Point %" JSON_INTEGER_FORMAT ", ", integer_at(file->best, "id"));
    html_text(out, file->why);
    fputs(".</p>\n", out);
    write_skipped(out, &file->choice);
    if (report_limit_of(file, file->best, &limit))
        write_limit(out, &limit);
    char *command = report_command_of(file, file->best);
    if (command) {
        fputs("<p>Measure it again:</p>\n", out);
        write_command(out, command);
    }
    free(command);
    write_naive(out, file);
    fputs("</section>\n", out);
}

/* -- the machine, and how to have it all again ------------------------------------------------- */

static void write_fact(FILE *out, const char *name, const char *value)
{
    if (!*value)
        return;
    html_element(out, "dt", name);
    html_element(out, "dd", value);
    fputc('\n', out);
}

static void write_machine(FILE *out, const json_t *header)
{
    const json_t *gpu = json_object_get(header, "gpu");
    char text[ORIGIN_REMARK], hosts[ORIGIN_LIST], uuids[ORIGIN_LIST];
    size_t host_count = origin_hosts(header, hosts), uuid_count = origin_uuids(header, uuids);
    fputs("<h3>Machine</h3>\n<dl>\n", out);
    write_fact(out, "GPU", text_at(gpu, "name"));
    if (integer_at(gpu, "sms") > 0 && integer_at(gpu, "memory") > 0) {
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT " multiprocessors, %.0f GiB of memory",
                 integer_at(gpu, "sms"), (double)integer_at(gpu, "memory") / (1 << 30));
        write_fact(out, "with", text);
    }
    write_fact(out, uuid_count > 1 ? "UUIDs" : "UUID", uuids);
    write_fact(out, "driver", text_at(header, "driver"));
    write_fact(out, "CPUs", text_at(header, "topology"));
    write_fact(out, host_count > 1 ? "hosts" : "host", hosts);
    write_fact(out, "kernel", text_at(header, "kernel"));
    write_fact(out, "measured", text_at(header, "started"));
    write_fact(out, "mpsweep", text_at(header, "mpsweep"));
    write_fact(out, "remark", origin_remark(header, text));
    fputs("</dl>\n", out);
}

static void write_again(FILE *out, const struct report_file *file)
{
    fputs("<h3>Reproduce</h3>\n<p>The last column of the table has a command for each point. These "
          "read the same file:</p>\n<pre>",
          out);
    if (explain_results_any(&file->results)) {
        fputs("mpsweep explain ", out);
        html_shell_word(out, file->path);
        fputs("\n", out);
    }
    fputs("mpsweep plot ", out);
    html_shell_word(out, file->path);
    fputs(" --figure all -o figures\n", out);
    if (file->best) {
        fputs("mpsweep emit ", out);
        html_shell_word(out, file->path);
        fprintf(out, " --point %" JSON_INTEGER_FORMAT " --target env -o deployment -- COMMAND\n",
                integer_at(file->best, "id"));
    }
    fputs("</pre>\n", out);
}

/* -- the page ---------------------------------------------------------------------------------- */

static void write_head(FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          /* A browser refuses whatever the page would load. */
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n",
          out);
    html_element(out, "title", "mpsweep report");
    fprintf(out, "\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", report_style);
}

static enum status write_file(FILE *out, const struct report_file *file, size_t most_bytes)
{
    char unfinished[TABLE_UNFINISHED], machines[ORIGIN_MACHINES];
    fputs("<article>\n", out);
    html_element(out, "h2", path_file_name(file->path));
    if (origin_is_emulated(file->results.header))
        fputs(
            "<p class=\"emulated\">EMULATED GPU: these numbers do not describe any hardware.</p>\n",
            out);
    if (*origin_machines(file->results.header, machines))
        html_element(out, "p", machines);
    if (*table_unfinished(&file->results, unfinished))
        html_element(out, "p class=\"unfinished\"", unfinished);
    if (json_array_size(file->results.points) > 0)
        write_best(out, file);
    enum status status = report_write_figures(out, file, most_bytes);
    if (status == STATUS_OK && json_array_size(file->results.points) > 0)
        status = report_write_points(out, file);
    if (status != STATUS_OK)
        return status;
    report_write_warnings(out, file);
    write_machine(out, file->results.header);
    write_again(out, file);
    fputs("</article>\n", out);
    return STATUS_OK;
}

enum status report_write_page(FILE *out, const struct report_file *files, size_t count)
{
    write_head(out);
    fputs("<h1>mpsweep report</h1>\n", out);
    for (size_t i = 0; i < count; i++) {
        enum status status = write_file(out, &files[i], FIGURE_BYTES / count);
        if (status != STATUS_OK)
            return status;
    }
    fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", report_script);
    return STATUS_OK;
}
