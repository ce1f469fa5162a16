#include "orchestrator/capture/internal.h"

#include <math.h>
#include <string.h>

#include "config.h"
#include "common/clock.h"
#include "common/text.h"
#include "files/atomic_file.h"

#define COMMAND_TEXT 160

/* In one line of a job file, shortened. */
static void put_command(FILE *out, char *const *command)
{
    char all[4 * COMMAND_TEXT] = "", line[COMMAND_TEXT];
    struct text text = {.at = all, .size = sizeof all};
    for (; *command; command++)
        text_append(&text, "%s%s", text.length ? " " : "", *command);
    text_printable(all, strlen(all), line, sizeof line);
    fprintf(out, "# What an iteration does of this program, as 'mpsweep record' saw it:\n# %s\n",
            line);
}

bool capture_has_kernels(const struct capture *capture)
{
    const struct workload *workload = &capture->workload.workload;
    for (unsigned i = 0; i < workload->count; i++)
        if (workload_step_is_kernel(&workload->steps[i]))
            return true;
    return false;
}

const char *capture_alike(const struct capture *capture, char out[CAPTURE_ALIKE_TEXT])
{
    if (capture->alike < 2 && capture->iterations > 1)
        snprintf(out, CAPTURE_ALIKE_TEXT, "no two alike");
    else
        snprintf(out, CAPTURE_ALIKE_TEXT, "%zu alike", capture->alike);
    return out;
}

const char *capture_blocks(const struct capture *capture, char out[CAPTURE_BLOCKS_TEXT])
{
    double scale = capture->share.scale;
    if (scale == 1.0)
        snprintf(out, CAPTURE_BLOCKS_TEXT, "the program's blocks");
    else
        snprintf(out, CAPTURE_BLOCKS_TEXT, "%.*f times the program's blocks",
                 scale < 0.1     ? 3
                 : scale < 10.0  ? 2
                 : scale < 100.0 ? 1
                                 : 0,
                 scale);
    return out;
}

/* Of a workload that does more or less beside others: what the search has shown. */
static const char *why_unlike(const struct capture *capture)
{
    if (capture->tried_cache)
        return ".\n# No other number of blocks, with kernels of either kind, came nearer to the "
               "program:\n# the difference may be on the host";
    if (capture->tried_blocks)
        return ".\n# No other number of blocks came nearer to the program:\n"
               "# the difference may be on the host";
    return ".\n# No other number was tried: the difference may be on the host, or between two "
           "measurements";
}

static void put_crowd(FILE *out, const struct capture *capture)
{
    double off = capture_crowd_difference(capture);
    if (!isfinite(off)) {
        if (capture_has_kernels(capture))
            fputs("# Kernels of a duration compute, whatever the program's did: bound=cache and "
                  "bound=memory\n# are yours to add.\n",
                  out);
        return;
    }
    char blocks[CAPTURE_BLOCKS_TEXT], program[32], replay[32];
    fprintf(out,
            "# with %u process%s over MPS the program does %s/s, this workload %s/s: %+.1f%%\n",
            capture->crowd, capture->crowd == 1 ? "" : "es",
            text_number(capture->program_crowd_ips, program, sizeof program),
            text_number(capture->replay_crowd_ips, replay, sizeof replay), 100.0 * off);
    if (capture_has_kernels(capture))
        fprintf(out, "# Its kernels have %s and %s%s.\n", capture_blocks(capture, blocks),
                capture->share.cached ? "wait for the cache" : "compute",
                capture_crowd_is_alike(capture)
                    ? ",\n# so that they leave as much of the GPU to that many processes as the "
                      "program's do"
                    : why_unlike(capture));
}

static void put_head(FILE *out, const struct capture *capture)
{
    char when[32], cuda[SESSION_CUDA_TEXT], alike[CAPTURE_ALIKE_TEXT];
    clock_wall_iso8601(when);
    put_command(out, capture->job->command);
    fprintf(out, "# %s, %s, CUDA %s, %s%s\n", PACKAGE_STRING,
            gpu_at(capture->session.gpus, 0)->name, session_cuda(&capture->session, cuda), when,
            session_mark(&capture->session));
    fprintf(out, "# %zu iteration%s, %s; one takes %.4g ms\n", capture->iterations,
            capture->iterations == 1 ? "" : "s", capture_alike(capture, alike),
            capture->program_ns / 1e6);
    if (isfinite(capture_difference(capture)))
        fprintf(out, "# alone, this workload takes %.4g ms here: %+.1f%%\n",
                capture->replay_ns / 1e6, 100.0 * capture_difference(capture));
    put_crowd(out, capture);
    if (capture->workload.folded)
        fputs("# What comes several times in a row is a repeat, of the means of all times.\n", out);
    if (capture->workload.merged)
        fprintf(out, "# Unlike steps are one, of their mean: a workload has at most %d.\n",
                WORKLOAD_STEPS);
    if (capture->workload.others)
        fputs("# Kernels of one cycle stand for those that are shorter than one of a duration can "
              "be.\n",
              out);
}

static void put_job(FILE *out, const struct capture *capture)
{
    char text[WORKLOAD_STEP_TEXT];
    const struct captured_workload *captured = &capture->workload;
    fprintf(out,
            "\n[global]\nlayout = threads:1\nworkload = %s\nlaunch = %s\nmemory = %s\n"
            "sync = none\n\n[workload %s]\n",
            captured->workload.name, captured->graph ? "graph" : "stream",
            captured->pageable ? "pageable" : "pinned", captured->workload.name);
    unsigned within = 0;
    for (unsigned i = 0; i < captured->workload.count; i++) {
        const struct workload_step *step = &captured->workload.steps[i];
        within -= step->kind == STEP_END;
        fprintf(out, "step = %*s%s\n", (int)(2 * within), "", workload_step_text(step, text));
        within += step->kind == STEP_REPEAT;
    }
}

enum status capture_write(const struct capture *capture, const char *path)
{
    struct atomic_file file;
    enum status status = atomic_file_open(path, 0, &file);
    if (status != STATUS_OK)
        return status;
    put_head(file.stream, capture);
    put_job(file.stream, capture);
    return atomic_file_commit(&file);
}
