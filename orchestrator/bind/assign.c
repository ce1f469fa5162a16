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

void bind_part(uint64_t mask[BIND_WORDS], unsigned part, unsigned parts)
{
    unsigned count = 0, nth = 0;
    for (unsigned i = 0; i < BIND_WORDS; i++)
        count += (unsigned)__builtin_popcountll(mask[i]);
    for (unsigned cpu = 0; cpu < WORK_CPUS; cpu++) {
        uint64_t bit = UINT64_C(1) << (cpu % 64);
        if (mask[cpu / 64] & bit && nth++ * parts / count != part)
            mask[cpu / 64] &= ~bit;
    }
}

/* What one GPU's workers get. */
struct gpu_part {
    unsigned gpu, workers;
    hwloc_const_bitmap_t own;
    bool crowd;       /* they share the whole set */
    unsigned threads; /* of a program's process, which has several cores; 0: each has one CPU */
};

static void add_core(const struct bind_topology *topology, unsigned cpu, hwloc_const_bitmap_t own,
                     uint64_t mask[BIND_WORDS])
{
    hwloc_obj_t core = bind_core_of(topology->topology, cpu);
    for (int i = -1; (i = hwloc_bitmap_next(core->cpuset, i)) >= 0;)
        if (hwloc_bitmap_isset(own, (unsigned)i))
            mask[i / 64] |= UINT64_C(1) << (i % 64);
}

/* The mask of the nth worker of a program: its part of the cores of its process, which are as many
 * as any other has, neighbours in the order unless it is scattered. */
static void plan_cores(const struct bind_topology *topology, bool scatter,
                       const struct gpu_part *part, const unsigned *order, unsigned each,
                       unsigned nth, uint64_t mask[BIND_WORDS])
{
    unsigned processes = part->workers / part->threads;
    unsigned process = nth / part->threads, thread = nth % part->threads;
    for (unsigned i = thread * each / part->threads; i < (thread + 1) * each / part->threads; i++)
        add_core(topology, order[scatter ? i * processes + process : process * each + i], part->own,
                 mask);
}

/* Makes the masks of one GPU's workers: one CPU each, or some cores of a program's process, or, in
 * a crowd, the whole set. */
static enum status plan_gpu(const struct bind_topology *topology, enum bind_policy policy,
                            const struct gpu_part *part, const unsigned *gpu_of,
                            uint64_t (*masks)[BIND_WORDS])
{
    const bool scatter = policy == BIND_SCATTER;
    unsigned cores = bind_cores_in(topology->topology, part->own);
    unsigned ordered = part->workers > cores ? part->workers : cores;
    unsigned each = part->threads ? cores / (part->workers / part->threads) : 0;
    unsigned *order = calloc(ordered, sizeof *order);
    if (!order)
        return status_set(STATUS_MEMORY, "cannot allocate the order of %u workers", part->workers);
    if (part->crowd)
        ordered = 0;
    enum status status = bind_order(topology, part->own, scatter, order, &ordered);
    for (unsigned i = 0, nth = 0; status == STATUS_OK && nth < part->workers; i++) {
        if (gpu_of && gpu_of[i] != part->gpu)
            continue;
        memset(masks[i], 0, sizeof masks[i]);
        if (nth >= ordered)
            bind_process_mask(topology, policy, part->gpu, masks[i]);
        else if (part->threads && each >= part->threads)
            plan_cores(topology, scatter, part, order, each, nth, masks[i]);
        else
            masks[i][order[nth] / 64] |= UINT64_C(1) << (order[nth] % 64);
        nth++;
    }
    free(order);
    return status;
}

enum status bind_plan(const struct bind_topology *topology, enum bind_policy policy,
                      const unsigned *gpu_of, unsigned workers, unsigned threads,
                      uint64_t (*masks)[BIND_WORDS])
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
        const struct gpu_part part = {gpu, counts[gpu], own[gpu], crowd >> gpu & 1, threads};
        status = plan_gpu(topology, policy, &part, gpu_of, masks);
    }
out:
    for (unsigned gpu = 0; gpu < topology->gpus; gpu++)
        hwloc_bitmap_free(own[gpu]);
    return status;
}
