#include "orchestrator/campaign/shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/results/number_ranges.h"

static bool read_number(const char *text, unsigned most, unsigned *out)
{
    if (!text || *text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || *end || number > most)
        return false;
    *out = (unsigned)number;
    return true;
}

static enum status from_text(const char *text, struct shard *out)
{
    char copy[32];
    char *slash = NULL;
    if (snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy)
        slash = strchr(copy, '/');
    if (slash)
        *slash = '\0';
    if (!slash || !read_number(copy, SHARD_MOST, &out->index) ||
        !read_number(slash + 1, SHARD_MOST, &out->count) || out->index >= out->count)
        return status_set(
            STATUS_USAGE,
            "'%s' is not a shard: it is I/N, as 0/4 to 3/4 for four of them (%d at most), "
            "or auto",
            text, SHARD_MOST);
    return STATUS_OK;
}

/* Tasks of an array are numbered as the user likes: 1-8, or 0-14:2. */
static enum status place_in_array(unsigned *index, unsigned *count)
{
    unsigned id, first = 0, step = 1;
    if (!read_number(getenv("SLURM_ARRAY_TASK_ID"), INT32_MAX, &id) ||
        !read_number(getenv("SLURM_ARRAY_TASK_COUNT"), SHARD_MOST, count) || *count == 0 ||
        !read_number(getenv("SLURM_ARRAY_TASK_MIN"), INT32_MAX, &first) || id < first)
        return status_set(STATUS_USAGE,
                          "--shard auto: SLURM_ARRAY_TASK_ID is set, but with SLURM_ARRAY_TASK_MIN "
                          "and SLURM_ARRAY_TASK_COUNT it makes no place in an array: give --shard "
                          "I/N");
    if (!read_number(getenv("SLURM_ARRAY_TASK_STEP"), INT32_MAX, &step) || step == 0)
        step = 1;
    *index = (id - first) / step;
    if ((id - first) % step == 0 && *index < *count)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "--shard auto: array task %u is not one of %u from %u in steps of %u: number "
                      "the tasks as in --array=0-%u, or give --shard I/N",
                      id, *count, first, step, *count - 1);
}

/* The batch script of a job of several tasks has a number, too, and is not one of them. */
static bool is_batch_script(unsigned tasks)
{
    return tasks > 1 && !getenv("SLURM_STEP_ID") && !getenv("SLURM_STEPID");
}

static enum status from_slurm(struct shard *out)
{
    const char *tasks_text = getenv("SLURM_STEP_NUM_TASKS");
    bool array = getenv("SLURM_ARRAY_TASK_ID") != NULL;
    unsigned task = 0, tasks = 1;
    if (!tasks_text)
        tasks_text = getenv("SLURM_NTASKS");
    bool has_task = read_number(getenv("SLURM_PROCID"), SHARD_MOST, &task) &&
                    read_number(tasks_text, SHARD_MOST, &tasks) && task < tasks;
    if (!has_task && !array)
        return status_set(STATUS_USAGE,
                          "--shard auto needs a task of Slurm: an array (sbatch --array=0-7) or "
                          "srun; without one give --shard I/N");
    if (!has_task)
        tasks = 1, task = 0;
    if (is_batch_script(tasks)) {
        if (!array)
            return status_set(
                STATUS_USAGE,
                "--shard auto: this is the batch script of %u tasks and none of them: "
                "start mpsweep with srun",
                tasks);
        tasks = 1, task = 0;
    }
    unsigned index = 0, count = 1;
    enum status status = array ? place_in_array(&index, &count) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if ((unsigned long long)count * tasks > SHARD_MOST)
        return status_set(STATUS_USAGE, "--shard auto: more than %d shards", SHARD_MOST);
    out->index = index * tasks + task;
    out->count = count * tasks;
    return STATUS_OK;
}

enum status shard_from_options(const struct options *options, struct shard *out)
{
    const char *text = options_text(options, OPTION_SHARD);
    struct shard shard = {.fleet = options_switch(options, OPTION_FLEET)};
    if (!text) {
        if (shard.fleet)
            return status_set(STATUS_USAGE, "--fleet needs --shard I/N or auto: which of the nodes "
                                            "this one is");
        *out = shard;
        return STATUS_OK;
    }
    shard.automatic = strcmp(text, "auto") == 0;
    enum status status = shard.automatic ? from_slurm(&shard) : from_text(text, &shard);
    if (status != STATUS_OK)
        return status;
    /* A fleet has all points in common; and one shard has no other to compare with. */
    if (!shard.fleet && shard.count > 1)
        shard.reference = (unsigned)options_integer(options, OPTION_REFERENCE);
    *out = shard;
    return STATUS_OK;
}

json_t *shard_json(const struct shard *shard, const uint32_t *owner, size_t points)
{
    bool *own = calloc(points + 1, sizeof *own), *common = calloc(points + 1, sizeof *common);
    for (size_t i = 0; own && common && i < points; i++) {
        own[i] = owner[i] == shard->index || owner[i] == SHARD_ALL;
        common[i] = !shard->fleet && owner[i] == SHARD_ALL;
    }
    char *own_text = own ? number_ranges_text(own, points) : NULL;
    char *common_text = common ? number_ranges_text(common, points) : NULL;
    json_t *object = NULL;
    if (own_text && common_text)
        object =
            json_pack("{s:i, s:i, s:s, s:i, s:s, s:s}", "index", (int)shard->index, "count",
                      (int)shard->count, "purpose", shard->fleet ? "fleet" : "shard", "reference",
                      (int)shard->reference, "points", own_text, "reference_points", common_text);
    free(own);
    free(common);
    free(own_text);
    free(common_text);
    return object;
}

const char *shard_name(const struct shard *shard, char *text, size_t size)
{
    if (shard->count == 0)
        snprintf(text, size, "a whole plan");
    else
        snprintf(text, size, "%s %u of %u", shard->fleet ? "node" : "shard", shard->index,
                 shard->count);
    return text;
}
