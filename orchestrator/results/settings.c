#include "orchestrator/results/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "job/options.h"
#include "orchestrator/plan/point.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/results/shares.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"

static bool has_field(const struct option_row *row)
{
    return !(row->setting.recorded & PLACE_NOWHERE);
}

bool settings_is_shown(enum option_id id)
{
    const struct option_row *row = &option_table[id];
    return row->setting.type == SETTING_RATE ||
           (row->setting.type != SETTING_NONE && has_field(row));
}

const struct option_row *settings_recorded(const struct option_row *row)
{
    do
        row = setting_next(row);
    while (row && !has_field(row));
    return row;
}

static json_t *field(const json_t *record, const struct option_row *row)
{
    char key[SETTING_KEY_BYTES];
    return json_object_get(record, setting_key(row, key));
}

/* Whether the driver chose the number of queues. */
static bool is_default(const json_t *record, const struct option_row *row)
{
    char key[SETTING_KEY_BYTES], mark[SETTING_KEY_BYTES + sizeof "_default"];
    snprintf(mark, sizeof mark, "%s_default", setting_key(row, key));
    return row->setting.type == SETTING_QUEUES && json_is_true(json_object_get(record, mark));
}

/* What the record holds of a setting: a new reference. Where it lacks a setting that every point
 * has, that is the neutral value; NULL: the setting means nothing for the point. */
static json_t *value_of(const json_t *point, const struct option_row *row)
{
    json_t *value = field(point, row);
    if (is_default(point, row))
        return json_string(option_word(row, 0));
    /* A sparse one has a value everywhere. */
    if (value || (row->setting.where && !row->setting.sparse))
        return json_incref(value);
    switch (row->setting.type) {
    case SETTING_WORKLOAD: /* files of before each point had a choice */
        return json_string(json_object_get(point, "delay_cycles") ? "delay" : "builtin");
    case SETTING_CHOICE:
        return json_string(option_word(row, row->setting.neutral));
    case SETTING_NUMBER:
    case SETTING_NUMBER64:
        return json_integer((json_int_t)row->setting.neutral);
    default:
        return NULL;
    }
}

int64_t settings_number(const json_t *point, const struct option_row *row)
{
    return is_default(point, row) ? 0 : json_integer_value(field(point, row));
}

static const char *value_text(const json_t *value, bool sizes, char *out, size_t size)
{
    *out = '\0';
    if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
    else if (json_is_array(value) || sizes)
        shares_json_text(value, sizes, out, size);
    else if (json_is_integer(value))
        snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return out;
}

static bool has_sizes(const struct option_row *row)
{
    return row->setting.type == SETTING_SHARES && row->kind == OPTION_KIND_BYTES;
}

const char *settings_text(const json_t *point, const struct option_row *row, bool sizes, char *out,
                          size_t size)
{
    const json_t *own = field(point, row);
    json_t *value = own ? NULL : value_of(point, row);
    value_text(own ? own : value, sizes && has_sizes(row), out, size);
    json_decref(value);
    return out;
}

/* What only a pageable copy out after single launches has is fixed elsewhere. */
static bool is_choice(const json_t *point, const struct option_row *row)
{
    return !(row->setting.where & PLACE_PAGEABLE_STREAM) ||
           (strcmp(text_at(point, "memory"), "pageable") == 0 &&
            strcmp(text_at(point, "launch"), "graph") != 0);
}

