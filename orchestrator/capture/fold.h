/*
 * What an iteration does several times in a row: the layers of a model, or its answer word by word.
 * Pure functions.
 */
#pragma once

#include "orchestrator/capture/iteration.h"

/*
 * The same iteration with repeats, up to `depth` within each other: what stands between a step of
 * STEP_REPEAT, which has its times as bytes, and one of STEP_END is the mean of all times. Kernels
 * of one name and block repeat each other where their durations and blocks are near, and copies of
 * as many bytes. *out is to be released, and has no more steps. STATUS_MEMORY.
 */
enum status capture_fold(const struct captured_iteration *iteration, unsigned depth,
                         struct captured_iteration *out);
