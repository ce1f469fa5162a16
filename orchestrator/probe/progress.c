#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "orchestrator/probe/internal.h"

/* Of one arm in one round, before any has been seen. */
#define USUAL_S 0.8

void probe_progress_init(struct probe_progress *progress, bool quiet, size_t total)
{
    *progress = (struct probe_progress){
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO),
        .total = total,
        .started_ns = clock_now_ns(),
    };
}

void probe_progress_begin(const struct probe_progress *progress, const struct probe *probe,
                          const struct probe_arm *arm, unsigned round, unsigned rounds)
{
    char left[32], line[256] = "";
    if (progress->quiet || !progress->terminal)
        return;
    struct winsize size = {0};
    unsigned width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    double elapsed = (double)(clock_now_ns() - progress->started_ns) / 1e9;
    double pace = (elapsed + 2 * USUAL_S) / ((double)progress->done + 2);
    text_duration(pace * (double)(progress->total - progress->done), left, sizeof left);
    struct text text = {.at = line, .size = sizeof line};
    text_append(&text, "[%zu/%zu] %s left: %s %s, round %u of %u", progress->done + 1,
                progress->total, left, probe->name, arm->name, round + 1, rounds);
    /* A line that wraps could not be taken back. */
    if (strlen(line) >= width)
        line[width - 1] = '\0';
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}

void probe_progress_end(const struct probe_progress *progress)
{
    if (!progress->quiet && progress->terminal)
        fputs("\r\033[K", stderr);
}
