#include "common/text.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void text_append(struct text *text, const char *format, ...)
{
    if (text->length >= text->size)
        return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at + text->length, text->size - text->length, format, args);
    va_end(args);
    if (length < 0)
        return;
    text->length += (size_t)length;
    if (text->length >= text->size)
        text->length = text_end_whole(text->at, text->size - 1);
}

bool text_stream_open(struct text_stream *out)
{
    *out = (struct text_stream){0};
    out->file = open_memstream(&out->text, &out->bytes);
    return out->file != NULL;
}

char *text_stream_close(struct text_stream *stream)
{
    bool failed = ferror(stream->file) != 0;
    if (fclose(stream->file) == 0 && !failed)
        return stream->text;
    free(stream->text);
    return NULL;
}

void word_list_release(struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->words[i]);
    free(list->words);
    *list = (struct word_list){0};
}

void word_list_take(struct word_list *list, char *text)
{
    if (list->count + 1 >= list->capacity) {
        size_t wanted = list->capacity ? 2 * list->capacity : 32;
        char **larger = realloc(list->words, wanted * sizeof *larger);
        if (larger) {
            list->words = larger;
            list->capacity = wanted;
        }
    }
    if (!text || list->count + 1 >= list->capacity) {
        free(text);
        list->failed = true;
        return;
    }
    list->words[list->count++] = text;
    list->words[list->count] = NULL;
}

void word_list_add(struct word_list *list, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    word_list_take(list, text);
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void text_cut(char *text, size_t columns)
{
    uint32_t code;
    for (size_t bytes; columns > 0; columns--, text += bytes)
        if ((bytes = text_character(text, strnlen(text, 4), &code)) == 0)
            break;
    *text = '\0';
}

const char *text_duration(double seconds, char *out, size_t size)
{
    long whole = lround(seconds);
    if (whole < 90)
        snprintf(out, size, "%ld s", whole);
    else if (whole < 90 * 60)
        snprintf(out, size, "%ld min %ld s", whole / 60, whole % 60);
    else
        snprintf(out, size, "%ld h %ld min", whole / 3600, whole % 3600 / 60);
    return out;
}

bool text_time_ns(const char *text, double *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    /* strtod also takes unwanted forms: 0x1p3, nan. */
    size_t length = strspn(text, "0123456789.");
    double value = strtod(text, &end);
    if (length == 0 || end != text + length)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0) {
            *ns = value * units[i].ns;
            return true;
        }
    return false;
}

bool text_size_shift(const char *unit, unsigned *shift)
{
    static const char units[] = "KMGT";
    if (!*unit) {
        *shift = 0;
        return true;
    }
    const char *found = strchr(units, toupper((unsigned char)*unit));
    if (!found || (unit[1] && strcasecmp(unit + 1, "iB") != 0))
        return false;
    *shift = 10 * (unsigned)(found - units + 1);
    return true;
}

const char *text_size_fault(const char *text, char *out, size_t size)
{
    static const char units[] = "\0KMG";
    size_t digits = strspn(text, "0123456789."), unit;
    const char *behind = text + digits, letter[2] = {*behind};
    char *end;
    double value = strtod(text, &end);
    unsigned shift;
    bool byte = *behind && strcasecmp(behind + 1, "B") == 0;
    bool decimals = memchr(text, '.', digits) != NULL;
    *out = '\0';
    if (digits == 0 || end != behind || !(byte || decimals) ||
        !text_size_shift(byte ? letter : behind, &shift) || shift > 30 || value >= 1e9)
        return out;
    for (unit = shift / 10; unit > 0 && value != floor(value); unit--)
        value *= 1024;
    if (value != floor(value))
        snprintf(out, size, "a size has no decimals");
    else if (byte)
        snprintf(out, size, "%s may mean powers of 1000: write %.0f%.1s for those of 1024", behind,
                 value, units + unit);
    else
        snprintf(out, size, "a size has no decimals: write %.0f%.1s", value, units + unit);
    return out;
}

const char *text_number(double value, char *out, size_t size)
{
    int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    snprintf(out, size, "%.*f", decimals, value);
    return out;
}

