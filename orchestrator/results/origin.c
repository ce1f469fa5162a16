#include "orchestrator/results/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"

/* What makes two runs' figures those of the same GPUs; NULL: no memory. */
static char *identity(const json_t *run)
{
    static const char *const fields[] = {"host", "driver", "emulated_machine"};
    json_t *parts = json_array();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        json_t *value = json_object_get(run, fields[i]);
        json_array_append(parts, value ? value : json_null());
    }
    json_t *first = json_object_get(json_object_get(run, "gpu"), "uuid");
    json_array_append(parts, first ? first : json_null());
    const json_t *gpus = json_object_get(run, "gpus");
    for (size_t i = 1; i < json_array_size(gpus); i++)
        json_array_append(parts, json_object_get(json_array_get(gpus, i), "uuid"));
    char *text = json_dumps(parts, JSON_COMPACT);
    json_decref(parts);
    return text;
}

enum status origins_make(const json_t *header, struct origins *out)
{
    struct origins origins = {.merged = json_object_get(header, "merged")};
    json_t *first_runs = json_object();
    json_int_t first = 0;
    origins.runs = json_array_size(origins.merged);
    origins.of_run = calloc(origins.runs + 1, sizeof *origins.of_run);
    for (size_t i = 0; i < origins.runs && origins.of_run && first >= 0; i++) {
        char *text = identity(json_array_get(origins.merged, i));
        first = text ? json_place(first_runs, text, (json_int_t)i) : -1;
        origins.of_run[i] = (size_t)first;
        free(text);
    }
    json_decref(first_runs);
    if (!origins.of_run || first < 0) {
        origins_release(&origins);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    *out = origins;
    return STATUS_OK;
}

void origins_release(struct origins *origins)
{
    free(origins->of_run);
    *origins = (struct origins){0};
}

enum status origin_of(const struct origins *origins, const json_t *record, size_t *out)
{
    const json_t *source = json_object_get(record, "source");
    json_int_t run = json_integer_value(source);
    if (origins->runs == 0 || !source) {
        *out = 0;
        return STATUS_OK;
    }
    if (!json_is_integer(source) || run < 0 || (size_t)run >= origins->runs)
        return status_set(STATUS_USAGE, "a %s names a 'source' that the header's 'merged' has not",
                          json_string_value(json_object_get(record, "type")));
    *out = origins->of_run[run];
    return STATUS_OK;
}

const char *origin_name(const struct origins *origins, size_t origin, char text[ORIGIN_NAME_TEXT])
{
    const json_t *run = json_array_get(origins->merged, origin);
    const json_t *gpus = json_object_get(run, "gpus");
    struct text out = {.at = text, .size = ORIGIN_NAME_TEXT};
    *text = '\0';
    text_append(&out, "%.64s", text_or(json_object_get(run, "gpu"), "uuid", "?"));
    if (json_array_size(gpus) > 1)
        text_append(&out, " and %zu more", json_array_size(gpus) - 1);
    text_append(&out, " of host %.64s", text_or(run, "host", "?"));
    return text;
}

const char *origin_short(const struct origins *origins, size_t origin, char text[ORIGIN_SHORT_TEXT])
{
    const json_t *run = json_array_get(origins->merged, origin);
    /* As far as the first part of a UUID, "GPU-7834e710". */
    snprintf(text, ORIGIN_SHORT_TEXT, "%.12s", text_or(json_object_get(run, "gpu"), "uuid", "?"));
    return text;
}

/* -- merged files -------------------------------------------------------------------------------
 */

const char *const origin_fields[] = {"host",     "slurm_node",       "gpu",          "gpus",
                                     "driver",   "mpsweep",          "kernel",       "started",
                                     "cpus",     "cpu_list",         "cpu_model",    "cpu_quota",
                                     "topology", "emulated_machine", "external_mps", NULL};

json_t *origin_header_of(json_t *header, const json_t *record)
{
    json_t *made = json_copy(header);
    const json_t *source = json_object_get(record, "source");
    const json_t *run = source ? json_array_get(json_object_get(header, "merged"),
                                                (size_t)json_integer_value(source))
                               : NULL;
    for (size_t i = 0; made && run && origin_fields[i]; i++) {
        json_t *value = json_object_get(run, origin_fields[i]);
        if (value)
            json_object_set(made, origin_fields[i], value);
        else
            json_object_del(made, origin_fields[i]);
    }
    return made;
}

const char *origin_host(const json_t *run)
{
    return text_or(run, "slurm_node", text_at(run, "host"));
}

static const char *uuid_of(const json_t *run)
{
    return text_at(json_object_get(run, "gpu"), "uuid");
}

/* The different names of all runs, the first of them in text. Returns how many there are. */
static size_t list_names(const json_t *header, const char *(*name_of)(const json_t *run),
                         char text[ORIGIN_LIST])
{
    const json_t *merged = json_object_get(header, "merged");
    size_t runs = json_array_size(merged), count = 0;
    json_t *places = json_object();
    struct text out = {.at = text, .size = ORIGIN_LIST};
    *text = '\0';
    for (size_t i = 0; i < runs || i == 0; i++) {
        const char *name = name_of(runs > 0 ? json_array_get(merged, i) : header);
        if (!*name || json_place(places, name, (json_int_t)count) != (json_int_t)count)
            continue;
        char cut[65];
        text_printable(name, strnlen(name, sizeof cut - 1), cut, sizeof cut);
        if (count++ < ORIGIN_LISTED)
            text_append(&out, "%s%s", count > 1 ? ", " : "", cut);
    }
    if (count > ORIGIN_LISTED)
        text_append(&out, " and %zu more", count - ORIGIN_LISTED);
    json_decref(places);
    return count;
}

size_t origin_hosts(const json_t *header, char text[ORIGIN_LIST])
{
    return list_names(header, origin_host, text);
}

size_t origin_uuids(const json_t *header, char text[ORIGIN_LIST])
{
    return list_names(header, uuid_of, text);
}

const char *origin_machines(const json_t *header, char text[ORIGIN_MACHINES])
{
    const json_t *merged = json_object_get(header, "merged");
    const json_t *shard = json_object_get(json_array_get(merged, 0), "shard");
    char hosts[ORIGIN_LIST];
    size_t count = origin_hosts(header, hosts);
    bool fleet = strcmp(text_at(shard, "purpose"), "fleet") == 0;
    *text = '\0';
    if (merged)
        snprintf(text, ORIGIN_MACHINES, "%s%zu host%s: %s%s", fleet ? "a fleet of " : "", count,
                 count == 1 ? "" : "s", hosts,
                 fleet ? "; each row is the record of the node with the median throughput" : "");
    return text;
}

/* -- headers ------------------------------------------------------------------------------------
 */

bool origin_is_emulated(const json_t *header)
{
    return json_is_true(json_object_get(json_object_get(header, "gpu"), "emulated"));
}

const char *origin_job_path(const json_t *header)
{
    const char *path = json_string_value(json_object_get(header, "job_path"));
    return path ? path : json_string_value(json_object_get(header, "job"));
}

void origin_print_emulated(FILE *out, const json_t *header)
{
    if (origin_is_emulated(header))
        fputs("EMULATED GPU: these numbers show how mpsweep works, and nothing about hardware\n",
              out);
}

const char *origin_differences(const json_t *array, char text[ORIGIN_TEXT])
{
    struct text out = {.at = text, .size = ORIGIN_TEXT};
    *text = '\0';
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *line = json_string_value(json_array_get(array, i));
        text_append(&out, "%s%s", i > 0 ? "; " : "", line ? line : "?");
    }
    text_cut(text, ORIGIN_TEXT);
    return text;
}

const char *origin_remark(const json_t *header, char text[ORIGIN_REMARK])
{
    const json_t *differences = json_object_get(header, "other_machine");
    char list[ORIGIN_TEXT];
    *text = '\0';
    if (json_is_array(differences))
        snprintf(text, ORIGIN_REMARK, "SOME POINTS ARE OF ANOTHER MACHINE OR PROGRAM: %s",
                 origin_differences(differences, list));
    return text;
}
