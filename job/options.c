#include "job/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define MOST_ITEMS 4096
#define MIB (1 << 20)

static void value_clear(struct option_value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        free(value->items[i].text);
        free(value->items[i].shares);
    }
    free(value->items);
    value->items = NULL;
    value->count = 0;
}

enum status option_value_add(struct option_value *value, const struct option_item *item,
                             const char *text)
{
    if (value->count >= MOST_ITEMS)
        return status_set(STATUS_USAGE, "more than %d values in one option", MOST_ITEMS);
    struct option_item *items = realloc(value->items, (value->count + 1) * sizeof *items);
    char *copy = strdup(text);
    size_t share_bytes = item->share_count * sizeof *item->shares;
    int64_t *shares = share_bytes ? malloc(share_bytes) : NULL;
    if (items)
        value->items = items;
    if (!items || !copy || (share_bytes && !shares)) {
        free(copy);
        free(shares);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    if (shares)
        memcpy(shares, item->shares, share_bytes);
    items[value->count] = *item;
    items[value->count].text = copy;
    items[value->count].shares = shares;
    value->count++;
    return STATUS_OK;
}

/* Index of text among the choices, or -1. */
static int choice_index(const struct option_choice *choices, const char *text)
{
    for (int i = 0; choices && choices[i].word; i++)
        if (strcmp(choices[i].word, text) == 0)
            return i;
    return -1;
}

const char *option_word(const struct option_row *row, int64_t number)
{
    for (int64_t i = 0; row->choices && row->choices[i].word; i++)
        if (i == number)
            return row->choices[i].word;
    return NULL;
}

const char *option_value_form(const struct option_row *row, char *out, size_t size)
{
    struct text text = {.at = out, .size = size};
    *out = '\0';
    if (row->metavar)
        text_append(&text, "%s", row->metavar);
    for (int i = 0; !row->metavar && row->choices && row->choices[i].word; i++)
        text_append(&text, "%s%s", i ? "|" : "", row->choices[i].word);
    return out;
}

static bool parse_integer(const char *text, bool is_size, int64_t *out)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno)
        return false;
    unsigned shift = 0;
    if (is_size ? !text_size_shift(end, &shift) || shift > 30 : *end)
        return false;
    if (value > (LLONG_MAX >> shift))
        return false;
    *out = value << shift;
    return true;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    for (size_t end = strlen(text); end > 0 && strchr(" \t", text[end - 1]); end--)
        text[end - 1] = '\0';
    return text;
}

/* Words that users try, and what they mean where that is a choice. */
static const char *const meanings[][2] = {
    {"docker", "compose"}, {"k8s", "kubernetes"},         {"sbatch", "slurm"},
    {"shell", "env"},      {"prometheus", "openmetrics"}, {"md", "markdown"},
};

static const char *meant_choice(const char *text)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i][0], text) == 0)
            return meanings[i][1];
    return text;
}

/* The choice that a mistyped word means, or NULL. */
static const char *nearest_choice(const struct option_choice *choices, const char *text)
{
    const char *nearest = NULL;
    unsigned slips = UINT_MAX;
    text = meant_choice(text);
    for (; choices && choices->word; choices++)
        if (text_is_meant(text, choices->word, &slips))
            nearest = choices->word;
    return nearest;
}

