#include "wire/probe.h"

#include <string.h>

#include "wire/message.h"

_Static_assert(sizeof(struct worker_probe) == 8 + 4 * 4 + 8 + 64 + 256, "padding in worker_probe");

enum status worker_probe_check(const struct worker_probe *probe, size_t bytes)
{
    const struct message_begin begin = {WORKER_PROBE_MAGIC, WORKER_PROBE_VERSION};
    enum status status = message_check("probe", begin, sizeof *probe, probe, bytes);
    if (status != STATUS_OK)
        return status;
    if (!memchr(probe->uuid, '\0', sizeof probe->uuid) ||
        !memchr(probe->error, '\0', sizeof probe->error))
        return status_set(STATUS_PROTOCOL, "probe: a text has no end");
    return STATUS_OK;
}
