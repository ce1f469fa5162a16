/* A campaign's command line, to paste. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/shell_word.h"
#include "common/text.h"
#include "orchestrator/campaign/internal.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/plan/settings.h"

void campaign_write_option(FILE *out, const struct option_row *row, const char *text)
{
    fprintf(out, " --%s ", row->name);
    shell_word_write(out, text);
}

void campaign_write_command(const struct campaign *campaign, const char *command, FILE *out)
{
    fputs(command, out);
    if (campaign->job_path) {
        fputc(' ', out);
        shell_word_write(out, campaign->job_path);
    }
}

void campaign_write_program(const struct campaign *campaign, FILE *out)
{
    for (char *const *word = campaign->job->command; word && *word; word++) {
        fputs(word == campaign->job->command ? " -- " : " ", out);
        shell_word_write(out, *word);
    }
}

bool campaign_was_given(const struct option_value *value)
{
    return value->rank >= JOB_RANK_COMMAND_LINE && value->count > 0;
}

static bool is_of_plan(const struct plan *plan, const char *workload)
{
    for (size_t i = 0; i < plan->mix_count; i++)
        for (uint32_t k = 0; k < plan->mixes[i]->count; k++)
            if (strcmp(plan->mixes[i]->workloads[k].name, workload) == 0)
                return true;
    return false;
}

/* A command line that names others leaves some out on purpose. */
static void notify_unused_workloads(const struct campaign *campaign)
{
    const struct job *job = campaign->job;
    if (campaign_was_given(&campaign->options->values[OPTION_WORKLOAD]))
        return;
    for (size_t i = 0; i < job->workload_count; i++)
        if (!is_of_plan(&campaign->plan, job->workloads[i].name))
            campaign_notify_text(campaign->notify,
                                 "no point has [workload %s]: 'workload = %s' in [global] or a "
                                 "section of points uses it",
                                 job->workloads[i].name, job->workloads[i].name);
}

/* A server that listens elsewhere would be waited for until --timeout. */
static void notify_unused_port(const struct campaign *campaign)
{
    const char *request = options_text(campaign->options, OPTION_REQUEST);
    char *const *word = campaign->job->command;
    while (word && *word && !placeholders_use(*word, PLACEHOLDER_PORT))
        word++;
    if (word && !*word && request && placeholders_use(request, PLACEHOLDER_PORT))
        campaign_notify_text(campaign->notify, "the command has no {port}, as --request has: its "
                                               "server must take its port from MPSWEEP_PORT");
}

/* Whether the command line chooses points among those of the job file. */
static bool narrows_job(const struct campaign *campaign)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].flags & OPTION_AXIS &&
            campaign_was_given(&campaign->options->values[i]))
            return true;
    return false;
}

/* A value of the command line, or of any section where in_job; NULL: it has its default. */
static const struct option_value *find_given(const struct campaign *campaign,
                                             const struct option_row *row, bool in_job)
{
    const struct job *job = campaign->job;
    for (size_t i = 0; i < job->count; i++) {
        const struct option_value *value = &job->sections[i].options.values[row->id];
        bool is_initial = value->count == 1 && row->initial && value->items[0].text &&
                          strcmp(value->items[0].text, row->initial) == 0;
        if (!is_initial && value->count > 0 && value->rank > 0 &&
            (in_job || campaign_was_given(value)))
            return value;
    }
    return NULL;
}

/* Where no point has a process, or a thread, for the last of several shares. */
static void notify_surplus(const struct campaign *campaign, const struct option_row *row,
                           const struct option_value *value)
{
    const struct plan *plan = &campaign->plan;
    unsigned most = 0;
    for (size_t i = 0; i < plan->count; i++) {
        unsigned entries = setting_entries(row, &plan->points[i]);
        most = entries > most ? entries : most;
    }
    for (size_t i = 0; i < value->count; i++)
        if (value->items[i].share_count > most)
            campaign_notify_text(
                campaign->notify, "%s %s: no point has a %s for the last of its %u values",
                row->name, value->items[i].text,
                row->flags & OPTION_PER_THREAD ? "thread" : "process", value->items[i].share_count);
}

static void notify_unused(const struct campaign *campaign, const struct option_row *row,
                          const struct option_value *value, const char *lacks)
{
    if (campaign_was_given(value))
        campaign_notify_text(campaign->notify, "--%s makes no difference here: it is for %s",
                             row->name, lacks);
    else
        campaign_notify_text(campaign->notify,
                             "'%s' line %d: %s makes no difference here: it is for %s",
                             campaign->job->path, value->line, row->name, lacks);
}

