/*
 * A file that appears whole or not at all, and never in the place of another one.
 *
 * Until it is finished it has no name, so that nothing of it stays behind even after SIGKILL. Where
 * the file system has no files without a name, it has one beside its place that begins with a dot,
 * and only that may stay.
 */
#pragma once

#include <stdio.h>

#include "common/status.h"

struct new_file {
    FILE *stream;     /* to write to; errors may be left to it */
    char *path;       /* its place */
    char *unfinished; /* the name that it has meanwhile; NULL: none */
};

/* Path's folder as text: "." without one. Shorter than the path, or "." or "/". */
void new_file_folder(const char *path, char *folder, size_t size);

/* STATUS_USAGE: it cannot be written there, and why. *out is set only on success, and then one of
 * the next two follows. */
enum status new_file_open(const char *path, struct new_file *out);

/* Gives it its name when all of it is on disk. STATUS_USAGE: it could not be written, or something
 * of that name exists; then nothing is left of it. */
enum status new_file_finish(struct new_file *file);

/* Nothing is left of it. */
void new_file_discard(struct new_file *file);
