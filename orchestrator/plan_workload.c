#include "orchestrator/plan.h"

#include <string.h>

bool point_is_builtin(const struct point *point)
{
    return point->work.workload == SHM_WORKLOAD_CHAIN || point->work.workload == SHM_WORKLOAD_DELAY;
}

const char *point_workload(const struct point *point)
{
    if (point->workload)
        return point->workload;
    return point->work.workload == SHM_WORKLOAD_DELAY ? "delay" : "builtin";
}

bool plan_word_is_path(const char *word)
{
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 3 && strcmp(word + length - 3, ".so") == 0);
}

/* What its memory is, and when it waits, is the plug-in's own business. */
static void set_plugin(struct point *point)
{
    point->work.workload = SHM_WORKLOAD_PLUGIN;
    point->work.memory = SHM_MEMORY_PINNED;
    point->work.sync = SHM_SYNC_STREAM;
}

enum status plan_workload(const struct job *job, struct point *point)
{
    (void)job;
    if (strcmp(point->workload, "builtin") == 0)
        point->work.workload = SHM_WORKLOAD_CHAIN;
    else if (strcmp(point->workload, "delay") == 0)
        point->work.workload = SHM_WORKLOAD_DELAY;
    else if (plan_word_is_path(point->workload))
        set_plugin(point);
    else
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of workload: it takes one of builtin|delay, or the "
                          "path of a plug-in, such as ./%s.so",
                          point->workload, point->workload);
    if (point->work.workload != SHM_WORKLOAD_PLUGIN)
        point->workload_options = NULL;
    return STATUS_OK;
}
