#include "orchestrator/plan/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/digest.h"
#include "common/text.h"
#include "orchestrator/plan/point.h"
#include "orchestrator/plan/shares.h"

const struct option_row *setting_next(const struct option_row *row)
{
    row = row ? row + 1 : option_table;
    while (row < option_table + OPTION_COUNT && row->setting.type == SETTING_NONE)
        row++;
    return row < option_table + OPTION_COUNT ? row : NULL;
}

static const void *field(const struct option_row *row, const struct point *point)
{
    return (const char *)point + row->setting.at;
}

static bool is_wide(const struct option_row *row)
{
    return row->setting.type == SETTING_NUMBER64 || row->setting.type == SETTING_NS;
}

int64_t setting_number(const struct option_row *row, const struct point *point)
{
    uint32_t number;
    uint64_t wide;
    if (is_wide(row)) {
        memcpy(&wide, field(row, point), sizeof wide);
        return (int64_t)wide;
    }
    memcpy(&number, field(row, point), sizeof number);
    return number;
}

static void setting_set_number(const struct option_row *row, int64_t number, struct point *point)
{
    uint32_t narrow = (uint32_t)number;
    void *at = (char *)point + row->setting.at;
    if (is_wide(row))
        memcpy(at, &number, sizeof number);
    else
        memcpy(at, &narrow, sizeof narrow);
}

const struct point_shares *setting_shares(const struct option_row *row, const struct point *point)
{
    return field(row, point);
}

unsigned setting_entries(const struct option_row *row, const struct point *point)
{
    return row->flags & OPTION_PER_THREAD ? point->threads : point->processes;
}

const char *setting_string(const struct option_row *row, const struct point *point)
{
    const char *const *text = field(row, point);
    return *text;
}

static void set_string(const struct option_row *row, const char *text, struct point *point)
{
    memcpy((char *)point + row->setting.at, &text, sizeof text);
}

void setting_store(const struct option_row *row, const struct option_item *item,
                   struct point *point)
{
    switch (row->setting.type) {
    case SETTING_NONE:
        break;
    case SETTING_LAYOUT:
        point->layout = item->layout;
        point->processes = item->processes;
        point->threads = item->threads;
        break;
    case SETTING_CHOICE:
    case SETTING_NUMBER:
    case SETTING_NUMBER64:
    case SETTING_QUEUES:
        setting_set_number(row, item->integer, point);
        break;
    case SETTING_SHARES: {
        const struct point_shares shares = {.values = item->shares, .count = item->share_count};
        memcpy((char *)point + row->setting.at, &shares, sizeof shares);
        break;
    }
    case SETTING_WORKLOAD:
    case SETTING_TEXT:
        set_string(row, item->text, point);
        break;
    case SETTING_RATE:
        point->work.rate_units = item->rate.units;
        point->goal = item->rate.goal;
        break;
    case SETTING_NS:
        setting_set_number(row, (int64_t)(item->real * 1e9), point);
        break;
    case SETTING_US:
        setting_set_number(row, (int64_t)(item->real * 1e6 + 0.5), point);
        break;
    }
}

static unsigned places_of(const struct point *point)
{
    bool plugin = point->work.workload == WORKLOAD_PLUGIN;
    bool single = point->work.memory == MEMORY_PAGEABLE && point->work.launch == LAUNCH_STREAM;
    return (point_over_mps(point) ? PLACE_MPS : 0) | (point_gpus(point) > 1 ? PLACE_GPUS : 0) |
           (point->sm_partition.count ? 0 : PLACE_WHOLE) |
           (point->threads > 1 ? PLACE_THREADS : 0) | (point_is_program(point) ? 0 : PLACE_OURS) |
           (plugin ? PLACE_PLUGIN : PLACE_NO_PLUGIN) |
           (point_is_builtin(point) ? PLACE_BUILTIN : 0) |
           (point->work.workload == WORKLOAD_CHAIN ? PLACE_CHAIN : 0) |
           (point->work.workload == WORKLOAD_DELAY ? PLACE_DELAY : 0) |
           (single ? PLACE_PAGEABLE_STREAM : 0) | (point_is_open(point) ? PLACE_OPEN : 0) |
           (point->work.arrival == ARRIVAL_POISSON ? PLACE_POISSON : 0) |
           (point_is_program(point) ? PLACE_PROGRAM : 0) |
           (point_is_server(point) ? PLACE_SERVER : 0);
}

bool setting_applies(const struct option_row *row, const struct point *point)
{
    return (row->setting.where & ~places_of(point)) == 0;
}

