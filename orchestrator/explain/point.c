#include "orchestrator/explain/point.h"

#include <string.h>

#include "common/json.h"
#include "explain/calibration_json.h"
#include "explain/steps.h"
#include "orchestrator/calibrate/points.h"
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

/* The work of a point whose workload the header describes; false: it does not. */
static bool read_described(const json_t *header, const json_t *record, struct work *out)
{
    const char *name = json_string_value(json_object_get(record, "workload"));
    const json_t *described = json_object_get(json_object_get(header, "workloads"), name);
    const json_t *steps = json_object_get(described, "steps");
    struct workload workload;
    if (!name || !steps || workload_begin(name, &workload) != STATUS_OK)
        return false;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const char *text = json_string_value(json_array_get(steps, i));
        if (!text || workload_add_step(&workload, text) != STATUS_OK)
            return false;
    }
    steps_describe(workload.steps, workload.count, out);
    return true;
}

static bool has_calibration(const json_t *calibrations, const struct work *work)
{
    json_t *wanted = calibration_work_to_json(work);
    bool found = false;
    for (size_t i = 0; wanted && i < json_array_size(calibrations) && !found; i++)
        found = json_equal(json_object_get(json_array_get(calibrations, i), "work"), wanted);
    json_decref(wanted);
    return found;
}

bool explain_point_known(const struct results *results, const json_t *record)
{
    const json_t *word = json_object_get(record, "workload");
    const char *text = json_string_value(word);
    struct work work;
    /* Results of before there was a choice for each point do not name it. */
    if (!word || (text && (strcmp(text, "builtin") == 0 || strcmp(text, "delay") == 0)))
        return true;
    return read_described(results->header, record, &work) &&
           has_calibration(results->calibrations, &work);
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
    };
    calibrate_work(point, &out->work);
    for (unsigned i = 0; i < shares->count && i < EXPLAIN_MOST_PERCENTAGES; i++)
        out->percentages[out->percentage_count++] =
            shares->values[i] == OPTION_SHARE_DEFAULT ? 0 : (unsigned)shares->values[i];
}

enum status explain_point_read(const json_t *header, const json_t *record,
                               struct explain_point *out)
{
    struct settings_point read;
    enum status status = settings_read(record, &read);
    if (status != STATUS_OK)
        return status;
    explain_point_of(&read.point, out);
    read_described(header, record, &out->work);
    return STATUS_OK;
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

json_t *explain_point_json(const json_t *record)
{
    static const char *const taken[] = {
        "id",
        "source",
        "section",
        "workload",
        "layout",
        "mps",
        "processes",
        "threads",
        "streams",
        "workers",
        "gpus",
        "mps_daemons",
        "memory",
        "sync",
        "launch",
        "schedule",
        "connections",
        "bind",
        "kernels",
        "blocks",
        "spin",
        "bytes",
        "threads_per_block",
        "delay_cycles",
        "status",
        "active_thread_percentage",
        "throughput_ips",
        "ci95_rel",
    };
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        json_t *value = json_object_get(record, taken[i]);
        if (value)
            json_object_set(object, taken[i], value);
    }
    return object;
}
