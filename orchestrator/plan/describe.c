#include <stdio.h>

#include "common/paths.h"
#include "common/text.h"
#include "orchestrator/plan/point.h"
#include "orchestrator/plan/settings.h"

/* Of a text of the user's, as much as a description shows. */
#define SHOWN_TEXT 60

/* The value as a description shows it. Of a plug-in its name is enough: where it lies is the same
 * for a whole plan. */
static const char *shown(const struct option_row *row, const struct point *point, char *out)
{
    char size[32];
    switch (row->setting.type) {
    case SETTING_WORKLOAD:
        snprintf(out, SETTING_TEXT_BYTES, "%s", path_file_name(point_workload(point)));
        return out;
    case SETTING_TEXT:
        snprintf(out, SETTING_TEXT_BYTES, "%.*s", SHOWN_TEXT, setting_string(row, point));
        return out;
    case SETTING_RATE:
        if (point->goal.permille)
            snprintf(out, SETTING_TEXT_BYTES, "max under %s %s",
                     rate_percentile_name(point->goal.permille),
                     rate_time_text((double)point->goal.latency_ns, size, sizeof size));
        else
            snprintf(out, SETTING_TEXT_BYTES, "%s/s",
                     rate_text(point->work.rate_units, size, sizeof size));
        return out;
    case SETTING_US:
        return rate_time_text((double)setting_number(row, point) * 1e3, out, SETTING_TEXT_BYTES);
    default:
        if (row->kind == OPTION_KIND_BYTES && row->setting.type != SETTING_SHARES)
            return setting_size_text((uint64_t)setting_number(row, point), out, SETTING_TEXT_BYTES);
        return setting_words(row, point, out);
    }
}

static bool is_labelled(const struct option_row *row, const struct point *point)
{
    const struct setting *setting = &row->setting;
    bool hidden = setting->label && !*setting->label;
    bool recorded = setting->recorded & PLACE_NOWHERE || setting_is_recorded(row, point);
    if (hidden || !recorded || !setting_applies(row, point))
        return false;
    /* What a built-in one does follows in numbers. */
    if (setting->type == SETTING_WORKLOAD)
        return !point_is_builtin(point);
    return setting->labelled || !setting_is_initial(row, point);
}

void point_describe(const struct point *point, char *text, size_t size)
{
    char value[SETTING_TEXT_BYTES];
    struct text out = {.at = text, .size = size};
    text_append(&out, "%s %u×%u", layout_name(point->layout), point->processes, point->threads);
    if (point->streams > 1)
        text_append(&out, "×%u", point->streams);
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (!is_labelled(row, point))
            continue;
        const char *label = NULL, *form = row->setting.label;
        if (row->setting.type == SETTING_CHOICE)
            label = row->choices[setting_number(row, point)].label;
        if (!form || *form != ' ')
            text_append(&out, ", ");
        if (label)
            text_append(&out, "%s", label);
        else
            setting_form_append(row, form, shown(row, point, value), &out);
    }
}
