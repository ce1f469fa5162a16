/* Merges what the shards of a run have measured. */
#include <stdlib.h>
#include <string.h>

#include "files/results_write.h"
#include "orchestrator/console/report.h"
#include "orchestrator/merge/merge.h"
#include "orchestrator/slurm/internal.h"
#include "orchestrator/slurm/slurm.h"

/* Prints a line for each shard that is not whole. Returns the exit status for them. */
static int print_missing(const struct slurm_view *view)
{
    char hint[SLURM_HINT_BYTES];
    for (unsigned i = 0; i < view->run.shards; i++) {
        const struct slurm_shard *shard = &view->shards[i];
        enum slurm_shard_state state = slurm_view_state(view, i);
        const struct slurm_job *job = state == SLURM_SHARD_AT_WORK ? slurm_view_job(view, i) : NULL;
        if (shard->failed > 0)
            fprintf(stderr, "mpsweep: shard %u: %zu point%s failed, see the records\n", i,
                    shard->failed, shard->failed == 1 ? "" : "s");
        slurm_view_print_same(view, i, stderr, "mpsweep: ");
        if (state == SLURM_SHARD_FINISHED)
            continue;
        if (state == SLURM_SHARD_BROKEN)
            fprintf(stderr, "mpsweep: shard %u is left out: %s\n", i, shard->broken);
        else if (shard->points > 0)
            fprintf(stderr, "mpsweep: shard %u has %zu of %zu points: %s\n", i,
                    shard->done + shard->failed, shard->points, job ? job->state : "not finished");
        else
            fprintf(stderr, "mpsweep: shard %u has no results: %s\n", i,
                    job               ? job->state
                    : shard->error[0] ? shard->error
                                      : "its job wrote none");
    }
    size_t left = view->states[SLURM_SHARD_LEFT], at_work = view->states[SLURM_SHARD_AT_WORK];
    if (left > 0)
        fprintf(stderr, "mpsweep: %s: %s\n",
                view->asked ? "to continue what is left"
                            : "to continue, unless their jobs still run",
                slurm_hint(view->run.directory, "submit --again", hint));
    else if (at_work > 0)
        fprintf(stderr, "mpsweep: collect again when the jobs have ended\n");
    return left + view->states[SLURM_SHARD_BROKEN] + view->failed + view->same > 0
               ? EXIT_SOME_FAILED
           : at_work > 0 ? EXIT_AT_WORK
                         : EXIT_ALL_MEASURED;
}

static enum status set_option(struct options *options, const char *name, const char *text)
{
    const struct option_row *row = option_find(name, OPTION_MERGE);
    if (!row)
        return status_set(STATUS_PROTOCOL, "merge has no --%s", name);
    return options_set(options, row, text, 1);
}

/* Merges the shards that have a header. */
static int merge(const struct slurm_run *run, const struct slurm_shard *shards, const char *output,
                 const char *format)
{
    char usual[PATH_MAX], hint[SLURM_HINT_BYTES];
    struct options options;
    size_t count = 0;
    const char **paths = calloc(run->shards, sizeof *paths);
    enum status status =
        paths ? options_init(&options) : status_set(STATUS_MEMORY, "out of memory");
    if (status != STATUS_OK) {
        free(paths);
        return report(status);
    }
    for (unsigned i = 0; i < run->shards; i++)
        if (shards[i].points > 0 && !shards[i].broken[0])
            paths[count++] = shards[i].path;
    if (count == 0)
        status = status_set(STATUS_USAGE, "'%s' has no results yet: %s", run->directory,
                            slurm_hint(run->directory, "status", hint));
    if (status == STATUS_OK && output)
        status = results_check_new(output, "another name");
    if (status == STATUS_OK && !output)
        status = slurm_run_path(run, usual, "all.jsonl");
    if (status == STATUS_OK)
        status = set_option(&options, "output", output ? output : usual);
    if (status == STATUS_OK && !output)
        status = set_option(&options, "force", "yes");
    if (status == STATUS_OK)
        status = set_option(&options, "format", format);
    const struct invocation merge = {
        .options = &options, .operands = paths, .operand_count = count};
    int result = status == STATUS_OK ? merge_command(&merge) : report(status);
    options_release(&options);
    free(paths);
    return result;
}

int slurm_collect_command(const struct invocation *invocation)
{
    /* Slurm is asked before the merging, so that the command ends when that is done. */
    struct slurm_view view;
    int result;
    enum status status = slurm_view_look(invocation->operands[0], false, &view);
    if (status != STATUS_OK) {
        result = report(status);
    } else {
        const struct options *options = invocation->options;
        result = merge(&view.run, view.shards, options_text(options, OPTION_SLURM_OUTPUT),
                       options_text(options, OPTION_MERGE_FORMAT));
        int missing = print_missing(&view);
        if (result != EXIT_BAD_SETUP && missing != EXIT_ALL_MEASURED)
            result = missing;
    }
    slurm_view_release(&view);
    return result;
}
