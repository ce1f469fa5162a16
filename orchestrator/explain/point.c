#include "orchestrator/explain/point.h"

#include <string.h>

#define WORKERS_MOST 4096

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

bool explain_point_known(const json_t *record)
{
    const json_t *word = json_object_get(record, "workload");
    const char *text = json_string_value(word);
    /* Results of before there was a choice for each point do not name it. */
    return !word || (text && (strcmp(text, "builtin") == 0 || strcmp(text, "delay") == 0));
}

static enum status bad_field(const json_t *record, const char *key)
{
    return status_set(STATUS_USAGE, "point %lld: '%s' is missing or cannot be",
                      (long long)json_integer_value(json_object_get(record, "id")), key);
}

/* A whole number of a record within what is allowed. */
static enum status read_number(const json_t *record, const char *key, json_int_t least,
                               json_int_t most, unsigned long long *out)
{
    const json_t *value = json_object_get(record, key);
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most)
        return bad_field(record, key);
    *out = (unsigned long long)json_integer_value(value);
    return STATUS_OK;
}

/* The place of a word among the row's choices, which is its number in shm/shm.h. */
static enum status read_choice(const json_t *record, const char *key, enum option_id row,
                               unsigned *out)
{
    const char *word = json_string_value(json_object_get(record, key));
    const char *choices = option_table[row].choices;
    for (unsigned i = 0; word && *choices; i++) {
        size_t length = strcspn(choices, "|");
        if (strlen(word) == length && strncmp(word, choices, length) == 0) {
            *out = i;
            return STATUS_OK;
        }
        choices += length + (choices[length] == '|');
    }
    return bad_field(record, key);
}

static enum status read_percentages(const json_t *record, struct explain_point *out)
{
    static const char key[] = "active_thread_percentage";
    const json_t *value = json_object_get(record, key);
    size_t count = json_is_array(value) ? json_array_size(value) : value != NULL;
    if (count > EXPLAIN_MOST_PERCENTAGES)
        return bad_field(record, key);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_null(entry) && (!json_is_integer(entry) || json_integer_value(entry) < 1 ||
                                     json_integer_value(entry) > 100))
            return bad_field(record, key);
        out->percentages[i] = json_is_null(entry) ? 0 : (unsigned)json_integer_value(entry);
    }
    out->percentage_count = (unsigned)count;
    return STATUS_OK;
}

static enum status read_work(const json_t *record, struct calibration_work *out)
{
    static const json_int_t most = UINT32_MAX;
    unsigned long long kernels, blocks, threads, spin, bytes, cycles = 0;
    enum status status = read_number(record, "kernels", 1, most, &kernels);
    if (status == STATUS_OK)
        status = read_number(record, "blocks", 1, most, &blocks);
    if (status == STATUS_OK)
        status = read_number(record, "threads_per_block", 1, most, &threads);
    if (status == STATUS_OK)
        status = read_number(record, "spin", 0, most, &spin);
    if (status == STATUS_OK)
        status = read_number(record, "bytes", 0, INT64_MAX, &bytes);
    bool delay = json_object_get(record, "delay_cycles") != NULL;
    if (status == STATUS_OK && delay)
        status = read_number(record, "delay_cycles", 0, INT64_MAX, &cycles);
    if (status != STATUS_OK)
        return status;
    *out = (struct calibration_work){
        .workload = delay ? WORKLOAD_DELAY : WORKLOAD_CHAIN,
        .kernels = (unsigned)kernels,
        .blocks = (unsigned)blocks,
        .threads_per_block = (unsigned)threads,
        .spin = (unsigned)spin,
        .bytes = bytes,
        .delay_cycles = cycles,
    };
    return STATUS_OK;
}

enum status explain_point_read(const json_t *record, struct explain_point *out)
{
    struct explain_point point = {.mps = json_is_true(json_object_get(record, "mps"))};
    unsigned long long processes, threads, connections, gpus = 1;
    unsigned memory, sync, launch, schedule;
    enum status status = read_number(record, "processes", 1, WORKERS_MOST, &processes);
    if (status == STATUS_OK)
        status = read_number(record, "threads", 1, WORKERS_MOST, &threads);
    if (status == STATUS_OK)
        status = read_number(record, "connections", 1, WORKERS_MOST, &connections);
    if (status == STATUS_OK)
        status = read_choice(record, "memory", OPTION_MEMORY, &memory);
    if (status == STATUS_OK)
        status = read_choice(record, "sync", OPTION_SYNC, &sync);
    if (status == STATUS_OK)
        status = read_choice(record, "launch", OPTION_LAUNCH, &launch);
    if (status == STATUS_OK)
        status = read_choice(record, "schedule", OPTION_SCHEDULE, &schedule);
    if (status == STATUS_OK && json_object_get(record, "gpus"))
        status = read_number(record, "gpus", 1, WORKERS_MOST, &gpus);
    if (status == STATUS_OK)
        status = read_percentages(record, &point);
    if (status == STATUS_OK)
        status = read_work(record, &point.work);
    if (status != STATUS_OK)
        return status;
    point.gpus = (unsigned)gpus;
    point.processes = (unsigned)processes;
    point.threads = (unsigned)threads;
    point.connections = (unsigned)connections;
    point.memory = (enum work_memory)memory;
    point.sync = (enum work_sync)sync;
    point.launch = (enum work_launch)launch;
    point.schedule = (enum work_schedule)schedule;
    *out = point;
    return STATUS_OK;
}

static enum layout_kind layout_of(const struct explain_point *point)
{
    const char *name = explain_layout_name(point);
    for (int kind = 0; kind < LAYOUT_KINDS; kind++)
        if (strcmp(layout_name((enum layout_kind)kind), name) == 0)
            return (enum layout_kind)kind;
    return LAYOUT_THREADS;
}

void explain_point_plan(const struct explain_point *point, const json_t *record,
                        int64_t shares[EXPLAIN_MOST_PERCENTAGES], struct point *out)
{
    unsigned bind = BIND_NEAR;
    const char *daemons = json_string_value(json_object_get(record, "mps_daemons"));
    *out = (struct point){
        .layout = layout_of(point),
        .processes = point->processes,
        .threads = point->threads,
        .gpus = point->gpus,
        .mps_daemons =
            daemons && strcmp(daemons, "per-gpu") == 0 ? MPS_DAEMONS_PER_GPU : MPS_DAEMONS_SHARED,
        .connections = point->connections,
        .work =
            {
                .memory = point->memory,
                .sync = point->sync,
                .launch = point->launch,
                .schedule = point->schedule,
            },
    };
    calibration_work_set(&point->work, &out->work);
    if (read_choice(record, "bind", OPTION_BIND, &bind) == STATUS_OK)
        out->bind = (enum bind_policy)bind;
    for (unsigned i = 0; i < point->percentage_count; i++)
        shares[i] = point->percentages[i] ? (int64_t)point->percentages[i] : OPTION_SHARE_DEFAULT;
    if (point->percentage_count)
        out->active_thread_percentage =
            (struct point_shares){.values = shares, .count = point->percentage_count};
}
