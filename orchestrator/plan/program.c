#include "orchestrator/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/paths.h"
#include "orchestrator/plan/placeholders.h"

bool point_is_program(const struct point *point)
{
    return point->work.workload == WORKLOAD_PROGRAM;
}

struct point_program plan_program_options(const struct job *job, const struct options *options)
{
    return (struct point_program){
        .command = job->command,
        .seed = options_integer(options, OPTION_SEED),
        .port = (unsigned)options_integer(options, OPTION_PORT),
        .log = options_text(options, OPTION_PROGRAM_LOG),
    };
}

/* What the options of our own workloads are by default, and the program decides by itself. */
static enum status check_settings(const struct point *point)
{
    const struct work *work = &point->work;
    const struct {
        enum option_id id;
        bool changed;
    } settings[] = {
        {OPTION_MEMORY, work->memory != MEMORY_PINNED},
        {OPTION_SYNC, work->sync != SYNC_STREAM},
        {OPTION_LAUNCH, work->launch != LAUNCH_STREAM},
        {OPTION_SCHEDULE, work->schedule != SCHEDULE_AUTO},
        {OPTION_STAGGER, work->stagger_us != 0},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (settings[i].changed)
            return status_set(STATUS_USAGE,
                              "%s is the program's own business: leave out --%s with a program",
                              option_table[settings[i].id].name, option_table[settings[i].id].name);
    return STATUS_OK;
}

enum status plan_program(const struct job *job, struct point *point)
{
    char path[PATH_MAX];
    if (!job->command[0])
        return status_set(STATUS_USAGE, "there is no program after '--'");
    if (strcmp(point->workload, option_table[OPTION_WORKLOAD].initial) != 0)
        return status_set(STATUS_USAGE,
                          "the workload is '%s' or the program '%s': give one of the two",
                          point->workload, job->command[0]);
    for (char *const *word = job->command; *word; word++) {
        enum status status = placeholders_check(*word);
        if (status != STATUS_OK)
            return status;
    }
    /* Better known now than after the first point. */
    enum status status = STATUS_OK;
    if (!strchr(job->command[0], '{'))
        status = child_find_program(job->command[0], path);
    if (status == STATUS_OK)
        status = check_settings(point);
    if (status != STATUS_OK)
        return status;
    point->work.workload = WORKLOAD_PROGRAM;
    point->workload = path_file_name(job->command[0]);
    return STATUS_OK;
}
