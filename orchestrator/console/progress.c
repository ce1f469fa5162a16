#include "orchestrator/console/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "orchestrator/console/color.h"

void progress_init(struct progress *progress, bool quiet, size_t total, double estimated_s)
{
    uint64_t now_ns = clock_now_ns();
    /* A log that is silent for so long shows at once what it waits for. */
    bool waits = estimated_s * 1e9 >= (double)PROGRESS_EVERY_NS;
    *progress = (struct progress){
        .quiet = quiet,
        .terminal = color_takes_sequences(stderr),
        .total = total,
        .started_ns = now_ns,
        .printed_ns = waits ? 0 : now_ns,
        .every_ns = PROGRESS_EVERY_NS,
        .estimated_s = estimated_s,
    };
}

/* From the pace so far; the estimate counts for the first few steps. */
static double seconds_left(const struct progress *progress)
{
    double elapsed = (double)(clock_now_ns() - progress->started_ns) / 1e9;
    double left = (double)(progress->total - progress->done);
    double planned = progress->total ? progress->estimated_s / (double)progress->total : 0.0;
    double pace = (elapsed + 2.0 * planned) / ((double)progress->done + 2.0);
    return pace * left;
}

void progress_clear(const struct progress *progress)
{
    if (!progress->quiet && progress->terminal)
        fputs("\r\033[K", stderr);
}

void progress_show(struct progress *progress, const char *label, const char *step)
{
    char left[32], line[1024] = "";
    struct text text = {.at = line, .size = sizeof line};
    struct winsize size = {0};
    uint64_t now_ns = clock_now_ns();
    if (progress->quiet ||
        (!progress->terminal && now_ns - progress->printed_ns < progress->every_ns))
        return;
    progress->printed_ns = now_ns;
    text_duration(seconds_left(progress), left, sizeof left);
    text_append(&text, "[%s] %s left: %s", label, left, step);
    /* A line that wraps could not be taken back. */
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
    if (progress->terminal)
        text_cut(line, known ? size.ws_col - 1U : 79U);
    progress_clear(progress);
    fprintf(stderr, progress->terminal ? "%s" : "%s\n", line);
    fflush(stderr);
}

void progress_begin(struct progress *progress, const char *subject)
{
    snprintf(progress->subject, sizeof progress->subject, "%s", subject);
    progress_step(progress, "");
}

void progress_step(struct progress *progress, const char *step)
{
    char label[48], line[PROGRESS_SUBJECT + 64];
    struct text text = {.at = line, .size = sizeof line};
    snprintf(label, sizeof label, "%zu/%zu", progress->done + 1, progress->total);
    text_append(&text, "%s%s%s", progress->subject, *step ? ": " : "", step);
    progress_show(progress, label, line);
}

void progress_pass(struct progress *progress, const char *what)
{
    char label[48];
    if (progress->terminal)
        return;
    progress->printed_ns = 0;
    snprintf(label, sizeof label, "%zu/%zu", progress->done, progress->total);
    progress_show(progress, label, what);
}

void progress_end(struct progress *progress, const char *result)
{
    progress->done++;
    if (progress->quiet || !result)
        return;
    progress_clear(progress);
    progress->printed_ns = clock_now_ns();
    fprintf(stderr, "[%zu/%zu] %s: ", progress->done, progress->total, progress->subject);
    color_print(stderr, result);
    fputc('\n', stderr);
    fflush(stderr);
}