static enum status bad_value(const struct option_row *row, const char *text)
{
    const char *nearest = nearest_choice(row->choices, text);
    char expected[256], shortest[32];
    char words[192];
    const char *word = row->choices ? row->choices[0].word : "";
    const char *joint = row->choices ? " or " : "";
    if (row->kind == OPTION_KIND_BYTES && *text_size_fault(text, expected, sizeof expected))
        return status_set(STATUS_USAGE, "'%s' is not a value of %s: %s", text, row->name, expected);
    switch (row->kind) {
    case OPTION_KIND_CHOICE:
        snprintf(expected, sizeof expected, "one of %s",
                 option_value_form(row, words, sizeof words));
        break;
    case OPTION_KIND_SWITCH:
        snprintf(expected, sizeof expected, "yes or no");
        break;
    case OPTION_KIND_RATE:
        snprintf(expected, sizeof expected, "%s", RATE_EXPECTED);
        break;
    case OPTION_KIND_REAL:
    case OPTION_KIND_PERCENT:
        snprintf(expected, sizeof expected, "a number from %g to %g%s", row->min, row->max,
                 row->kind == OPTION_KIND_PERCENT ? ", in percent" : "");
        break;
    case OPTION_KIND_SECONDS:
        snprintf(expected, sizeof expected,
                 "a time from %g to %g s: a number of seconds, or one with its unit, as in 500ms, "
                 "10s, 2m or 1h",
                 row->min, row->max);
        break;
    case OPTION_KIND_TIME:
        snprintf(expected, sizeof expected,
                 "a time from %s to %.0f s with its unit: us, ms, s, m or h, as in 5ms or 120s",
                 rate_time_text(row->min * 1e9, shortest, sizeof shortest), row->max);
        break;
    default:
        if (row->flags & OPTION_WHOLE_MIB)
            snprintf(expected, sizeof expected,
                     "%s%sa size from %.0fM to %.0fM, with K, M or G, as in 1G or 1GiB", word,
                     joint, row->min / MIB, row->max / MIB);
        else
            snprintf(expected, sizeof expected, "%s%sa whole number from %.0f to %.0f%s", word,
                     joint, row->min, row->max,
                     row->kind == OPTION_KIND_BYTES
                         ? ", with K, M or G for powers of 1024, as in 1M or 1MiB"
                         : "");
        break;
    }
    return status_set(
        STATUS_USAGE, "'%s' is not a value of %s: it takes %s%s%s%s%s", text, row->name, expected,
        row->flags & OPTION_PER_PROCESS  ? "; '/' stands between the values of several processes"
        : row->flags & OPTION_PER_THREAD ? "; '/' stands between the values of several threads"
                                         : "",
        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static bool parse_in_bounds(const struct option_row *row, const char *text, int64_t *out)
{
    int64_t number;
    if (!parse_integer(text, row->kind == OPTION_KIND_BYTES, &number) ||
        (double)number < row->min || (double)number > row->max)
        return false;
    *out = number;
    return true;
}

static enum status check_multiple(const struct option_row *row, const char *text, int64_t number)
{
    bool mib = row->flags & OPTION_WHOLE_MIB;
    if (row->kind != OPTION_KIND_BYTES || number % (mib ? MIB : 1024) == 0)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' is not a multiple of %s", text,
                      mib ? "1M" : "1024 bytes");
}

static enum status add_number(struct option_value *value, const struct option_row *row,
                              int64_t number, const char *text)
{
    struct option_item item = {.integer = number};
    if (row->flags & OPTION_LISTED)
        item = (struct option_item){.shares = &number, .share_count = 1};
    return option_value_add(value, &item, text);
}

static enum status parse_share(const struct option_row *row, const char *text, int64_t *out)
{
    if (row->choices && choice_index(row->choices, text) == 0) {
        *out = OPTION_SHARE_DEFAULT;
        return STATUS_OK;
    }
    if (!parse_in_bounds(row, text, out))
        return bad_value(row, text);
    return check_multiple(row, text, *out);
}

/* One entry a process or thread, separated by '/': the comma separates points. */
static enum status add_shares(struct option_value *value, const struct option_row *row,
                              const char *text)
{
    int64_t shares[OPTION_MOST_SHARES];
    struct option_item item = {.shares = shares};
    char *copy = strdup(text);
    if (!copy)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    char *rest = copy;
    while (status == STATUS_OK && rest) {
        const char *entry = trimmed(strsep(&rest, "/"));
        if (item.share_count == OPTION_MOST_SHARES) {
            status = status_set(STATUS_USAGE, "%s takes at most %d entries", row->name,
                                OPTION_MOST_SHARES);
            break;
        }
        status = parse_share(row, entry, &shares[item.share_count]);
        item.share_count++;
    }
    free(copy);
    if (status != STATUS_OK)
        return status_prefix(status, "in '%s': ", text);
    return option_value_add(value, &item, text);
}

static enum status add_integers(struct option_value *value, const struct option_row *row,
                                const char *text)
{
    int64_t first, last;
    bool bytes = row->kind == OPTION_KIND_BYTES;
    bool listed = row->flags & OPTION_LISTED;
    if (listed && strchr(text, '/'))
        return add_shares(value, row, text);
    if (row->choices && choice_index(row->choices, text) == 0)
        return add_number(value, row, listed ? OPTION_SHARE_DEFAULT : 0, text);
    char copy[64];
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return bad_value(row, text);
    char *dash = row->flags & OPTION_AXIS ? strchr(copy, '-') : NULL;
    if (dash)
        *dash = '\0';
    if (!parse_in_bounds(row, copy, &first))
        return bad_value(row, text);
    last = first;
    if (dash && !parse_in_bounds(row, dash + 1, &last))
        return bad_value(row, text);
    if (first > last)
        return status_set(STATUS_USAGE, "range '%s' of %s runs backwards", text, row->name);
    if (bytes && first != last)
        return status_set(STATUS_USAGE, "'%s' of %s: sizes take a list, as in 64K,1M, not a range",
                          text, row->name);
    if (last - first >= MOST_ITEMS)
        return status_set(STATUS_USAGE, "range '%s' of %s has more than %d values", text, row->name,
                          MOST_ITEMS);
    enum status status = check_multiple(row, text, first);
    for (int64_t i = first; i <= last && status == STATUS_OK; i++) {
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)i);
        /* Sizes as they were given, like those in lists. */
        status = add_number(value, row, i, listed && first == last ? text : number);
    }
    return status;
}

