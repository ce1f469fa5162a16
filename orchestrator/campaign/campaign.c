#include <string.h>

#include "orchestrator/campaign/campaign.h"
#include "orchestrator/campaign/lengths.h"
#include "orchestrator/campaign/plugin.h"

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
    return lengths_find(&sweep->session, sweep->plan.points, sweep->plan.count,
                        sweep->limits.timeout_ns, options_switch(sweep->options, OPTION_QUIET),
                        sweep->lengths);
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

enum status sweep_check_fixed(const struct options *options)
{
    static const enum option_id windows[] = {OPTION_DURATION, OPTION_PRECISION,
                                             OPTION_MAX_DURATION};
    if (options_integer(options, OPTION_ITERATIONS) == 0)
        return STATUS_OK;
    /* On the command line it overrides what a job file says about the window. */
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        if (options->values[windows[i]].rank >= options->values[OPTION_ITERATIONS].rank)
            return status_set(STATUS_USAGE,
                              "iterations of %lld end a point when they are done: leave out %s, or "
                              "give 0 iterations",
                              (long long)options_integer(options, OPTION_ITERATIONS),
                              option_table[windows[i]].name);
    for (size_t i = 0; i < options->values[OPTION_RATE].count; i++)
        if (strcmp(options->values[OPTION_RATE].items[i].text, "closed") != 0)
            return status_set(STATUS_USAGE,
                              "iterations of %lld are for a closed loop: leave out rate, or give "
                              "0 iterations",
                              (long long)options_integer(options, OPTION_ITERATIONS));
    return STATUS_OK;
}
