/*
 * What the calling thread has used of a CPU, read twice: before a worker's window and after it.
 */
#pragma once

#include "shm/shm.h"

struct cpu_reading {
    uint64_t wall_ns, cpu_ns;
    uint64_t voluntary, involuntary; /* context switches: to wait, and because others wanted it */
};

/* Three system calls: not in the timed path. */
void cpu_read(struct cpu_reading *out);

/* From begin to end, in which so many iterations were done. */
struct shm_cpu cpu_between(const struct cpu_reading *begin, const struct cpu_reading *end,
                           uint64_t iterations);
