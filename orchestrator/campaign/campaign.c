#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "orchestrator/campaign/internal.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/record/record.h"
#include "orchestrator/session/mps_limits.h"

void campaign_notify_text(campaign_notify notify, const char *format, ...)
{
    char text[CAMPAIGN_NOTICE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    notify(text);
}

/* -- session and memory ------------------------------------------------------------------------ */

void campaign_init(struct campaign *campaign, const struct job *job, const char *job_path,
                   campaign_notify notify)
{
    *campaign = (struct campaign){
        .options = &job->sections[0].options,
        .job = job,
        .job_path = job_path,
        .notify = notify,
        .writer = RESULTS_WRITER_NONE,
        .crew = CREW_EMPTY,
        .started_ns = clock_now_ns(),
    };
}

enum status campaign_open_session(struct campaign *campaign)
{
    const struct session_request request = {
        .device = options_text(campaign->options, OPTION_DEVICE),
        .deadline_ns = campaign->deadline_ns,
        .external_mps = strcmp(options_text(campaign->options, OPTION_MPS), "external") == 0,
    };
    return campaign->session.daemons ? STATUS_OK : session_open(&request, &campaign->session);
}

enum status campaign_close_session(struct campaign *campaign)
{
    return campaign->session.daemons ? session_close(&campaign->session) : STATUS_OK;
}

void campaign_notify_session(const struct session *session, campaign_notify notify)
{
    char differ[1024];
    if (session->emulated_by_default) {
        notify("no NVIDIA driver here: using the EMULATED GPU. Its numbers show how mpsweep");
        notify("works, and nothing about hardware. ('--device emulated' asks for it.)");
    }
    if (gpu_models_differ(session->gpus, differ, sizeof differ))
        campaign_notify_text(notify,
                             "the GPUs differ: %s; the sums of points on several of them hide "
                             "that, so look at each",
                             differ);
}

enum status campaign_make_records(struct campaign *campaign)
{
    campaign->records = calloc(campaign->plan.count + 1, sizeof *campaign->records);
    campaign->interrupted = calloc(campaign->plan.count + 1, sizeof *campaign->interrupted);
    campaign->beyond = calloc(campaign->plan.count + 1, sizeof *campaign->beyond);
    campaign->calibrations = json_array();
    return campaign->records && campaign->interrupted && campaign->beyond && campaign->calibrations
               ? STATUS_OK
               : status_set(STATUS_MEMORY, "out of memory");
}

void campaign_release(struct campaign *campaign)
{
    results_close(&campaign->writer);
    results_release(&campaign->earlier);
    for (size_t i = 0; campaign->records && i < campaign->plan.count; i++)
        json_decref(campaign->records[i]);
    for (size_t i = 0; campaign->interrupted && i < campaign->plan.count; i++)
        json_decref(campaign->interrupted[i]);
    free(campaign->records);
    free(campaign->interrupted);
    free(campaign->beyond);
    free(campaign->owner);
    free(campaign->output);
    json_decref(campaign->header);
    json_decref(campaign->calibrations);
    json_decref(campaign->plugins);
    json_decref(campaign->lengths);
    json_decref(campaign->elsewhere);
}

/* -- plan -------------------------------------------------------------------------------------- */

bool campaign_is_fixed(const struct campaign *campaign)
{
    return options_integer(campaign->options, OPTION_ITERATIONS) > 0;
}

enum status campaign_make_turns(const struct campaign *campaign, unsigned round,
                                struct turn **turns, size_t *count)
{
    unsigned seed = (unsigned)options_integer(campaign->options, OPTION_SEED);
    bool fresh = options_switch(campaign->options, OPTION_NO_REUSE);
    bool *done = calloc(campaign->plan.count + 1, sizeof *done);
    *turns = calloc(campaign->plan.count + 1, sizeof **turns);
    enum status status = STATUS_OK;
    if (!done || !*turns) {
        status = status_set(STATUS_MEMORY, "out of memory");
    } else {
        for (size_t i = 0; i < campaign->plan.count; i++)
            done[i] = campaign->records[i] != NULL || !campaign_owns(campaign, i);
        status = turns_make(&campaign->plan, done, seed, round, fresh ? TURNS_FRESH : TURNS_EQUAL,
                            *turns, count);
    }
    free(done);
    if (status != STATUS_OK) {
        free(*turns);
        *turns = NULL;
    }
    return status;
}

enum status campaign_check_fixed(const struct options *options)
{
    static const enum option_id windows[] = {OPTION_DURATION, OPTION_PRECISION,
                                             OPTION_MAX_DURATION};
    if (options_integer(options, OPTION_ITERATIONS) == 0)
        return STATUS_OK;
    /* On the command line it overrides a job file's window. */
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

enum status campaign_ask_plugins(struct campaign *campaign)
{
    return plugin_ask_all(&campaign->session, &campaign->plan, campaign->limits.timeout_ns,
                          &campaign->plugins);
}

enum status campaign_find_lengths(struct campaign *campaign)
{
    if (!campaign->lengths)
        campaign->lengths = json_array();
    if (!campaign->lengths)
        return status_set(STATUS_MEMORY, "out of memory");
    return lengths_find(&campaign->session, campaign->plan.points, campaign->plan.count,
                        campaign->limits.timeout_ns,
                        options_switch(campaign->options, OPTION_QUIET), campaign->notify,
                        campaign->lengths);
}

void campaign_add_plugins(const struct campaign *campaign, json_t *header)
{
    if (json_array_size(campaign->plugins) > 0)
        json_object_set(json_object_get(header, "workload"), "plugins", campaign->plugins);
}

enum status campaign_make_header(struct campaign *campaign, bool resumed)
{
    campaign->header = record_header(&campaign->session, campaign->job, campaign->job_path,
                                     &campaign->plan, resumed);
    if (!campaign->header)
        return status_set(STATUS_MEMORY, "out of memory for the header");
    campaign_add_plugins(campaign, campaign->header);
    if (campaign->elsewhere)
        json_object_set(campaign->header, "other_machine", campaign->elsewhere);
    if (json_array_size(campaign->lengths) > 0)
        json_object_set(campaign->header, "steps", campaign->lengths);
    if (campaign->shard.count == 0)
        return STATUS_OK;
    json_t *shard = campaign_shard_json(campaign);
    if (!shard || json_object_set_new(campaign->header, "shard", shard) != 0)
        return status_set(STATUS_MEMORY, "out of memory for the header");
    return STATUS_OK;
}

/* -- known limits ------------------------------------------------------------------------------ */

bool campaign_limits_matter(const struct campaign *campaign)
{
    char path[PATH_MAX];
    bool over_mps = false;
    for (size_t i = 0; i < campaign->plan.count && !over_mps; i++)
        over_mps = point_over_mps(&campaign->plan.points[i]);
    return over_mps && strcmp(options_text(campaign->options, OPTION_LIMITS), "known") == 0 &&
           mps_limits_path(path) == STATUS_OK && access(path, F_OK) == 0;
}

/* None known is STATUS_OK. */
static enum status mark_beyond(struct campaign *campaign)
{
    struct mps_limits limits;
    enum status status = mps_limits_known(&campaign->session, &limits);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    for (size_t i = 0; i < campaign->plan.count; i++) {
        const struct point *point = &campaign->plan.points[i];
        const struct mps_limits_row *row = mps_limits_beyond(&limits, point);
        if (!row || !campaign_owns(campaign, i))
            continue;
        campaign->records[i] = record_beyond(point, &limits, row);
        if (!campaign->records[i])
            return status_set(STATUS_MEMORY, "out of memory for a record");
        campaign->beyond[i] = true;
    }
    return STATUS_OK;
}

enum status campaign_mark_beyond(struct campaign *campaign)
{
    enum status status = campaign_limits_matter(campaign) ? mark_beyond(campaign) : STATUS_OK;
    if (status != STATUS_PROTOCOL && status != STATUS_SYSTEM)
        return status;
    campaign_notify_text(campaign->notify, "%s; going on as if there were no limits",
                         status_text());
    return STATUS_OK;
}

enum status campaign_mark_impossible(struct campaign *campaign)
{
    for (size_t i = 0; i < campaign->plan.count; i++) {
        const struct point *point = &campaign->plan.points[i];
        if (campaign->records[i] || !campaign_owns(campaign, i) ||
            round_check(point) != STATUS_INFEASIBLE)
            continue;
        campaign->records[i] = record_untried(point, status_text());
        if (!campaign->records[i])
            return status_set(STATUS_MEMORY, "out of memory for a record");
        campaign->beyond[i] = true;
    }
    return STATUS_OK;
}

size_t campaign_count_beyond(const struct campaign *campaign)
{
    size_t count = 0;
    for (size_t i = 0; i < campaign->plan.count; i++)
        count += campaign->beyond[i];
    return count;
}

const char *campaign_point_line(const struct campaign *campaign, size_t index,
                                char line[CAMPAIGN_LINE])
{
    char what[POINT_DESCRIPTION];
    const char *why = json_string_value(json_object_get(campaign->records[index], "error"));
    point_describe(&campaign->plan.points[index], what, sizeof what);
    if (campaign->beyond[index])
        snprintf(line, CAMPAIGN_LINE, "%zu\t%s\tinfeasible: %s", index, what, why ? why : "");
    else
        snprintf(line, CAMPAIGN_LINE, "%zu\t%s", index, what);
    return line;
}
