#include "orchestrator/results/number_ranges.h"
#include "common/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

char *shard_ranges_text(bool (*has)(const void *set, size_t number), const void *set, size_t count)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    const char *separator = "";
    for (size_t i = 0; i < count; i++) {
        if (!has(set, i))
            continue;
        size_t first = i;
        while (i + 1 < count && has(set, i + 1))
            i++;
        fprintf(out.file, "%s%zu", separator, first);
        if (i > first)
            fprintf(out.file, "-%zu", i);
        separator = ",";
    }
    return text_stream_close(&out);
}

static bool read_number(const char **at, size_t count, size_t *out)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(*at, &end, 10);
    if (errno || number >= count)
        return false;
    *at = end;
    *out = (size_t)number;
    return true;
}

bool shard_ranges_read(const char *text, size_t count, void (*take)(void *set, size_t number),
                       void *set)
{
    const char *at = text ? text : "";
    while (*at) {
        size_t first, last;
        if (!read_number(&at, count, &first))
            return false;
        last = first;
        if (*at == '-') {
            at++;
            if (!read_number(&at, count, &last) || last < first)
                return false;
        }
        for (size_t i = first; i <= last; i++)
            take(set, i);
        if (*at == ',' && at[1])
            at++;
        else if (*at)
            return false;
    }
    return true;
}
