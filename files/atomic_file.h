/*
 * Files that appear whole or not at all.
 *
 * Order of calls: atomic_file_open(), any output to the stream, then atomic_file_commit() or
 * atomic_file_discard(); either releases everything. Until the commit, the place keeps what it
 * held. Meanwhile signals that ask this process to end wait, so that only one of its threads may
 * have such files open. One that is killed in between leaves nothing, where the file system can
 * make files without a name; elsewhere, or while it replaces a file, at most a file beside the
 * place, named ".FILE.PID-N".
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/status.h"

enum atomic_file_flags {
    ATOMIC_FILE_REPLACE = 1, /* replaces a regular file; without this, what exists stays */
    ATOMIC_FILE_VERIFY = 2,  /* for file systems that machines share: see atomic_file_publish() */
};

/* Where the stream writes to. stdio forgets why a write failed before the last one. */
struct atomic_file_sink {
    int fd;
    int error; /* of the first write that failed; 0: none did */
};

struct atomic_file {
    FILE *stream; /* to write to; commit reports its errors */
    struct atomic_file_sink *sink;
    char *path;      /* its place */
    char *temporary; /* its name until then; NULL: it has none */
    unsigned flags;
};

/* Whether a file may come to path, as atomic_file_open() finds it: for what takes long to make.
 * STATUS_USAGE: something exists that may not be replaced. STATUS_SYSTEM: what exists is not
 * writable, or no file can be made there. */
enum status atomic_file_check(const char *path, unsigned flags);

/* Statuses as of atomic_file_check(); STATUS_SYSTEM: no file can be made there. Sets *out only on
 * success. */
enum status atomic_file_open(const char *path, unsigned flags, struct atomic_file *out);

/* Writes bytes to the stream. STATUS_SYSTEM: it could not; the caller discards the file. */
enum status atomic_file_write(struct atomic_file *file, const char *bytes, size_t count);

/* Flushes the file to disk and gives it its name. STATUS_USAGE: something of that name exists by
 * now. STATUS_SYSTEM: it could not be written. After an error nothing is left of it, unless
 * ATOMIC_FILE_VERIFY finds it under a name that the error then contains. */
enum status atomic_file_commit(struct atomic_file *file);

/* Writes value, indented, and a line end; then as atomic_file_commit(). */
enum status atomic_file_commit_json(struct atomic_file *file, const json_t *value);

/* Removes what was written. */
void atomic_file_discard(struct atomic_file *file);

/* Commits the file if its writer's status is STATUS_OK; else discards it, and returns that. */
enum status atomic_file_end(struct atomic_file *file, enum status status);

/*
 * Renames a finished file to a new name, on file systems that several machines share. No process
 * may write to the file any more; it is flushed to disk first.
 *
 * There a rename may claim success when it failed, or failure when it succeeded: a server whose
 * answer was lost carries the request out twice, and finds no file the second time. So its answer
 * does not count: the new name must be that very file, as long as it was, and the old name gone.
 *
 * STATUS_USAGE: something exists under the new name. STATUS_NOT_FOUND: the file is missing.
 * STATUS_SYSTEM: the rename failed; the text contains where the file is now.
 */
enum status atomic_file_publish(const char *from, const char *to);

/* Whether atomic_file_publish() can do that, for what takes long to make; nothing needs to be under
 * either name yet. STATUS_USAGE: both are one name, on different file systems, or that of a device
 * or pipe. STATUS_SYSTEM: no file can be made there. */
enum status atomic_file_check_publish(const char *from, const char *to);

/* Renames a file or directory, if nothing but an empty directory is in its place. Gives 0, or -1
 * and errno: EEXIST where something is. Safe against races on file systems that can refuse. */
int atomic_rename_new(const char *from, const char *to);

/* Writes path's folder to folder: "." without one. It is shorter than path, or "." or "/". */
void atomic_file_folder(const char *path, char *folder, size_t size);

/* Whether a file can be made in the folder of path; STATUS_SYSTEM: none can. */
enum status atomic_file_check_folder(const char *path);
