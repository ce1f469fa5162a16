#include "wire/tick.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *word;
    enum tick_kind kind;
    bool named; /* a name follows */
} forms[] = {
    {"none", TICK_NONE, false},         {"auto", TICK_AUTO, false},
    {"sync", TICK_SYNC, false},         {"graph", TICK_GRAPH, false},
    {"copy-out", TICK_COPY_OUT, false}, {"kernel:", TICK_KERNEL, true},
    {"nvtx:", TICK_NVTX, true},
};

bool tick_parse(const char *text, struct tick *out)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t length = strlen(forms[i].word);
        if (strncmp(text, forms[i].word, length) != 0 || (text[length] != '\0') != forms[i].named)
            continue;
        *out = (struct tick){forms[i].kind, forms[i].named ? text + length : NULL};
        return true;
    }
    return false;
}
