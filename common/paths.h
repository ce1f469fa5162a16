/*
 * Where this program's own files are: the same build works in its tree, installed, and moved.
 *
 * An environment variable, where set, is the only place looked in. Otherwise, in this order: the
 * directory of the executable, the build and the source tree if the executable lies in the build
 * tree, the installation that the executable lies in (../share, ../libexec), for data the directory
 * above it, which is the source tree of a build tree that was moved, and the installation that was
 * configured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/status.h"

/* Kinds of files, each with the variable that names its directory. */
enum path_kind {
    PATH_DATA,    /* "plots/throughput.gp", of MPSWEEP_DATA_DIR */
    PATH_HELPER,  /* a program that only we start, "mpsweep-worker", of MPSWEEP_LIBEXEC_DIR */
    PATH_LIBRARY, /* one that programs of users load, of MPSWEEP_LIBEXEC_DIR, too */
};

/* Finds a regular file; a program is one that we may execute. out (PATH_MAX bytes always suffice)
 * is set only on success. STATUS_NOT_FOUND: the text lists where we looked. */
enum status path_find(enum path_kind kind, const char *name, char *out, size_t size);

/* The last name of a path, without its directory; points into the path. */
const char *path_file_name(const char *path);

/* Whether two of what stat() and the like give are of one file. */
static inline bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether two paths lead to one file, also by way of links. False where either leads to none. */
static inline bool same_file_at(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && same_file(&a, &b);
}
