#include "explain/calibration_json.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "job/work.h"

static const char *const workloads[] = {
    [WORKLOAD_CHAIN] = "builtin",
    [WORKLOAD_DELAY] = "delay",
};

#define AT(name) offsetof(struct calibration, name)

struct field {
    const char *text;
    size_t at;
};

static const struct field figures[] = {
    {"single_stream_ips", AT(single_stream_ips)},
    {"single_graph_ips", AT(single_graph_ips)},
    {"single_stream_cpu_us", AT(single_stream_cpu_us)},
    {"single_graph_cpu_us", AT(single_graph_cpu_us)},
    {"single_pageable_ips", AT(single_pageable_ips)},
    {"process_launches_per_s", AT(process_launches_per_s)},
    {"gpu_launches_per_s", AT(gpu_launches_per_s)},
    {"graph_kernels_per_s", AT(graph_kernels_per_s)},
    {"process_graphs_per_s", AT(process_graphs_per_s)},
    {"arithmetic_ips", AT(arithmetic_ips)},
    {"h2d_bytes_per_s", AT(h2d_bytes_per_s)},
    {"d2h_bytes_per_s", AT(d2h_bytes_per_s)},
    {"both_bytes_per_s", AT(both_bytes_per_s)},
    {"pageable_bytes_per_s", AT(pageable_bytes_per_s)},
    {"pageable_crowd_bytes_per_s", AT(pageable_crowd_bytes_per_s)},
    {"process_unsynced_ips", AT(process_unsynced_ips)},
    {"process_pageable_graph_ips", AT(process_pageable_graph_ips)},
    {"single_spin_cpu_us", AT(single_spin_cpu_us)},
    {"crowd_stream_ips", AT(crowd_stream_ips)},
};

#define ALL(name) offsetof(struct calibration_all, name)

static const struct field of_all[] = {
    {"h2d_bytes_per_s", ALL(h2d_bytes_per_s)},
    {"d2h_bytes_per_s", ALL(d2h_bytes_per_s)},
    {"both_bytes_per_s", ALL(both_bytes_per_s)},
    {"pageable_bytes_per_s", ALL(pageable_bytes_per_s)},
    {"process_launches_per_s", ALL(process_launches_per_s)},
    {"gpu_launches_per_s", ALL(gpu_launches_per_s)},
};

static const struct field counts[] = {
    {"pageable_workers", AT(pageable_workers)},
    {"pageable_crowd_workers", AT(pageable_crowd_workers)},
    {"crowd_workers", AT(crowd_workers)},
    {"cpus", AT(cpus)},
    {"sms", AT(sms)},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

json_t *calibration_work_to_json(const struct calibration_work *work)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "workload",
                     work->workload < COUNT(workloads) ? workloads[work->workload] : "unknown",
                     "kernels", (json_int_t)work->kernels, "blocks", (json_int_t)work->blocks,
                     "threads_per_block", (json_int_t)work->threads_per_block, "spin",
                     (json_int_t)work->spin, "bytes", (json_int_t)work->bytes, "delay_cycles",
                     (json_int_t)work->delay_cycles);
}

/* Sets the numbers of the fields, which are of the struct at `of`; 0, or not without memory. */
static int set_figures(json_t *json, const struct field *fields, size_t count, const void *of)
{
    int failed = json == NULL;
    for (size_t i = 0; i < count && !failed; i++) {
        double value;
        memcpy(&value, (const char *)of + fields[i].at, sizeof value);
        failed = json_object_set_new(json, fields[i].text, json_real(value));
    }
    return failed;
}

