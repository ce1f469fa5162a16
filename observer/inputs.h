/*
 * Whether a thread does the same work for each of its inputs, however seldom it waits: a training
 * that copies its batches without a wait, for example, and looks at its loss now and then. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "observer/period.h"

struct inputs {
    uint64_t bytes, work;  /* of the last input, and the launches after the one before it */
    uint64_t usual;        /* such work of most of them, if they are more than half */
    unsigned votes;        /* by how many those are more than the others */
    uint64_t launches;     /* of the thread, when it copied in last */
    unsigned copies;       /* to the GPU, of any size */
    unsigned parts, alike; /* inputs with work before them, and those that are like the last */
};

/* A copy to the GPU, and all launches until then. */
void inputs_add(struct inputs *inputs, uint64_t bytes, uint64_t launches);

/* Whether an iteration that was found has several inputs with the same work each. */
bool inputs_part(const struct inputs *inputs, const struct mark *iteration);
