/*
 * CUDA_VISIBLE_DEVICES, as the emulated driver and the emulated MPS daemon take it: a list of
 * emulated GPUs by their UUIDs, in the order in which they get their numbers. As with the real
 * driver, what is unknown ends the list. A text that does not begin with such a UUID is about the
 * real GPUs of the machine and changes nothing here.
 */
#pragma once

#include <stdint.h>

#include "emul/model/state.h"

struct visible {
    uint32_t count;
    uint32_t devices[EMUL_DEVICES_MAX]; /* numbers of the machine's */
    bool chosen;                        /* some of the machine's, not simply all */
};

/* text: the variable, or NULL; devices: how many the machine has, at most EMUL_DEVICES_MAX. */
struct visible visible_parse(const char *text, uint32_t devices);
