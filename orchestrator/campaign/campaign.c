#include "orchestrator/round/mix.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/campaign/campaign.h"

enum status sweep_ask_plugins(struct sweep *sweep)
{
    return plugin_ask_all(&sweep->session, &sweep->plan, sweep->limits.timeout_ns, &sweep->plugins);
}

enum status sweep_find_lengths(struct sweep *sweep)
{
    if (!sweep->lengths)
        sweep->lengths = json_array();
    if (!sweep->lengths)
        return status_set(STATUS_MEMORY, "out of memory");
    return described_find_lengths(&sweep->session, sweep->plan.points, sweep->plan.count,
                                  sweep->limits.timeout_ns,
                                  options_switch(sweep->options, OPTION_QUIET), sweep->lengths);
}

enum status sweep_make_header(struct sweep *sweep, bool resumed)
{
    sweep->header =
        record_header(&sweep->session, sweep->job, sweep->job_path, &sweep->plan, resumed);
    if (!sweep->header)
        return status_set(STATUS_MEMORY, "out of memory for the header");
    if (json_array_size(sweep->plugins) > 0)
        json_object_set(json_object_get(sweep->header, "workload"), "plugins", sweep->plugins);
    if (json_array_size(sweep->lengths) > 0)
        json_object_set(sweep->header, "steps", sweep->lengths);
    if (sweep->shard.count == 0)
        return STATUS_OK;
    json_t *shard = sweep_shard_json(sweep);
    if (!shard || json_object_set_new(sweep->header, "shard", shard) != 0)
        return status_set(STATUS_MEMORY, "out of memory for the header");
    return STATUS_OK;
}
