/*
 * Writing a results file: one record a line, whole or not at all, on disk before the call returns.
 *
 * A file has one writer at a time, which holds its lock from before the first byte is read until
 * results_close(). A shared file system may have no locks; there a writer that finds the file
 * longer or shorter than it left it writes nothing more.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/status.h"
#include "files/results_read.h"

struct results_writer {
    int fd; /* -1: nothing is written */
    const char *path;
    long long whole_bytes; /* up to the last whole line */
    long long bytes;       /* of the file: more while it ends in a torn line */
    bool regular;          /* a regular file: can be cut back and flushed */
};

#define RESULTS_WRITER_NONE                                                                        \
    (struct results_writer)                                                                        \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* STATUS_USAGE: a file exists at path, and not a device or pipe; the text is "'PATH' exists: give "
 * and the advice. STATUS_SYSTEM: none can be made there. */
enum status results_check_new(const char *path, const char *advice);

/* Makes the file. It must not exist: statuses and advice as of results_check_new(). A device or
 * pipe is opened as it is; STATUS_USAGE: nothing reads a FIFO. The path must outlive the writer. */
enum status results_create(const char *path, const char *advice, struct results_writer *out);

/* Takes the lock of a regular file that exists, and neither reads nor changes it. The path must
 * outlive the writer. STATUS_BUSY: another process writes to it. STATUS_NOT_FOUND, STATUS_USAGE: it
 * cannot be opened for writing. */
enum status results_claim(const char *path, struct results_writer *out);

/* STATUS_USAGE: what is at path is not a regular file. For a caller that
 * only reads what results_continue() would continue: reading a FIFO may wait for ever. */
enum status results_check_regular(const char *path);

/* Opens an existing file to go on behind its last whole line: takes its lock, then reads it as
 * results_load_begun() does, with the fields that are needed. The first results_write() cuts off an
 * unfinished line; until then the file stays as it is. Sets both outputs only on success. Statuses
 * as of results_claim() and results_load(); STATUS_USAGE: it is not a regular file. */
enum status results_continue(const char *path, results_field *needed, struct results *results,
                             struct results_writer *out);

/* Writes one record. On an error (a full disk) the file is cut back to its last whole line.
 * STATUS_BUSY: another process has written to the file, or removed it; this one leaves it alone. */
enum status results_write(struct results_writer *writer, const json_t *record);

/* Removes a file that results_create() made, unless another process has written to it or has moved
 * it; then as results_close(). Devices and pipes stay. */
void results_discard(struct results_writer *writer);

void results_close(struct results_writer *writer);
