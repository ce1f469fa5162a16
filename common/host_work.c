#include "common/host_work.h"

#include <sched.h>

#include "common/clock.h"

#define TOTAL_NS (64 * NS_PER_MS)
#define EACH_LEAST_NS (1 * NS_PER_MS)
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

/* The most in any slice of this time. */
static double best_per_ns(uint64_t turns, uint64_t for_ns)
{
    uint64_t end_ns = clock_now_ns() + for_ns;
    double best = 0.0;
    do {
        uint64_t took_ns = time_ns(turns);
        if (took_ns > 0 && (double)turns / (double)took_ns > best)
            best = (double)turns / (double)took_ns;
    } while (clock_now_ns() < end_ns);
    return best;
}

uint64_t host_work_turns_per_ms(void)
{
    cpu_set_t all;
    uint64_t turns = 1000;
    while (turns < UINT64_MAX / 2 && time_ns(turns) < SLICE_NS)
        turns *= 2;
    int known = sched_getaffinity(0, sizeof all, &all);
    int count = known == 0 ? CPU_COUNT(&all) : 1;
    uint64_t each_ns = TOTAL_NS / (uint64_t)count;
    if (each_ns < EACH_LEAST_NS)
        each_ns = EACH_LEAST_NS;
    double best = best_per_ns(turns, each_ns);
    for (int cpu = 0; cpu < CPU_SETSIZE && known == 0; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (!CPU_ISSET(cpu, &all) || sched_setaffinity(0, sizeof one, &one) != 0)
            continue;
        double found = best_per_ns(turns, each_ns);
        best = found > best ? found : best;
    }
    if (known == 0)
        sched_setaffinity(0, sizeof all, &all);
    return best * (double)NS_PER_MS >= 1.0 ? (uint64_t)(best * (double)NS_PER_MS) : 1;
}
