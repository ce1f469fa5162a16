#include "orchestrator/explain/point.h"

#include <string.h>

#include "common/json.h"
#include "orchestrator/plan/point.h"
#include "orchestrator/results/settings.h"

bool explain_point_measured(const json_t *record)
{
    const json_t *throughput = json_object_get(record, "throughput_ips");
    return json_is_number(throughput) && json_number_value(throughput) > 0.0 &&
           !explain_point_open(record);
}

bool explain_point_open(const json_t *record)
{
    return json_is_object(json_object_get(record, "rate"));
}

bool explain_point_apart(const json_t *record)
{
    return strcmp(text_at(record, "contexts"), "own") == 0 ||
           json_object_get(record, "sm_partition");
}

bool explain_point_known(const json_t *record)
{
    const json_t *word = json_object_get(record, "workload");
    const char *text = json_string_value(word);
    /* Results of before there was a choice for each point do not name it. */
    return !word || (text && (strcmp(text, "builtin") == 0 || strcmp(text, "delay") == 0));
}

bool explain_point_server(const json_t *record)
{
    return json_is_object(json_object_get(record, "requests"));
}

void explain_point_of(const struct point *point, struct explain_point *out)
{
    const struct point_shares *shares = &point->active_thread_percentage;
    *out = (struct explain_point){
        .mps = point_over_mps(point),
        .gpus = point_gpus(point),
        .processes = point->processes,
        .threads = point->threads,
        .streams = point_streams(point),
        .connections = point_connections(point),
        .memory = (enum work_memory)point->work.memory,
        .sync = (enum work_sync)point->work.sync,
        .launch = (enum work_launch)point->work.launch,
        .schedule = (enum work_schedule)point->work.schedule,
        .work = point->work,
    };
    for (unsigned i = 0; i < shares->count && i < EXPLAIN_MOST_PERCENTAGES; i++)
        out->percentages[out->percentage_count++] =
            shares->values[i] == OPTION_SHARE_DEFAULT ? 0 : (unsigned)shares->values[i];
}

enum status explain_point_read(const json_t *record, struct explain_point *out)
{
    struct settings_point read;
    enum status status = settings_read(record, &read);
    if (status == STATUS_OK)
        explain_point_of(&read.point, out);
    return status;
}

void explain_point_plan(const struct explain_point *point, const json_t *record,
                        int64_t shares[EXPLAIN_MOST_PERCENTAGES], struct point *out)
{
    struct settings_point read;
    *out = settings_read(record, &read) == STATUS_OK ? read.point : (struct point){0};
    out->priority = out->memory_limit = out->active_thread_percentage = (struct point_shares){0};
    out->layout = explain_layout(point);
    out->processes = point->processes;
    out->threads = point->threads;
    out->streams = ceiling_polls(point) ? point->streams : 1;
    out->gpus = point->gpus;
    out->connections = point->connections;
    out->work.memory = point->memory;
    out->work.sync = point->sync;
    out->work.launch = point->launch;
    out->work.schedule = point->schedule;
    for (unsigned i = 0; i < point->percentage_count; i++)
        shares[i] = point->percentages[i] ? (int64_t)point->percentages[i] : OPTION_SHARE_DEFAULT;
    if (point->percentage_count)
        out->active_thread_percentage =
            (struct point_shares){.values = shares, .count = point->percentage_count};
}
