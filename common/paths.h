/*
 * Where this program's own files are: the same build works in its tree, installed, and moved.
 *
 * An environment variable, where set, is the only place looked in. Otherwise, in this order: the
 * directory of the executable, the build and the source tree if the executable lies in the build
 * tree, the installation that the executable lies in (../share, ../libexec), and the installation
 * that was configured.
 */
#pragma once

#include <stddef.h>

#include "common/status.h"

/* A data file, e.g. "plots/throughput.gp"; the variable is MPSWEEP_DATA_DIR. out (PATH_MAX bytes
 * always suffice) is set only on success. STATUS_NOT_FOUND: the text lists where we looked. */
enum status path_find_data(const char *relative, char *out, size_t size);

/* A program that only we start, e.g. "mpsweep-worker"; the variable is MPSWEEP_LIBEXEC_DIR. It is
 * a regular file that we may execute. */
enum status path_find_helper(const char *program, char *out, size_t size);

/* A library that programs of users load; the variable is MPSWEEP_LIBEXEC_DIR, too. */
enum status path_find_library(const char *library, char *out, size_t size);

/* The last name of a path, without its directory; points into the path. */
const char *path_file_name(const char *path);
