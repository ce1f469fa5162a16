#include "orchestrator/plan/point.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/paths.h"
#include "common/text.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/plan/shares.h"

#define DEFAULT_CONNECTIONS 8
#define DEFAULT_CONNECTIONS_MPS 2

/* Of a text of the user's, as much as a description shows. */
#define SHOWN_TEXT 60

bool point_over_mps(const struct point *point)
{
    return layout_over_mps(point->layout);
}

bool point_is_program(const struct point *point)
{
    return point->work.workload == WORKLOAD_PROGRAM;
}

bool point_is_builtin(const struct point *point)
{
    return point->work.workload == WORKLOAD_CHAIN || point->work.workload == WORKLOAD_DELAY;
}

bool point_is_open(const struct point *point)
{
    return point->work.rate_units || point->goal.permille;
}

bool point_has_shares(const struct point *point)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (row->setting.type == SETTING_SHARES && setting_shares(row, point)->count)
            return true;
    return false;
}

bool point_equal(const struct point *a, const struct point *b)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (!row->setting.incidental && !setting_equal(row, a, b))
            return false;
    return true;
}

uint64_t point_hash(const struct point *point)
{
    uint64_t hash = DIGEST_EMPTY;
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (!row->setting.incidental)
            hash = setting_hash(row, point, hash);
    return hash;
}

unsigned point_gpus(const struct point *point)
{
    return point->gpus ? point->gpus : 1;
}

unsigned point_processes(const struct point *point)
{
    return point->processes * point_gpus(point);
}

unsigned point_workers(const struct point *point)
{
    return point_processes(point) * point->threads;
}

unsigned point_gpu_of(const struct point *point, unsigned process)
{
    return process % point_gpus(point);
}

unsigned point_number_on_gpu(const struct point *point, unsigned process)
{
    return process / point_gpus(point);
}

unsigned point_daemons(const struct point *point)
{
    if (!point_over_mps(point))
        return 0;
    return point->mps_daemons == MPS_DAEMONS_PER_GPU ? point_gpus(point) : 1;
}

enum status point_check_stagger(const struct point *point, uint64_t window_ns)
{
    const struct work *work = &point->work;
    uint64_t last_ns = (point_workers(point) - 1) * (uint64_t)work->stagger_us * NS_PER_US;
    if (last_ns > 0 && point_is_open(point))
        return status_set(STATUS_USAGE, "stagger is for a closed loop, since a rate has starts of "
                                        "its own: leave out rate, or stagger");
    if (work->iterations || last_ns == 0 || last_ns < work->warmup_ns + window_ns)
        return STATUS_OK;
    bool windowless = window_ns == 0;
    return status_set(
        STATUS_USAGE,
        "the last of %u workers would begin %g s after the first, when the %s of %g s "
        "is over: give a longer %s, a shorter stagger, or iterations",
        point_workers(point), (double)last_ns / 1e9, windowless ? "warm-up" : "window",
        (double)(windowless ? work->warmup_ns : window_ns) / 1e9,
        windowless ? "warmup" : "duration");
}

unsigned point_connections(const struct point *point)
{
    if (point->connections)
        return point->connections;
    return point_over_mps(point) ? DEFAULT_CONNECTIONS_MPS : DEFAULT_CONNECTIONS;
}

const char *point_workload(const struct point *point)
{
    if (point->workload)
        return point->workload;
    return point->work.workload == WORKLOAD_DELAY ? "delay" : "builtin";
}

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
            snprintf(out, SETTING_TEXT_BYTES, "highest rate with %s under %s",
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
