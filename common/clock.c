#include "common/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int clock_remaining_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_now_ns();
    if (now >= deadline_ns)
        return 0;
    uint64_t ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

void clock_sleep_until(uint64_t when_ns)
{
    struct timespec when = {
        .tv_sec = (time_t)(when_ns / NS_PER_S),
        .tv_nsec = (long)(when_ns % NS_PER_S),
    };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
        ;
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
