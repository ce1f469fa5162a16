/*
 * The one clock: CLOCK_MONOTONIC in nanoseconds, shared by all processes of a machine.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* Inline, because it stands in the timed path: one vDSO call and a multiplication. Other clocks are
 * those of CPU time. 0: the clock cannot be read. */
static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* A moment or a duration in the form that system calls take. */
struct timespec clock_timespec(uint64_t ns);

/* Milliseconds from now until a deadline, rounded up, 0 if it has passed; the form that poll()
 * takes. At most INT_MAX. */
int clock_remaining_ms(uint64_t deadline_ns);

/* Sleeps until a moment of the clock; returns at once if it has passed. Not woken by signals. */
void clock_sleep_until(uint64_t when_ns);

/* Computes until the calling thread has used this CPU time. */
void clock_burn(uint64_t cpu_ns);

/* From now on the calling thread sleeps for as long as it asks: by default the kernel adds up to 50
 * microseconds. */
void clock_sleep_exactly(void);

/* Wall-clock time as ISO 8601 in UTC ("2026-01-31T08:00:00Z"). */
void clock_wall_iso8601(char text[32]);

/* The same in local time and with milliseconds, as logs have it ("2026-01-31 08:00:00.123"). */
void clock_wall_local(char text[32]);

/* Local time as part of a file's name ("20260131-080000"). */
void clock_wall_stamp(char text[32]);

/* What the calling thread does with its time: it runs, is ready to run and waits for a CPU, or
 * sleeps, which is the rest. */
struct thread_time {
    uint64_t wall_ns; /* of clock_now_ns() */
    uint64_t cpu_ns;
    uint64_t delay_ns; /* ready to run, without a CPU; 0 where the kernel does not count it */
};

/* Several system calls: not in the timed path. */
void thread_time_read(struct thread_time *out);

/* What it slept between two readings. */
uint64_t thread_time_asleep_ns(const struct thread_time *begin, const struct thread_time *end);

/* The time between two readings in which it did not wait for a CPU. The fields of a reading are of
 * different moments: a wait between them can exceed the wall time, and then this is 0. */
uint64_t thread_time_undelayed_ns(const struct thread_time *begin, const struct thread_time *end);
