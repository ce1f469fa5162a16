/*
 * What requests send: a file that is the body of them all, or one with a body a line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define BODY_MOST_BYTES (16 << 20)
#define BODIES_MOST_BYTES (256 << 20)

struct body {
    const char *bytes;
    size_t count;
};

struct bodies {
    char *text; /* owned, as is each */
    struct body *each;
    size_t count; /* 0: requests have none */
};

/* Takes all of the file for one body; or, with lines, each line for one, without its end (LF, or
 * CR LF). STATUS_USAGE names the file or the line; STATUS_SYSTEM, STATUS_MEMORY. The caller
 * releases out. */
enum status bodies_read(const char *path, bool lines, struct bodies *out);

/* Fine on a zeroed struct. */
void bodies_release(struct bodies *bodies);

/* The next body of one of `servers` that take them in turn, as cards are dealt; NULL: there is
 * none. Each gets all of them before it gets one again. *place is the server's own, 0 before its
 * first; where the number of servers changes, it goes on behind what it has had. */
const struct body *bodies_next(const struct bodies *bodies, unsigned server, unsigned servers,
                               uint64_t *place);
