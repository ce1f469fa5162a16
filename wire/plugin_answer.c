#include "wire/plugin_answer.h"

#include <string.h>

#include "wire/message.h"

_Static_assert(sizeof(struct plugin_answer) == 8 + 4 * 4 + 2 * 64 + 512,
               "padding in plugin_answer");

enum status plugin_answer_check(const struct plugin_answer *answer, size_t bytes)
{
    const struct message_begin begin = {PLUGIN_ANSWER_MAGIC, PLUGIN_ANSWER_VERSION};
    enum status status =
        message_check("answer about a plug-in", begin, sizeof *answer, answer, bytes);
    if (status != STATUS_OK)
        return status;
    if (!memchr(answer->name, '\0', sizeof answer->name) ||
        !memchr(answer->plugin_version, '\0', sizeof answer->plugin_version) ||
        !memchr(answer->error, '\0', sizeof answer->error))
        return status_set(STATUS_PROTOCOL, "answer about a plug-in: a text has no end");
    return STATUS_OK;
}
