#include "orchestrator/plan/plan.h"

#include <string.h>

#include "common/text.h"

bool point_is_builtin(const struct point *point)
{
    return point->work.workload == WORKLOAD_CHAIN || point->work.workload == WORKLOAD_DELAY;
}

const char *point_workload(const struct point *point)
{
    if (point->workload)
        return point->workload;
    return point->work.workload == WORKLOAD_DELAY ? "delay" : "builtin";
}

bool plan_word_is_path(const char *word)
{
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 3 && strcmp(word + length - 3, ".so") == 0);
}

/* What its memory is, and when it waits, is the plug-in's own business. */
static void set_plugin(struct point *point)
{
    point->work.workload = WORKLOAD_PLUGIN;
    point->work.memory = MEMORY_PINNED;
    point->work.sync = SYNC_STREAM;
}

static enum status not_found(const struct job *job, const struct point *point, const char *bad,
                             size_t length)
{
    char names[512] = "";
    struct text text = {.at = names, .size = sizeof names};
    for (size_t i = 0; i < job->workload_count; i++)
        text_append(&text, "|%s", job->workloads[i].name);
    if (length == strlen(point->workload))
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of workload: it takes one of builtin|delay%s%s, or "
                          "the path of a plug-in, such as ./%s.so",
                          point->workload, names,
                          job->workload_count ? "" : " (a job file's [workload NAME] adds to them)",
                          point->workload);
    return status_set(STATUS_USAGE,
                      "'%s' is not a value of workload: '%.*s' is no [workload NAME] of the job "
                      "file%s%s",
                      point->workload, (int)length, bad, job->workload_count ? "; there are " : "",
                      names + (*names == '|'));
}

enum status plan_workload(const struct job *job, struct plan *plan, struct point *point)
{
    const char *bad = NULL;
    size_t length = 0;
    if (job->command)
        return plan_program(job, point);
    if (strcmp(point->workload, "builtin") == 0)
        point->work.workload = WORKLOAD_CHAIN;
    else if (strcmp(point->workload, "delay") == 0)
        point->work.workload = WORKLOAD_DELAY;
    else if (plan_word_is_path(point->workload))
        set_plugin(point);
    else {
        enum status status = plan_described(job, plan, point, &bad, &length);
        if (status != STATUS_OK)
            return status == STATUS_NOT_FOUND ? not_found(job, point, bad, length) : status;
    }
    if (point->work.workload != WORKLOAD_PLUGIN)
        point->workload_options = NULL;
    return STATUS_OK;
}
