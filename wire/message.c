#include "wire/message.h"

#include <string.h>

enum status message_check(const char *name, struct message_begin begin, size_t whole_bytes,
                          const void *data, size_t bytes)
{
    struct message_begin got = {0};
    if (bytes != whole_bytes)
        return status_set(STATUS_PROTOCOL, "%s: %zu bytes instead of %zu", name, bytes,
                          whole_bytes);
    memcpy(&got, data, sizeof got);
    if (got.magic != begin.magic)
        return status_set(STATUS_PROTOCOL, "%s: wrong magic number", name);
    if (got.version != begin.version)
        return status_set(STATUS_PROTOCOL, "%s: version %u instead of %u", name, got.version,
                          begin.version);
    return STATUS_OK;
}
