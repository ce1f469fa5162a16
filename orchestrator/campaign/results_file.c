#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "files/file_name.h"
#include "orchestrator/record/record.h"
#include "orchestrator/campaign/internal.h"
#include "orchestrator/results/point.h"

#define EXISTS_ADVICE "--resume to continue it, or another name"
#define DIFFERENCE_BYTES 320  /* of a text, one side, as shown */
#define OPTIONS_BYTES 16384   /* in full */
#define MOST_OF_A_SECOND 1000 /* runs that begin at once in one directory */

static enum status write_beyond(struct campaign *campaign)
{
    size_t count = campaign_count_beyond(campaign);
    enum status status = STATUS_OK;
    if (count > 0 && !options_switch(campaign->options, OPTION_QUIET))
        campaign_notify_text(
            campaign->notify,
            "%zu of %zu point%s left out: beyond the MPS limits found for this GPU "
            "and driver ('--limits ignore' tries them)",
            count, campaign_own_count(campaign), campaign_own_count(campaign) == 1 ? "" : "s");
    for (size_t i = 0; i < campaign->plan.count && status == STATUS_OK; i++)
        if (campaign->beyond[i])
            status = results_write(&campaign->writer, campaign->records[i]);
    return status;
}

enum status campaign_begin_file(struct campaign *campaign, bool resumed, enum status so_far)
{
    enum status status = so_far;
    if (status == STATUS_OK)
        status = results_write(&campaign->writer, campaign->header);
    if (status == STATUS_OK)
        status = write_beyond(campaign);
    if (status != STATUS_OK && !resumed) {
        results_discard(&campaign->writer);
        /* One that holds other results stays. */
        if (campaign->dated && !options_text(campaign->options, OPTION_OUTPUT))
            rmdir(CAMPAIGN_RESULTS_DIR);
    }
    return status;
}

json_t *campaign_measured_points(const struct campaign *campaign)
{
    json_t *points = json_array();
    for (size_t i = 0; i < campaign->plan.count; i++)
        if (campaign->records[i])
            json_array_append(points, campaign->records[i]);
    return points;
}

/* Whether a record is of the point with its number. A plan may follow from more than the options:
 * a tune's from the machine, and what is all GPUs from how many there are. */
static bool is_of_plan(const json_t *record, const struct plan *plan)
{
    json_int_t id = json_is_integer(json_object_get(record, "id")) ? integer_at(record, "id") : -1;
    if (id < 0 || (size_t)id >= plan->count)
        return false;
    const struct point *point = &plan->points[id];
    return strcmp(text_at(record, "layout"), layout_name(point->layout)) == 0 &&
           integer_at(record, "processes") == (json_int_t)point->processes &&
           integer_at(record, "threads") == (json_int_t)point->threads &&
           point_gpus_of(record) == point_gpus(point);
}

static bool all_are_of_plan(const json_t *records, const struct plan *plan)
{
    for (size_t i = 0; i < json_array_size(records); i++)
        if (!is_of_plan(json_array_get(records, i), plan))
            return false;
    return true;
}

/* The ends of long lists of layouts differ, so that a text loses its middle. */
static const char *show_difference(const char *text, char out[DIFFERENCE_BYTES])
{
    return strlen(text) < DIFFERENCE_BYTES ? text_displayed(text, out, DIFFERENCE_BYTES)
                                           : text_shortened(text, out, DIFFERENCE_BYTES);
}

static enum status refuse_plan(const struct campaign *campaign, const char *path)
{
    const struct results *earlier = &campaign->earlier;
    const char *other = results_are_of_tune(earlier) ? "tune" : "sweep";
    char was[OPTIONS_BYTES] = "", is[OPTIONS_BYTES] = "";
    char shown_was[DIFFERENCE_BYTES], shown_is[DIFFERENCE_BYTES];
    if (json_array_size(earlier->points) > 0 && strcmp(other, campaign->dated) != 0)
        return status_set(
            STATUS_USAGE,
            "'%s' holds a %s, not a %s: continue it with 'mpsweep %s', or give another "
            "name",
            path, other, campaign->dated, other);
    if (!record_options_differ(earlier->header, campaign->job,
                               &(struct text){.at = was, .size = sizeof was},
                               &(struct text){.at = is, .size = sizeof is}))
        return status_set(STATUS_USAGE,
                          "'%s' holds another plan: give the command, job and options that it was "
                          "begun with, or another name",
                          path);
    return status_set(STATUS_USAGE,
                      "'%s' holds another plan: it was begun with%s, and this is%s; give what it "
                      "was begun with, or another name",
                      path, show_difference(was, shown_was), show_difference(is, shown_is));
}

/* Takes over a record of an earlier run, which may have run on a machine that has changed since. */
static void take_record(struct campaign *campaign, json_t *record, bool moved)
{
    size_t wanted =
        campaign->takes_any_rounds ? 1 : (size_t)options_integer(campaign->options, OPTION_ROUNDS);
    const char *word = text_at(record, "status");
    size_t id = (size_t)integer_at(record, "id");
    size_t rounds = json_array_size(json_object_get(record, "rounds"));
    bool measured = point_status_is_measured(word);
    bool finished = (measured && rounds >= wanted) || strcmp(word, "infeasible") == 0;
    if (!finished && (measured || strcmp(word, "interrupted") == 0) && !moved) {
        json_decref(campaign->interrupted[id]);
        campaign->interrupted[id] = json_incref(record);
    }
    if (!finished || (moved && campaign->owner && campaign->owner[id] == SHARD_ALL))
        return;
    /* An earlier run left the point out for known limits: it stays out while they are known. */
    if (json_object_get(record, "limits_found") && !campaign->beyond[id])
        return;
    json_decref(campaign->records[id]);
    campaign->records[id] = json_incref(record);
    campaign->beyond[id] = false;
}

