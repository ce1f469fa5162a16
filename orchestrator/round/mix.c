#include <stdlib.h>

#include "orchestrator/round/internal.h"

static bool is_described(const struct point *point)
{
    return point->work.workload == WORKLOAD_DESCRIBED;
}

static void weights_of(const struct mix_work *mix, uint32_t weights[MIX_MOST])
{
    for (uint32_t i = 0; i < mix->count; i++)
        weights[i] = mix->workloads[i].weight;
}

enum status round_check_mix(const struct point *point)
{
    const struct mix_work *mix = point->mix;
    uint32_t weights[MIX_MOST];
    if (!is_described(point))
        return STATUS_OK;
    weights_of(mix, weights);
    unsigned needed = mix_workers_needed(weights, mix->count);
    /* Each GPU has the same mix. */
    unsigned workers = point->processes * point_slots(point);
    if (workers < needed)
        return status_set(
            STATUS_INFEASIBLE,
            "too few workers for '%s': %u, and it takes %u until each workload has one",
            point_workload(point), workers, needed);
    return STATUS_OK;
}

enum status round_check_lengths(const struct point *point)
{
    const struct mix_work *mix = point->mix;
    if (!is_described(point))
        return STATUS_OK;
    for (unsigned i = 0; i < WORKLOAD_STEPS; i++)
        if (mix->steps[i].asked_ns && !mix->steps[i].amount)
            return status_set(STATUS_UNSUPPORTED,
                              "kernel lengths of '%s' are not measured on this GPU",
                              point_workload(point));
    return STATUS_OK;
}

void round_deal_mix(const struct round *round)
{
    const struct point *point = round->point;
    uint32_t weights[MIX_MOST];
    if (!is_described(point))
        return;
    weights_of(point->mix, weights);
    for (unsigned gpu = 0; gpu < point_gpus(point); gpu++) {
        struct mix_deal deal = {{0}};
        for (unsigned p = gpu; p < point_processes(point); p += point_gpus(point))
            for (unsigned i = 0; i < point_slots(point); i++)
                shm_slot_at(&round->shm, p, i)->workload =
                    mix_next(&deal, weights, point->mix->count);
    }
}

enum status round_collect_mix(const struct round *round, const double *iterations, double steady_s)
{
    const struct point *point = round->point;
    if (!is_described(point))
        return STATUS_OK;
    struct round_workload *workloads = calloc(point->mix->count, sizeof *workloads);
    if (!workloads)
        return status_set(STATUS_MEMORY, "out of memory for the results");
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        struct round_workload *workload = &workloads[slot->workload];
        workload->workers++;
        workload->throughput_ips += iterations[i] / steady_s;
        workload->iterations += slot->iterations;
        histogram_merge(&workload->latency, &slot->latency);
        round->result->workers[i].workload = slot->workload;
    }
    round->result->workloads = workloads;
    round->result->workload_count = point->mix->count;
    return STATUS_OK;
}
