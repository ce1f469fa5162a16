/*
 * Daemons that go on by themselves after 'mpsweep mps start': found, asked and stopped through
 * their guards (mps/guard.h), by any process of the same user.
 */
#pragma once

#include <stdbool.h>

#include "mps/directory.h"
#include "mps/state.h"

struct mps_kept {
    char directory[MPS_DIRECTORY_MOST + 1]; /* absolute */
    struct mps_state state;
    bool guarded;    /* the guard of the record lives */
    bool running;    /* and so does the daemon */
    char ending[80]; /* how the daemon ended by itself, "" if it did not, or if that is unknown */
};

/* Looks at the one in a directory; NULL: the only one in the usual places. STATUS_NOT_FOUND: none
 * there. STATUS_USAGE: several, with their names, or a directory that is not ours. */
enum status mps_kept_find(const char *directory, struct mps_kept *out);

/* Calls take for each one in the usual places whose daemon lives. It asks none of them. */
void mps_kept_each(void (*take)(void *data, const char *directory, const struct mps_state *state),
                   void *data);

/* Ends the daemon and removes the directory. STATUS_BUSY: it has clients, and force was not given.
 * One whose guard is gone is cleared away as well. */
enum status mps_kept_stop(const struct mps_kept *kept, bool force);
