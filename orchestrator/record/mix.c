#include "orchestrator/round/mix.h"

#include <string.h>

#include "common/text.h"
#include "orchestrator/results/point.h"
#include "orchestrator/record/precision.h"

void described_record(json_t *record, const struct point *point, const struct round_result *result)
{
    if (!result->programs)
        return;
    json_t *workloads = json_array();
    for (unsigned i = 0; i < result->program_count; i++) {
        const struct mix_program *program = &point->mix->programs[i];
        const struct round_program *done = &result->programs[i];
        json_array_append_new(
            workloads,
            json_pack("{s:s, s:i, s:i, s:b, s:f, s:I, s:o}", "name", program->name, "weight",
                      (int)program->weight, "workers", (int)done->workers, "checked",
                      (int)(program->check != WORKLOAD_CHECK_NO &&
                            workload_can_check(&point->mix->steps[program->first], program->count)),
                      "throughput_ips", done->throughput_ips, "iterations",
                      (json_int_t)done->iterations, "latency_us",
                      sureness_latency(&done->latency)));
    }
    json_object_set_new(record, "workloads", workloads);
    /* Which of them each worker ran. */
    json_t *workers = json_object_get(record, "per_worker");
    for (size_t i = 0; i < json_array_size(workers); i++)
        json_object_set_new(json_array_get(workers, i), "workload",
                            json_string(point->mix->programs[result->workers[i].program].name));
}

void described_header(json_t *record, const struct job *job)
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

static void print_mix(FILE *out, const json_t *point, const json_t *workloads)
{
    char name[POINT_TEXT_BYTES], ips[32], p50[32], p99[32];
    const char *launch = point_string(point, "launch");
    point_name(point, name);
    fprintf(out, "mix      %s%s:", name, strcmp(launch, "graph") == 0 ? ", graph" : "");
    for (size_t i = 0; i < json_array_size(workloads); i++) {
        const json_t *workload = json_array_get(workloads, i);
        const json_t *latency = json_object_get(workload, "latency_us");
        json_int_t workers = point_integer(workload, "workers");
        fprintf(out, "%s %s %s/s of %lld worker%s, p50 %s ms, p99 %s ms", i ? ";" : "",
                point_string(workload, "name"),
                text_number(point_number(workload, "throughput_ips"), ips, sizeof ips),
                (long long)workers, workers == 1 ? "" : "s",
                text_number(point_number(latency, "p50") / 1e3, p50, sizeof p50),
                text_number(point_number(latency, "p99") / 1e3, p99, sizeof p99));
    }
    fputc('\n', out);
}

void described_print(FILE *out, const json_t *points)
{
    bool first = true;
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *workloads = json_object_get(point, "workloads");
        if (json_array_size(workloads) < 2)
            continue;
        if (first)
            fputc('\n', out);
        first = false;
        print_mix(out, point, workloads);
    }
}
