#include "mps/reply.h"

#include <limits.h>

enum status mps_reply_pids(const char *reply, size_t bytes, pid_t *pids, size_t capacity,
                           size_t *count)
{
    size_t found = 0;
    size_t at = 0;
    while (at < bytes) {
        while (at < bytes && (reply[at] == '\n' || reply[at] == ' ' || reply[at] == '\r'))
            at++;
        if (at == bytes)
            break;
        long long value = 0;
        size_t begin = at;
        for (; at < bytes && reply[at] >= '0' && reply[at] <= '9'; at++) {
            value = value * 10 + (reply[at] - '0');
            if (value > INT_MAX)
                return status_set(STATUS_PROTOCOL, "the MPS daemon named an impossible process");
        }
        if (at == begin || value == 0 ||
            (at < bytes && reply[at] != '\n' && reply[at] != ' ' && reply[at] != '\r'))
            return status_set(STATUS_PROTOCOL, "the MPS daemon's reply is no list of processes");
        if (found == capacity)
            return status_set(STATUS_PROTOCOL, "the MPS daemon named more than %zu processes",
                              capacity);
        pids[found++] = (pid_t)value;
    }
    *count = found;
    return STATUS_OK;
}
