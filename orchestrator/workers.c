#include "orchestrator/round_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "orchestrator/described.h"
#include "orchestrator/plugin.h"

/* With fixed work the workers lengthen their slices as they need to, so that the first ones are
 * short enough for any work. */
#define FIXED_SLICE_NS (20 * NS_PER_US)

static enum status set_masks(const struct round *round)
{
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    uint64_t(*masks)[BIND_WORDS] = calloc(workers, sizeof *masks);
    if (!masks)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = bind_plan(round->session->topology, point->bind, NULL, workers, masks);
    uint64_t process_mask[BIND_WORDS], nodes[BIND_NODE_WORDS];
    bind_process_mask(round->session->topology, point->bind, 0, process_mask);
    bind_nodes(round->session->topology, point->bind, 0, nodes);
    for (unsigned i = 0; i < workers && status == STATUS_OK; i++) {
        struct shm_slot *slot = shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        memcpy(slot->cpus, masks[i], sizeof slot->cpus);
    }
    for (unsigned p = 0; p < point->processes && status == STATUS_OK; p++) {
        struct shm_process *process = shm_process_at(&round->shm, p);
        memcpy(process->cpus, process_mask, sizeof process->cpus);
        memcpy(process->nodes, nodes, sizeof process->nodes);
    }
    free(masks);
    return status;
}

enum status workers_prepare(struct round *round)
{
    const struct point *point = round->point;
    struct crew *crew = round->crew;
    struct shm_settings settings = point->work;
    settings.device = 0; /* the one that CUDA_VISIBLE_DEVICES leaves */
    memcpy(settings.device_uuid, round->session->gpu.uuid, sizeof settings.device_uuid);
    /* The longest window, with room for the time until it is noticed that it is over. */
    uint64_t longest = round->limits->max_duration_ns;
    settings.slice_ns = (longest + longest / 16) / SHM_SLICES + 1;
    if (settings.iterations)
        settings.slice_ns = FIXED_SLICE_NS;
    enum status status = STATUS_OK;
    if (!round->result->reused)
        status = crew_make(crew, point, round->turn->threads_most, &settings);
    round->shm = crew->shm;
    round->children = crew->children;
    if (status == STATUS_OK) {
        shm_reset(&round->shm, &settings, point->processes, point->threads);
        status = plugin_of(point, &round->shm.header->plugin);
    }
    if (status == STATUS_OK)
        status = set_masks(round);
    if (status == STATUS_OK)
        described_deal(round);
    if (status == STATUS_OK)
        shm_assign(&round->shm);
    return status;
}
