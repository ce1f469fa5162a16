#include "orchestrator/results/fields.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/plan/settings.h"
#include "orchestrator/results/settings.h"

enum {
    NOT_READ = 0,
    TABLE = 1,
    FIGURE = 2,
    COMPARISON = 4,
    EXPLANATION = 8,
    ALL = TABLE | FIGURE | COMPARISON | EXPLANATION
};

struct field {
    char key[SETTING_KEY_BYTES];
    unsigned readers;
};

/* Beside the settings, which all readers need. */
static const struct field fields[] = {
    {"type", ALL},
    {"id", ALL},
    {"source", ALL},
    {"section", ALL},
    {"layout", ALL},
    {"mps", ALL},
    {"processes", ALL},
    {"threads", ALL},
    {"workers", ALL},
    {"in_flight", EXPLANATION},
    {"connections_default", ALL},
    {"status", ALL},
    {"error", ALL},
    {"throughput_ips", ALL},
    {"ci95_rel", ALL},
    {"rate", ALL},
    {"per_gpu", TABLE | FIGURE | EXPLANATION},
    {"gpu_imbalance", TABLE | FIGURE | EXPLANATION},
    {"interval", TABLE | COMPARISON},
    {"rounds", TABLE | COMPARISON | EXPLANATION},
    {"rounds_left", TABLE},
    {"latency_us", TABLE | FIGURE | COMPARISON},
    {"telemetry", TABLE | FIGURE | COMPARISON},
    {"cpu", TABLE | FIGURE | COMPARISON | EXPLANATION},
    {"seconds", TABLE | FIGURE},
    {"iterations", TABLE},
    {"fairness_jain", TABLE},
    {"fixed", TABLE},
    {"workloads", TABLE},
    {"requests", FIGURE | EXPLANATION},
    {"observed", TABLE | EXPLANATION},
    {"first_byte_us", TABLE},
    {"stalled", TABLE},
    {"warnings", TABLE},
    {"other_clients", TABLE},
    {"phase_us", FIGURE},
    {"phases", FIGURE},
    {"tune", TABLE | FIGURE | COMPARISON},
    {"per_worker", NOT_READ},
    {"slowest_worker", NOT_READ},
    {"clients", NOT_READ},
    {"cuda_error", NOT_READ},
    {"failed_gpus", NOT_READ},
    {"limits_found", TABLE},
    {"start_skew_us", NOT_READ},
    {"attached", NOT_READ},
    {"memory_policy", NOT_READ},
    {"sms", NOT_READ},
    {"ready_s", NOT_READ},
    {"ready_cpu_s", NOT_READ},
    {"reused", NOT_READ},
    {"idle_processes", NOT_READ},
    {"omp_num_threads", NOT_READ},
};

#define FIELDS (sizeof fields / sizeof *fields)

static int by_key(const void *a, const void *b)
{
    const struct field *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* The field, also of a setting; NULL: the list lacks it. */
static const struct field *find(const char *key)
{
    static struct field all[FIELDS + OPTION_COUNT];
    static size_t count;
    struct field wanted = {.readers = NOT_READ};
    if (count == 0) {
        memcpy(all, fields, sizeof fields);
        count = FIELDS;
        qsort(all, FIELDS, sizeof *all, by_key);
        for (const struct option_row *row = setting_next(NULL); row; row = setting_next(row)) {
            setting_key(row, all[count].key);
            all[count].readers = ALL;
            if (!bsearch(&all[count], all, FIELDS, sizeof *all, by_key))
                count++;
        }
        qsort(all, count, sizeof *all, by_key);
    }
    if (strlen(key) >= sizeof wanted.key)
        return NULL;
    strcpy(wanted.key, key);
    return bsearch(&wanted, all, count, sizeof *all, by_key);
}

static bool is_read_by(const char *key, unsigned reader)
{
    const struct field *field = find(key);
    return field && (field->readers & reader);
}

bool fields_of_tables(const char *key)
{
    return is_read_by(key, TABLE);
}

bool fields_of_figures(const char *key)
{
    return is_read_by(key, FIGURE);
}

bool fields_of_comparisons(const char *key)
{
    return is_read_by(key, COMPARISON);
}

bool fields_of_explanations(const char *key)
{
    return is_read_by(key, EXPLANATION);
}

bool fields_are_listed(const char *key)
{
    return find(key) != NULL;
}

void fields_keep_for_tables(json_t *record)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(record, next, key, value)
    {
        if (!fields_of_tables(key))
            json_object_del(record, key);
    }
}
