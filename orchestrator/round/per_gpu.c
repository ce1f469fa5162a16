#include "orchestrator/round/per_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/results/scaling.h"
#include "orchestrator/record/telemetry.h"
#include "orchestrator/record/warnings.h"

enum status per_gpu_collect(const struct round *round, const double *iterations, double steady_s)
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
        unsigned process = i / point->threads;
        const struct shm_slot *slot = shm_slot_at(&round->shm, process, i % point->threads);
        struct round_gpu *gpu = &gpus[point_gpu_of(point, process)];
        gpu->throughput_ips += iterations[i] / steady_s;
        histogram_merge(&gpu->latency, &slot->latency);
        for (size_t word = 0; word < BIND_WORDS; word++)
            gpu->cpus[word] |= slot->cpus[word];
    }
    result->telemetry = (struct telemetry_window){0};
    for (unsigned i = 0; i < count; i++) {
        memcpy(gpus[i].uuid, round->session->devices[i].uuid, sizeof gpus[i].uuid);
        telemetry_collect(round->session->telemetry, i, gpus[i].throughput_ips * result->window_s,
                          &gpus[i].telemetry);
        gpus[i].numa = numa_of(round->session, &round->shm, i, count);
        if (i == 0)
            result->telemetry = gpus[i].telemetry;
        else
            telemetry_window_merge(&result->telemetry, &gpus[i].telemetry);
    }
    result->gpus = gpus;
    result->gpu_count = count;
    return STATUS_OK;
}

void per_gpu_merge(struct round_result *last, const struct round_result *before, unsigned rounds)
{
    if (!last->gpus || !before->gpus)
        return;
    for (unsigned i = 0; i < last->gpu_count; i++) {
        struct round_gpu *into = &last->gpus[i];
        const struct round_gpu *from = &before->gpus[i];
        into->throughput_ips =
            (from->throughput_ips * rounds + into->throughput_ips) / (rounds + 1.0);
        histogram_merge(&into->latency, &from->latency);
        telemetry_window_merge(&into->telemetry, &from->telemetry);
    }
}

/* In an open loop each has what it is offered. */
static void warn_imbalance(json_t *record, const struct point *point)
{
    struct imbalance imbalance;
    char text[IMBALANCE_TEXT];
    if (!imbalance_of(record, &imbalance))
        return;
    json_object_set_new(record, "gpu_imbalance", json_real(imbalance.relative));
    if (point_is_open(point) || !imbalance_matters(&imbalance, record))
        return;
    warnings_add(warnings_of(record), "gpu-imbalance",
                 "%s: compare their clocks and power (per_gpu.telemetry), and where their CPUs and "
                 "PCIe links are ('nvidia-smi topo -m')",
                 imbalance_text(&imbalance, true, text));
}

/* What is to be warned of in what one GPU did, with its number. */
static void warn_of(json_t *record, const struct round_gpu *gpu, unsigned number)
{
    json_t *warnings = json_array();
    telemetry_warn(warnings, &gpu->telemetry);
    numa_warn(warnings, &gpu->numa);
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const json_t *warning = json_array_get(warnings, i);
        warnings_add(warnings_of(record), json_string_value(json_object_get(warning, "kind")),
                     "GPU %u: %s", number, json_string_value(json_object_get(warning, "text")));
    }
    json_decref(warnings);
}

void per_gpu_record(json_t *record, const struct point *point, const struct round_result *result)
{
    if (!result->gpus)
        return;
    json_t *array = json_array();
    for (unsigned i = 0; i < result->gpu_count; i++) {
        const struct round_gpu *gpu = &result->gpus[i];
        char cpus[128];
        json_t *entry = json_pack("{s:i, s:s, s:f, s:{s:f, s:f}, s:s}", "gpu", (int)i, "uuid",
                                  gpu->uuid, "throughput_ips", gpu->throughput_ips, "latency_us",
                                  "p50", histogram_quantile_ns(&gpu->latency, 0.5) / 1e3, "p99",
                                  histogram_quantile_ns(&gpu->latency, 0.99) / 1e3, "cpus",
                                  bind_cpus_text(gpu->cpus, cpus, sizeof cpus));
        json_t *telemetry = telemetry_object(&gpu->telemetry);
        if (telemetry)
            json_object_set_new(entry, "telemetry", telemetry);
        json_array_append_new(array, entry);
        warn_of(record, gpu, i);
    }
    json_object_set_new(record, "per_gpu", array);
    warn_imbalance(record, point);
}

void per_gpu_record_failure(json_t *record, const struct point *point,
                            const struct round_result *result)
{
    if (point_gpus(point) == 1 || result->failed_gpus == 0 || result->status == STATUS_INTERRUPTED)
        return;
    json_t *gpus = json_array();
    for (unsigned i = 0; i < point_gpus(point); i++)
        if (result->failed_gpus & UINT32_C(1) << i)
            json_array_append_new(gpus, json_integer((json_int_t)i));
    json_object_set_new(record, "failed_gpus", gpus);
}
