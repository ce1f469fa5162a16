#include "orchestrator/warnings.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define LONGEST 1024

void warnings_add(json_t *array, const char *kind, const char *format, ...)
{
    char text[LONGEST];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (array)
        json_array_append_new(array, json_pack("{s:s, s:s}", "kind", kind, "text", text));
}

json_t *warnings_of(json_t *record)
{
    if (!json_object_get(record, "warnings"))
        json_object_set_new(record, "warnings", json_array());
    return json_object_get(record, "warnings");
}

static const char *text_of(const json_t *warning)
{
    const char *text = json_string_value(json_object_get(warning, "text"));
    return text ? text : "";
}

static bool contains(const json_t *warnings, const char *text)
{
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strcmp(text_of(json_array_get(warnings, i)), text) == 0)
            return true;
    return false;
}

void warnings_print(FILE *out, const json_t *points)
{
    json_t *printed = json_array();
    for (size_t p = 0; p < json_array_size(points); p++) {
        const json_t *warnings = json_object_get(json_array_get(points, p), "warnings");
        for (size_t i = 0; i < json_array_size(warnings); i++) {
            json_t *warning = json_array_get(warnings, i);
            if (contains(printed, text_of(warning)))
                continue;
            const char *kind = json_string_value(json_object_get(warning, "kind"));
            fprintf(out, "%s%s: %s\n", json_array_size(printed) ? "" : "\n",
                    kind ? kind : "warning", text_of(warning));
            json_array_append(printed, warning);
        }
    }
    json_decref(printed);
}
