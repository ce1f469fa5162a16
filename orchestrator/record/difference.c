/* How two headers differ in machine, settings and programs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/record/record.h"

#define VALUE_TEXT 160
#define LONGEST_LINE 1024

/* Adds a line that can be printed, whatever a header holds. */
static void add(json_t *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(json_t *out, const char *format, ...)
{
    char line[LONGEST_LINE], shown[LONGEST_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    json_array_append_new(out, json_string(text_displayed(line, shown, sizeof shown)));
}

/* A number or a text, for people. */
static const char *value_text(const json_t *value, char text[VALUE_TEXT])
{
    if (json_is_string(value))
        snprintf(text, VALUE_TEXT, "%.*s", VALUE_TEXT - 1,
                 *json_string_value(value) ? json_string_value(value) : "none");
    else if (json_is_number(value))
        snprintf(text, VALUE_TEXT, "%.10g", json_number_value(value));
    else
        snprintf(text, VALUE_TEXT, "?");
    return text;
}

/* A header of another version may lack a field: that is not a difference. */
static void differ(json_t *out, const char *what, const json_t *earlier, const json_t *now)
{
    char was[VALUE_TEXT], is[VALUE_TEXT];
    bool same_number =
        json_is_number(earlier) && json_is_number(now) && number_of(earlier) == number_of(now);
    if (earlier && now && !same_number && !json_equal(earlier, now))
        add(out, "%s: %s -> %s", what, value_text(earlier, was), value_text(now, is));
}

/* The settings of an emulated machine are in a header where they are not the defaults. */
static void differ_emulated(json_t *out, const char *field, const json_t *earlier,
                            const json_t *now)
{
    json_t *none = json_string("");
    const json_t *was = json_object_get(earlier, field), *is = json_object_get(now, field);
    differ(out, field, was ? was : none, is ? is : none);
    json_decref(none);
}

/* -- GPUs -------------------------------------------------------------------------------------- */

static size_t gpu_count(const json_t *header)
{
    size_t count = json_array_size(json_object_get(header, "gpus"));
    return count > 0 ? count : 1;
}

static const json_t *gpu_of(const json_t *header, size_t index)
{
    const json_t *gpus = json_object_get(header, "gpus");
    return json_is_array(gpus) ? json_array_get(gpus, index) : json_object_get(header, "gpu");
}

static void differ_gpus(json_t *out, const json_t *earlier, const json_t *now)
{
    size_t count = gpu_count(earlier);
    if (count != gpu_count(now)) {
        add(out, "GPUs: %zu -> %zu", count, gpu_count(now));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *was = gpu_of(earlier, i), *is = gpu_of(now, i);
        char what[32];
        snprintf(what, sizeof what, count > 1 ? "GPU %zu" : "GPU", i);
        /* Without a name it is not known to be the same. */
        if (!json_is_string(json_object_get(was, "uuid")))
            add(out, "%s: unknown -> %.64s", what, text_at(is, "uuid"));
        differ(out, what, json_object_get(was, "name"), json_object_get(is, "name"));
        differ(out, what, json_object_get(was, "uuid"), json_object_get(is, "uuid"));
    }
}

/* -- programs ---------------------------------------------------------------------------------- */

/* What the command line starts, or the requests send: the files that it names, in their order. A
 * header of another version may lack them. */
static void differ_files(json_t *out, const json_t *earlier, const json_t *now)
{
    if (!json_is_array(earlier))
        return;
    size_t count = json_array_size(now);
    if (json_array_size(earlier) > count)
        count = json_array_size(earlier);
    for (size_t i = 0; i < count; i++) {
        const json_t *was = json_array_get(earlier, i), *is = json_array_get(now, i);
        if (json_equal(was, is))
            continue;
        if (strcmp(text_at(was, "path"), text_at(is, "path")) != 0)
            add(out, "program: '%.300s' -> '%.300s'", text_at(was, "path"), text_at(is, "path"));
        else
            add(out, "content of '%.300s': %.20s, %lld bytes -> %.20s, %lld bytes",
                text_at(is, "path"), text_at(was, "digest"), (long long)integer_at(was, "bytes"),
                text_at(is, "digest"), (long long)integer_at(is, "bytes"));
    }
}

/* The entry of the same plug-in, whatever its options: they have the file in common. */
static const json_t *plugin_like(const json_t *plugins, const json_t *plugin)
{
    const char *name = text_at(plugin, "workload");
    for (size_t i = 0; i < json_array_size(plugins); i++)
        if (strcmp(text_at(json_array_get(plugins, i), "workload"), name) == 0)
            return json_array_get(plugins, i);
    return NULL;
}

static void differ_plugins(json_t *out, const json_t *earlier, const json_t *now)
{
    const json_t *plugin;
    size_t index;
    json_array_foreach(now, index, plugin)
    {
        char what[320];
        if (plugin_like(now, plugin) != plugin)
            continue;
        snprintf(what, sizeof what, "content of '%.300s'", text_at(plugin, "workload"));
        differ(out, what, json_object_get(plugin_like(earlier, plugin), "digest"),
               json_object_get(plugin, "digest"));
    }
}

/* -- all --------------------------------------------------------------------------------------- */

/* The CPUs that may be used, and how the workers are bound to them: the first of what follows from
 * each other. */
static void differ_cpus(json_t *out, const json_t *earlier, const json_t *now)
{
    static const char *const fields[][2] = {
        {"cpu_list", "CPUs"}, {"topology", "processors"}, {"cpus", "number of CPUs"}};
    size_t before = json_array_size(out);
    const char *policy;
    json_t *binding;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && json_array_size(out) == before; i++)
        differ(out, fields[i][1], json_object_get(earlier, fields[i][0]),
               json_object_get(now, fields[i][0]));
    if (json_array_size(out) > before)
        return;
    json_object_foreach(json_object_get(now, "binding"), policy, binding)
    {
        char what[32];
        snprintf(what, sizeof what, "binding %.16s", policy);
        differ(out, what, json_object_get(json_object_get(earlier, "binding"), policy), binding);
    }
}

static void differ_field(json_t *out, const char *field, const char *what, const json_t *earlier,
                         const json_t *now)
{
    differ(out, what, json_object_get(earlier, field), json_object_get(now, field));
}

json_t *record_differences(const json_t *earlier, const json_t *now)
{
    const json_t *was = json_object_get(earlier, "workload"),
                 *is = json_object_get(now, "workload");
    json_t *out = json_array();
    differ_gpus(out, earlier, now);
    differ_field(out, "driver", "driver", earlier, now);
    differ_field(out, "cpu_model", "processor", earlier, now);
    differ_cpus(out, earlier, now);
    differ_field(out, "cpu_quota", "CPU quota", earlier, now);
    differ_emulated(out, "emulated_machine", earlier, now);
    differ_emulated(out, "emulated_effects", earlier, now);
    differ_files(out, json_object_get(was, "files"), json_object_get(is, "files"));
    differ_files(out, json_object_get(was, "request_files"), json_object_get(is, "request_files"));
    differ_plugins(out, json_object_get(was, "plugins"), json_object_get(is, "plugins"));
    return out;
}
