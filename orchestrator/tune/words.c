/* Command lines to paste: what measures a point again, and what finishes a search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shell_word.h"
#include "common/text.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/tune/internal.h"

static bool is_said(const struct tune *tune, enum option_id axis)
{
    for (size_t i = 0; i < tune->campaign.job->count; i++)
        if (tune->campaign.job->sections[i].options.values[axis].rank > 0)
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

static void print_option(FILE *out, const struct option_row *row, const char *text)
{
    fprintf(out, " --%s ", row->name);
    shell_word_write(out, text);
}

static void print_command(FILE *out, const struct tune *tune, const char *command)
{
    fputs(command, out);
    if (tune->campaign.job_path) {
        fputc(' ', out);
        shell_word_write(out, tune->campaign.job_path);
    }
}

static void print_program(FILE *out, const struct tune *tune)
{
    for (char *const *word = tune->campaign.job->command; word && *word; word++) {
        fputs(word == tune->campaign.job->command ? " -- " : " ", out);
        shell_word_write(out, *word);
    }
}

static bool is_given(const struct option_value *value)
{
    return value->rank >= JOB_RANK_COMMAND_LINE && value->count > 0;
}

/* What the point chose, unless it is the default; what else the command line gave; and nothing that
 * stands in the job file already. */
char *tune_sweep_words(const struct tune *tune, const struct point *point)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    print_command(out.file, tune, "sweep");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char text[SETTING_TEXT_BYTES];
        const struct option_row *row = &option_table[i];
        const struct option_value *value = &tune->campaign.options->values[i];
        if (!(row->commands & OPTION_SWEEP) || row->flags & OPTION_NOT_IN_JOB)
            continue;
        const char *chosen = axis_text(tune, row, point, text);
        if (chosen) {
            if (is_said(tune, row->id) || !row->initial || strcmp(chosen, row->initial) != 0)
                print_option(out.file, row, chosen);
            continue;
        }
        if (!is_given(value))
            continue;
        if (row->kind == OPTION_KIND_SWITCH)
            fprintf(out.file, " --%s", row->name);
        else
            print_option(out.file, row, value->items[0].text);
    }
    print_program(out.file, tune);
    return text_stream_close(&out);
}

/* An option as it was given, with all of its values. */
static void print_given(FILE *out, const struct option_row *row, const struct option_value *value)
{
    struct text_stream list;
    if (row->kind == OPTION_KIND_SWITCH) {
        fprintf(out, " --%s", row->name);
        return;
    }
    /* A layout's values have commas of their own. */
    bool one_by_one = row->kind == OPTION_KIND_LAYOUT;
    for (size_t i = 0; i < value->count && one_by_one; i++)
        print_option(out, row, value->items[i].text);
    if (one_by_one || !text_stream_open(&list))
        return;
    for (size_t i = 0; i < value->count; i++)
        fprintf(list.file, "%s%s", i ? "," : "", value->items[i].text);
    char *text = text_stream_close(&list);
    if (text)
        print_option(out, row, text);
    free(text);
}

char *tune_again_words(const struct tune *tune, double budget_s)
{
    struct text_stream out;
    const struct option_value *given = tune->campaign.options->values;
    if (!text_stream_open(&out))
        return NULL;
    print_command(out.file, tune, "tune");
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & OPTION_TUNE && i != OPTION_BUDGET && i != OPTION_RESUME &&
            is_given(&given[i]))
            print_given(out.file, &option_table[i], &given[i]);
    if (options_text(tune->campaign.options, OPTION_OUTPUT))
        fputs(" --resume", out.file);
    fprintf(out.file, " --budget %.0fs", ceil(budget_s));
    print_program(out.file, tune);
    return text_stream_close(&out);
}