void settings_figure_text(const json_t *point, enum option_id id, char text[SETTINGS_FIGURE_BYTES])
{
    const struct option_row *row = &option_table[id];
    const json_t *value = field(point, row);
    char plain[SETTINGS_FIGURE_BYTES / 2];
    struct text out = {.at = text, .size = SETTINGS_FIGURE_BYTES};
    int64_t number;
    text[0] = '\0';
    if (row->setting.type == SETTING_RATE) {
        if (json_is_object(value))
            rate_asked(value, text, SETTINGS_FIGURE_BYTES);
        return;
    }
    if (!settings_is_shown(id) || !is_choice(point, row))
        return;
    if (row->setting.type == SETTING_NUMBER64 && row->kind == OPTION_KIND_BYTES &&
        json_is_integer(value))
        setting_size_text((uint64_t)json_integer_value(value), plain, sizeof plain);
    else if (is_default(point, row))
        snprintf(plain, sizeof plain, "%s", option_word(row, 0));
    else
        value_text(value, has_sizes(row), plain, sizeof plain);
    /* One GPU is one, also without the field. */
    bool neutral = row->setting.recorded && json_is_integer(value) && !row->setting.where &&
                   json_integer_value(value) == row->setting.neutral;
    if (!plain[0] || neutral)
        return;
    const char *form = row->setting.figure ? row->setting.figure : row->setting.label;
    if (row->kind == OPTION_KIND_CHOICE && option_number(row, plain, &number) &&
        option_word(row, number) && row->choices[number].label)
        text_append(&out, "%s", row->choices[number].label);
    else
        setting_form_append(row, form, plain, &out);
}

/* What was asked of a rate; the rest of it is result. */
static json_t *rate_asked_object(const json_t *point)
{
    json_t *value = json_object_get(point, "rate");
    if (!json_is_object(value))
        return json_incref(value);
    json_t *kept = json_object();
    json_object_set(kept, "arrival", json_object_get(value, "arrival"));
    if (point_rate_is_searched(point))
        json_object_set(kept, "goal", json_object_get(value, "goal"));
    else
        json_object_set_new(kept, "offered_ips",
                            json_real(json_number_value(json_object_get(value, "offered_ips"))));
    return kept;
}

char *settings_key(const json_t *point, uint64_t ignored)
{
    static const char *const plain[] = {"layout", "mps", "processes", "threads"};
    json_t *settings = json_array();
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        json_t *value = json_object_get(point, plain[i]);
        json_array_append_new(settings, value ? json_incref(value) : json_null());
    }
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        bool rate = row->setting.type == SETTING_RATE;
        if (!rate && !has_field(row))
            continue;
        json_t *value = NULL;
        if (!(row->id < 64 && ignored >> row->id & 1))
            value = rate ? rate_asked_object(point) : value_of(point, row);
        json_array_append_new(settings, value ? value : json_null());
    }
    char *key = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(settings);
    return key;
}

/* -- read back --------------------------------------------------------------------------------- */

static enum status bad_field(const json_t *record, const char *key)
{
    return status_set(STATUS_USAGE, "point %lld: '%s' is missing or invalid",
                      (long long)integer_at(record, "id"), key);
}

static bool in_bounds(const struct option_row *row, const json_t *value)
{
    double number = (double)json_integer_value(value);
    return json_is_integer(value) && number >= row->min && number <= row->max;
}

static bool read_shares(const struct option_row *row, const json_t *value,
                        struct settings_point *out)
{
    const size_t room = sizeof out->values / sizeof out->values[0];
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    struct point_shares shares = {.values = out->values + out->used};
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_is_array(value) ? json_array_get(value, i) : value;
        if (out->used == room || !(json_is_null(entry) || in_bounds(row, entry)))
            return false;
        out->values[out->used++] =
            json_is_null(entry) ? OPTION_SHARE_DEFAULT : (int64_t)json_integer_value(entry);
    }
    shares.count = (unsigned)count;
    shares = shares_canonical(&shares, (unsigned)count);
    const struct option_item item = {.shares = (int64_t *)(uintptr_t)shares.values,
                                     .share_count = shares.count};
    setting_store(row, &item, &out->point);
    return true;
}

