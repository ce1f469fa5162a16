#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/digest.h"
#include "common/text.h"
#include "job/workload_text.h"
#include "orchestrator/plan/internal.h"
#include "orchestrator/plan/settings.h"

/* What a mix does, not what its words are. */
static void print_mix(FILE *out, const struct mix_work *mix)
{
    char step[WORKLOAD_STEP_TEXT];
    for (uint32_t i = 0; i < mix->count; i++) {
        const struct mix_workload *workload = &mix->workloads[i];
        fprintf(out, "%s%s:%" PRIu32 " check %" PRIu32, i ? "+" : "", workload->name,
                workload->weight, workload->check);
        for (uint32_t s = workload->first; s < workload->first + workload->count; s++)
            fprintf(out, "; %s", workload_step_text(&mix->steps[s], step));
    }
}

/* Whether a setting is as if there were none of its kind. Such a one is not in the text: points
 * keep their key when a setting is added. */
static bool is_neutral(const struct option_row *row, const struct point *point)
{
    switch (row->setting.type) {
    case SETTING_LAYOUT:
    case SETTING_WORKLOAD:
        return false;
    case SETTING_SHARES:
    case SETTING_TEXT:
    case SETTING_RATE:
        return setting_is_initial(row, point);
    default:
        return setting_number(row, point) == row->setting.neutral;
    }
}

void point_key_print(FILE *out, const struct point *point)
{
    char text[SETTING_TEXT_BYTES];
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (row->setting.incidental || is_neutral(row, point))
            continue;
        fprintf(out, "%s=", row->name);
        if (row->setting.type == SETTING_WORKLOAD && point->mix)
            print_mix(out, point->mix);
        else if (row->setting.type == SETTING_TEXT)
            fputs(setting_string(row, point), out);
        else if (row->setting.type == SETTING_WORKLOAD)
            fputs(point_workload(point), out);
        else
            fputs(setting_words(row, point, text), out);
        fputc('\n', out);
    }
}

static void print_how(FILE *out, const struct job *job)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *text = options_text(&job->sections[0].options, (enum option_id)i);
        if (option_table[i].flags & OPTION_HOW && text)
            fprintf(out, "%s=%s\n", option_table[i].name, text);
    }
    for (char *const *word = job->command; word && *word; word++)
        fprintf(out, "command=%s\n", *word);
}

enum status plan_make_id(const struct job *job, struct plan *plan)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return status_set(STATUS_MEMORY, "out of memory");
    print_how(out.file, job);
    for (size_t i = 0; i < plan->count; i++) {
        fputc('\n', out.file);
        point_key_print(out.file, &plan->points[i]);
    }
    char *text = text_stream_close(&out);
    if (!text)
        return status_set(STATUS_MEMORY, "out of memory");
    snprintf(plan->id, sizeof plan->id, PLAN_ID_FORM "%016" PRIx64,
             digest_add(DIGEST_EMPTY, text, out.bytes));
    free(text);
    return STATUS_OK;
}
