#include <stdlib.h>
#include <string.h>

#include "orchestrator/plan/placeholders.h"
#include "orchestrator/campaign/campaign.h"

/* Tasks of one job have the same command line, and must not write the same file. */
enum status campaign_name_output(struct campaign *campaign)
{
    const char *name = options_text(campaign->options, OPTION_OUTPUT);
    enum status status = shard_from_options(campaign->options, &campaign->shard);
    if (status != STATUS_OK)
        return status;
    if (!name || campaign->shard.count == 0) {
        if (name && strstr(name, "{shard}"))
            return status_set(STATUS_USAGE, "'%s': {shard} needs --shard I/N or auto", name);
        return STATUS_OK;
    }
    status = placeholders_check_file(name);
    if (status != STATUS_OK)
        return status;
    if (campaign->shard.automatic && campaign->shard.count > 1 &&
        !placeholders_use(name, PLACEHOLDER_SHARD))
        return status_set(STATUS_USAGE,
                          "--shard auto: %u tasks would all write '%s': put {shard} into the name, "
                          "as in part-{shard}.jsonl",
                          campaign->shard.count, name);
    const struct placeholders values = {.shard = campaign->shard.index};
    campaign->output = placeholders_fill(name, &values);
    return campaign->output ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

enum status campaign_deal(struct campaign *campaign)
{
    if (campaign->shard.count == 0)
        return STATUS_OK;
    campaign->owner = calloc(campaign->plan.count + 1, sizeof *campaign->owner);
    if (!campaign->owner)
        return status_set(STATUS_MEMORY, "out of memory");
    return shard_deal(&campaign->plan, &campaign->limits,
                      (unsigned)options_integer(campaign->options, OPTION_SEED), &campaign->shard,
                      campaign->owner);
}

bool campaign_owns(const struct campaign *campaign, size_t index)
{
    return !campaign->owner || campaign->owner[index] == SHARD_ALL ||
           campaign->owner[index] == campaign->shard.index;
}

size_t campaign_own_count(const struct campaign *campaign)
{
    size_t count = 0;
    for (size_t i = 0; i < campaign->plan.count; i++)
        count += campaign_owns(campaign, i);
    return count;
}

enum status campaign_own_plan(const struct campaign *campaign, struct plan *out)
{
    struct plan plan = {.points = calloc(campaign->plan.count + 1, sizeof *plan.points)};
    if (!plan.points)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < campaign->plan.count; i++)
        if (campaign_owns(campaign, i))
            plan.points[plan.count++] = campaign->plan.points[i];
    *out = plan;
    return STATUS_OK;
}

json_t *campaign_shard_json(const struct campaign *campaign)
{
    if (campaign->shard.count == 0)
        return NULL;
    return shard_json(&campaign->shard, campaign->owner, campaign->plan.count);
}

const char *campaign_output(const struct campaign *campaign)
{
    return campaign->output ? campaign->output : options_text(campaign->options, OPTION_OUTPUT);
}