static bool read_value(const struct option_row *row, const json_t *value,
                       struct settings_point *out)
{
    struct option_item item = {0};
    const char *word = json_string_value(value);
    switch (row->setting.type) {
    case SETTING_SHARES:
        return read_shares(row, value, out);
    case SETTING_CHOICE:
        if (!word || !option_number(row, word, &item.integer) || !option_word(row, item.integer))
            return false;
        break;
    case SETTING_TEXT:
        if (!word)
            return false;
        item.text = (char *)(uintptr_t)word;
        break;
    default:
        /* Where it makes no difference, it may be out of bounds. */
        if (!json_is_integer(value) ||
            (!in_bounds(row, value) && (json_integer_value(value) != row->setting.neutral ||
                                        (row->setting.where && setting_applies(row, &out->point)))))
            return false;
        item.integer = json_integer_value(value);
        break;
    }
    setting_store(row, &item, &out->point);
    return true;
}

static enum status read_layout(const json_t *record, struct point *out)
{
    const json_int_t processes = integer_at(record, "processes");
    const json_int_t threads = integer_at(record, "threads");
    out->layout = (enum layout_kind)point_layout(record);
    if (out->layout == LAYOUT_KINDS)
        return bad_field(record, "layout");
    if (processes < 1 || processes > LAYOUT_MOST_WORKERS)
        return bad_field(record, "processes");
    if (threads < 1 || threads > LAYOUT_MOST_WORKERS)
        return bad_field(record, "threads");
    out->processes = (unsigned)processes;
    out->threads = (unsigned)threads;
    return STATUS_OK;
}

static void set_workload(const json_t *record, struct point *out)
{
    static const struct option_row *const row = &option_table[OPTION_WORKLOAD];
    bool delay = json_object_get(record, "delay_cycles");
    const char *word = text_or(record, "workload", delay ? "delay" : row->initial);
    bool builtin = strcmp(word, row->initial) == 0;
    out->workload = word;
    out->work.workload = builtin                              ? WORKLOAD_CHAIN
                         : strcmp(word, "delay") == 0         ? WORKLOAD_DELAY
                         : !json_object_get(record, "launch") ? WORKLOAD_PROGRAM
                         : !json_object_get(record, "memory") ? WORKLOAD_PLUGIN
                                                              : WORKLOAD_DESCRIBED;
}

static enum status read_rate(const json_t *record, struct point *out)
{
    const json_t *rate = json_object_get(record, "rate");
    const json_t *goal = json_object_get(rate, "goal");
    int64_t number;
    if (!rate)
        return STATUS_OK;
    if (!option_number(&option_table[OPTION_ARRIVAL], text_at(rate, "arrival"), &number) ||
        !option_word(&option_table[OPTION_ARRIVAL], number))
        return bad_field(record, "rate");
    out->work.arrival = (uint32_t)number;
    if (goal) {
        if (!(number_at(goal, "us") > 0))
            return bad_field(record, "rate");
        out->goal.permille = rate_permille(text_at(goal, "percentile"));
        out->goal.latency_ns = (uint64_t)llround(number_at(goal, "us") * 1e3);
    } else {
        double offered = number_at(rate, "offered_ips") * RATE_UNITS;
        out->work.rate_units = offered > 0 ? (uint64_t)llround(offered) : 0;
    }
    return point_is_open(out) ? STATUS_OK : bad_field(record, "rate");
}

enum status settings_read(const json_t *record, struct settings_point *out)
{
    out->point = (struct point){.gpus = 1, .streams = 1};
    out->used = 0;
    enum status status = read_layout(record, &out->point);
    if (status == STATUS_OK)
        status = read_rate(record, &out->point);
    if (status != STATUS_OK)
        return status;
    set_workload(record, &out->point);
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        char key[SETTING_KEY_BYTES];
        bool needed = row->setting.type != SETTING_SHARES && row->setting.type != SETTING_TEXT &&
                      setting_is_recorded(row, &out->point);
        if (!has_field(row) || row->setting.type == SETTING_WORKLOAD || is_default(record, row))
            continue;
        json_t *value = value_of(record, row);
        bool absent = !value || (json_is_null(value) && row->setting.type != SETTING_SHARES);
        bool read = absent ? !needed : read_value(row, value, out);
        json_decref(value);
        if (!read)
            return bad_field(record, setting_key(row, key));
    }
    settings_make_canonical(&out->point);
    return STATUS_OK;
}
