/* Puts together what the files of a run and Slurm's answers show of its shards. */
#include <stdlib.h>

#include "orchestrator/slurm/internal.h"

const struct slurm_job *slurm_view_job(const struct slurm_view *view, unsigned shard)
{
    const struct slurm_job *job = slurm_job_of(&view->run, view->queue, view->queue_count, shard);
    return job ? job : slurm_job_of(&view->run, view->ended, view->ended_count, shard);
}

enum slurm_shard_state slurm_view_state(const struct slurm_view *view, unsigned shard)
{
    const struct slurm_job *job = slurm_view_job(view, shard);
    if (view->shards[shard].broken[0])
        return SLURM_SHARD_BROKEN;
    if (view->shards[shard].published)
        return SLURM_SHARD_FINISHED;
    return job && slurm_job_is_active(job) ? SLURM_SHARD_AT_WORK : SLURM_SHARD_LEFT;
}

void slurm_view_release(struct slurm_view *view)
{
    free(view->shards);
    free(view->queue);
    free(view->ended);
    slurm_run_release(&view->run);
}

enum status slurm_view_look(const char *directory, bool accounting, struct slurm_view *out)
{
    *out = (struct slurm_view){0};
    enum status status = slurm_run_load(directory, &out->run);
    if (status != STATUS_OK)
        return status;
    /* Jobs first: one that ends in between is then seen as at work, and not as lost. */
    out->asked = slurm_queue(&out->run, &out->queue, &out->queue_count) == STATUS_OK;
    if (accounting && out->asked)
        slurm_accounting(&out->run, &out->ended, &out->ended_count);
    else if (accounting)
        fprintf(stderr, "mpsweep: %s; this is from the files alone\n", status_text());
    status = slurm_shards_look(&out->run, &out->shards);
    for (unsigned i = 0; i < out->run.shards && status == STATUS_OK; i++) {
        out->states[slurm_view_state(out, i)]++;
        out->failed += out->shards[i].failed;
        out->same += out->shards[i].same_as != SLURM_NO_SHARD;
    }
    return status;
}

void slurm_view_print_same(const struct slurm_view *view, unsigned shard, FILE *file,
                           const char *begin)
{
    char hint[SLURM_HINT_BYTES];
    const struct slurm_shard *same = &view->shards[shard];
    if (same->same_as == SLURM_NO_SHARD)
        return;
    fprintf(file,
            "%sshards %u and %u are both from node %s, and another node was not measured: move "
            "'%s' away, then %s\n",
            begin, same->same_as, shard, same->node, same->path,
            slurm_hint(view->run.directory, "submit --again", hint));
}
