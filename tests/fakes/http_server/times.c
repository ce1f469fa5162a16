#include "tests/fakes/http_server/internal.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int timer;
/* Those that wait for a time: a heap with the first one at its top. */
static struct connection *heap[MAX_CONNECTIONS];
static int heap_size;
static int64_t armed_ns;

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void place_at(int place, struct connection *connection)
{
    heap[place] = connection;
    connection->place = place;
}

static void sift(int place)
{
    struct connection *moved = heap[place];
    for (; place > 0 && heap[(place - 1) / 2]->due_ns > moved->due_ns; place = (place - 1) / 2)
        place_at(place, heap[(place - 1) / 2]);
    for (;;) {
        int child = 2 * place + 1;
        if (child + 1 < heap_size && heap[child + 1]->due_ns < heap[child]->due_ns)
            child++;
        if (child >= heap_size || heap[child]->due_ns >= moved->due_ns)
            break;
        place_at(place, heap[child]);
        place = child;
    }
    place_at(place, moved);
}

void wait_until(struct connection *connection, int64_t due_ns)
{
    connection->due_ns = due_ns;
    place_at(heap_size++, connection);
    sift(connection->place);
}

void wait_no_more(struct connection *connection)
{
    int place = connection->place;
    if (place < 0)
        return;
    connection->place = -1;
    if (place == --heap_size)
        return;
    place_at(place, heap[heap_size]);
    sift(place);
}

void arm_timer(void)
{
    if (heap_size == 0 || heap[0]->due_ns == armed_ns)
        return;
    armed_ns = heap[0]->due_ns;
    struct itimerspec when = {
        .it_value = {.tv_sec = armed_ns / NS_PER_S, .tv_nsec = armed_ns % NS_PER_S}};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) != 0)
        die("timerfd_settime");
}

void take_times(void)
{
    uint64_t count;
    if (read(timer, &count, sizeof count) < 0 && errno != EAGAIN)
        die("timer");
    armed_ns = 0;
    int64_t now = now_ns();
    while (heap_size > 0 && heap[0]->due_ns <= now)
        resume(heap[0]);
}
