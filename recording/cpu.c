#include "recording/cpu.h"

#include <sys/resource.h>
#include <time.h>

#include "common/clock.h"

void cpu_read(struct cpu_reading *out)
{
    struct rusage usage;
    struct timespec cpu;
    *out = (struct cpu_reading){.wall_ns = clock_now_ns()};
    /* The clock counts nanoseconds, rusage's times may count ticks. */
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
        out->cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        out->voluntary = (uint64_t)usage.ru_nvcsw;
        out->involuntary = (uint64_t)usage.ru_nivcsw;
    }
}

struct shm_cpu cpu_between(const struct cpu_reading *begin, const struct cpu_reading *end,
                           uint64_t iterations)
{
    return (struct shm_cpu){
        .wall_ns = end->wall_ns - begin->wall_ns,
        .cpu_ns = end->cpu_ns - begin->cpu_ns,
        .voluntary = end->voluntary - begin->voluntary,
        .involuntary = end->involuntary - begin->involuntary,
        .iterations = iterations,
    };
}
