#include <stdlib.h>
#include <string.h>

#include "orchestrator/plan/placeholders.h"
#include "orchestrator/campaign/campaign.h"

/* Tasks of one job are given the same words, and must not write the same file. */
static enum status name_output(struct sweep *sweep)
{
    const char *name = options_text(sweep->options, OPTION_OUTPUT);
    if (!name || sweep->shard.count == 0) {
        if (name && strstr(name, "{shard}"))
            return status_set(STATUS_USAGE, "'%s': {shard} needs --shard I/N or auto", name);
        return STATUS_OK;
    }
    enum status status = placeholders_check_file(name);
    if (status != STATUS_OK)
        return status;
    if (sweep->shard.automatic && sweep->shard.count > 1 && !placeholders_use(name, PLACEHOLDER_SHARD))
        return status_set(STATUS_USAGE,
                          "--shard auto: %u tasks would all write '%s': put {shard} into the name, "
                          "as in part-{shard}.jsonl",
                          sweep->shard.count, name);
    const struct placeholders values = {.shard = sweep->shard.index};
    sweep->output = placeholders_fill(name, &values);
    return sweep->output ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

enum status sweep_deal(struct sweep *sweep)
{
    enum status status = shard_from_options(sweep->options, &sweep->shard);
    if (status == STATUS_OK)
        status = name_output(sweep);
    if (status != STATUS_OK || sweep->shard.count == 0)
        return status;
    sweep->owner = calloc(sweep->plan.count + 1, sizeof *sweep->owner);
    if (!sweep->owner)
        return status_set(STATUS_MEMORY, "out of memory");
    return shard_deal(&sweep->plan, &sweep->limits,
                      (unsigned)options_integer(sweep->options, OPTION_SEED), &sweep->shard,
                      sweep->owner);
}

void sweep_release_shard(struct sweep *sweep)
{
    free(sweep->owner);
    free(sweep->output);
}

bool sweep_owns(const struct sweep *sweep, size_t index)
{
    return !sweep->owner || sweep->owner[index] == SHARD_ALL ||
           sweep->owner[index] == sweep->shard.index;
}

size_t sweep_own_count(const struct sweep *sweep)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->plan.count; i++)
        count += sweep_owns(sweep, i);
    return count;
}

void sweep_drop_others(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        if (sweep_owns(sweep, i))
            continue;
        json_decref(sweep->records[i]);
        sweep->records[i] = NULL;
        sweep->beyond[i] = false;
    }
}

enum status sweep_own_plan(const struct sweep *sweep, struct plan *out)
{
    struct plan plan = sweep->plan;
    plan.points = calloc(sweep->plan.count + 1, sizeof *plan.points);
    if (!plan.points)
        return status_set(STATUS_MEMORY, "out of memory");
    plan.count = 0;
    for (size_t i = 0; i < sweep->plan.count; i++)
        if (sweep_owns(sweep, i))
            plan.points[plan.count++] = sweep->plan.points[i];
    *out = plan;
    return STATUS_OK;
}

json_t *sweep_shard_json(const struct sweep *sweep)
{
    if (sweep->shard.count == 0)
        return NULL;
    return shard_json(&sweep->shard, sweep->owner, sweep->plan.count);
}

const char *sweep_output(const struct sweep *sweep)
{
    return sweep->output ? sweep->output : options_text(sweep->options, OPTION_OUTPUT);
}
