#include "recording/cpu.h"

#include <sys/resource.h>
#include <time.h>

#include "common/clock.h"
#include "common/process_tree.h"

void cpu_read(struct cpu_source source, struct cpu_reading *out)
{
    struct rusage usage;
    if (source.read) {
        uint64_t wall_ns, used_ns;
        source.read(source.data, &wall_ns, &used_ns);
        *out = (struct cpu_reading){
            .thread = {.wall_ns = wall_ns, .cpu_ns = used_ns / *source.threads},
            .process_cpu_ns = used_ns};
        return;
    }
    /* This clock counts nanoseconds, rusage's times may count ticks. */
    *out = (struct cpu_reading){.process_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID)};
    thread_time_read(&out->thread);
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        out->voluntary = (uint64_t)usage.ru_nvcsw;
        out->involuntary = (uint64_t)usage.ru_nivcsw;
    }
}

/* What processes have used that end, and are not waited for, is lost. */
static uint64_t since(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

struct shm_cpu cpu_between(const struct cpu_reading *begin, const struct cpu_reading *end,
                           uint64_t iterations)
{
    const uint64_t wall_ns = end->thread.wall_ns - begin->thread.wall_ns;
    return (struct shm_cpu){
        .wall_ns = wall_ns,
        .cpu_ns = since(begin->thread.cpu_ns, end->thread.cpu_ns),
        .delay_ns = end->thread.delay_ns - begin->thread.delay_ns,
        .voluntary = end->voluntary - begin->voluntary,
        .involuntary = end->involuntary - begin->involuntary,
        .iterations = iterations,
        .process_wall_ns = wall_ns,
        .process_cpu_ns = since(begin->process_cpu_ns, end->process_cpu_ns),
    };
}

int cpu_bind_thread(const uint64_t cpus[WORK_CPUS / 64])
{
    return work_mask_any(cpus, WORK_CPUS) ? process_bind_thread(0, cpus, WORK_CPUS / 8) : 0;
}
