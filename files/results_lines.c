#include "files/results_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 * 1024)

static enum status make_room(struct results_lines *lines)
{
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->scanned -= lines->begin;
        lines->begin = 0;
    }
    if (lines->capacity - lines->end >= READ_BYTES)
        return STATUS_OK;
    size_t capacity = lines->capacity == 0 ? 2 * READ_BYTES : 2 * lines->capacity;
    char *grown = realloc(lines->buffer, capacity);
    if (grown == NULL)
        return status_set(STATUS_MEMORY, "out of memory reading '%s'", lines->path);
    lines->buffer = grown;
    lines->capacity = capacity;
    return STATUS_OK;
}

enum status results_lines_next(struct results_lines *lines, struct results_line *line,
                               enum results_line_kind *kind)
{
    for (;;) {
        char *newline = NULL;
        if (lines->end > lines->scanned)
            newline = memchr(lines->buffer + lines->scanned, '\n', lines->end - lines->scanned);
        if (newline != NULL) {
            line->text = lines->buffer + lines->begin;
            line->bytes = (size_t)(newline - line->text);
            line->offset = lines->offset;
            lines->offset += line->bytes + 1;
            lines->begin += line->bytes + 1;
            lines->scanned = lines->begin;
            *kind = RESULTS_LINE_WHOLE;
            return STATUS_OK;
        }
        lines->scanned = lines->end;
        if (lines->end - lines->begin > RESULTS_LINE_BYTES_MAX)
            return status_set(STATUS_USAGE, "longer than %u MiB", RESULTS_LINE_BYTES_MAX >> 20);
        enum status status = make_room(lines);
        if (status != STATUS_OK)
            return status;
        ssize_t got = TEMP_FAILURE_RETRY(read(lines->fd, lines->buffer + lines->end, READ_BYTES));
        if (got < 0)
            return status_set(STATUS_SYSTEM, "cannot read '%s': %s", lines->path, strerror(errno));
        if (got == 0) {
            *kind = lines->end > lines->begin ? RESULTS_LINE_UNFINISHED : RESULTS_LINE_NONE;
            return STATUS_OK;
        }
        lines->end += (size_t)got;
    }
}

enum status results_lines_open(const char *path, struct results_lines *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_set(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_SYSTEM,
                          "cannot open '%s': %s", path, strerror(errno));
    *out = (struct results_lines){.fd = fd, .path = path};
    return STATUS_OK;
}

enum status results_lines_of(int fd, const char *path, struct results_lines *out)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || lseek(own, 0, SEEK_SET) != 0) {
        int error = errno;
        if (own >= 0)
            close(own);
        return status_set(STATUS_SYSTEM, "cannot read '%s': %s", path, strerror(error));
    }
    *out = (struct results_lines){.fd = own, .path = path};
    return STATUS_OK;
}

void results_lines_close(struct results_lines *lines)
{
    free(lines->buffer);
    if (lines->fd >= 0)
        close(lines->fd);
    *lines = RESULTS_LINES_NONE;
}
