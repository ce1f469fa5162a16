#include "worker/words.h"

#include <string.h>

#include "common/text.h"

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

bool words_end(struct words *words)
{
    bool said = !is_blank(words->line, words->length);
    if (said)
        text_printable(words->line, words->length, words->last, sizeof words->last);
    words->length = 0;
    return said;
}

bool words_take(struct words *words, const char *bytes, size_t count)
{
    bool said = false;
    for (size_t i = 0; i < count; i++) {
        /* A progress bar goes back to the beginning of its line. */
        if (bytes[i] == '\n' || bytes[i] == '\r')
            said |= words_end(words);
        else if (words->length < sizeof words->line - 1)
            words->line[words->length++] = bytes[i];
    }
    return said;
}
