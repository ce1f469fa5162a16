#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/paths.h"
#include "common/text.h"
#include "job/workload_mix.h"
#include "orchestrator/plan/internal.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/plan/settings.h"

/* A path has a slash, or ends in .so. */
static bool is_path(const char *word)
{
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 3 && strcmp(word + length - 3, ".so") == 0);
}

/* -- mixes of a job file's workloads ----------------------------------------------------------- */

static void fill(const struct job *job, const struct mix *mix, struct mix_work *out)
{
    uint32_t steps = 0;
    out->count = mix->count;
    for (uint32_t i = 0; i < mix->count; i++) {
        const struct workload *workload = &job->workloads[mix->workloads[i]];
        struct mix_workload *into = &out->workloads[i];
        *into = (struct mix_workload){
            .first = steps,
            .count = workload->count,
            .weight = mix->weights[i],
            .check = (uint32_t)workload->check,
        };
        memcpy(into->name, workload->name, sizeof into->name);
        memcpy(&out->steps[steps], workload->steps, workload->count * sizeof out->steps[0]);
        steps += workload->count;
    }
}

/* The plan's copy of a mix, which points of the same one share. NULL: no memory. */
static struct mix_work *share(struct plan *plan, const struct mix_work *mix)
{
    for (size_t i = 0; i < plan->mix_count; i++)
        if (memcmp(plan->mixes[i], mix, sizeof *mix) == 0)
            return plan->mixes[i];
    struct mix_work **mixes = realloc(plan->mixes, (plan->mix_count + 1) * sizeof *mixes);
    if (!mixes)
        return NULL;
    plan->mixes = mixes;
    struct mix_work *copy = malloc(sizeof *copy);
    if (copy) {
        *copy = *mix;
        mixes[plan->mix_count++] = copy;
    }
    return copy;
}

/* The bytes of a word before the ending of a source, which a plug-in is built from. */
static int stem_bytes(const char *word)
{
    static const char *const endings[] = {".c", ".cu", ".cpp", ".cc"};
    const char *ending = strrchr(word, '.');
    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0)
            return (int)(ending - word);
    return (int)strlen(word);
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
                          "the path of a plug-in, such as ./%.*s.so",
                          point->workload, names,
                          job->workload_count ? "" : " (a job file's [workload NAME] adds to them)",
                          stem_bytes(point->workload), point->workload);
    return status_set(STATUS_USAGE,
                      "'%s' is not a value of workload: '%.*s' is not a [workload NAME] of the job "
                      "file%s%s",
                      point->workload, (int)length, bad, job->workload_count ? "; there are " : "",
                      names + (*names == '|'));
}

static enum status find_mix(const struct job *job, struct plan *plan, struct point *point)
{
    struct mix mix;
    struct mix_work work = {0};
    const char *bad = NULL;
    size_t length = 0;
    enum status status =
        mix_parse(point->workload, job->workloads, job->workload_count, &mix, &bad, &length);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? not_found(job, point, bad, length) : status;
    fill(job, &mix, &work);
    point->mix = share(plan, &work);
    point->work.workload = WORKLOAD_DESCRIBED;
    return point->mix ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

/* -- programs of the user's -------------------------------------------------------------------- */

/* What our own workloads heed, and a program decides by itself, must be as it is by default. */
static enum status check_settings(const struct point *point)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (row->setting.where & PLACE_OURS && !setting_is_initial(row, point))
            return status_set(STATUS_USAGE,
                              "%s is the program's own business: leave out --%s with a program",
                              row->name, row->name);
    return STATUS_OK;
}

/* The folder for logs is there and takes files, or can be made. */
static enum status check_log(const char *directory)
{
    char above[PATH_MAX];
    struct stat info;
    if (snprintf(above, sizeof above, "%s", directory) >= (int)sizeof above)
        return status_set(STATUS_USAGE, "the path of program-log is too long");
    bool there = stat(directory, &info) == 0;
    bool missing = !there && errno == ENOENT;
    if (there && !S_ISDIR(info.st_mode))
        errno = ENOTDIR;
    else if ((there || missing) && access(missing ? dirname(above) : directory, W_OK | X_OK) == 0)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "cannot use '%s' as program-log: %s", directory,
                      strerror(errno));
}

static enum status find_program(const struct job *job, struct point *point)
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
    enum status status = STATUS_OK;
    /* Better known now than after the first point. */
    if (!strchr(job->command[0], '{'))
        status = child_find_program(job->command[0], path);
    if (status == STATUS_OK && point->program.log)
        status = check_log(point->program.log);
    if (status != STATUS_OK)
        return status;
    point->work.workload = WORKLOAD_PROGRAM;
    point->workload = path_file_name(job->command[0]);
    return STATUS_OK;
}

/* -- all --------------------------------------------------------------------------------------- */

static enum status find(const struct job *job, struct plan *plan, struct point *point)
{
    if (job->command)
        return find_program(job, point);
    if (strcmp(point->workload, "builtin") == 0)
        point->work.workload = WORKLOAD_CHAIN;
    else if (strcmp(point->workload, "delay") == 0)
        point->work.workload = WORKLOAD_DELAY;
    else if (is_path(point->workload))
        point->work.workload = WORKLOAD_PLUGIN;
    else
        return find_mix(job, plan, point);
    return STATUS_OK;
}

enum status workload_find(const struct job *job, struct plan *plan, struct workload_found *last,
                          struct point *point)
{
    if (last->word != point->workload) {
        const char *word = point->workload;
        enum status status = find(job, plan, point);
        if (status != STATUS_OK)
            return status;
        *last = (struct workload_found){.word = word, .found = *point};
    }
    point->workload = last->found.workload;
    point->work.workload = last->found.work.workload;
    point->mix = last->found.mix;
    return point_is_program(point) ? check_settings(point) : STATUS_OK;
}
