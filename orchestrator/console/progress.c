#include "orchestrator/console/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "orchestrator/record/record.h"

void progress_init(struct progress *progress, bool quiet, size_t total, double estimated_s)
{
    *progress = (struct progress){
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO),
        .total = total,
        .started_ns = clock_now_ns(),
        .estimated_s = estimated_s,
    };
}

/* From the pace so far; the plan's own estimate counts for the first few points. */
static double seconds_left(const struct progress *progress)
{
    double elapsed = (double)(clock_now_ns() - progress->started_ns) / 1e9;
    double left = (double)(progress->total - progress->done);
    double planned = progress->total ? progress->estimated_s / (double)progress->total : 0.0;
    double pace = (elapsed + 2.0 * planned) / ((double)progress->done + 2.0);
    return pace * left;
}

static void clear_line(const struct progress *progress)
{
    if (progress->terminal)
        fputs("\r\033[K", stderr);
}

static void show(const struct progress *progress, char *line)
{
    struct winsize size = {0};
    unsigned width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    /* A line that wraps could not be taken back. A byte is at least a column. */
    if (strlen(line) >= width)
        line[width - 1] = '\0';
    clear_line(progress);
    fputs(line, stderr);
    fflush(stderr);
}

void progress_other(const struct progress *progress, const char *label, const char *step)
{
    char left[32], line[256] = "";
    if (progress->quiet || !progress->terminal)
        return;
    text_duration(seconds_left(progress), left, sizeof left);
    struct text text = {.at = line, .size = sizeof line};
    text_append(&text, "[%s] %s left: %s", label, left, step);
    show(progress, line);
}

void progress_begin(struct progress *progress, const struct point *point)
{
    progress_step(progress, point, "");
}

void progress_step(struct progress *progress, const struct point *point, const char *step)
{
    char what[POINT_DESCRIPTION], left[32], line[256] = "";
    if (progress->quiet || !progress->terminal)
        return;
    point_describe(point, what, sizeof what);
    text_duration(seconds_left(progress), left, sizeof left);
    struct text text = {.at = line, .size = sizeof line};
    text_append(&text, "[%zu/%zu] %s left: %s%s%s", progress->done + 1, progress->total, left, what,
                *step ? ": " : "", step);
    show(progress, line);
}

void progress_end(struct progress *progress, const struct point *point, const json_t *record)
{
    progress->done++;
    if (progress->quiet || !record)
        return;
    char what[POINT_DESCRIPTION], number[32];
    const json_t *throughput = json_object_get(record, "throughput_ips");
    const char *status = record_status(record);
    point_describe(point, what, sizeof what);
    clear_line(progress);
    fprintf(stderr, "[%zu/%zu] %s: ", progress->done, progress->total, what);
    if (throughput) {
        fprintf(stderr, "%s iterations/s%s%s\n",
                text_number(json_number_value(throughput), number, sizeof number),
                strcmp(status, "ok") == 0 ? "" : ", ", strcmp(status, "ok") == 0 ? "" : status);
    } else {
        record_print_failure(stderr, record);
        fputc('\n', stderr);
    }
    fflush(stderr);
}

void progress_finish(const struct progress *progress)
{
    if (!progress->quiet)
        clear_line(progress);
}
