#include "orchestrator/results/number_ranges.h"
#include "common/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

char *number_ranges_text(const bool *set, size_t count)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    const char *separator = "";
    for (size_t i = 0; i < count; i++) {
        if (!set[i])
            continue;
        size_t first = i;
        while (i + 1 < count && set[i + 1])
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

bool number_ranges_read(const char *text, size_t count, bool *set, size_t *found)
{
    const char *at = text ? text : "";
    *found = 0;
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
        *found += last - first + 1;
        for (size_t i = first; set && i <= last; i++)
            set[i] = true;
        if (*at == ',' && at[1])
            at++;
        else if (*at)
            return false;
    }
    return true;
}
