/*
 * The two listings of a trace, one line a record, in the order in which they began.
 */
#pragma once

#include <stdio.h>

#include "trace/timeline.h"

/* What the GPU did: when, for how long, the shape of kernels, size, rate and memories of copies. */
void listing_print_gpu(FILE *out, const struct timeline *timeline);

/* What was called: when, for how long, by whom, and what it started. */
void listing_print_calls(FILE *out, const struct timeline *timeline);
