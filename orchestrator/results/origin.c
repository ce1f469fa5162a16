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
