/*
 * Planned starts from a file: a number of seconds a line, in ascending order, as the log of a
 * service has them. Their shape counts, not how fast they are.
 */
#pragma once

#include <stddef.h>

#include "common/status.h"

/* Starts of a cycle that is repeated: each of them a number of mean gaps after its begin, from 0 to
 * less than count. */
struct arrivals {
    double *at; /* owned */
    size_t count;
};

#define ARRIVALS_MOST 1000000

/* STATUS_USAGE names the file or the line; STATUS_SYSTEM, STATUS_MEMORY. The caller releases out.
 */
enum status arrivals_read(const char *path, struct arrivals *out);

/* Fine on a zeroed struct. */
void arrivals_release(struct arrivals *arrivals);
