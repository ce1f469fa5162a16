/*
 * A workload plug-in as a file: loading it, and finding out whether it keeps to the ABI of
 * include/mpsweep/workload.h. Runs code of the file: in a worker process only, never in the
 * orchestrator.
 *
 * Errors name what is wrong and what would be right, but not the file, which callers know by the
 * name that the user gave it.
 */
#pragma once

#include <stdbool.h>

#include "common/status.h"
#include "include/mpsweep/workload.h"

#define PLUGIN_TEXT 64

struct plugin {
    const struct mpsweep_workload *calls;        /* in the library, which stays loaded */
    int (*completed)(void *instance, int *more); /* NULL: it has none, or does not know of it */
    unsigned capabilities;                       /* MPSWEEP_WORKLOAD_... */
    char name[PLUGIN_TEXT];
    char version[PLUGIN_TEXT]; /* "" without */
};

/* The file at an absolute path. STATUS_NOT_FOUND: there is none. STATUS_USAGE: it is not a plug-in.
 * *out is set only on success. */
enum status plugin_load(const char *path, const char *options, struct plugin *out);

/* What of that is not about files: number, size, callbacks and description. */
enum status plugin_validate(const struct mpsweep_workload *calls, const char *options,
                            struct plugin *out);
