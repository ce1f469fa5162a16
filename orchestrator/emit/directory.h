/*
 * The directory of a deployment while it is written: beside its place, under a name with a dot.
 *
 * Order: open, then files, then close, which gives it its name or, after any failure, removes it.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/status.h"

struct emit_output {
    const char *directory; /* as it was given */
    char path[PATH_MAX];   /* where it is to be, without slashes at its end */
    char temporary[PATH_MAX];
    int fd;
    sigset_t unblocked; /* the mask before */
    bool blocked;
};

/* Whether open would find a free place whose parent can be written. */
enum status emit_output_check(const char *directory);

/* STATUS_USAGE: the place is taken, or no directory can be there. On failure nothing is to close.
 */
enum status emit_output_open(const char *directory, struct emit_output *out);

/* Writes one file; its name may have a folder, which is made. STATUS_INTERRUPTED: a signal came. */
enum status emit_output_file(const struct emit_output *output, const char *name, bool executable,
                             const char *text);

/* status: of all that was written. Returns that, or why the directory could not get its name. */
enum status emit_output_close(struct emit_output *output, enum status status);
