/*
 * The directory of a deployment while it is written: beside its place, under a name with a dot.
 *
 * Order: open, then files, then close, which gives it its name or, after any failure, removes it.
 * The first failure is kept, and what follows it does nothing, so that only close need be looked
 * at.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/status.h"
#include "orchestrator/emit/deployment.h"

struct emit_output {
    const char *directory; /* as it was given */
    char path[PATH_MAX];   /* where it is to be, without slashes at its end */
    char temporary[PATH_MAX];
    int fd;
    enum status status;
    sigset_t unblocked; /* the mask before */
    bool blocked;
};

/* Writes one file; process counts where there is one for each. */
typedef void emit_writer(FILE *file, const struct deployment *deployment, unsigned process);

/* Whether open would find a free place whose parent can be written. */
enum status emit_output_check(const char *directory);

/* STATUS_USAGE: the place is taken, or no directory can be there. On failure nothing is to close.
 */
enum status emit_output_open(const char *directory, struct emit_output *out);

/* name may be in a folder that emit_output_folder() made. */
void emit_output_file(struct emit_output *output, const char *name, bool executable,
                      emit_writer *writer, const struct deployment *deployment, unsigned process);
void emit_output_folder(struct emit_output *output, const char *name);

/* Copies a script of ours, "emit/mps", as it is. */
void emit_output_copy(struct emit_output *output, const char *data, const char *name,
                      bool executable);

enum status emit_output_close(struct emit_output *output);