static bool parse_real(const char *text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    /* strtod also takes hexadecimal. */
    return end != text && !*end && !errno && isfinite(*out) && !strpbrk(text, "xX");
}

static bool parse_percent(const char *text, double *out)
{
    char number[64];
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, text, length + 1);
    if (number[length - 1] == '%')
        number[length - 1] = '\0';
    return parse_real(number, out);
}

/* A time in seconds, with its unit. */
static bool parse_time(const char *text, double *out)
{
    double ns;
    if (!text_time_ns(text, &ns))
        return false;
    *out = ns / 1e9;
    return true;
}

bool option_number(const struct option_row *row, const char *text, int64_t *out)
{
    int index = choice_index(row->choices, text);
    *out = index;
    return index >= 0 || parse_integer(text, row->kind == OPTION_KIND_BYTES, out);
}

static enum status add_item(struct option_value *value, const struct option_row *row,
                            const char *text)
{
    static const struct option_choice yes_or_no[] = {{"no"}, {"yes"}, {0}};
    struct option_item item = {0};
    bool valid = true;
    char number[32];
    switch (row->kind) {
    case OPTION_KIND_CHOICE:
    case OPTION_KIND_SWITCH:
        item.integer =
            choice_index(row->kind == OPTION_KIND_SWITCH ? yes_or_no : row->choices, text);
        valid = item.integer >= 0;
        break;
    case OPTION_KIND_REAL:
        valid = parse_real(text, &item.real) && item.real >= row->min && item.real <= row->max;
        break;
    case OPTION_KIND_SECONDS:
        valid = (parse_time(text, &item.real) || parse_real(text, &item.real)) &&
                item.real >= row->min && item.real <= row->max;
        /* Records have a number of seconds, however it was written. */
        snprintf(number, sizeof number, "%.10g", item.real);
        if (valid)
            return option_value_add(value, &item, number);
        break;
    case OPTION_KIND_PERCENT:
        valid = parse_percent(text, &item.real) && item.real >= row->min && item.real <= row->max;
        snprintf(number, sizeof number, "%.10g", item.real);
        if (valid)
            return option_value_add(value, &item, number);
        break;
    case OPTION_KIND_TIME:
        valid = parse_time(text, &item.real) && item.real >= row->min && item.real <= row->max;
        break;
    case OPTION_KIND_RATE:
        valid = rate_parse(text, &item.rate);
        break;
    case OPTION_KIND_INTEGER:
    case OPTION_KIND_BYTES:
        return add_integers(value, row, text);
    case OPTION_KIND_TEXT:
    case OPTION_KIND_LAYOUT:
        if (!*text)
            return status_set(STATUS_USAGE, "%s is empty", row->name);
        break;
    }
    return valid ? option_value_add(value, &item, text) : bad_value(row, text);
}

/* Comma-separated items for axes; white space around an item is dropped. */
static enum status parse_value(const struct option_row *row, const char *text,
                               const struct option_value *before, struct option_value *out)
{
    if (row->kind == OPTION_KIND_LAYOUT)
        return layout_parse(text,
                            before->rank == out->rank && before->count
                                ? before->items[before->count - 1].layout
                                : LAYOUT_KINDS,
                            out);
    if (!(row->flags & OPTION_AXIS))
        return add_item(out, row, text);
    char *copy = strdup(text);
    if (!copy)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    char *rest = copy;
    while (status == STATUS_OK && rest) {
        const char *item = trimmed(strsep(&rest, ","));
        status = *item ? add_item(out, row, item)
                       : status_set(STATUS_USAGE, "'%s' of %s has an empty item", text, row->name);
    }
    free(copy);
    return status;
}

