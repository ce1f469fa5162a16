#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int clock_remaining_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_now_ns();
    if (now >= deadline_ns)
        return 0;
    uint64_t ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

void clock_sleep_until(uint64_t when_ns)
{
    const struct timespec when = clock_timespec(when_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
        ;
}

void clock_burn(uint64_t cpu_ns)
{
    uint64_t until_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
        ;
}

void clock_sleep_exactly(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
}

void clock_wall_iso8601(char text[32])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void clock_wall_local(char text[32])
{
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(text, 32, "%Y-%m-%d %H:%M:%S", &local);
    snprintf(text + strlen(text), 5, ".%03d", (int)(now.tv_nsec / 1000000));
}

void clock_wall_stamp(char text[32])
{
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, 32, "%Y%m%d-%H%M%S", &local);
}

/* proc(5), schedstat: the calling thread's time on CPUs, its time in their queues, and its turns.
 */
static uint64_t run_delay_ns(void)
{
    char text[96] = "";
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    const char *second = length > 0 ? strchr(text, ' ') : NULL;
    return second ? strtoull(second, NULL, 10) : 0;
}

void thread_time_read(struct thread_time *out)
{
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    *out = (struct thread_time){
        .wall_ns = clock_now_ns(), .cpu_ns = cpu_ns, .delay_ns = run_delay_ns()};
}

uint64_t thread_time_asleep_ns(const struct thread_time *begin, const struct thread_time *end)
{
    uint64_t awake_ns = end->cpu_ns - begin->cpu_ns + (end->delay_ns - begin->delay_ns);
    uint64_t wall_ns = end->wall_ns - begin->wall_ns;
    return wall_ns > awake_ns ? wall_ns - awake_ns : 0;
}

uint64_t thread_time_undelayed_ns(const struct thread_time *begin, const struct thread_time *end)
{
    uint64_t delay_ns = end->delay_ns - begin->delay_ns;
    uint64_t wall_ns = end->wall_ns - begin->wall_ns;
    return wall_ns > delay_ns ? wall_ns - delay_ns : 0;
}
