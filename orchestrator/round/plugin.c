/* A plug-in in a round: what it may not be asked for, where it got stuck, what it left behind. */
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/round/internal.h"
#include "orchestrator/record/warnings.h"

#define MIB (1024.0 * 1024.0)

bool plugin_rules_out(const struct point *point, char *why, size_t size)
{
    const char *word = point_workload(point);
    if (point->work.launch == LAUNCH_GRAPH && point->not_graph_safe) {
        snprintf(why, size, "workload '%s' is not graph-safe: it can only be launched by stream",
                 word);
        return true;
    }
    if (point->threads > 1 && point->not_thread_safe) {
        snprintf(why, size, "workload '%s' is not thread-safe: a process can have one worker only",
                 word);
        return true;
    }
    return false;
}

static const char *place_name(uint32_t inside)
{
    switch (inside) {
    case SHM_INSIDE_LOADING:
        return "while it is loaded";
    case SHM_INSIDE_INIT:
        return "in its init";
    case SHM_INSIDE_ITERATE:
        return "in its iterate or check";
    case SHM_INSIDE_FINI:
        return "in its fini";
    default:
        return NULL;
    }
}

/* Where processes have ended, it is one of theirs. */
static bool may_be_it(const struct round *round, unsigned process)
{
    bool any = false;
    for (unsigned p = 0; p < point_processes(round->point); p++)
        any |= round->children[p].ended;
    return !any || round->children[process].ended;
}

/* A failed slot says itself what happened; and of those that wait or work as they should, nothing
 * is to be said. */
static bool is_stuck(const struct shm_slot *slot)
{
    uint32_t inside = atomic_load(&slot->inside);
    uint32_t state = atomic_load(&slot->state);
    if (state == SHM_STATE_STARTING || state == SHM_STATE_DRAINING)
        return place_name(inside) != NULL;
    return state == SHM_STATE_RUNNING && inside == SHM_INSIDE_ITERATE;
}

void plugin_add_place(const struct round *round)
{
    struct round_result *result = round->result;
    const struct point *point = round->point;
    const struct shm_slot *stuck = NULL;
    char gpu[ROUND_NAME_TEXT];
    if (point->work.workload != WORKLOAD_PLUGIN || !round->shm.header || !round->children ||
        result->status != STATUS_WORKER)
        return;
    unsigned workers = point_workers(point), at = 0;
    for (unsigned i = 0; i < workers; i++) {
        const struct shm_slot *slot =
            shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        if (atomic_load(&slot->state) == SHM_STATE_FAILED)
            return;
        /* The one that is least far is most likely to be the reason. */
        if (is_stuck(slot) && may_be_it(round, i / point->threads) &&
            (!stuck || atomic_load(&slot->state) < atomic_load(&stuck->state))) {
            stuck = slot;
            at = i;
        }
    }
    struct text text = {
        .at = result->error, .size = sizeof result->error, .length = strlen(result->error)};
    /* While they run nobody knows which of them it is: all are in there nearly all the time. */
    if (stuck && (workers == 1 || atomic_load(&stuck->state) == SHM_STATE_RUNNING))
        text_append(&text, "; workload '%s' was %s", point_workload(point),
                    place_name(atomic_load(&stuck->inside)));
    else if (stuck)
        text_append(&text, "; workload '%s' was %s for worker %u%s", point_workload(point),
                    place_name(atomic_load(&stuck->inside)), at + 1,
                    round_gpu_of_process(round, at / point->threads, " (", ")", gpu));
}

void plugin_warn(json_t *record, const struct point *point, const struct round_result *result)
{
    uint64_t device = 0, host = 0;
    if (point->work.workload != WORKLOAD_PLUGIN)
        return;
    for (unsigned p = 0; p < point_processes(point); p++) {
        const struct round_process *process = &result->processes[p];
        device = process->kept_device > device ? process->kept_device : device;
        host = process->kept_host > host ? process->kept_host : host;
    }
    if (device > 0)
        warnings_add(warnings_of(record), "leak",
                     "workload '%s' leaks: for each instance, %.3g MiB of GPU memory are not free "
                     "again after its fini",
                     point_workload(point), (double)device / MIB);
    if (host > 0)
        warnings_add(warnings_of(record), "leak",
                     "workload '%s' leaks: for each instance, %.3g MiB of host memory are not free "
                     "again after its fini",
                     point_workload(point), (double)host / MIB);
}