/* Options about what is measured go into the results, which are UTF-8. */
static enum status check_encoding(const struct option_row *row, const char *text)
{
    char shown[128];
    if (row->flags & OPTION_NOT_IN_JOB || text_is_utf8(text))
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "'%s' of %s is not UTF-8, and results files are: give it another name",
                      text_displayed(text, shown, sizeof shown), row->name);
}

/* As a further line of its text. */
static enum status add_line(struct option_value *value, const char *line)
{
    char *before = value->items[0].text;
    size_t length = strlen(before), bytes = strlen(line) + 1;
    char *text = realloc(before, length + 1 + bytes);
    if (!text)
        return status_set(STATUS_MEMORY, "out of memory");
    text[length] = '\n';
    memcpy(text + length + 1, line, bytes);
    value->items[0].text = text;
    return STATUS_OK;
}

enum status options_set(struct options *options, const struct option_row *row, const char *text,
                        int rank)
{
    struct option_value parsed = {.rank = rank};
    enum status status = check_encoding(row, text);
    if (status == STATUS_OK)
        status = parse_value(row, text, &options->values[row->id], &parsed);
    if (status != STATUS_OK) {
        value_clear(&parsed);
        return status;
    }
    struct option_value *value = &options->values[row->id];
    if (row->kind == OPTION_KIND_LAYOUT && value->rank == rank && rank > 0) {
        for (size_t i = 0; i < parsed.count && status == STATUS_OK; i++)
            status = option_value_add(value, &parsed.items[i], parsed.items[i].text);
        value_clear(&parsed);
        return status;
    }
    if (row->flags & OPTION_LINES && value->rank == rank && value->count > 0) {
        status = add_line(value, text);
        value_clear(&parsed);
        return status;
    }
    value_clear(value);
    *value = parsed;
    return STATUS_OK;
}

enum status options_init(struct options *out)
{
    *out = (struct options){0};
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!option_table[i].initial)
            continue;
        enum status status = options_set(out, &option_table[i], option_table[i].initial, 0);
        if (status != STATUS_OK) {
            options_release(out);
            return status;
        }
    }
    return STATUS_OK;
}

void options_release(struct options *options)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        value_clear(&options->values[i]);
}

enum status options_copy(const struct options *from, struct options *out)
{
    *out = (struct options){0};
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_value *value = &from->values[i];
        out->values[i].rank = value->rank;
        out->values[i].line = value->line;
        for (size_t j = 0; j < value->count; j++) {
            enum status status =
                option_value_add(&out->values[i], &value->items[j], value->items[j].text);
            if (status != STATUS_OK) {
                options_release(out);
                return status;
            }
        }
    }
    return STATUS_OK;
}

const struct option_row *option_find(const char *name, unsigned command)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & command && strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

const struct option_row *option_find_letter(char letter, unsigned command)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & command && letter && option_table[i].letter == letter)
            return &option_table[i];
    return NULL;
}

const char *option_nearest(const char *name, unsigned command, unsigned *slips)
{
    const char *nearest = NULL;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & command && text_is_meant(name, option_table[i].name, slips))
            nearest = option_table[i].name;
    return nearest;
}

static const struct option_item *first_item(const struct options *options, enum option_id id)
{
    const struct option_value *value = &options->values[id];
    return value->count ? &value->items[0] : NULL;
}

int64_t options_integer(const struct options *options, enum option_id id)
{
    const struct option_item *item = first_item(options, id);
    return item ? item->integer : 0;
}

double options_real(const struct options *options, enum option_id id)
{
    const struct option_item *item = first_item(options, id);
    return item ? item->real : 0.0;
}

const char *options_text(const struct options *options, enum option_id id)
{
    const struct option_item *item = first_item(options, id);
    return item ? item->text : NULL;
}

bool options_switch(const struct options *options, enum option_id id)
{
    return options_integer(options, id) != 0;
}

bool options_is_given(const struct options *options, enum option_id id)
{
    return options->values[id].rank > 0;
}
