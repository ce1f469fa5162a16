#include "files/results_types.h"

#include <stddef.h>
#include <string.h>

enum { STRING = 1, NUMBER = 2, BOOLEAN = 4, ARRAY = 8, OBJECT = 16 };

/* What the fields of a point are. In the place of any of them null is one that is not known. */
static const struct {
    const char *key;
    unsigned types;
} point_fields[] = {
    {"section", STRING},
    {"layout", STRING},
    {"contexts", STRING},
    {"mps_daemons", STRING},
    {"memory", STRING},
    {"sync", STRING},
    {"launch", STRING},
    {"schedule", STRING},
    {"bind", STRING},
    {"workload", STRING},
    {"workload_options", STRING},
    {"status", STRING},
    {"error", STRING},
    {"limits_found", STRING},
    {"memory_policy", STRING},
    {"processes", NUMBER},
    {"threads", NUMBER},
    {"workers", NUMBER},
    {"in_flight", NUMBER},
    {"streams", NUMBER},
    {"gpus", NUMBER},
    {"connections", NUMBER},
    {"kernels", NUMBER},
    {"blocks", NUMBER},
    {"threads_per_block", NUMBER},
    {"spin", NUMBER},
    {"bytes", NUMBER},
    {"delay_cycles", NUMBER},
    {"cuda_error", NUMBER},
    {"seconds", NUMBER},
    {"throughput_ips", NUMBER},
    {"ci95_rel", NUMBER},
    {"rounds_left", NUMBER},
    {"iterations", NUMBER},
    {"fairness_jain", NUMBER},
    {"start_skew_us", NUMBER},
    {"gpu_imbalance", NUMBER},
    {"slowest_worker", NUMBER},
    {"other_clients", NUMBER},
    {"sms", NUMBER},
    {"ready_s", NUMBER},
    {"ready_cpu_s", NUMBER},
    {"idle_processes", NUMBER},
    {"omp_num_threads", NUMBER},
    {"sm_partition", NUMBER | ARRAY},
    {"active_thread_percentage", NUMBER | ARRAY},
    {"priority", NUMBER | ARRAY},
    {"memory_limit", NUMBER | ARRAY},
    {"mps", BOOLEAN},
    {"connections_default", BOOLEAN},
    {"reused", BOOLEAN},
    {"failed_gpus", ARRAY},
    {"warnings", ARRAY},
    {"rounds", ARRAY},
    {"per_worker", ARRAY},
    {"per_gpu", ARRAY},
    {"workloads", ARRAY},
    {"clients", ARRAY},
    {"rate", OBJECT},
    {"tune", OBJECT},
    {"interval", OBJECT},
    {"latency_us", OBJECT},
    {"phase_us", OBJECT},
    {"phases", OBJECT},
    {"cpu", OBJECT},
    {"requests", OBJECT},
    {"observed", OBJECT},
    {"first_byte_us", OBJECT},
    {"stalled", OBJECT},
    {"fixed", OBJECT},
    {"attached", OBJECT},
    {"telemetry", OBJECT},
};

static unsigned type_of(const json_t *value)
{
    return json_is_string(value)   ? STRING
           : json_is_number(value) ? NUMBER
           : json_is_array(value)  ? ARRAY
           : json_is_object(value) ? OBJECT
                                   : BOOLEAN;
}

static const char *type_name(unsigned types)
{
    switch (types) {
    case STRING:
        return "a string";
    case NUMBER:
        return "a number";
    case ARRAY:
        return "an array";
    case OBJECT:
        return "an object";
    case NUMBER | ARRAY:
        return "a number or an array";
    default:
        return "a boolean";
    }
}

static unsigned type_from(char first)
{
    return first == '"'                   ? STRING
           : first == '['                 ? ARRAY
           : first == '{'                 ? OBJECT
           : first == 't' || first == 'f' ? BOOLEAN
                                          : NUMBER;
}

bool results_type_fits(const char *key, char first)
{
    size_t i = 0, count = sizeof point_fields / sizeof *point_fields;
    /* Of every field of every line: most names differ in their first letter. */
    while (i < count && (*key != *point_fields[i].key || strcmp(key, point_fields[i].key) != 0))
        i++;
    return i == count || first == 'n' || type_from(first) & point_fields[i].types;
}

enum status results_check_types(const json_t *point)
{
    for (size_t i = 0; i < sizeof point_fields / sizeof *point_fields; i++) {
        const char *key = point_fields[i].key;
        const json_t *value = json_object_get(point, key);
        if (value && !json_is_null(value) && !(type_of(value) & point_fields[i].types))
            return status_set(STATUS_USAGE, "'%s' of the point is %s, not %s", key,
                              type_name(type_of(value)), type_name(point_fields[i].types));
    }
    return STATUS_OK;
}
