#include "tests/unit/client/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/program.h"
#include "common/clock.h"

struct shm shm;
int event_fd = -1;
struct trace_buffer traced = TRACE_BUFFER_EMPTY;

const struct shm_settings closed_loop = {.slice_ns = 3600 * NS_PER_S, .workload = WORKLOAD_PROGRAM};

int make_memory(void **state)
{
    char line[80];
    (void)state;
    event_fd = eventfd(0, EFD_NONBLOCK);
    if (shm_create(&closed_loop, 1, THREADS, &shm) != STATUS_OK || event_fd < 0 ||
        trace_buffer_create(1, THREADS, 1000, &traced) != STATUS_OK)
        return -1;
    snprintf(line, sizeof line, "%d %d %d %d 0 %d", CLIENT_PROTOCOL, shm.fd, event_fd,
             (int)getpid(), traced.fd);
    return setenv("LINE", line, 1);
}

int free_memory(void **state)
{
    (void)state;
    shm_release(&shm);
    trace_buffer_release(&traced);
    return close(event_fd);
}

void lay_out(const struct shm_settings *settings)
{
    setenv(CLIENT_VARIABLE, getenv("LINE"), 1);
    shm_assign(&shm);
    shm_reset(&shm, settings, 1, THREADS / (settings->streams ? settings->streams : 1));
    /* As if it were another process, too. */
    for (unsigned i = 0; i < THREADS; i++)
        atomic_store(&slot_of(i)->opened, SHM_OPENED_NOT);
}

struct shm_slot *slot_of(unsigned thread)
{
    return shm_slot_at(&shm, 0, thread);
}

uint32_t state_of(unsigned thread)
{
    return atomic_load(&slot_of(thread)->state);
}

struct mpsweep *running(const struct shm_settings *settings)
{
    lay_out(settings);
    struct mpsweep *worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
    assert_non_null(worker);
    shm_gate_open(&shm, clock_now_ns());
    assert_int_equal(mpsweep_ready(worker), 1);
    assert_int_equal(state_of(0), SHM_STATE_RUNNING);
    return worker;
}

void assert_failed(unsigned thread, const char *text)
{
    assert_int_equal(state_of(thread), SHM_STATE_FAILED);
    assert_string_equal(slot_of(thread)->error, text);
    assert_int_equal(slot_of(thread)->status, STATUS_WORKER);
}
