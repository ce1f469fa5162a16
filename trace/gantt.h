/*
 * The rows of a Gantt picture of a trace, as gnuplot data: what each worker's thread called, and
 * below it what each of its streams did.
 */
#pragma once

#include <stdio.h>

#include "trace/timeline.h"

/* More are not drawn; those of the first workers are. */
#define GANTT_ROWS_MOST 64

/*
 * Writes n_rows and labels, from and to (milliseconds since the begin of the trace), and the data
 * block $rows: row, begin, end, kind, in milliseconds. Boxes of a kind that lie closer together
 * than can be seen are one. *left_out is how many rows are not drawn. STATUS_USAGE: there is
 * nothing to draw; STATUS_MEMORY.
 */
enum status gantt_write(FILE *file, const struct timeline *timeline, uint32_t *left_out);