const char *setting_lacks(const struct option_row *row, const struct point *points, size_t count)
{
    static const struct {
        unsigned place;
        const char *words;
    } needs[] = {
        {PLACE_SERVER, "a server (--server)"},
        {PLACE_PROGRAM, "a program behind '--'"},
        {PLACE_OURS, "workloads that are not a program"},
        {PLACE_PLUGIN, "a plug-in"},
        {PLACE_DELAY, "--workload delay"},
        {PLACE_CHAIN, "--workload builtin"},
        {PLACE_BUILTIN, "--workload builtin or delay"},
        {PLACE_NO_PLUGIN, "workloads that are not a plug-in"},
        {PLACE_OPEN, "--rate"},
        {PLACE_POISSON, "--arrival poisson"},
        {PLACE_MPS, "layouts over MPS"},
        {PLACE_GPUS, "points of several GPUs"},
        {PLACE_THREADS, "several threads in a process"},
        {PLACE_WHOLE, "points without --sm-partition"},
        {PLACE_PAGEABLE_STREAM, "pageable memory without graphs"},
    };
    unsigned seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (setting_applies(row, &points[i]))
            return NULL;
        seen |= places_of(&points[i]);
    }
    unsigned lacking = row->setting.where & ~seen ? row->setting.where & ~seen : row->setting.where;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (lacking & needs[i].place)
            return needs[i].words;
    return NULL;
}

bool setting_is_recorded(const struct option_row *row, const struct point *point)
{
    unsigned needed = row->setting.recorded ? row->setting.recorded : row->setting.where;
    if ((needed & ~places_of(point)) != 0)
        return false;
    if (row->setting.type == SETTING_SHARES)
        return setting_shares(row, point)->count > 0;
    if (row->setting.sparse)
        return setting_number(row, point) > row->setting.neutral;
    return row->setting.type != SETTING_TEXT || setting_string(row, point);
}

void settings_make_canonical(struct point *point)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        bool applies = setting_applies(row, point);
        switch (row->setting.type) {
        case SETTING_SHARES: {
            struct point_shares shares = {0};
            if (applies)
                shares = shares_canonical(setting_shares(row, point), setting_entries(row, point));
            memcpy((char *)point + row->setting.at, &shares, sizeof shares);
            break;
        }
        case SETTING_TEXT:
            if (!applies)
                set_string(row, NULL, point);
            break;
        case SETTING_NONE:
        case SETTING_LAYOUT:
        case SETTING_WORKLOAD:
        case SETTING_RATE:
            break;
        default:
            if (!applies)
                setting_set_number(row, row->setting.neutral, point);
            break;
        }
    }
}

/* The bytes of a value, by which canonical points are compared. Those of a value that lies in
 * several fields are put into `room`. */
static const void *value_bytes(const struct option_row *row, const struct point *point,
                               uint64_t room[3], size_t *bytes)
{
    const struct point_shares *shares = field(row, point);
    const char *text = NULL;
    *bytes = 3 * sizeof *room;
    switch (row->setting.type) {
    case SETTING_LAYOUT:
        room[0] = point->layout;
        room[1] = point->processes;
        room[2] = point->threads;
        return room;
    case SETTING_RATE:
        room[0] = point->work.rate_units;
        room[1] = point->goal.permille;
        room[2] = point->goal.latency_ns;
        return room;
    case SETTING_SHARES:
        *bytes = shares->count * sizeof *shares->values;
        return shares->values;
    case SETTING_WORKLOAD:
        *bytes = sizeof *point->mix;
        if (point->mix)
            return point->mix;
        text = point_workload(point);
        break;
    case SETTING_TEXT:
        text = setting_string(row, point);
        break;
    default:
        *bytes = sizeof *room;
        room[0] = (uint64_t)setting_number(row, point);
        return room;
    }
    *bytes = text ? strlen(text) + 1 : 0;
    return text;
}

bool setting_equal(const struct option_row *row, const struct point *a, const struct point *b)
{
    uint64_t room_a[3], room_b[3];
    size_t bytes_a, bytes_b;
    const void *value_a = value_bytes(row, a, room_a, &bytes_a);
    const void *value_b = value_bytes(row, b, room_b, &bytes_b);
    return bytes_a == bytes_b && (bytes_a == 0 || memcmp(value_a, value_b, bytes_a) == 0);
}

static void rate_words(const struct point *point, char *out)
{
    if (point->goal.permille)
        snprintf(out, SETTING_TEXT_BYTES, "max-under-%s=%" PRIu64 ".%03uus",
                 rate_percentile_name(point->goal.permille), point->goal.latency_ns / 1000,
                 (unsigned)(point->goal.latency_ns % 1000));
    else if (point->work.rate_units)
        rate_text(point->work.rate_units, out, SETTING_TEXT_BYTES);
    else
        snprintf(out, SETTING_TEXT_BYTES, "closed");
}

