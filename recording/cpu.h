/*
 * The CPUs that a worker may use, and what its thread and its process have used of them: read
 * twice, before a worker's window and after it.
 */
#pragma once

#include <sys/types.h>
#include <time.h>

#include "common/clock.h"
#include "shm/shm.h"

struct cpu_reading {
    struct thread_time thread;
    uint64_t process_cpu_ns;
    uint64_t voluntary, involuntary; /* context switches: to wait, and because others wanted it */
};

/* Whose CPU times are read: those of the calling thread and its process, or of another process, as
 * if each of its threads had used its part: the calling one only sends it requests. Processes that
 * it starts do not count. */
struct cpu_source {
    clockid_t clock;         /* of the other process */
    const uint32_t *threads; /* NULL: the calling thread; else their number, at any time */
};

/* Another process; without a clock of it, the calling thread. */
struct cpu_source cpu_source_of(pid_t process, const uint32_t *threads);

/* Several system calls: not in the timed path. */
void cpu_read(struct cpu_source source, struct cpu_reading *out);

/* The difference of two readings, between which the thread did `iterations`. */
struct shm_cpu cpu_between(const struct cpu_reading *begin, const struct cpu_reading *end,
                           uint64_t iterations);

/* Pins the calling thread to cpus; an all-zero mask leaves it alone. Returns 0 or an errno. */
int cpu_bind_thread(const uint64_t cpus[WORK_CPUS / 64]);
