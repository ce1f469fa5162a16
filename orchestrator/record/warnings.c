#include "orchestrator/record/warnings.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "common/text.h"

#define LONGEST_TEXT 1024
#define LONGEST_LABEL 80

void warnings_add(json_t *array, const char *kind, const char *format, ...)
{
    char text[LONGEST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
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

static bool has(const json_t *point, const char *text)
{
    const json_t *warnings = json_object_get(point, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strcmp(text_of(json_array_get(warnings, i)), text) == 0)
            return true;
    return false;
}

/* Points with that text; 0 if one before the first has it, where it has been printed. */
static size_t points_with(const json_t *points, size_t first, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        if (!has(json_array_get(points, i), text))
            continue;
        if (i < first)
            return 0;
        count++;
    }
    return count;
}

static const char *label(const json_t *points, size_t first, const char *text, char *out)
{
    const json_t *point = json_array_get(points, first);
    const char *layout = json_string_value(json_object_get(point, "layout"));
    size_t count = points_with(points, first, text);
    if (count > 1)
        snprintf(out, LONGEST_LABEL, "%zu points", count);
    else
        snprintf(out, LONGEST_LABEL, "%s %.0f×%.0f", layout ? layout : "",
                 json_number_value(json_object_get(point, "processes")),
                 json_number_value(json_object_get(point, "threads")));
    return out;
}

/* Goes over what is to be printed: without a file, for the width of the longest label. */
static size_t each_warning(FILE *out, const json_t *points, size_t width)
{
    char name[LONGEST_LABEL];
    size_t widest = 0;
    for (size_t p = 0; p < json_array_size(points); p++) {
        const json_t *warnings = json_object_get(json_array_get(points, p), "warnings");
        for (size_t i = 0; i < json_array_size(warnings); i++) {
            const char *text = text_of(json_array_get(warnings, i));
            if (points_with(points, p, text) == 0)
                continue;
            size_t columns = text_columns(label(points, p, text, name));
            if (out)
                fprintf(out, "warning  %s:%*s %s\n", name, (int)(width - columns), "", text);
            if (columns > widest)
                widest = columns;
        }
    }
    return widest;
}

void warnings_print(FILE *out, const json_t *points)
{
    size_t width = each_warning(NULL, points, 0);
    if (width == 0)
        return;
    fputc('\n', out);
    each_warning(out, points, width);
}
