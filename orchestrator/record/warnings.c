#include "orchestrator/record/internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/json.h"

#define LONGEST_TEXT 1024

void warnings_add(json_t *array, const char *kind, const char *format, ...)
{
    char text[LONGEST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (array)
        json_array_append_new(array,
                              json_pack("{s:s, s:o}", "kind", kind, "text", json_text(text)));
}

json_t *warnings_of(json_t *record)
{
    if (!json_object_get(record, "warnings"))
        json_object_set_new(record, "warnings", json_array());
    return json_object_get(record, "warnings");
}

void warn_leaks(json_t *record, const struct point *point, const struct round_result *result)
{
    const double mib = 1024.0 * 1024.0;
    uint64_t device = 0, host = 0;
    if (point->work.workload != WORKLOAD_PLUGIN)
        return;
    for (unsigned p = 0; p < point_processes(point); p++) {
        const struct round_process *process = &result->processes[p];
        device = process->kept_device > device ? process->kept_device : device;
        host = process->kept_host > host ? process->kept_host : host;
    }
    if (device > 0)
        warnings_add(warnings_of(record), "leak",
                     "workload '%s' leaks: for each instance, %.3g MiB of GPU memory are not free "
                     "again after its fini",
                     point_workload(point), (double)device / mib);
    if (host > 0)
        warnings_add(warnings_of(record), "leak",
                     "workload '%s' leaks: for each instance, %.3g MiB of host memory are not free "
                     "again after its fini",
                     point_workload(point), (double)host / mib);
}
