#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/merge/internal.h"
#include "orchestrator/results/origin.h"
#include "common/json.h"

static const char *file_of(const struct merge *merge, size_t source)
{
    return merge->files[merge->sources[source].file].path;
}

static bool is_fleet(const json_t *header)
{
    return strcmp(text_at(json_object_get(header, "shard"), "purpose"), "fleet") == 0;
}

/* What no merge can make good. */
static enum status check_same(const struct merge *merge, size_t source)
{
    const json_t *first = merge->sources[0].header, *header = merge->sources[source].header;
    if (strcmp(text_at(first, "plan_id"), text_at(header, "plan_id")) != 0)
        return status_set(STATUS_USAGE,
                          "'%s' and '%s' are of different plans (%s and %s): merge takes the "
                          "shards of one sweep",
                          file_of(merge, 0), file_of(merge, source), text_at(first, "plan_id"),
                          text_at(header, "plan_id"));
    if (is_fleet(first) != is_fleet(header))
        return status_set(STATUS_USAGE, "'%s' is %s and '%s' is %s: merge takes one kind at a time",
                          file_of(merge, 0), is_fleet(first) ? "of a fleet" : "a shard",
                          file_of(merge, source), is_fleet(header) ? "of a fleet" : "a shard");
    if (origin_is_emulated(first) != origin_is_emulated(header))
        return status_set(STATUS_USAGE,
                          "one of '%s' and '%s' is from the emulated GPU: its numbers cannot be "
                          "merged with real results",
                          file_of(merge, 0), file_of(merge, source));
    return STATUS_OK;
}

/* 0 and 0.0 are the same. To be freed; NULL: no memory. */
static char *text_to_compare(const json_t *value)
{
    char number[40];
    if (!json_is_number(value))
        return json_dumps(value ? value : json_null(),
                          JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    snprintf(number, sizeof number, "%.17g", json_number_value(value));
    return strdup(number);
}

/* Adds a source to those that have a value for something. */
static int note(json_t *table, const char *what, json_t *value, size_t source)
{
    char *text = text_to_compare(value);
    json_t *groups = json_object_get(table, what);
    int error = text ? 0 : -1;
    if (!groups && error == 0) {
        error = json_object_set_new(table, what, json_object());
        groups = json_object_get(table, what);
    }
    json_t *group = text ? json_object_get(groups, text) : NULL;
    if (!group && error == 0) {
        group = json_pack("{s:O, s:[]}", "value", value ? value : json_null(), "sources");
        error = json_object_set_new(groups, text, group);
    }
    if (error == 0)
        error = json_array_append_new(json_object_get(group, "sources"),
                                      json_integer((json_int_t)source));
    free(text);
    return error;
}

static int note_options(json_t *table, const json_t *header, size_t source)
{
    const char *section, *name;
    json_t *options, *value;
    int error = 0;
    json_object_foreach(json_object_get(header, "options"), section, options)
    {
        json_object_foreach(options, name, value)
        {
            char what[160];
            /* The number of a GPU has no meaning on another machine; and shards differ in which
             * they are. */
            if (strcmp(name, "device") == 0 || strcmp(name, "shard") == 0)
                continue;
            snprintf(what, sizeof what, "option %.60s of [%.60s]", name, section);
            error |= note(table, what, value, source);
        }
    }
    return error;
}

static int note_all(json_t *table, const json_t *header, size_t source)
{
    static const struct {
        const char *group; /* "": a field of the header itself */
        const char *name;
    } fields[] = {{"", "mpsweep"},
                  {"", "driver"},
                  {"", "kernel"},
                  {"", "cpus"},
                  {"", "cpu_quota"},
                  {"", "topology"},
                  {"", "seed"},
                  {"", "job"},
                  {"", "emulated_machine"},
                  {"", "emulated_effects"},
                  {"", "workload"},
                  {"", "workloads"},
                  {"", "steps"},
                  {"", "external_mps"},
                  {"gpu", "name"},
                  {"gpu", "sms"},
                  {"gpu", "memory"},
                  {"gpu", "max_sm_clock_mhz"},
                  {"gpu", "power_limit_w"},
                  {"shard", "count"},
                  {"shard", "reference"},
                  {"shard", "reference_points"}};
    int error = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *group = fields[i].group, *name = fields[i].name;
        const json_t *object = *group ? json_object_get(header, group) : header;
        char what[64];
        snprintf(what, sizeof what, "%s%s%s", group, *group ? " " : "", name);
        error |= note(table, what, json_object_get(object, name), source);
    }
    return error | note_options(table, header, source);
}

