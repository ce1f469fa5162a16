/*
 * The private directory of one run: mode 0700, freshly made, held by a lock for its life.
 *
 *   DIR/mps    pipe directory of the private daemon
 *   DIR/log    its log, and what it prints
 *   DIR/off    an empty pipe directory: a process that is given this one cannot find any daemon
 *   DIR/lock   locked while its owner lives
 *   DIR/state, DIR/guard
 *              only of a daemon that goes on by itself: its record (mps/state.h), and the socket
 *              on which its guard is asked to stop it
 *
 * Links are not followed, neither for DIR itself nor inside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/* Its name is this and six more characters. */
#define MPS_DIRECTORY_PREFIX "mpsweep-"
#define MPS_DIRECTORY_NAME_LENGTH (sizeof MPS_DIRECTORY_PREFIX - 1 + 6)

/* The daemon's socket must fit sockaddr_un, its own suffix included. */
#define MPS_DIRECTORY_MOST 75

struct mps_directory {
    char path[MPS_DIRECTORY_MOST + 1];
    int fd;         /* the directory itself; close-on-exec; -1 when there is none */
    int lock_fd;    /* close-on-exec; -1 when there is none */
    bool was_there; /* an empty directory of the user's: it is emptied, not removed */
};

/* The places for one, in the order in which they are tried: $XDG_RUNTIME_DIR and $TMPDIR where they
 * are absolute paths, /tmp, /dev/shm and /var/tmp. Returns how many. */
#define MPS_DIRECTORY_BASES 5
size_t mps_directory_bases(const char *bases[MPS_DIRECTORY_BASES]);

/* Makes one under the first of its places that can be written, is short enough and is safe: no
 * other user may write or own it, unless it is sticky; before that, removes those of this user
 * there whose owners are gone: what holds nothing but our files, and a lock that is free. */
enum status mps_directory_make(struct mps_directory *out);

/* Makes one at a path: where nothing is, in an empty directory of this user that no other user may
 * enter, or where one of ours was abandoned. STATUS_BUSY: its owner lives. STATUS_USAGE names what
 * else is in the way. */
enum status mps_directory_make_at(const char *path, struct mps_directory *out);

/* Takes over one of ours whose owner is gone, to look at it or to remove it: the lock is then ours.
 * STATUS_BUSY: its owner lives. */
enum status mps_directory_adopt(const char *path, struct mps_directory *out);

/* Paths of the directories in the places above that hold a record of a daemon that goes on by
 * itself (state), of this user. At most capacity; count may be more. */
void mps_directory_find_kept(char (*paths)[MPS_DIRECTORY_MOST + 1], size_t capacity, size_t *count);

/* Removes it with all it holds, following no link, and lets go of the lock. One that
 * another process removed before is not an error; one that was moved away is emptied, and what
 * stands under its path now is left alone, which is STATUS_SYSTEM. */
enum status mps_directory_remove(struct mps_directory *directory);
