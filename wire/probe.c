#include "wire/probe.h"

#include <string.h>

_Static_assert(sizeof(struct worker_probe) == 8 + 4 * 4 + 2 * 8 + 64 + 256,
               "padding in worker_probe");

enum status worker_probe_check(const struct worker_probe *probe, size_t bytes)
{
    if (bytes != sizeof *probe)
        return status_set(STATUS_PROTOCOL, "probe: %zu bytes instead of %zu", bytes, sizeof *probe);
    if (probe->magic != WORKER_PROBE_MAGIC)
        return status_set(STATUS_PROTOCOL, "probe: wrong magic number");
    if (probe->version != WORKER_PROBE_VERSION)
        return status_set(STATUS_PROTOCOL, "probe: version %u instead of %d", probe->version,
                          WORKER_PROBE_VERSION);
    if (!memchr(probe->uuid, '\0', sizeof probe->uuid) ||
        !memchr(probe->error, '\0', sizeof probe->error))
        return status_set(STATUS_PROTOCOL, "probe: a text has no end");
    return STATUS_OK;
}
