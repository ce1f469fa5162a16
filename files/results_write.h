/*
 * Writing a results file: one record a line, whole or not at all, on disk before the call returns.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/status.h"

struct results_writer {
    int fd; /* -1: nothing is written */
    const char *path;
    long long whole_bytes; /* up to the last whole line */
    bool regular;          /* a regular file: can be cut back and flushed */
};

/* Makes the file. It must not exist: STATUS_USAGE, and the text names --resume. A
 * device or pipe is opened as it is. The path must outlive the writer. */
enum status results_create(const char *path, struct results_writer *out);

/* Opens an existing file to go on behind whole_bytes; an unfinished line there is cut off. */
enum status results_append(const char *path, long long whole_bytes, struct results_writer *out);

/* Writes one record. On an error (a full disk) the file is cut back to its last whole line. */
enum status results_write(struct results_writer *writer, const json_t *record);

void results_close(struct results_writer *writer);