/* Takes over the finished points of an earlier run, if it is the same part of the same plan on the
 * same machine. */
static enum status take_over(struct campaign *campaign, const char *path)
{
    const struct results *results = &campaign->earlier;
    const char *plan_id = json_string_value(json_object_get(results->header, "plan_id"));
    if (!record_header_is_of(results->header, campaign->job, &campaign->plan) ||
        !all_are_of_plan(results->points, &campaign->plan))
        return refuse_plan(campaign, path);
    /* One that an earlier version began goes on under the id that its other parts have. */
    snprintf(campaign->plan.id, sizeof campaign->plan.id, "%s", plan_id);
    json_t *shard = campaign_shard_json(campaign);
    bool same = shard && json_equal(shard, json_object_get(results->header, "shard"));
    json_decref(shard);
    if (!same && (campaign->shard.count > 0 || json_object_get(results->header, "shard"))) {
        char name[64];
        return status_set(STATUS_USAGE,
                          "'%s' is of another part of the plan, and this is %s: give the --shard, "
                          "--fleet, --reference and --seed that it was begun with, or another name",
                          path, shard_name(&campaign->shard, name, sizeof name));
    }
    bool moved;
    enum status status = campaign_check_machine(campaign, path, results->header, &moved);
    if (status != STATUS_OK)
        return status;
    json_t *lengths = json_object_get(results->header, "steps");
    if (!moved)
        json_array_extend(campaign->calibrations, results->calibrations);
    if (!moved && json_is_array(lengths))
        campaign->lengths = json_deep_copy(lengths);
    for (size_t i = 0; i < json_array_size(results->points); i++)
        take_record(campaign, json_array_get(results->points, i), moved);
    return STATUS_OK;
}

enum status campaign_claim_results(struct campaign *campaign, results_field *needed)
{
    const char *path = campaign_output(campaign);
    if (!path)
        return STATUS_OK;
    if (options_switch(campaign->options, OPTION_RESUME))
        return results_continue(path, needed, &campaign->earlier, &campaign->writer);
    /* What is renamed at the end may have any name until then. */
    const char *published = options_text(campaign->options, OPTION_PUBLISH);
    enum status status = file_name_check(published ? published : path, "results", ".jsonl");
    return status == STATUS_OK ? results_check_new(path, EXISTS_ADVICE) : status;
}

enum status campaign_look_at_results(struct campaign *campaign)
{
    const char *path = campaign_output(campaign);
    if (!path || !options_switch(campaign->options, OPTION_RESUME))
        return STATUS_OK;
    enum status status = results_check_regular(path);
    if (status == STATUS_OK)
        status = results_load(path, NULL, &campaign->earlier);
    if (status == STATUS_OK && campaign->earlier.header)
        status = take_over(campaign, path);
    results_release(&campaign->earlier);
    return status;
}

/* Makes the dated file. Two runs of one second get names of their own. */
static enum status create_dated(struct campaign *campaign)
{
    char stamp[32], name[128];
    clock_wall_stamp(stamp);
    if (mkdir(CAMPAIGN_RESULTS_DIR, 0777) != 0 && errno != EEXIST)
        return status_set(STATUS_SYSTEM, "cannot make '%s' here: %s", CAMPAIGN_RESULTS_DIR,
                          strerror(errno));
    for (unsigned i = 1;; i++) {
        snprintf(name, sizeof name, i == 1 ? "%s/%s-%s.jsonl" : "%s/%s-%s-%u.jsonl",
                 CAMPAIGN_RESULTS_DIR, campaign->dated, stamp, i);
        free(campaign->output);
        campaign->output = strdup(name);
        if (!campaign->output)
            return status_set(STATUS_MEMORY, "out of memory");
        enum status status = results_create(campaign->output, EXISTS_ADVICE, &campaign->writer);
        /* Another run was faster. */
        if (status == STATUS_OK || i >= MOST_OF_A_SECOND || access(name, F_OK) != 0)
            return status;
    }
}

static enum status open_dated(struct campaign *campaign)
{
    enum status status = create_dated(campaign);
    if (status == STATUS_OK) {
        if (!options_switch(campaign->options, OPTION_QUIET))
            campaign_notify_text(campaign->notify, "the results go to '%s'", campaign->output);
        return STATUS_OK;
    }
    free(campaign->output);
    campaign->output = NULL;
    if (status == STATUS_MEMORY)
        return status;
    campaign_notify_text(campaign->notify,
                         "%s; the results are not saved, which --output FILE does elsewhere",
                         status_text());
    return STATUS_OK;
}

enum status campaign_open_results(struct campaign *campaign)
{
    const char *path = campaign_output(campaign);
    enum status status = STATUS_OK;
    if (!path)
        return campaign->dated ? open_dated(campaign) : STATUS_OK;
    if (!options_switch(campaign->options, OPTION_RESUME))
        return results_create(path, EXISTS_ADVICE, &campaign->writer);
    /* Without a whole header, continuing it is beginning it. */
    if (campaign->earlier.header)
        status = take_over(campaign, path);
    /* What is kept of it is shown in the table of all points. */
    results_make_displayable(&campaign->earlier);
    results_release(&campaign->earlier);
    return status;
}
