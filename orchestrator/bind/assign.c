#include "orchestrator/bind/internal.h"

#include <stdlib.h>
#include <string.h>

/* Counts the workers of each GPU. */
static enum status count_workers(const struct bind_topology *topology, const unsigned *gpu_of,
                                 unsigned workers, unsigned counts[BIND_GPUS])
{
    for (unsigned i = 0; i < workers; i++) {
        unsigned gpu = gpu_of ? gpu_of[i] : 0;
        if (gpu >= topology->gpus)
            return status_set(STATUS_USAGE, "worker %u is for GPU %u of %u", i, gpu,
                              topology->gpus);
        counts[gpu]++;
    }
    return STATUS_OK;
}

void bind_process_mask(const struct bind_topology *topology, enum bind_policy policy, unsigned gpu,
                       uint64_t mask[BIND_WORDS])
{
    hwloc_bitmap_to_ulongs(bind_set_of(topology, policy, gpu), BIND_WORDS, mask);
}

/* Makes the masks of one GPU's workers: one CPU of `own` each, or, in a crowd, the whole set. */
static enum status plan_gpu(const struct bind_topology *topology, enum bind_policy policy,
                            unsigned gpu, hwloc_const_bitmap_t own, bool crowd, unsigned count,
                            const unsigned *gpu_of, uint64_t (*masks)[BIND_WORDS])
{
    unsigned *order = calloc(count, sizeof *order);
    if (!order)
        return status_set(STATUS_MEMORY, "cannot allocate the order of %u workers", count);
    unsigned ordered = crowd ? 0 : count;
    enum status status = bind_order(topology, own, policy == BIND_SCATTER, order, &ordered);
    for (unsigned i = 0, nth = 0; status == STATUS_OK && nth < count; i++) {
        if (gpu_of && gpu_of[i] != gpu)
            continue;
        if (nth < ordered) {
            memset(masks[i], 0, sizeof masks[i]);
            masks[i][order[nth] / 64] |= UINT64_C(1) << (order[nth] % 64);
        } else {
            bind_process_mask(topology, policy, gpu, masks[i]);
        }
        nth++;
    }
    free(order);
    return status;
}

enum status bind_plan(const struct bind_topology *topology, enum bind_policy policy,
                      const unsigned *gpu_of, unsigned workers, uint64_t (*masks)[BIND_WORDS])
{
    unsigned counts[BIND_GPUS] = {0}, busy = 0;
    hwloc_bitmap_t own[BIND_GPUS] = {NULL};
    uint64_t crowd = 0;
    enum status status = count_workers(topology, gpu_of, workers, counts);
    if (status != STATUS_OK)
        return status;
    if (policy == BIND_NONE) {
        memset(masks, 0, workers * sizeof masks[0]);
        return STATUS_OK;
    }
    for (unsigned gpu = 0; gpu < topology->gpus; gpu++) {
        busy += counts[gpu] > 0;
        own[gpu] = hwloc_bitmap_alloc();
        if (!own[gpu]) {
            status = status_set(STATUS_MEMORY, "cannot allocate a set of CPUs");
            goto out;
        }
    }
    if (busy > 1)
        status = bind_divide(topology, policy, counts, own, &crowd);
    for (unsigned gpu = 0; gpu < topology->gpus && status == STATUS_OK; gpu++) {
        if (counts[gpu] == 0)
            continue;
        if (busy == 1) {
            hwloc_bitmap_copy(own[gpu], bind_set_of(topology, policy, gpu));
            crowd = counts[gpu] > (unsigned)hwloc_bitmap_weight(own[gpu]) ? ~UINT64_C(0) : 0;
        }
        status =
            plan_gpu(topology, policy, gpu, own[gpu], crowd >> gpu & 1, counts[gpu], gpu_of, masks);
    }
out:
    for (unsigned gpu = 0; gpu < topology->gpus; gpu++)
        hwloc_bitmap_free(own[gpu]);
    return status;
}
