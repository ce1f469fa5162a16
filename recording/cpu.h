/*
 * The CPUs that a worker may use, and what its thread and its process have used of them: read
 * twice, before a worker's window and after it.
 */
#pragma once

#include "common/clock.h"
#include "shm/shm.h"

struct cpu_reading {
    struct thread_time thread;
    uint64_t process_cpu_ns;
    uint64_t voluntary, involuntary; /* context switches: to wait, and because others wanted it */
};

/* Whose CPU times are read: those of the calling thread and its process, or others', as if each of
 * the threads had used its part: the calling one only sends them requests. */
struct cpu_source {
    /* Gives what the others have used, and when that was; NULL: the calling thread. */
    void (*read)(void *data, uint64_t *wall_ns, uint64_t *used_ns);
    void *data;
    const uint32_t *threads; /* their number, at any time */
};

/* Several system calls: not in the timed path. */
void cpu_read(struct cpu_source source, struct cpu_reading *out);

/* The difference of two readings, between which the thread did `iterations`. */
struct shm_cpu cpu_between(const struct cpu_reading *begin, const struct cpu_reading *end,
                           uint64_t iterations);

/* Pins the calling thread to cpus; an all-zero mask leaves it alone. Returns 0 or an errno. */
int cpu_bind_thread(const uint64_t cpus[WORK_CPUS / 64]);
