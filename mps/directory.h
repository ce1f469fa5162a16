/*
 * The private directory of one run: mode 0700, freshly made, held by a lock for its life.
 *
 *   DIR/mps   pipe directory of the private daemon
 *   DIR/log   its logs
 *   DIR/off   an empty pipe directory: a process that is given this one cannot find any daemon
 *   DIR/lock  locked while its owner lives
 */
#ifndef MPSWEEP_MPS_DIRECTORY_H
#define MPSWEEP_MPS_DIRECTORY_H

#include "common/status.h"

/* The daemon's socket must fit sockaddr_un, its own suffix included. */
#define MPS_DIRECTORY_MOST 75

struct mps_directory {
    char path[MPS_DIRECTORY_MOST + 1];
    int lock_fd; /* close-on-exec; -1 when there is none */
};

/* Makes one under the first of $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /dev/shm and /var/tmp that can be
 * written and is short enough; before that, removes those of this user there whose owners are
 * gone: what holds nothing but our files, and a lock that is free. */
enum status mps_directory_make(struct mps_directory *out);

/* Removes it with all it holds, following no link, and lets go of the lock. */
enum status mps_directory_remove(struct mps_directory *directory);

/* Removes the tree at path, following no link; for an owner that died. No error if it is gone. */
enum status mps_directory_remove_path(const char *path);

#endif
