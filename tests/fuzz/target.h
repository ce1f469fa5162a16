/*
 * A fuzz target: one file fuzz_NAME.c that defines both of these. It is linked with replay.c for
 * `make check`, and with libFuzzer for `make fuzz`; inputs to begin with are in corpus/NAME.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/text.h"

/* NAME. */
extern const char fuzz_target_name[];

/* Feeds one input to what is tested, and aborts where a promise is broken. Returns 0. The name is
 * libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A promise. */
static inline void check(bool holds)
{
    if (!holds)
        abort();
}

/* The error of what failed; what reports it makes one line of it that can be shown. */
static inline void check_error(const char *text)
{
    check(*text != '\0');
}

/* What was printed has only lines of text. It is changed. */
static inline void check_printed(char *text, size_t bytes)
{
    check(strlen(text) == bytes);
    for (char *line = text, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        check(text_is_displayable(line));
    }
}

/* A file of these bytes; its name is written to path. The caller closes it. */
#define FUZZ_PATH 32
static inline int fuzz_file(const void *data, size_t bytes, char path[FUZZ_PATH])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && lseek(fd, 0, SEEK_SET) == 0);
    snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

/* The bytes as a text, which the caller frees. */
static inline char *fuzz_text(const void *data, size_t bytes)
{
    char *text = strndup(data, bytes);
    check(text != NULL);
    return text;
}
