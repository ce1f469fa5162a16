#include "orchestrator/record/internal.h"

void record_add_mix(json_t *record, const struct point *point, const struct round_result *result)
{
    if (!result->workloads)
        return;
    json_t *workloads = json_array();
    for (unsigned i = 0; i < result->workload_count; i++) {
        const struct mix_workload *workload = &point->mix->workloads[i];
        const struct round_workload *done = &result->workloads[i];
        json_array_append_new(
            workloads,
            json_pack(
                "{s:s, s:i, s:i, s:b, s:f, s:I, s:o}", "name", workload->name, "weight",
                (int)workload->weight, "workers", (int)done->workers, "checked",
                (int)(workload->check != WORKLOAD_CHECK_NO &&
                      workload_can_check(&point->mix->steps[workload->first], workload->count)),
                "throughput_ips", done->throughput_ips, "iterations", (json_int_t)done->iterations,
                "latency_us", record_latency(&done->latency, NULL, 0)));
    }
    json_object_set_new(record, "workloads", workloads);
    /* Which of them each worker ran. */
    json_t *workers = json_object_get(record, "per_worker");
    for (size_t i = 0; i < json_array_size(workers); i++)
        json_object_set_new(json_array_get(workers, i), "workload",
                            json_string(point->mix->workloads[result->workers[i].workload].name));
}

void record_add_workloads(json_t *record, const struct job *job)
{
    static const char *const checks[] = {
        [WORKLOAD_CHECK_POSSIBLE] = "possible",
        [WORKLOAD_CHECK_YES] = "yes",
        [WORKLOAD_CHECK_NO] = "no",
    };
    if (job->workload_count == 0)
        return;
    json_t *workloads = json_object();
    for (size_t i = 0; i < job->workload_count; i++) {
        const struct workload *workload = &job->workloads[i];
        json_t *steps = json_array();
        for (unsigned s = 0; s < workload->count; s++) {
            char text[WORKLOAD_STEP_TEXT];
            json_array_append_new(steps,
                                  json_string(workload_step_text(&workload->steps[s], text)));
        }
        json_object_set_new(
            workloads, workload->name,
            json_pack("{s:o, s:s}", "steps", steps, "check", checks[workload->check]));
    }
    json_object_set_new(record, "workloads", workloads);
}
