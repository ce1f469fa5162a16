/* Whether a results file goes on where it was begun. */
#include "orchestrator/campaign/internal.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/origin.h"

enum status campaign_check_resume(const struct options *options)
{
    if (options_switch(options, OPTION_RESUME) && !options_text(options, OPTION_OUTPUT))
        return status_set(
            STATUS_USAGE,
            "--resume needs --output FILE: that of a sweep or tune without --output is in "
            "'" CAMPAIGN_RESULTS_DIR "'");
    if (options_switch(options, OPTION_RESUME_FORCE) && !options_switch(options, OPTION_RESUME))
        return status_set(STATUS_USAGE, "--force is for --resume: a file that exists is not "
                                        "replaced");
    return STATUS_OK;
}

/* A shard that is queued again may come to another node. Its points for reference show how that
 * one's GPU differs; without any, what is in one file must be of one machine. */
static bool may_move(const struct campaign *campaign)
{
    return campaign->shard.count > 0 && !campaign->shard.fleet && campaign->shard.reference > 0;
}

/* What the header of this run has, as far as record_differences() looks. */
static json_t *machine_now(struct campaign *campaign)
{
    json_t *now = json_object();
    if (!now ||
        record_add_run(&campaign->session, campaign->job, &campaign->plan, now) != STATUS_OK) {
        json_decref(now);
        return NULL;
    }
    campaign_add_plugins(campaign, now);
    return now;
}

enum status campaign_check_machine(struct campaign *campaign, const char *path,
                                   const json_t *header, bool *moved)
{
    char text[ORIGIN_TEXT];
    json_t *now = machine_now(campaign);
    json_t *differences = now ? record_differences(header, now) : NULL;
    json_decref(now);
    if (!differences)
        return status_set(STATUS_MEMORY, "out of memory");
    origin_differences(differences, text);
    *moved = json_array_size(differences) > 0;
    if (!*moved || may_move(campaign)) {
        json_decref(differences);
        if (*moved)
            campaign_notify_text(campaign->notify,
                                 "'%s' was begun on another machine (%s): points for reference are "
                                 "measured again",
                                 path, text);
        return STATUS_OK;
    }
    campaign->elsewhere = differences;
    if (!options_switch(campaign->options, OPTION_RESUME_FORCE))
        return status_set(STATUS_USAGE,
                          "'%s' was begun on another machine or with another program (%s): give "
                          "another name, or --force to go on and mark the new points",
                          path, text);
    campaign_notify_text(campaign->notify,
                         "'%s' was begun on another machine or with another program (%s): the new "
                         "points are marked",
                         path, text);
    return STATUS_OK;
}

void campaign_mark(const struct campaign *campaign, json_t *record)
{
    char text[ORIGIN_TEXT];
    if (campaign->elsewhere)
        warnings_add(warnings_of(record), "other-machine",
                     "measured on another machine, or with another program, than the file was "
                     "begun with: %s",
                     origin_differences(campaign->elsewhere, text));
}
