#include "orchestrator/warnings.h"

#include <stdarg.h>
#include <string.h>

void warnings_add(json_t *array, const char *kind, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_array_append_new(array, json_pack("{s:s, s:s}", "kind", kind, "text", text));
}

static const json_t *find(const json_t *point, const char *kind)
{
    const json_t *warnings = json_object_get(point, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const json_t *warning = json_array_get(warnings, i);
        const char *other = json_string_value(json_object_get(warning, "kind"));
        if (other && strcmp(other, kind) == 0)
            return warning;
    }
    return NULL;
}

/* The points from the first on that have a warning of a kind; 0 if an earlier one has it. */
static size_t points_with(const json_t *points, size_t first, const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        if (!find(json_array_get(points, i), kind))
            continue;
        if (i < first)
            return 0;
        count++;
    }
    return count;
}

static void print_kind(FILE *out, const json_t *points, size_t first, const char *kind)
{
    const json_t *point = json_array_get(points, first);
    const char *text = json_string_value(json_object_get(find(point, kind), "text"));
    const char *layout = json_string_value(json_object_get(point, "layout"));
    size_t count = points_with(points, first, kind);
    if (count == 0 || !text)
        return;
    fprintf(out, "warning: %s in %zu of %zu point%s: ", kind, count, json_array_size(points),
            json_array_size(points) == 1 ? "" : "s");
    if (count < json_array_size(points) && layout)
        fprintf(out, "%s %.0f×%.0f: ", layout,
                json_number_value(json_object_get(point, "processes")),
                json_number_value(json_object_get(point, "threads")));
    fprintf(out, "%s\n", text);
}

void warnings_print(FILE *out, const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *warnings = json_object_get(json_array_get(points, i), "warnings");
        for (size_t j = 0; j < json_array_size(warnings); j++) {
            const json_t *warning = json_array_get(warnings, j);
            const char *kind = json_string_value(json_object_get(warning, "kind"));
            if (kind && find(json_array_get(points, i), kind) == warning)
                print_kind(out, points, i, kind);
        }
    }
}
