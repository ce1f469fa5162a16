#include "orchestrator/record/internal.h"
#include "orchestrator/results/scaling.h"

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
    warn_telemetry(warnings, &gpu->telemetry);
    warn_numa(warnings, &gpu->numa);
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const json_t *warning = json_array_get(warnings, i);
        warnings_add(warnings_of(record), json_string_value(json_object_get(warning, "kind")),
                     "GPU %u: %s", number, json_string_value(json_object_get(warning, "text")));
    }
    json_decref(warnings);
}

void record_add_per_gpu(json_t *record, const struct point *point,
                        const struct round_result *result)
{
    if (!result->gpus)
        return;
    json_t *array = json_array();
    for (unsigned i = 0; i < result->gpu_count; i++) {
        const struct round_gpu *gpu = &result->gpus[i];
        char cpus[128];
        json_array_append_new(
            array, json_pack("{s:i, s:s, s:f, s:{s:f, s:f}, s:s, s:o*}", "gpu", (int)i, "uuid",
                             gpu->uuid, "throughput_ips", gpu->throughput_ips, "latency_us", "p50",
                             histogram_quantile_ns(&gpu->latency, 0.5) / 1e3, "p99",
                             histogram_quantile_ns(&gpu->latency, 0.99) / 1e3, "cpus",
                             bind_cpus_text(gpu->cpus, cpus, sizeof cpus), "telemetry",
                             record_telemetry(&gpu->telemetry)));
        warn_of(record, gpu, i);
    }
    json_object_set_new(record, "per_gpu", array);
    warn_imbalance(record, point);
}

void record_add_failed_gpus(json_t *record, const struct point *point,
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
