#include "mps/internal.h"

#include <string.h>

bool mps_scan_is_blank(char character)
{
    return character == ' ' || character == '\t';
}

static void skip(struct mps_scan *scan, size_t bytes)
{
    scan->at += bytes;
    scan->bytes -= bytes;
}

bool mps_scan_line(struct mps_scan *text, struct mps_scan *line, bool *ended)
{
    while (text->bytes > 0) {
        const char *end = memchr(text->at, '\n', text->bytes);
        struct mps_scan found = {text->at, end ? (size_t)(end - text->at) : text->bytes};
        skip(text, found.bytes + (end ? 1 : 0));
        if (found.bytes > 0 && found.at[found.bytes - 1] == '\r')
            found.bytes--;
        while (found.bytes > 0 && mps_scan_is_blank(found.at[found.bytes - 1]))
            found.bytes--;
        if (found.bytes > 0) {
            *line = found;
            if (ended)
                *ended = end != NULL;
            return true;
        }
    }
    return false;
}

bool mps_scan_word(struct mps_scan *scan, struct mps_scan *word)
{
    struct mps_scan rest = *scan;
    while (rest.bytes > 0 && mps_scan_is_blank(*rest.at))
        skip(&rest, 1);
    struct mps_scan found = {rest.at, 0};
    while (rest.bytes > 0 && !mps_scan_is_blank(*rest.at))
        skip(&rest, 1);
    found.bytes = (size_t)(rest.at - found.at);
    if (found.bytes == 0)
        return false;
    *word = found;
    *scan = rest;
    return true;
}

bool mps_scan_text(struct mps_scan *scan, const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || scan->bytes < length || memcmp(scan->at, text, length) != 0)
        return false;
    skip(scan, length);
    return true;
}

bool mps_scan_text_end(struct mps_scan *scan, const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || scan->bytes < length ||
        memcmp(scan->at + scan->bytes - length, text, length) != 0)
        return false;
    scan->bytes -= length;
    return true;
}

bool mps_scan_is(struct mps_scan scan, const char *text)
{
    return mps_scan_text(&scan, text) && scan.bytes == 0;
}

bool mps_scan_number(struct mps_scan *scan, uint64_t most, uint64_t *number)
{
    struct mps_scan rest = *scan;
    uint64_t value = 0;
    for (; rest.bytes > 0 && *rest.at >= '0' && *rest.at <= '9'; skip(&rest, 1)) {
        uint64_t digit = (uint64_t)(*rest.at - '0');
        if (digit > most || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (rest.at == scan->at)
        return false;
    *number = value;
    *scan = rest;
    return true;
}

bool mps_scan_is_number(struct mps_scan scan, uint64_t most, uint64_t *number)
{
    uint64_t value;
    if (!mps_scan_number(&scan, most, &value) || scan.bytes != 0)
        return false;
    *number = value;
    return true;
}
