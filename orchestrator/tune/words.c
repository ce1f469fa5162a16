/* Command lines to paste: what measures a point again, and what finishes a search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/tune/internal.h"

static bool is_said(const struct tune *tune, enum option_id axis)
{
    for (size_t i = 0; i < tune->campaign.job->count; i++)
        if (options_is_given(&tune->campaign.job->sections[i].options, axis))
            return true;
    return false;
}

/* The value that the search chose for an axis, whether there was a choice or not; NULL: it is not
 * the search's. */
static const char *axis_text(const struct tune *tune, const struct option_row *row,
                             const struct point *point, char *out)
{
    bool searched = row->setting.offer || is_said(tune, row->id);
    /* Of several GPUs, one that was measured on one only. */
    searched |= row->id == OPTION_GPUS_PER_POINT && point_gpus(point) < tune->space.gpus;
    bool work = strcmp(row->group, option_table[OPTION_WORKLOAD].group) == 0;
    if (!(row->flags & OPTION_AXIS) || work || !searched)
        return NULL;
    return setting_words(row, point, out);
}

/* What the point chose, unless it is the default; what else the command line gave; and nothing that
 * stands in the job file already. */
char *tune_sweep_words(const struct tune *tune, const struct point *point)
{
    struct text_stream out;
    /* What its record is about: a search that the budget cut may have come further. */
    const json_t *record = tune->campaign.records[point - tune->space.plan.points];
    double held = number_at(json_object_get(record, "rate"), "offered_ips");
    if (!text_stream_open(&out))
        return NULL;
    campaign_write_command(&tune->campaign, "sweep", out.file);
    for (int i = 0; i < OPTION_COUNT; i++) {
        char text[SETTING_TEXT_BYTES];
        const struct option_row *row = &option_table[i];
        const struct option_value *value = &tune->campaign.options->values[i];
        if (!(row->commands & OPTION_SWEEP) || row->flags & OPTION_NOT_IN_JOB)
            continue;
        if (row->id == OPTION_RATE && point->goal.permille && held > 0.0) {
            uint64_t units = (uint64_t)llround(held * RATE_UNITS);
            campaign_write_option(out.file, row, rate_text(units, text, sizeof text));
            continue;
        }
        const char *chosen = axis_text(tune, row, point, text);
        if (chosen) {
            if (is_said(tune, row->id) || !row->initial || strcmp(chosen, row->initial) != 0)
                campaign_write_option(out.file, row, chosen);
            continue;
        }
        if (!campaign_was_given(value))
            continue;
        if (row->kind == OPTION_KIND_SWITCH)
            fprintf(out.file, " --%s", row->name);
        else
            campaign_write_option(out.file, row, value->items[0].text);
    }
    campaign_write_program(&tune->campaign, out.file);
    return text_stream_close(&out);
}

char *tune_again_words(const struct tune *tune, double budget_s)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    campaign_write_command(&tune->campaign, "tune", out.file);
    campaign_write_given(&tune->campaign, OPTION_TUNE, OPTION_BUDGET, out.file);
    fprintf(out.file, " --budget %.0fs", ceil(budget_s));
    campaign_write_program(&tune->campaign, out.file);
    return text_stream_close(&out);
}
