#include "orchestrator/plan/plugin.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum status plugin_of(const struct point *point, struct work_plugin *out)
{
    char directory[PATH_MAX] = "";
    const char *path = point_workload(point);
    const char *options = point->workload_options ? point->workload_options : "";
    *out = (struct work_plugin){0};
    if (point->work.workload != WORKLOAD_PLUGIN)
        return STATUS_OK;
    if (*path != '/' && !getcwd(directory, sizeof directory))
        return status_set(STATUS_SYSTEM, "workload '%s': the current directory has no path", path);
    /* A name without a directory would be looked for where the system has its libraries. */
    int length =
        snprintf(out->path, sizeof out->path, "%s%s%s", directory, *directory ? "/" : "", path);
    if (length < 0 || (size_t)length >= sizeof out->path)
        return status_set(STATUS_USAGE, "the path of workload '%.60s...' has more than %zu bytes",
                          path, sizeof out->path - 1);
    length = snprintf(out->options, sizeof out->options, "%s", options);
    if (length < 0 || (size_t)length >= sizeof out->options)
        return status_set(STATUS_USAGE, "workload-options has more than %zu bytes",
                          sizeof out->options - 1);
    return STATUS_OK;
}

bool plugin_is_same(const struct point *a, const struct point *b)
{
    const char *left = a->workload_options, *right = b->workload_options;
    return a->work.workload == WORKLOAD_PLUGIN && b->work.workload == WORKLOAD_PLUGIN &&
           strcmp(point_workload(a), point_workload(b)) == 0 &&
           strcmp(left ? left : "", right ? right : "") == 0;
}

bool plugin_rules_out(const struct point *point, char *why, size_t size)
{
    const char *word = point_workload(point);
    if (point->work.launch == LAUNCH_GRAPH && point->not_graph_safe) {
        snprintf(why, size, "workload '%s' is not graph-safe: it can only be launched by stream",
                 word);
        return true;
    }
    if (point->threads > 1 && point->not_thread_safe) {
        snprintf(why, size, "workload '%s' is not thread-safe: a process can have one thread only",
                 word);
        return true;
    }
    if (point->streams > 1 && point->not_stream_safe) {
        snprintf(why, size,
                 "workload '%s' is not stream-safe: a thread can have one stream only; if it never "
                 "waits, add MPSWEEP_WORKLOAD_STREAM_SAFE to its capabilities",
                 word);
        return true;
    }
    return false;
}