/* Options that are not settings of points. */
static void notify_unused_others(const struct campaign *campaign, bool in_job)
{
    const struct plan *plan = &campaign->plan;
    const struct option_row *mps = &option_table[OPTION_MPS];
    const struct option_row *reference = &option_table[OPTION_REFERENCE];
    /* A job file has it for those of its runs that are shards. */
    const struct option_value *references = find_given(campaign, reference, false);
    const struct option_value *daemon = find_given(campaign, mps, in_job);
    bool over_mps = false;
    for (size_t i = 0; i < plan->count; i++)
        over_mps |= point_over_mps(&plan->points[i]);
    /* A user who names a daemon believes that it is measured. */
    if (daemon && !over_mps)
        notify_unused(campaign, mps, daemon, "layouts over MPS");
    if (references && campaign->shard.count == 0)
        notify_unused(campaign, reference, references, "--shard");
}

void campaign_notify_unused(const struct campaign *campaign)
{
    const struct plan *plan = &campaign->plan;
    bool in_job = !narrows_job(campaign);
    notify_unused_workloads(campaign);
    notify_unused_port(campaign);
    notify_unused_others(campaign, in_job);
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        const struct option_value *value = find_given(campaign, row, in_job);
        const char *lacks = setting_lacks(row, plan->points, plan->count);
        if (!lacks && value && row->setting.type == SETTING_SHARES)
            notify_surplus(campaign, row, value);
        /* A seed orders the points, too. */
        if (!lacks || !value || row->id == OPTION_SEED)
            continue;
        /* A recording has it for whichever memory a command line may name. */
        if (campaign_was_given(value) || row->id != OPTION_SYNC)
            notify_unused(campaign, row, value, lacks);
    }
}

/* An option as it was given, with all of its values. */
static void write_values(FILE *out, const struct option_row *row, const struct option_value *value)
{
    struct text_stream list;
    if (row->kind == OPTION_KIND_SWITCH) {
        fprintf(out, " --%s", row->name);
        return;
    }
    /* A layout's values have commas of their own. */
    bool one_by_one = row->kind == OPTION_KIND_LAYOUT;
    for (size_t i = 0; i < value->count && one_by_one; i++)
        campaign_write_option(out, row, value->items[i].text);
    if (one_by_one || !text_stream_open(&list))
        return;
    for (size_t i = 0; i < value->count; i++)
        fprintf(list.file, "%s%s", i ? "," : "", value->items[i].text);
    char *text = text_stream_close(&list);
    if (text)
        campaign_write_option(out, row, text);
    free(text);
}

static bool is_written(const struct option_row *row, enum option_command command,
                       enum option_id but)
{
    return row->commands & (unsigned)command && row->id != but && row->id != OPTION_RESUME;
}

void campaign_write_given(const struct campaign *campaign, enum option_command command,
                          enum option_id but, FILE *out)
{
    const struct option_value *given = campaign->options->values;
    const char *output = campaign_output(campaign);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (is_written(&option_table[i], command, but) && campaign_was_given(&given[i]))
            write_values(out, &option_table[i], &given[i]);
    if (output && !campaign_was_given(&given[OPTION_OUTPUT]))
        campaign_write_option(out, &option_table[OPTION_OUTPUT], output);
    if (output)
        fputs(" --resume", out);
}

char *campaign_resume_words(const struct campaign *campaign, const char *name,
                            enum option_command command)
{
    struct text_stream out;
    if (!campaign->writer.regular || !text_stream_open(&out))
        return NULL;
    campaign_write_command(campaign, name, out.file);
    campaign_write_given(campaign, command, OPTION_COUNT, out.file);
    campaign_write_program(campaign, out.file);
    return text_stream_close(&out);
}

char *campaign_emit_words(const struct campaign *campaign, const char *file, int64_t point)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    fputs("emit ", out.file);
    shell_word_write(out.file, file);
    if (point >= 0)
        fprintf(out.file, " --point %" PRId64, point);
    fputs(" --target env --output deployment", out.file);
    /* emit takes no command by itself: people see here what would run. */
    campaign_write_program(campaign, out.file);
    return text_stream_close(&out);
}