const char *text_shortened(const char *text, char *out, size_t size)
{
    static const char gap[] = "...";
    size_t length = strlen(text), room = size - sizeof gap;
    if (length < size)
        return text_printable(text, length, out, size);
    size_t begin = (room + 1) / 2, end = room - begin;
    text_printable(text, begin, out, size);
    memcpy(out + begin, gap, sizeof gap - 1);
    text_printable(text + length - end, end, out + begin + sizeof gap - 1, end + 1);
    return out;
}

/* -- UTF-8 ------------------------------------------------------------------------------------- */

size_t text_character(const char *text, size_t size, uint32_t *code)
{
    const unsigned char *at = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = at[0] < 0x80   ? 1
                   : at[0] < 0xc0 ? 0
                   : at[0] < 0xe0 ? 2
                   : at[0] < 0xf0 ? 3
                   : at[0] < 0xf8 ? 4
                                  : 0;
    if (bytes == 0 || bytes > size || at[0] == 0)
        return 0;
    *code = bytes == 1 ? at[0] : at[0] & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    bool half = *code >= 0xd800 && *code < 0xe000; /* of a pair in UTF-16 */
    return *code >= least[bytes] && *code <= 0x10ffff && !half ? bytes : 0;
}

/* Moves the cursor, begins a sequence that does, or changes the order of what follows. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t text_end_whole(char *text, size_t length)
{
    uint32_t code;
    size_t begin = length;
    while (begin > 0 && length - begin < 3 && ((unsigned char)text[begin - 1] & 0xc0) == 0x80)
        begin--;
    bool has_lead = begin > 0 && (unsigned char)text[begin - 1] >= 0xc0;
    if (has_lead && text_character(text + begin - 1, length - begin + 1, &code) == 0)
        length = begin - 1;
    text[length] = '\0';
    return length;
}

static bool is_all(const char *text, bool controls)
{
    uint32_t code;
    while (*text) {
        size_t bytes = text_character(text, SIZE_MAX, &code);
        if (bytes == 0 || (!controls && is_control(code)))
            return false;
        text += bytes;
    }
    return true;
}

const char *text_printable(const char *bytes, size_t count, char *out, size_t size)
{
    size_t length = 0;
    while (length < count && length + 1 < size) {
        uint32_t code;
        size_t taken = text_character(bytes + length, count - length, &code);
        if (length + taken >= size)
            break;
        if (taken > 0 && !is_control(code)) {
            memmove(out + length, bytes + length, taken);
            length += taken;
        } else {
            out[length++] = '?';
        }
    }
    out[length] = '\0';
    return out;
}

bool text_is_utf8(const char *text)
{
    return is_all(text, true);
}

bool text_is_displayable(const char *text)
{
    return is_all(text, false);
}

char *text_displayed(const char *text, char *out, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    size_t length = 0;
    uint32_t code;
    while (*text) {
        size_t bytes = text_character(text, SIZE_MAX, &code);
        bool kept = bytes > 0 && !is_control(code);
        size_t added = kept ? bytes : sizeof replacement - 1;
        if (length + added >= size)
            break;
        memcpy(out + length, kept ? text : replacement, added);
        length += added;
        text += bytes > 0 ? bytes : 1;
    }
    out[length] = '\0';
    return out;
}

unsigned text_distance(const char *a, const char *b)
{
    unsigned rows[3][64], *before = rows[0], *above = rows[1], *row = rows[2];
    size_t length = strlen(b);
    if (length >= 64)
        return UINT_MAX;
    for (unsigned j = 0; j <= length; j++)
        above[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[length];
}

#define SLIPS_MOST 3
#define LETTERS_OF_A_SLIP 3 /* of a short name nearly every word is near */

bool text_is_meant(const char *name, const char *word, unsigned *half_slips)
{
    size_t length = strlen(name);
    unsigned slips = text_distance(name, word);
    bool begins = slips > 0 && length > 1 && strncmp(word, name, length) == 0;
    if (!begins && (slips > SLIPS_MOST || (size_t)LETTERS_OF_A_SLIP * slips > length))
        return false;
    unsigned found = begins ? 1 : 2 * slips;
    if (found >= *half_slips)
        return false;
    *half_slips = found;
    return true;
}
