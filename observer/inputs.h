/*
 * Whether a thread does the same work for each of its inputs, or for each few, however seldom it
 * waits: a training that copies its batches without a wait, for example, and looks at its loss now
 * and then. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "observer/period.h"

/* Work repeats after this many inputs at most: those of a step, or of the batches whose gradients
 * it adds up. */
#define INPUTS_MOST 32

/* An input, and the launches after the one before it. */
struct input {
    uint64_t bytes, work;
};

/* Work that may repeat after as many inputs as the turn is long: */
struct input_turn {
    unsigned alike; /* inputs like those a turn before */
    uint64_t usual; /* work of most turns, if it is that of more than half */
    unsigned votes; /* by how many those are more than the others */
};

struct inputs {
    struct input last[INPUTS_MOST];           /* input number i at i % INPUTS_MOST */
    unsigned count;                           /* of inputs with work before them */
    unsigned copies;                          /* to the GPU, of any size */
    uint64_t launches;                        /* of the thread, when it copied in last */
    struct input_turn turns[INPUTS_MOST + 1]; /* by their length; the first is unused */
};

/* A copy to the GPU, and all launches until then. */
void inputs_add(struct inputs *inputs, uint64_t bytes, uint64_t launches);

/* Whether an iteration that was found has several turns of inputs with the same work each; if it
 * has a result of more than a few numbers, turns that each iteration interrupts are parts of it. */
bool inputs_part(const struct inputs *inputs, const struct mark *iteration, bool answers);
