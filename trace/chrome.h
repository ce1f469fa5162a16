/*
 * A trace as the JSON that Perfetto (ui.perfetto.dev) and chrome://tracing open: the "JSON Object
 * Format" of the Trace Event Format.
 *
 * Each worker process is two of its processes: one whose threads are the callers, one whose threads
 * are the streams. On a thread, slices nest or do not overlap. An arrow goes from each call to each
 * piece of work that it started. Times are microseconds from the begin of the trace.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "trace/timeline.h"

/* other: an object that is put beside the events as otherData. STATUS_MEMORY; errors of the file
 * are left to ferror(). */
enum status chrome_write(FILE *out, const struct timeline *timeline, const char *gpu,
                         const json_t *other);
