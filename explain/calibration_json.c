#include "explain/calibration_json.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "job/work.h"

static const char *const workloads[] = {
    [WORKLOAD_CHAIN] = "builtin",
    [WORKLOAD_DELAY] = "delay",
    [WORKLOAD_DESCRIBED] = "described",
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum kind { REAL, COUNT, WIDE }; /* double, uint32_t, uint64_t */

/* A number of a struct. Without it a record is of before there was one, unless it is needed. */
struct field {
    const char *name;
    size_t at;
    enum kind kind;
    bool needed;
};

#define WORK(name) #name, offsetof(struct work, name)

static const struct field of_work[] = {
    {WORK(kernels), COUNT, true},
    {WORK(blocks), COUNT, true},
    {WORK(threads_per_block), COUNT, true},
    {WORK(spin), COUNT, true},
    {WORK(bytes), WIDE, true},
    {WORK(delay_cycles), WIDE, true},
};

static const struct field of_steps[] = {
    {WORK(steps_id), WIDE, true},
    {WORK(busy_ns), WIDE, true},
    {WORK(think_ns), WIDE, true},
};

/* Only where there are any. */
static const struct field of_turns[] = {{WORK(turns), WIDE, false}};

#define FIGURE(name) #name, offsetof(struct calibration_record, figures.name)

static const struct field figures[] = {
    {FIGURE(single_stream_ips)},
    {FIGURE(single_graph_ips)},
    {FIGURE(single_stream_cpu_us)},
    {FIGURE(single_graph_cpu_us)},
    {FIGURE(single_stream_calls_us)},
    {FIGURE(single_graph_calls_us)},
    {FIGURE(single_pageable_ips)},
    {FIGURE(process_launches_per_s)},
    {FIGURE(gpu_launches_per_s)},
    {FIGURE(graph_kernels_per_s)},
    {FIGURE(process_graphs_per_s)},
    {FIGURE(polled_graphs_per_s)},
    {FIGURE(polled_calls_us)},
    {FIGURE(arithmetic_ips)},
    {FIGURE(kernels_ips)},
    {FIGURE(turns_per_ms)},
    {FIGURE(h2d_bytes_per_s)},
    {FIGURE(d2h_bytes_per_s)},
    {FIGURE(both_bytes_per_s)},
    {FIGURE(pageable_bytes_per_s)},
    {FIGURE(pageable_crowd_bytes_per_s)},
    {FIGURE(process_unsynced_ips)},
    {FIGURE(process_pageable_graph_ips)},
    {FIGURE(single_spin_cpu_us)},
    {FIGURE(crowd_stream_ips)},
    {FIGURE(pageable_workers), COUNT},
    {FIGURE(pageable_crowd_workers), COUNT},
    {FIGURE(crowd_workers), COUNT},
    {FIGURE(cpus), COUNT},
    {FIGURE(sms), COUNT},
};

#define ALL(name) #name, offsetof(struct calibration_all, name)

static const struct field of_all[] = {
    {ALL(gpus), COUNT, true},  {ALL(h2d_bytes_per_s)},      {ALL(d2h_bytes_per_s)},
    {ALL(both_bytes_per_s)},   {ALL(pageable_bytes_per_s)}, {ALL(process_launches_per_s)},
    {ALL(gpu_launches_per_s)},
};

#define RUN(name) #name, offsetof(struct calibration_run, name)

static const struct field of_run[] = {
    {RUN(processes), COUNT, true},
    {RUN(threads), COUNT, true},
    {RUN(streams), COUNT, true},
    {RUN(ips), REAL, true},
    {RUN(spread_rel)},
    {RUN(cpu_us)},
    {RUN(calls_us)},
};

/* Its settings, as options have them. */
static const char *const memories[] = {[MEMORY_PINNED] = "pinned", [MEMORY_PAGEABLE] = "pageable"};
static const char *const syncs[] = {[SYNC_STREAM] = "stream", [SYNC_NONE] = "none"};
static const char *const launches[] = {[LAUNCH_STREAM] = "stream", [LAUNCH_GRAPH] = "graph"};
static const char *const schedules[] = {[SCHEDULE_AUTO] = "auto",
                                        [SCHEDULE_SPIN] = "spin",
                                        [SCHEDULE_YIELD] = "yield",
                                        [SCHEDULE_BLOCK] = "block"};

static const struct {
    const char *name;
    size_t at;
    const char *const *words;
    size_t count;
} words_of_run[] = {
    {RUN(memory), memories, COUNT_OF(memories)},
    {RUN(sync), syncs, COUNT_OF(syncs)},
    {RUN(launch), launches, COUNT_OF(launches)},
    {RUN(schedule), schedules, COUNT_OF(schedules)},
};

static const struct field seconds[] = {
    {"seconds", offsetof(struct calibration_record, seconds)},
};

static json_t *value_of(const struct field *field, const void *of)
{
    const void *at = (const char *)of + field->at;
    double real = 0.0;
    switch (field->kind) {
    case COUNT:
        return json_integer(*(const uint32_t *)at);
    case WIDE:
        return json_integer((json_int_t) * (const uint64_t *)at);
    default:
        /* JSON has no other; what is not a number is not known. */
        memcpy(&real, at, sizeof real);
        return json_real(isfinite(real) ? real : 0.0);
    }
}

/* Adds the fields of a struct; 0, or not without memory. */
static int add_fields(json_t *json, const struct field *fields, size_t count, const void *of)
{
    int failed = json == NULL;
    for (size_t i = 0; i < count && !failed; i++)
        failed = json_object_set_new(json, fields[i].name, value_of(&fields[i], of));
    return failed;
}

/* NULL without memory. */
static json_t *object_of(json_t *json, const struct field *fields, size_t count, const void *of)
{
    if (add_fields(json, fields, count, of) == 0)
        return json;
    json_decref(json);
    return NULL;
}

json_t *calibration_work_to_json(const struct work *work)
{
    const char *workload =
        work->workload < COUNT_OF(workloads) ? workloads[work->workload] : "unknown";
    json_t *json =
        object_of(json_pack("{s:s}", "workload", workload), of_work, COUNT_OF(of_work), work);
    if (json && work->workload == WORKLOAD_DESCRIBED)
        json = object_of(json, of_steps, COUNT_OF(of_steps), work);
    return json && work->turns > 0 ? object_of(json, of_turns, COUNT_OF(of_turns), work) : json;
}

/* NULL without memory. */
static json_t *shared_to_json(unsigned shared)
{
    json_t *names = json_array();
    for (unsigned i = 0; i < CALIBRATION_PARTS && names != NULL; i++)
        if (shared & 1U << i)
            json_array_append_new(names, json_string(calibration_part_name(i)));
    return names;
}

/* NULL without memory. */
static json_t *run_to_json(const struct calibration_run *run)
{
    json_t *json = json_pack("{s:b}", "mps", run->mps);
    int failed = json == NULL;
    for (size_t i = 0; i < COUNT_OF(words_of_run) && !failed; i++) {
        uint32_t value = *(const uint32_t *)((const char *)run + words_of_run[i].at);
        failed = value >= words_of_run[i].count ||
                 json_object_set_new(json, words_of_run[i].name,
                                     json_string(words_of_run[i].words[value])) != 0;
    }
    if (!failed)
        return object_of(json, of_run, COUNT_OF(of_run), run);
    json_decref(json);
    return NULL;
}

/* NULL without memory. */
static json_t *runs_to_json(const struct calibration *of)
{
    json_t *runs = json_array();
    for (unsigned i = 0; i < of->run_count && runs != NULL; i++)
        if (json_array_append_new(runs, run_to_json(&of->runs[i])) != 0) {
            json_decref(runs);
            return NULL;
        }
    return runs;
}

/* NULL without memory. */
static json_t *spreads_to_json(const struct calibration_record *record)
{
    json_t *spreads = json_object();
    for (unsigned i = 0; i < CALIBRATION_PARTS && spreads != NULL; i++)
        if (record->spread_rel[i] > 0.0)
            json_object_set_new(spreads, calibration_part_name(i),
                                json_real(record->spread_rel[i]));
    return spreads;
}

json_t *calibration_to_json(const struct calibration_record *record)
{
    json_t *json = json_pack("{s:s, s:o}", "type", "calibration", "work",
                             calibration_work_to_json(&record->figures.work));
    json_t *notes = json_array();
    int failed = notes == NULL || add_fields(json, figures, COUNT_OF(figures), record);
    for (unsigned i = 0; i < record->note_count && !failed; i++)
        failed = json_array_append_new(notes, json_string(record->notes[i]));
    /* One GPU's is as it was before there were several. */
    if (!failed && record->figures.all.gpus > 1)
        failed = json_object_set_new(
            json, "all_gpus",
            object_of(json_object(), of_all, COUNT_OF(of_all), &record->figures.all));
    if (!failed && *record->bind)
        failed = json_object_set_new(json, "bind", json_string(record->bind));
    if (!failed && record->shared != 0)
        failed = json_object_set_new(json, "shared", shared_to_json(record->shared));
    if (!failed && record->figures.run_count > 0)
        failed = json_object_set_new(json, "runs", runs_to_json(&record->figures)) ||
                 json_object_set_new(json, "spread", spreads_to_json(record));
    if (!failed)
        failed = add_fields(json, seconds, COUNT_OF(seconds), record) ||
                 json_object_set(json, "notes", notes);
    json_decref(notes);
    if (!failed)
        return json;
    json_decref(json);
    return NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */

static enum status read_field(const json_t *json, const struct field *field, void *out)
{
    const json_t *value = json_object_get(json, field->name);
    void *to = (char *)out + field->at;
    double number = json_number_value(value);
    json_int_t whole = json_integer_value(value);
    json_int_t most = field->kind == COUNT ? UINT_MAX : LLONG_MAX;
    if (value == NULL && !field->needed)
        return STATUS_OK;
    if (value == NULL)
        return status_set(STATUS_USAGE, "a calibration's '%s' is missing", field->name);
    if (field->kind == REAL && !(json_is_number(value) && isfinite(number) && number >= 0.0))
        return status_set(STATUS_USAGE, "a calibration's '%s' is not a number from 0", field->name);
    if (field->kind != REAL && !(json_is_integer(value) && whole >= 0 && whole <= most))
        return status_set(STATUS_USAGE, "a calibration's '%s' is not a whole number in range",
                          field->name);
    if (field->kind == COUNT)
        *(uint32_t *)to = (uint32_t)whole;
    else if (field->kind == WIDE)
        *(uint64_t *)to = (uint64_t)whole;
    else
        *(double *)to = number;
    return STATUS_OK;
}

static enum status read_fields(const json_t *json, const struct field *fields, size_t count,
                               void *out)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = read_field(json, &fields[i], out);
    return status;
}

static enum status read_work(const json_t *json, struct work *out)
{
    const json_t *work = json_object_get(json, "work");
    const char *workload = text_at(work, "workload");
    unsigned kind = 0;
    while (kind < COUNT_OF(workloads) && strcmp(workload, workloads[kind]) != 0)
        kind++;
    if (kind == COUNT_OF(workloads))
        return status_set(STATUS_USAGE, "a calibration's 'workload' is missing or unknown");
    out->workload = kind;
    enum status status = read_fields(work, of_work, COUNT_OF(of_work), out);
    if (status != STATUS_OK || kind != WORKLOAD_DESCRIBED)
        return status;
    status = read_fields(work, of_steps, COUNT_OF(of_steps), out);
    return status == STATUS_OK ? read_fields(work, of_turns, COUNT_OF(of_turns), out) : status;
}

static enum status read_all(const json_t *json, struct calibration_all *out)
{
    const json_t *all = json_object_get(json, "all_gpus");
    return all == NULL ? STATUS_OK : read_fields(all, of_all, COUNT_OF(of_all), out);
}

static enum status read_run(const json_t *json, struct calibration_run *out)
{
    enum status status = read_fields(json, of_run, COUNT_OF(of_run), out);
    for (size_t i = 0; i < COUNT_OF(words_of_run) && status == STATUS_OK; i++) {
        const char *word = text_at(json, words_of_run[i].name);
        uint32_t value = 0;
        while (value < words_of_run[i].count && strcmp(word, words_of_run[i].words[value]) != 0)
            value++;
        if (value == words_of_run[i].count)
            return status_set(STATUS_USAGE, "a calibration's '%s' of a run is missing or unknown",
                              words_of_run[i].name);
        *(uint32_t *)((char *)out + words_of_run[i].at) = value;
    }
    out->mps = json_is_true(json_object_get(json, "mps"));
    return status;
}

/* Further ones than there is room for are of another version. */
static enum status read_runs(const json_t *json, struct calibration *out)
{
    const json_t *runs = json_object_get(json, "runs");
    enum status status = STATUS_OK;
    if (runs != NULL && !json_is_array(runs))
        return status_set(STATUS_USAGE, "a calibration's 'runs' are not an array");
    for (size_t i = 0; i < json_array_size(runs) && out->run_count < CALIBRATION_RUNS; i++) {
        status = read_run(json_array_get(runs, i), &out->runs[out->run_count++]);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static void read_spreads(const json_t *json, double *out)
{
    const json_t *spreads = json_object_get(json, "spread");
    for (unsigned i = 0; i < CALIBRATION_PARTS; i++)
        out[i] = json_number_value(json_object_get(spreads, calibration_part_name(i)));
}

static enum status read_notes(const json_t *json, struct calibration_record *out)
{
    const json_t *notes = json_object_get(json, "notes");
    if (notes == NULL)
        return STATUS_OK;
    if (!json_is_array(notes))
        return status_set(STATUS_USAGE, "a calibration's 'notes' are not an array");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const char *text = json_string_value(json_array_get(notes, i));
        if (text == NULL)
            return status_set(STATUS_USAGE, "a calibration's 'notes' are not texts");
        if (out->note_count < CALIBRATION_NOTES)
            snprintf(out->notes[out->note_count++], CALIBRATION_NOTE_BYTES, "%s", text);
    }
    return STATUS_OK;
}

/* Names that are not known are of another version. */
static enum status read_shared(const json_t *json, unsigned *out)
{
    const json_t *shared = json_object_get(json, "shared");
    if (shared != NULL && !json_is_array(shared))
        return status_set(STATUS_USAGE, "a calibration's 'shared' is not an array");
    for (size_t i = 0; i < json_array_size(shared); i++) {
        const char *name = json_string_value(json_array_get(shared, i));
        for (unsigned part = 0; part < CALIBRATION_PARTS && name != NULL; part++)
            if (strcmp(name, calibration_part_name(part)) == 0)
                *out |= 1U << part;
    }
    return STATUS_OK;
}

static enum status read_bind(const json_t *json, char *out, size_t size)
{
    const json_t *bind = json_object_get(json, "bind");
    if (bind != NULL && !json_is_string(bind))
        return status_set(STATUS_USAGE, "a calibration's 'bind' is not a text");
    snprintf(out, size, "%s", bind != NULL ? json_string_value(bind) : "");
    return STATUS_OK;
}

enum status calibration_from_json(const json_t *json, struct calibration_record *out)
{
    struct calibration_record record = {0};
    enum status status = read_work(json, &record.figures.work);
    if (status == STATUS_OK)
        status = read_fields(json, figures, COUNT_OF(figures), &record);
    if (status == STATUS_OK)
        status = read_all(json, &record.figures.all);
    if (status == STATUS_OK)
        status = read_runs(json, &record.figures);
    read_spreads(json, record.spread_rel);
    if (status == STATUS_OK)
        status = read_bind(json, record.bind, sizeof record.bind);
    if (status == STATUS_OK)
        status = read_shared(json, &record.shared);
    if (status == STATUS_OK)
        status = read_fields(json, seconds, COUNT_OF(seconds), &record);
    if (status == STATUS_OK)
        status = read_notes(json, &record);
    if (status == STATUS_OK)
        *out = record;
    return status;
}
