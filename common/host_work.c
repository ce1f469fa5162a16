#include "common/host_work.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "common/clock.h"

#define TOTAL_NS (64 * NS_PER_MS)
/* A core that was idle takes its time to get to its clock. */
#define EACH_LEAST_NS (4 * NS_PER_MS)
/* Short enough that nothing interrupts most of them, long enough for the clock. */
#define SLICE_NS (100 * NS_PER_US)

/* Keeps the compiler from knowing what the values are. */
#define UNKNOWN(value) __asm__ volatile("" : "+r"(value))

void host_work(uint64_t turns)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    for (uint64_t i = 0; i < turns; i++) {
        a += i;
        b ^= a;
        c += i * 3;
        d ^= i << 2;
        e += d;
        f ^= i + 5;
        g += i ^ 7;
        h ^= i;
        UNKNOWN(a);
        UNKNOWN(b);
        UNKNOWN(c);
        UNKNOWN(d);
        UNKNOWN(e);
        UNKNOWN(f);
        UNKNOWN(g);
        UNKNOWN(h);
    }
}

static uint64_t time_ns(uint64_t turns)
{
    uint64_t begin_ns = clock_now_ns();
    host_work(turns);
    return clock_now_ns() - begin_ns;
}

/* One may be interrupted. */
static uint64_t faster_of_two_ns(uint64_t turns)
{
    uint64_t one_ns = time_ns(turns), other_ns = time_ns(turns);
    return one_ns < other_ns ? one_ns : other_ns;
}

/* The most in a millisecond, in any slice of this time. */
static uint64_t best_of(uint64_t turns, uint64_t for_ns)
{
    uint64_t end_ns = clock_now_ns() + for_ns, least_ns = UINT64_MAX;
    do {
        uint64_t took_ns = time_ns(turns);
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    } while (clock_now_ns() < end_ns);
    uint64_t best = turns * NS_PER_MS / (least_ns ? least_ns : 1);
    return best ? best : 1;
}

uint64_t host_work_turns_per_ms(uint64_t *each, unsigned cpus)
{
    cpu_set_t all;
    uint64_t turns = 1000, most = 0;
    while (faster_of_two_ns(turns) < SLICE_NS)
        turns *= 2;
    bool known = sched_getaffinity(0, sizeof all, &all) == 0;
    uint64_t part_ns = TOTAL_NS / (uint64_t)(known ? CPU_COUNT(&all) : 1);
    if (part_ns < EACH_LEAST_NS)
        part_ns = EACH_LEAST_NS;
    if (each)
        memset(each, 0, cpus * sizeof *each);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && known; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (!CPU_ISSET(cpu, &all) || sched_setaffinity(0, sizeof one, &one) != 0)
            continue;
        uint64_t found = best_of(turns, part_ns);
        most = found > most ? found : most;
        if (each && cpu < cpus)
            each[cpu] = found;
    }
    if (known)
        sched_setaffinity(0, sizeof all, &all);
    return most ? most : best_of(turns, TOTAL_NS);
}