/* Sources that do not have an option at all are a value of their own. */
static int add_difference(json_t *differs, const char *what, json_t *groups, size_t sources)
{
    size_t counted = 0;
    const char *key;
    json_t *group;
    json_t *values = json_array();
    json_object_foreach(groups, key, group)
    {
        counted += json_array_size(json_object_get(group, "sources"));
        json_array_append(values, group);
    }
    if (json_array_size(values) < 2 && counted == sources) {
        json_decref(values);
        return 0;
    }
    return json_array_append_new(differs, json_pack("{s:s, s:o}", "what", what, "values", values));
}

static enum status find_differences(struct merge *merge)
{
    json_t *table = json_object();
    const char *what;
    json_t *groups;
    int error = table ? 0 : -1;
    merge->differs = json_array();
    for (size_t i = 0; i < merge->source_count; i++)
        error |= note_all(table, merge->sources[i].header, i);
    json_object_foreach(table, what, groups)
    {
        error |= add_difference(merge->differs, what, groups, merge->source_count);
    }
    json_decref(table);
    return error == 0 ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

static enum status refuse_differences(const struct merge *merge)
{
    char what[512] = "";
    struct text text = {.at = what, .size = sizeof what};
    for (size_t i = 0; i < json_array_size(merge->differs); i++)
        text_append(&text, "%s%s", i ? ", " : "",
                    text_at(json_array_get(merge->differs, i), "what"));
    if (!*what)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "--strict: the files differ in %s", what);
}

/* Two runs on one GPU are not two GPUs. The emulated one has the same name everywhere. */
static enum status find_gpus(struct merge *merge)
{
    json_t *seen = json_object();
    int error = seen ? 0 : -1;
    for (size_t i = 0; i < merge->source_count && error == 0; i++) {
        const json_t *header = merge->sources[i].header;
        char gpus[MERGE_GPUS_TEXT], key[MERGE_GPUS_TEXT + 512];
        merge_gpus_text(header, gpus);
        snprintf(key, sizeof key, "%s %.250s %.250s", gpus,
                 origin_is_emulated(header) ? text_at(header, "host") : "",
                 origin_is_emulated(header) ? text_at(header, "slurm_node") : "");
        json_int_t place = json_place(seen, key, (json_int_t)merge->gpu_count);
        error = place < 0;
        merge->sources[i].gpu = (size_t)place;
        merge->gpu_count += place == (json_int_t)merge->gpu_count;
    }
    json_decref(seen);
    return error == 0 ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

static json_t *same_node_new(const struct merge *merge, size_t source)
{
    const json_t *header = merge->sources[source].header;
    char gpus[MERGE_GPUS_TEXT];
    merge_gpus_text(header, gpus);
    return json_pack("{s:s, s:[I], s:o*, s:O*}", "host", text_at(header, "host"), "nodes",
                     merge_shard_index(header), "uuid", json_string(gpus), "slurm_node",
                     json_object_get(header, "slurm_node"));
}

/* GPUs that were measured under several numbers of a fleet: as many others never were. */
static enum status find_same_nodes(struct merge *merge)
{
    const size_t none = SIZE_MAX;
    size_t *first = malloc((merge->gpu_count + 1) * sizeof *first);
    json_t **rows = calloc(merge->gpu_count + 1, sizeof *rows);
    int error = first && rows ? 0 : -1;
    merge->same_node = json_array();
    for (size_t i = 0; i < merge->gpu_count && error == 0; i++)
        first[i] = none;
    for (size_t i = 0; i < merge->source_count && error == 0; i++) {
        const struct merge_source *source = &merge->sources[i];
        if (source->points == 0)
            continue;
        if (first[source->gpu] == none) {
            first[source->gpu] = i;
        } else if (merge->sources[first[source->gpu]].file != source->file) {
            if (!rows[source->gpu]) {
                rows[source->gpu] = same_node_new(merge, first[source->gpu]);
                error = json_array_append_new(merge->same_node, rows[source->gpu]);
            }
            json_array_append_new(json_object_get(rows[source->gpu], "nodes"),
                                  json_integer(merge_shard_index(source->header)));
        }
    }
    free(first);
    free(rows);
    return error == 0 ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

enum status merge_check(struct merge *merge, bool strict)
{
    enum status status = STATUS_OK;
    if (merge->source_count == 0)
        return status_set(STATUS_USAGE, "none of the files has a whole header: nothing to merge");
    merge->fleet = is_fleet(merge->sources[0].header);
    for (size_t i = 1; i < merge->source_count && status == STATUS_OK; i++)
        status = check_same(merge, i);
    if (status == STATUS_OK)
        status = find_gpus(merge);
    if (status == STATUS_OK && merge->fleet)
        status = find_same_nodes(merge);
    if (status == STATUS_OK)
        status = find_differences(merge);
    if (status == STATUS_OK && strict)
        status = refuse_differences(merge);
    return status;
}
