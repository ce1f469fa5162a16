#include "wire/plugin_answer.h"

#include <string.h>

_Static_assert(sizeof(struct plugin_answer) == 8 + 4 * 4 + 2 * 64 + 512,
               "padding in plugin_answer");

enum status plugin_answer_check(const struct plugin_answer *answer, size_t bytes)
{
    if (bytes != sizeof *answer)
        return status_set(STATUS_PROTOCOL, "answer about a plug-in: %zu bytes instead of %zu",
                          bytes, sizeof *answer);
    if (answer->magic != PLUGIN_ANSWER_MAGIC)
        return status_set(STATUS_PROTOCOL, "answer about a plug-in: wrong magic number");
    if (answer->version != PLUGIN_ANSWER_VERSION)
        return status_set(STATUS_PROTOCOL, "answer about a plug-in: version %u instead of %d",
                          answer->version, PLUGIN_ANSWER_VERSION);
    if (!memchr(answer->name, '\0', sizeof answer->name) ||
        !memchr(answer->plugin_version, '\0', sizeof answer->plugin_version) ||
        !memchr(answer->error, '\0', sizeof answer->error))
        return status_set(STATUS_PROTOCOL, "answer about a plug-in: a text has no end");
    return STATUS_OK;
}