const char *setting_words(const struct option_row *row, const struct point *point, char *out)
{
    const char *word = NULL;
    switch (row->setting.type) {
    case SETTING_LAYOUT:
        layout_text(point->layout, point->processes, point->threads, out);
        return out;
    case SETTING_RATE:
        rate_words(point, out);
        return out;
    case SETTING_SHARES:
        if (setting_shares(row, point)->count)
            return shares_text(setting_shares(row, point), row->kind == OPTION_KIND_BYTES, out,
                               SETTING_TEXT_BYTES);
        word = option_word(row, 0);
        break;
    case SETTING_WORKLOAD:
        word = point_workload(point);
        break;
    case SETTING_TEXT:
        word = setting_string(row, point);
        break;
    case SETTING_NS:
        snprintf(out, SETTING_TEXT_BYTES, "%.15g", (double)setting_number(row, point) / 1e9);
        return out;
    case SETTING_US:
        snprintf(out, SETTING_TEXT_BYTES, "%" PRId64 "us", setting_number(row, point));
        return out;
    default:
        word = option_word(row, setting_number(row, point));
        if (!word || (row->kind != OPTION_KIND_CHOICE && setting_number(row, point) != 0)) {
            snprintf(out, SETTING_TEXT_BYTES, "%" PRId64, setting_number(row, point));
            return out;
        }
        break;
    }
    snprintf(out, SETTING_TEXT_BYTES, "%s", word ? word : "");
    return out;
}

const char *setting_word(enum option_id id, const struct point *point)
{
    const char *word = option_word(&option_table[id], setting_number(&option_table[id], point));
    return word ? word : "unknown";
}

bool setting_is_initial(const struct option_row *row, const struct point *point)
{
    char words[SETTING_TEXT_BYTES];
    int64_t initial = 0;
    switch (row->setting.type) {
    case SETTING_LAYOUT:
        return false;
    case SETTING_RATE:
        return !point_is_open(point);
    case SETTING_SHARES: {
        const struct point_shares *shares = setting_shares(row, point);
        return shares_canonical(shares, shares->count).count == 0;
    }
    case SETTING_TEXT:
        return !setting_string(row, point);
    case SETTING_WORKLOAD:
    case SETTING_NS:
        return row->initial && strcmp(setting_words(row, point, words), row->initial) == 0;
    default:
        if (row->initial)
            option_number(row, row->initial, &initial);
        return setting_number(row, point) == initial;
    }
}

bool setting_variable_text(const struct option_row *row, int64_t number, char *out, size_t size)
{
    char value[32];
    int64_t unset = row->setting.type == SETTING_SHARES ? OPTION_SHARE_DEFAULT : 0;
    if (!row->setting.variable || number == unset)
        return false;
    snprintf(value, sizeof value, "%" PRId64,
             row->flags & OPTION_WHOLE_MIB ? number >> 20 : number);
    struct text text = {.at = out, .size = size};
    setting_form_append(row, row->setting.variable_text ? row->setting.variable_text : "%s", value,
                        &text);
    return true;
}

bool setting_variable(const struct option_row *row, const struct point *point, unsigned number,
                      char *out, size_t size)
{
    int64_t value = row->setting.type == SETTING_SHARES
                        ? shares_at(setting_shares(row, point), number)
                        : setting_number(row, point);
    return setting_variable_text(row, value, out, size);
}

const char *setting_key(const struct option_row *row, char *out)
{
    snprintf(out, SETTING_KEY_BYTES, "%s", row->setting.key ? row->setting.key : row->name);
    for (char *at = out; *at; at++)
        if (*at == '-')
            *at = '_';
    return out;
}

void setting_form_append(const struct option_row *row, const char *form, const char *value,
                         struct text *out)
{
    const char *mark = form ? strstr(form, "%s") : NULL;
    if (!mark) {
        text_append(out, "%s %s", row->name, value);
        return;
    }
    const char *rest = mark + 2;
    size_t noun = *rest == ' ' ? 1 + strcspn(rest + 1, " ") : 0;
    /* "2 kernels", "1 kernel" */
    bool single = noun > 1 && rest[noun - 1] == 's' && strcmp(value, "1") == 0;
    text_append(out, "%.*s%s", (int)(mark - form), form, value);
    text_append(out, "%.*s%s", (int)noun - single, rest, rest + noun);
}

const char *setting_size_text(uint64_t bytes, char *out, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (unit < 3 && value >= 1024) {
        value /= 1024;
        unit++;
    }
    snprintf(out, size, "%.4g %s", value, units[unit]);
    /* Sizes that differ read differently. */
    if (unit > 0 && strtod(out, NULL) != value)
        snprintf(out, size, "%" PRIu64 " KiB", bytes / 1024);
    return out;
}

bool point_has_shares(const struct point *point)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (row->flags & OPTION_PER_PROCESS && setting_shares(row, point)->count)
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
    uint64_t hash = DIGEST_EMPTY, room[3];
    size_t bytes;
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        const void *value = value_bytes(row, point, room, &bytes);
        if (!row->setting.incidental)
            hash = digest_add(hash, value, bytes);
    }
    return hash;
}
