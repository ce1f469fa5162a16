#include <stdlib.h>
#include <string.h>

#include "orchestrator/round/internal.h"

enum status round_collect_gpus(const struct round *round, const double *iterations, double steady_s)
{
    const struct point *point = round->point;
    struct round_result *result = round->result;
    unsigned count = point_gpus(point);
    if (count == 1)
        return STATUS_OK;
    struct round_gpu *gpus = calloc(count, sizeof *gpus);
    if (!gpus)
        return status_set(STATUS_MEMORY, "out of memory for the results");
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        struct round_gpu *gpu = &gpus[point_gpu_of(point, round_process_of(round, i))];
        gpu->throughput_ips += iterations[i] / steady_s;
        histogram_merge(&gpu->latency, &slot->latency);
        for (size_t word = 0; word < BIND_WORDS; word++)
            gpu->cpus[word] |= slot->cpus[word];
    }
    result->telemetry = (struct telemetry_window){0};
    for (unsigned i = 0; i < count; i++) {
        memcpy(gpus[i].uuid, gpu_at(round->session->gpus, i)->uuid, sizeof gpus[i].uuid);
        telemetry_collect(round->session->telemetry, i, gpus[i].throughput_ips * result->window_s,
                          &gpus[i].telemetry);
        gpus[i].numa = round_numa(round->session, &round->shm, i, count);
        if (i == 0)
            result->telemetry = gpus[i].telemetry;
        else
            telemetry_window_merge(&result->telemetry, &gpus[i].telemetry);
    }
    result->gpus = gpus;
    result->gpu_count = count;
    return STATUS_OK;
}
