#include "files/results_record.h"

#include <string.h>

#include "common/text.h"
#include "files/results_types.h"

#define DEPTH_MOST 32
/* Longer integers may be too large. */
#define DIGITS_MOST 18
/* No reader needs a field of a longer name. */
#define KEY_BYTES 64

/* What is left of a line. Whatever the scan is not sure of, jansson decides. */
struct scan {
    const char *at, *end;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

static bool take(struct scan *scan, char wanted)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != wanted)
        return false;
    scan->at++;
    return true;
}

/* 1: the byte stands for itself in a string. */
static const unsigned char plain[256] = {
    [' '] = 1, ['!'] = 1, ['#' ... '['] = 1, [']' ... 0x7f] = 1};

static bool skip_string(struct scan *scan)
{
    if (!take(scan, '"'))
        return false;
    while (scan->at < scan->end) {
        unsigned char byte = (unsigned char)*scan->at;
        uint32_t code;
        if (plain[byte]) {
            scan->at++;
        } else if (byte == '"') {
            scan->at++;
            return true;
        } else if (byte == '\\') {
            if (scan->end - scan->at < 2 || !strchr("\"\\/bfnrt", scan->at[1]) || !scan->at[1])
                return false;
            scan->at += 2;
        } else {
            size_t bytes = text_character(scan->at, (size_t)(scan->end - scan->at), &code);
            if (bytes < 2)
                return false;
            scan->at += bytes;
        }
    }
    return false;
}

static size_t skip_digits(struct scan *scan)
{
    const char *begin = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (size_t)(scan->at - begin);
}

static bool skip_number(struct scan *scan)
{
    scan->at += *scan->at == '-';
    bool zero = scan->at < scan->end && *scan->at == '0';
    size_t digits = skip_digits(scan);
    if (digits == 0 || digits > DIGITS_MOST || (zero && digits > 1))
        return false;
    if (scan->at < scan->end && *scan->at == '.') {
        scan->at++;
        if (skip_digits(scan) == 0)
            return false;
    }
    if (scan->at < scan->end && (*scan->at == 'e' || *scan->at == 'E')) {
        scan->at++;
        scan->at += scan->at < scan->end && (*scan->at == '+' || *scan->at == '-');
        digits = skip_digits(scan);
        return digits == 1 || digits == 2;
    }
    return true;
}

static bool skip_word(struct scan *scan, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(scan->end - scan->at) < bytes || memcmp(scan->at, word, bytes) != 0)
        return false;
    scan->at += bytes;
    return true;
}

static bool skip_value(struct scan *scan, int depth);

/* Behind the opening bracket. */
static bool skip_all(struct scan *scan, char close, int depth)
{
    if (take(scan, close))
        return true;
    do {
        if (close == '}' && !(skip_string(scan) && take(scan, ':')))
            return false;
        if (!skip_value(scan, depth + 1))
            return false;
    } while (take(scan, ','));
    return take(scan, close);
}

static bool skip_value(struct scan *scan, int depth)
{
    skip_blanks(scan);
    if (scan->at == scan->end || depth > DEPTH_MOST)
        return false;
    switch (*scan->at) {
    case '"':
        return skip_string(scan);
    case '{':
        scan->at++;
        return skip_all(scan, '}', depth);
    case '[':
        scan->at++;
        return skip_all(scan, ']', depth);
    case 't':
        return skip_word(scan, "true");
    case 'f':
        return skip_word(scan, "false");
    case 'n':
        return skip_word(scan, "null");
    default:
        return skip_number(scan);
    }
}

/* The next member, behind its bracket or comma; adds it to the object if it is needed. */
static bool take_member(struct scan *scan, results_field *needed, json_t *object)
{
    char key[KEY_BYTES] = "";
    skip_blanks(scan);
    const char *begin = scan->at + 1;
    if (!skip_string(scan))
        return false;
    size_t bytes = (size_t)(scan->at - 1 - begin);
    if (memchr(begin, '\\', bytes) || !take(scan, ':'))
        return false;
    if (bytes < sizeof key) {
        memcpy(key, begin, bytes);
        key[bytes] = '\0';
    }
    skip_blanks(scan);
    const char *value = scan->at;
    if (!skip_value(scan, 1))
        return false;
    /* A needed field of another type stays in the record: its reader refuses it by name. */
    if (strcmp(key, "type") != 0 && strcmp(key, "id") != 0 && !needed(key))
        return results_type_fits(key, *value);
    json_t *json = json_loadb(value, (size_t)(scan->at - value), JSON_DECODE_ANY, NULL);
    return json_object_set_new(object, key, json) == 0;
}

/* The needed fields of a line's record; NULL: jansson must look at it. */
static json_t *take_needed(const struct results_line *line, results_field *needed)
{
    struct scan scan = {line->text, line->text + line->bytes};
    json_t *object = json_object();
    bool valid = object && take(&scan, '{');
    if (valid && !take(&scan, '}')) {
        do
            valid = take_member(&scan, needed, object);
        while (valid && take(&scan, ','));
        valid = valid && take(&scan, '}');
    }
    skip_blanks(&scan);
    if (valid && scan.at == scan.end)
        return object;
    json_decref(object);
    return NULL;
}

/* Whether a reader needs no more of a record than its needed fields. */
static bool is_enough(const json_t *record, const char *const *known)
{
    const char *type = json_string_value(json_object_get(record, "type"));
    if (!type || strcmp(type, "header") == 0)
        return false;
    if (strcmp(type, "point") == 0)
        return true;
    for (; known && *known; known++)
        if (strcmp(type, *known) == 0)
            return false;
    return known != NULL;
}

json_t *results_record(const struct results_line *line, results_field *needed,
                       const char *const *known, json_error_t *error)
{
    json_t *record = needed ? take_needed(line, needed) : NULL;
    if (record && is_enough(record, known))
        return record;
    json_decref(record);
    return json_loadb(line->text, line->bytes, 0, error);
}
