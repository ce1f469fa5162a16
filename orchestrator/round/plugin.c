/* Where a plug-in got stuck in a round. */
#include <string.h>

#include "common/text.h"
#include "orchestrator/round/internal.h"

static const char *place_name(uint32_t inside)
{
    switch (inside) {
    case SHM_INSIDE_LOADING:
        return "while it is loaded";
    case SHM_INSIDE_INIT:
        return "in its init";
    case SHM_INSIDE_ITERATE:
        return "in its iterate, completed or check";
    case SHM_INSIDE_FINI:
        return "in its fini";
    default:
        return NULL;
    }
}

/* Where processes have ended, the stuck worker is one of theirs. */
static bool may_be_it(const struct round *round, unsigned process)
{
    bool any = false;
    for (unsigned p = 0; p < point_processes(round->point); p++)
        any |= round->children[p].ended;
    return !any || round->children[process].ended;
}

/* A failed slot has an error of its own; and one that waits or works as it should is not stuck. */
static bool is_stuck(const struct shm_slot *slot)
{
    uint32_t inside = atomic_load(&slot->inside);
    uint32_t state = atomic_load(&slot->state);
    if (state == SHM_STATE_STARTING || state == SHM_STATE_DRAINING)
        return place_name(inside) != NULL;
    return state == SHM_STATE_RUNNING && inside == SHM_INSIDE_ITERATE;
}

void round_add_plugin_place(const struct round *round)
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
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load(&slot->state) == SHM_STATE_FAILED)
            return;
        /* The one that is least far is most likely to be the reason. */
        if (is_stuck(slot) && may_be_it(round, round_process_of(round, i)) &&
            (!stuck || atomic_load(&slot->state) < atomic_load(&stuck->state))) {
            stuck = slot;
            at = i;
        }
    }
    struct text text = {
        .at = result->error, .size = sizeof result->error, .length = strlen(result->error)};
    /* While they run it may be any of them: all are in there nearly all the time. */
    if (stuck && (workers == 1 || atomic_load(&stuck->state) == SHM_STATE_RUNNING))
        text_append(&text, "; workload '%s' was %s", point_workload(point),
                    place_name(atomic_load(&stuck->inside)));
    else if (stuck)
        text_append(&text, "; workload '%s' was %s for worker %u%s", point_workload(point),
                    place_name(atomic_load(&stuck->inside)), at,
                    round_gpu_of_process(round, round_process_of(round, at), " (", ")", gpu));
}
