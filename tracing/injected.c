#include "tracing/injected.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "wire/program.h"

/* Between the looks at what the workers have published; and how long after the stop those get that
 * hang in an iteration. */
#define LOOK_NS (2 * NS_PER_MS)
#define PUBLISH_NS (30 * NS_PER_S)

static struct {
    const struct shm *shm;
    unsigned process;
} injected;

static bool have_published(void)
{
    for (unsigned i = 0; i < shm_slots(injected.shm->header); i++) {
        const struct shm_slot *slot = shm_slot_at(injected.shm, injected.process, i);
        uint32_t state = atomic_load(&slot->state);
        if (state != SHM_STATE_DONE && state != SHM_STATE_FAILED)
            return false;
    }
    return true;
}

static void *deliver_after_stop(void *argument)
{
    shm_stop_wait(injected.shm);
    uint64_t deadline_ns = clock_now_ns() + PUBLISH_NS;
    while (!have_published() && clock_now_ns() < deadline_ns)
        clock_sleep_until(clock_now_ns() + LOOK_NS);
    activities_close();
    return argument;
}

enum status injected_begin(const struct trace_buffer *buffer, unsigned process,
                           const struct shm *shm)
{
    pthread_t thread;
    sigset_t all, before;
    const char *cupti = getenv(OBSERVER_CUPTI_VARIABLE);
    enum status status = activities_open(cupti && *cupti ? cupti : NULL, buffer, process, shm);
    if (status != STATUS_OK)
        return status;
    injected.shm = shm;
    injected.process = process;
    atexit(activities_close);
    /* The program's signals are for its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, deliver_after_stop, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return status_set(STATUS_SYSTEM, "cannot start the thread that ends the trace: %s",
                          strerror(error));
    pthread_detach(thread);
    return STATUS_OK;
}
