/*
 * Free ports for programs that listen. They are held against other runs of mpsweep on the machine,
 * which look for some at the same time; not against programs that mpsweep does not start.
 */
#pragma once

#include "common/status.h"

struct ports {
    unsigned first; /* 0: there are none */
    unsigned count;
    int *held; /* a descriptor each, which the kernel closes with this process */
};

/* The lowest port from `first` on that is free, as are the count - 1 after it: no program listens
 * on them at any address of this machine, and no other run holds them. The caller releases out.
 * STATUS_NOT_FOUND: there are none up to 65535. STATUS_MEMORY. */
enum status ports_find(unsigned first, unsigned count, struct ports *out);

/* Fine on a zeroed struct. */
void ports_release(struct ports *ports);
