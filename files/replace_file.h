/*
 * Writing a file that is there as a whole or not at all: under another name in the same directory,
 * flushed to the disk, renamed, and then read again, since a shared file system may say that it has
 * done what it has not.
 *
 * Order of calls: replace_file_begin, _write any number of times, then _commit, or _abandon; either
 * releases everything.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct replace_file {
    int fd;
    const char *path;
    char temporary[PATH_MAX];
    char *buffer;
    size_t filled;
    uint64_t bytes, digest; /* of what has left the buffer */
};

/* STATUS_USAGE: the path exists, unless force; or it is no regular file. STATUS_SYSTEM: there can
 * be no file in its directory. The path must outlive the file. */
enum status replace_file_begin(const char *path, bool force, struct replace_file *out);

/* STATUS_SYSTEM: a full disk, say; then abandon it. */
enum status replace_file_write(struct replace_file *file, const char *bytes, size_t count);

/*
 * Puts the file in its place, for good when this returns STATUS_OK. Without force, one that has
 * come there in the meantime stays, which is STATUS_USAGE. STATUS_PROTOCOL: the file system claimed
 * to have renamed it, and something else is there; the text names what there is.
 */
enum status replace_file_commit(struct replace_file *file, bool force);

/* Nothing is left of it. */
void replace_file_abandon(struct replace_file *file);