/* NULL without memory. */
static json_t *all_to_json(const struct calibration_all *all)
{
    json_t *json = json_pack("{s:i}", "gpus", (int)all->gpus);
    if (set_figures(json, of_all, COUNT(of_all), all) == 0)
        return json;
    json_decref(json);
    return NULL;
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

json_t *calibration_to_json(const struct calibration_record *record)
{
    json_t *json = json_pack("{s:s, s:o}", "type", "calibration", "work",
                             calibration_work_to_json(&record->figures.work));
    json_t *notes = json_array();
    int failed = notes == NULL || set_figures(json, figures, COUNT(figures), &record->figures) != 0;
    for (size_t i = 0; i < COUNT(counts) && !failed; i++) {
        unsigned value;
        memcpy(&value, (const char *)&record->figures + counts[i].at, sizeof value);
        failed = json_object_set_new(json, counts[i].text, json_integer(value));
    }
    for (unsigned i = 0; i < record->note_count && !failed; i++)
        failed = json_array_append_new(notes, json_string(record->notes[i]));
    /* One GPU's is as it was before there were several. */
    if (!failed && record->figures.all.gpus > 1)
        failed = json_object_set_new(json, "all_gpus", all_to_json(&record->figures.all));
    if (!failed && *record->bind)
        failed = json_object_set_new(json, "bind", json_string(record->bind));
    if (!failed && record->shared != 0)
        failed = json_object_set_new(json, "shared", shared_to_json(record->shared));
    if (!failed)
        failed = json_object_set_new(json, "seconds", json_real(record->seconds)) ||
                 json_object_set(json, "notes", notes);
    json_decref(notes);
    if (!failed)
        return json;
    json_decref(json);
    return NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */

static enum status read_number(const json_t *json, const char *name, bool needed, double *out)
{
    const json_t *field = json_object_get(json, name);
    double value = json_number_value(field);
    if (field == NULL && !needed) {
        *out = 0.0;
        return STATUS_OK;
    }
    if (!json_is_number(field) || !isfinite(value) || value < 0.0)
        return status_set(STATUS_USAGE, "a calibration's '%s' is %s", name,
                          field == NULL ? "missing" : "not a number from 0");
    *out = value;
    return STATUS_OK;
}

static enum status read_integer(const json_t *json, const char *name, bool needed,
                                unsigned long long most, unsigned long long *out)
{
    const json_t *field = json_object_get(json, name);
    json_int_t value = json_integer_value(field);
    if (field == NULL && !needed) {
        *out = 0;
        return STATUS_OK;
    }
    if (!json_is_integer(field) || value < 0 || (unsigned long long)value > most)
        return status_set(STATUS_USAGE, "a calibration's '%s' is %s", name,
                          field == NULL ? "missing" : "not a whole number in range");
    *out = (unsigned long long)value;
    return STATUS_OK;
}

static enum status read_work(const json_t *json, struct calibration_work *out)
{
    const json_t *work = json_object_get(json, "work");
    const char *workload = json_string_value(json_object_get(work, "workload"));
    struct {
        const char *name;
        unsigned *to;
    } numbers[] = {
        {"kernels", &out->kernels},
        {"blocks", &out->blocks},
        {"threads_per_block", &out->threads_per_block},
        {"spin", &out->spin},
    };
    unsigned kind = 0;
    while (workload != NULL && kind < COUNT(workloads) && strcmp(workload, workloads[kind]) != 0)
        kind++;
    if (workload == NULL || kind == COUNT(workloads))
        return status_set(STATUS_USAGE, "a calibration's 'workload' is missing or unknown");
    out->workload = kind;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT(numbers) && status == STATUS_OK; i++) {
        unsigned long long value = 0;
        status = read_integer(work, numbers[i].name, true, UINT_MAX, &value);
        *numbers[i].to = (unsigned)value;
    }
    if (status == STATUS_OK)
        status = read_integer(work, "bytes", true, LLONG_MAX, &out->bytes);
    if (status == STATUS_OK)
        status = read_integer(work, "delay_cycles", true, LLONG_MAX, &out->delay_cycles);
    return status;
}

static enum status read_figures(const json_t *json, const struct field *fields, size_t count,
                                void *out)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        double value = 0.0;
        status = read_number(json, fields[i].text, false, &value);
        memcpy((char *)out + fields[i].at, &value, sizeof value);
    }
    return status;
}

static enum status read_all(const json_t *json, struct calibration_all *out)
{
    const json_t *all = json_object_get(json, "all_gpus");
    unsigned long long gpus = 0;
    if (all == NULL)
        return STATUS_OK;
    enum status status = read_integer(all, "gpus", true, UINT_MAX, &gpus);
    out->gpus = (unsigned)gpus;
    return status == STATUS_OK ? read_figures(all, of_all, COUNT(of_all), out) : status;
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
        status = read_figures(json, figures, COUNT(figures), &record.figures);
    for (size_t i = 0; i < COUNT(counts) && status == STATUS_OK; i++) {
        unsigned long long whole = 0;
        status = read_integer(json, counts[i].text, false, UINT_MAX, &whole);
        unsigned value = (unsigned)whole;
        memcpy((char *)&record.figures + counts[i].at, &value, sizeof value);
    }
    if (status == STATUS_OK)
        status = read_all(json, &record.figures.all);
    if (status == STATUS_OK)
        status = read_bind(json, record.bind, sizeof record.bind);
    if (status == STATUS_OK)
        status = read_shared(json, &record.shared);
    if (status == STATUS_OK)
        status = read_number(json, "seconds", false, &record.seconds);
    if (status == STATUS_OK)
        status = read_notes(json, &record);
    if (status == STATUS_OK)
        *out = record;
    return status;
}
