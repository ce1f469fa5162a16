/*
 * The lines of a results file, one after the other, through a buffer that grows to the longest
 * line: however long the file is, no more of it is in memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RESULTS_LINE_BYTES_MAX (16u << 20)

struct results_lines {
    int fd; /* -1: closed */
    const char *path;
    char *buffer;
    size_t capacity;
    size_t begin;    /* of the line asked for next */
    size_t scanned;  /* no line end before this */
    size_t end;      /* of what has been read */
    uint64_t offset; /* in the file, of the line asked for next */
};

#define RESULTS_LINES_NONE                                                                         \
    (struct results_lines)                                                                         \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

struct results_line {
    const char *text;
    size_t bytes; /* without the line end */
    uint64_t offset;
};

enum results_line_kind {
    RESULTS_LINE_WHOLE,
    RESULTS_LINE_NONE,      /* the file ends here */
    RESULTS_LINE_UNFINISHED /* or within a line without an end */
};

/* The path must outlive the lines. STATUS_NOT_FOUND, STATUS_SYSTEM. */
enum status results_lines_open(const char *path, struct results_lines *out);

/* The same of a file that is open for reading, from its begin; results_lines_close() leaves fd
 * open. STATUS_SYSTEM. */
enum status results_lines_of(int fd, const char *path, struct results_lines *out);

/* The next line, valid until the next call; line is set for a whole one alone. STATUS_SYSTEM: it
 * cannot be read. STATUS_USAGE: it is longer than any of ours; the text names no file. */
enum status results_lines_next(struct results_lines *lines, struct results_line *line,
                               enum results_line_kind *kind);

void results_lines_close(struct results_lines *lines);
