/* The client library against shared memory that the test has made: one process of four threads, or
 * of two with two streams each. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/program.h"
#include "common/clock.h"
#include "job/rate.h"
#include "include/mpsweep/client.h"
#include "shm/shm.h"

#define THREADS 4

static struct shm shm;
static int event_fd = -1;

static const struct shm_settings closed_loop = {.slice_ns = 3600 * NS_PER_S,
                                                .workload = WORKLOAD_PROGRAM};

static int make_memory(void **state)
{
    char line[80];
    (void)state;
    event_fd = eventfd(0, EFD_NONBLOCK);
    if (shm_create(&closed_loop, 1, THREADS, &shm) != STATUS_OK || event_fd < 0)
        return -1;
    snprintf(line, sizeof line, "%d %d %d %d 0", CLIENT_PROTOCOL, shm.fd, event_fd, (int)getpid());
    return setenv("LINE", line, 1);
}

static int free_memory(void **state)
{
    (void)state;
    shm_release(&shm);
    return close(event_fd);
}

/* A fresh assignment, as if nothing had been. */
static void lay_out(const struct shm_settings *settings)
{
    setenv(CLIENT_VARIABLE, getenv("LINE"), 1);
    shm_assign(&shm);
    shm_reset(&shm, settings, 1, THREADS / (settings->streams ? settings->streams : 1));
}

static struct shm_slot *slot_of(unsigned thread)
{
    return shm_slot_at(&shm, 0, thread);
}

static uint32_t state_of(unsigned thread)
{
    return atomic_load(&slot_of(thread)->state);
}

static struct mpsweep *running(const struct shm_settings *settings)
{
    lay_out(settings);
    struct mpsweep *worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
    assert_non_null(worker);
    shm_gate_open(&shm, clock_now_ns());
    assert_int_equal(mpsweep_ready(worker), 1);
    assert_int_equal(state_of(0), SHM_STATE_RUNNING);
    return worker;
}

static void without_mpsweep_nothing_happens(void **state)
{
    (void)state;
    unsetenv(CLIENT_VARIABLE);
    assert_null(mpsweep_open(0));
    assert_int_equal(mpsweep_ready(NULL), 1);
    assert_int_equal(mpsweep_begin(NULL), 1);
    assert_int_equal(mpsweep_try_begin(NULL), 1);
    assert_int_equal(mpsweep_end(NULL), 1);
    assert_int_equal(mpsweep_stop_requested(NULL), 0);
    assert_int_equal(mpsweep_check(NULL, 0, "wrong"), 0);
    assert_int_equal(mpsweep_bind(NULL), 0);
    mpsweep_cancel(NULL);
    mpsweep_fail(NULL, "wrong");
    mpsweep_close(NULL);
    assert_int_equal(mpsweep_client_abi(), MPSWEEP_CLIENT_ABI);
}

static void iterations_count_and_have_no_phases(void **state)
{
    (void)state;
    uint64_t events = 0;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(read(event_fd, &events, sizeof events), sizeof events);
    assert_int_equal(events, 2); /* ready, running */
    for (int i = 0; i < 10; i++) {
        assert_int_equal(mpsweep_begin(worker), 1);
        assert_int_equal(atomic_load(&slot_of(0)->at_work), 1);
        assert_int_equal(mpsweep_end(worker), 1);
        assert_int_equal(atomic_load(&slot_of(0)->at_work), 0);
    }
    assert_int_equal(atomic_load(&slot_of(0)->opened), SHM_OPENED_BEGUN);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_stop_requested(worker), 1);
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    /* A worker that continues changes nothing. */
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_int_equal(mpsweep_end(worker), 0);
    mpsweep_close(worker);
    const struct shm_slot *slot = slot_of(0);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(slot->iterations, 10);
    assert_int_equal(atomic_load(&slot->heartbeat), 10);
    assert_int_equal(slot->latency.count, 10);
    assert_int_equal(slot->launch.count + slot->sync.count + slot->h2d.count + slot->d2h.count, 0);
    assert_int_equal(atomic_load(&slot->slices[0]), 10 * SHM_ITERATION_UNITS);
    assert_int_equal(slot->cpu.iterations, 10);
}

static void *iterate_and_burn(void *argument)
{
    struct timespec used = {0};
    assert_int_equal(mpsweep_begin(argument), 1);
    while (used.tv_nsec < (long)(20 * NS_PER_MS))
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_end(argument), 0);
    return NULL;
}

/* A pool of threads takes turns: which of them to ask is not known, but what all of them used is.
 */
static void a_worker_of_several_threads_has_the_processs_cpu_time(void **state)
{
    (void)state;
    pthread_t other;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(mpsweep_begin(worker), 1);
    assert_int_equal(mpsweep_end(worker), 1);
    assert_int_equal(pthread_create(&other, NULL, iterate_and_burn, worker), 0);
    pthread_join(other, NULL);
    mpsweep_close(worker);
    const struct shm_cpu *cpu = &slot_of(0)->cpu;
    assert_int_equal(slot_of(0)->iterations, 2);
    assert_int_equal(cpu->iterations + cpu->wall_ns + cpu->cpu_ns, 0);
    assert_true(cpu->process_cpu_ns >= 20 * NS_PER_MS);
    assert_true(cpu->process_wall_ns >= 20 * NS_PER_MS);
}

/* A result may be checked when everything is over: the point still gets no number. */
static void what_is_wrong_after_the_stop_counts(void **state)
{
    (void)state;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(mpsweep_begin(worker), 1);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_end(worker), 0);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(mpsweep_check(worker, 0, "the last one is wrong"), 0);
    assert_int_equal(state_of(0), SHM_STATE_FAILED);
    assert_non_null(strstr(slot_of(0)->error, "the last one is wrong"));
    mpsweep_close(worker);
}

static void the_end_of_an_iteration_publishes_at_the_stop(void **state)
{
    (void)state;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(mpsweep_begin(worker), 1);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(state_of(0), SHM_STATE_RUNNING);
    assert_int_equal(mpsweep_end(worker), 0);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(slot_of(0)->iterations, 1);
    mpsweep_close(worker);
}

static void the_first_iteration_says_ready(void **state)
{
    (void)state;
    lay_out(&closed_loop);
    struct mpsweep *worker = mpsweep_open(2);
    assert_int_equal(state_of(2), SHM_STATE_STARTING);
    assert_int_equal(mpsweep_try_begin(worker), -1);
    shm_gate_open(&shm, clock_now_ns());
    assert_int_equal(mpsweep_begin(worker), 1);
    assert_int_equal(state_of(2), SHM_STATE_RUNNING);
    assert_int_equal(mpsweep_end(worker), 1);
    assert_int_equal(mpsweep_try_begin(worker), 1);
    shm_stop(&shm, UINT64_MAX);
    mpsweep_close(worker);
    assert_int_equal(state_of(2), SHM_STATE_DONE);
}

static void a_stop_before_the_start_is_heard(void **state)
{
    (void)state;
    lay_out(&closed_loop);
    struct mpsweep *worker = mpsweep_open(0);
    shm_stop(&shm, 0);
    assert_int_equal(mpsweep_ready(worker), 0);
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    mpsweep_close(worker);
}

static void what_is_cancelled_does_not_count(void **state)
{
    (void)state;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(mpsweep_begin(worker), 1);
    mpsweep_cancel(worker);
    assert_int_equal(atomic_load(&slot_of(0)->at_work), 0);
    assert_int_equal(mpsweep_end(worker), 1); /* of nothing */
    assert_int_equal(slot_of(0)->iterations, 0);
    shm_stop(&shm, UINT64_MAX);
    mpsweep_close(worker);
}

static void *stop_when_finished(void *argument)
{
    uint64_t deadline_ns = clock_now_ns() + 60 * NS_PER_S;
    while (state_of(0) != SHM_STATE_FINISHED && clock_now_ns() < deadline_ns)
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    shm_stop(&shm, UINT64_MAX);
    return argument;
}

static void fixed_work_waits_for_the_others(void **state)
{
    (void)state;
    pthread_t thread;
    struct shm_settings settings = closed_loop;
    settings.iterations = 3;
    struct mpsweep *worker = running(&settings);
    assert_int_equal(pthread_create(&thread, NULL, stop_when_finished, NULL), 0);
    unsigned done = 0;
    while (mpsweep_begin(worker)) {
        assert_int_equal(mpsweep_end(worker), 1);
        done++;
    }
    pthread_join(thread, NULL);
    assert_int_equal(done, 3);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(slot_of(0)->iterations, 3);
    assert_true(slot_of(0)->work_end_ns > slot_of(0)->work_begin_ns);
    mpsweep_close(worker);
}

static void an_open_loop_waits_for_the_planned_start(void **state)
{
    (void)state;
    struct shm_settings settings = closed_loop;
    settings.rate_units = 100 * RATE_UNITS * THREADS; /* each worker every 10 ms */
    struct mpsweep *worker = running(&settings);
    uint64_t start_ns = atomic_load(&shm.header->start_ns);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(mpsweep_begin(worker), 1);
        assert_true(clock_now_ns() >= start_ns + i * 10 * NS_PER_MS);
        assert_int_equal(mpsweep_end(worker), 1);
    }
    shm_stop(&shm, 55 * NS_PER_MS);
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_int_equal(slot_of(0)->latency.count, 3);
    assert_int_equal(slot_of(0)->backlog, 3); /* at 30, 40 and 50 ms */
    mpsweep_close(worker);
}

/* What stands in a failed slot. */
static void assert_failed(unsigned thread, const char *text)
{
    assert_int_equal(state_of(thread), SHM_STATE_FAILED);
    assert_string_equal(slot_of(thread)->error, text);
    assert_int_equal(slot_of(thread)->status, STATUS_WORKER);
}

static void the_first_failure_stays(void **state)
{
    (void)state;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(mpsweep_check(worker, 1, "fine"), 1);
    assert_int_equal(state_of(0), SHM_STATE_RUNNING);
    assert_int_equal(mpsweep_check(worker, 0, "element 7\nis \xff"), 0);
    mpsweep_fail(worker, "another");
    assert_int_equal(mpsweep_begin(worker), 0);
    mpsweep_close(worker);
    assert_failed(0, "failed in thread 0: element 7?is ?");
}

static void a_handle_that_is_closed_early_is_a_failure(void **state)
{
    (void)state;
    mpsweep_close(running(&closed_loop));
    assert_failed(0, "failed in thread 0: its handle was closed before mpsweep asked to stop");
    lay_out(&closed_loop);
    mpsweep_close(mpsweep_open(1));
    assert_failed(1, "failed in thread 1: its handle was closed before it was ready");
}

static void a_slot_that_another_has_failed_stays_so(void **state)
{
    (void)state;
    struct mpsweep *worker = running(&closed_loop);
    shm_slot_fail(slot_of(0), STATUS_WORKER, 0, "from outside");
    shm_stop(&shm, 0);
    assert_int_equal(mpsweep_begin(worker), 0);
    mpsweep_close(worker);
    assert_failed(0, "from outside");
}

static void handles_are_those_of_the_layout(void **state)
{
    (void)state;
    struct mpsweep *workers[THREADS];
    lay_out(&closed_loop);
    assert_null(mpsweep_open(THREADS));
    assert_failed(0, "opened handle 4, and has handles 0 to 3 in this layout (MPSWEEP_THREADS=4, "
                     "MPSWEEP_STREAMS=1)");
    lay_out(&closed_loop);
    assert_null(mpsweep_open(-2));
    assert_int_equal(state_of(0), SHM_STATE_FAILED);
    lay_out(&closed_loop);
    workers[1] = mpsweep_open(1);
    assert_null(mpsweep_open(1));
    assert_failed(0, "opened handle 1 twice");
    mpsweep_close(workers[1]);
    lay_out(&closed_loop);
    for (int t = 0; t < THREADS; t++)
        assert_non_null(workers[t] = mpsweep_open(MPSWEEP_NEXT_THREAD));
    assert_null(mpsweep_open(MPSWEEP_NEXT_THREAD));
    assert_failed(0, "opened more than the 4 handles of its threads (MPSWEEP_THREADS=4, "
                     "MPSWEEP_STREAMS=1)");
    for (int t = 0; t < THREADS; t++)
        mpsweep_close(workers[t]);
    lay_out(&closed_loop);
    assert_null(mpsweep_open_abi(MPSWEEP_CLIENT_ABI + 1, 0));
    assert_failed(0, "was compiled for version 2 of libmpsweep-client, and found version 1");
}

/* -- several handles a thread ------------------------------------------------------------------ */

#define STREAMS 2

static const struct shm_settings with_streams = {
    .slice_ns = 3600 * NS_PER_S, .workload = WORKLOAD_PROGRAM, .streams = STREAMS};

/* Opens those of the first thread. */
static void open_thread(const struct shm_settings *settings, struct mpsweep *handles[STREAMS])
{
    lay_out(settings);
    for (unsigned i = 0; i < STREAMS; i++)
        assert_non_null(handles[i] = mpsweep_open(MPSWEEP_NEXT_THREAD));
}

static void start_thread(const struct shm_settings *settings, struct mpsweep *handles[STREAMS])
{
    open_thread(settings, handles);
    assert_int_equal(mpsweep_ready(handles[0]), 1);
    shm_gate_open(&shm, clock_now_ns());
    assert_int_equal(mpsweep_ready(handles[1]), 1);
}

static void close_thread(struct mpsweep *handles[STREAMS])
{
    for (unsigned i = 0; i < STREAMS; i++)
        mpsweep_close(handles[i]);
}

static void *open_next(void *out)
{
    *(struct mpsweep **)out = mpsweep_open(MPSWEEP_NEXT_THREAD);
    return NULL;
}

static void the_next_handle_is_one_of_the_callers_thread(void **state)
{
    (void)state;
    pthread_t thread;
    struct mpsweep *handles[STREAMS], *others[STREAMS];
    open_thread(&with_streams, handles);
    assert_int_equal(atomic_load(&slot_of(0)->opened), SHM_OPENED_TAKEN);
    assert_int_equal(atomic_load(&slot_of(1)->opened), SHM_OPENED_TAKEN);
    close_thread(handles);
    /* Another thread does not take what is left of this one's. */
    lay_out(&with_streams);
    handles[0] = mpsweep_open(MPSWEEP_NEXT_THREAD);
    assert_int_equal(pthread_create(&thread, NULL, open_next, &others[0]), 0);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&slot_of(1)->opened), SHM_OPENED_NOT);
    assert_int_equal(atomic_load(&slot_of(2)->opened), SHM_OPENED_TAKEN);
    handles[1] = mpsweep_open(MPSWEEP_NEXT_THREAD);
    assert_int_equal(atomic_load(&slot_of(1)->opened), SHM_OPENED_TAKEN);
    assert_non_null(others[1] = mpsweep_open(3));
    assert_null(mpsweep_open(MPSWEEP_NEXT_THREAD));
    assert_failed(0, "opened more than the 4 handles of its threads (MPSWEEP_THREADS=2, "
                     "MPSWEEP_STREAMS=2)");
    close_thread(handles);
    close_thread(others);
}

static void the_last_handle_of_a_thread_waits_for_the_start(void **state)
{
    (void)state;
    struct mpsweep *handles[STREAMS];
    open_thread(&with_streams, handles);
    assert_int_equal(mpsweep_ready(handles[0]), 1);
    assert_int_equal(state_of(0), SHM_STATE_READY);
    assert_int_equal(mpsweep_try_begin(handles[0]), -1);
    assert_int_equal(mpsweep_try_begin(handles[1]), -1);
    assert_int_equal(state_of(1), SHM_STATE_READY);
    shm_gate_open(&shm, clock_now_ns() + 3600 * NS_PER_S);
    assert_int_equal(mpsweep_try_begin(handles[0]), -1);
    shm_gate_open(&shm, clock_now_ns());
    assert_int_equal(mpsweep_ready(handles[1]), 1);
    assert_int_equal(state_of(1), SHM_STATE_RUNNING);
    assert_int_equal(mpsweep_try_begin(handles[0]), 1);
    assert_int_equal(state_of(0), SHM_STATE_RUNNING);
    assert_int_equal(mpsweep_end(handles[0]), 1);
    shm_stop(&shm, UINT64_MAX);
    close_thread(handles);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(state_of(1), SHM_STATE_DONE);
}

static void each_handle_has_an_iteration_in_flight(void **state)
{
    (void)state;
    struct mpsweep *handles[STREAMS];
    start_thread(&with_streams, handles);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mpsweep_try_begin(handles[0]), 1);
        assert_int_equal(mpsweep_try_begin(handles[1]), 1);
        assert_int_equal(mpsweep_end(handles[0]), 1);
        assert_int_equal(atomic_load(&slot_of(1)->at_work), 1);
        assert_int_equal(mpsweep_end(handles[1]), 1);
    }
    assert_int_equal(mpsweep_begin(handles[1]), 1);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_end(handles[1]), 0);
    assert_int_equal(mpsweep_try_begin(handles[0]), 0);
    close_thread(handles);
    assert_int_equal(slot_of(0)->iterations, 5);
    assert_int_equal(slot_of(1)->iterations, 6);
    /* The thread's CPU time is for the iterations of both. */
    assert_int_equal(slot_of(0)->cpu.iterations, 11);
    assert_int_equal(slot_of(1)->cpu.iterations, 0);
    assert_int_equal(slot_of(1)->cpu.wall_ns, 0);
}

static void a_wait_for_its_own_thread_is_a_failure(void **state)
{
    (void)state;
    struct mpsweep *handles[STREAMS];
    struct shm_settings fixed = with_streams;
    open_thread(&with_streams, handles);
    assert_int_equal(mpsweep_begin(handles[1]), 0);
    assert_failed(1, "failed in thread 0, stream 1: mpsweep_begin() would wait for ever: 1 of the "
                     "2 handles of its thread are not ready (MPSWEEP_STREAMS=2)");
    close_thread(handles);
    fixed.iterations = 1;
    for (int closes = 0; closes < 2; closes++) {
        start_thread(&fixed, handles);
        assert_int_equal(mpsweep_begin(handles[0]), 1);
        assert_int_equal(mpsweep_end(handles[0]), 1);
        assert_int_equal(state_of(0), SHM_STATE_FINISHED);
        if (closes)
            mpsweep_close(handles[0]);
        else
            assert_int_equal(mpsweep_begin(handles[0]), 0);
        assert_failed(0, closes ? "failed in thread 0, stream 0: mpsweep_close() would wait for "
                                  "ever: 1 of the 2 handles of its thread have work left "
                                  "(MPSWEEP_STREAMS=2)"
                                : "failed in thread 0, stream 0: mpsweep_begin() would wait for "
                                  "ever: 1 of the 2 handles of its thread have work left "
                                  "(MPSWEEP_STREAMS=2)");
        mpsweep_close(handles[1]);
        if (!closes)
            mpsweep_close(handles[0]);
    }
}

static void handles_that_have_finished_wait_for_the_others(void **state)
{
    (void)state;
    struct mpsweep *handles[STREAMS];
    struct shm_settings fixed = with_streams;
    fixed.iterations = 2;
    start_thread(&fixed, handles);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(mpsweep_try_begin(handles[0]), 1);
        assert_int_equal(mpsweep_end(handles[0]), 1);
    }
    assert_int_equal(mpsweep_try_begin(handles[0]), -1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(mpsweep_begin(handles[1]), 1);
        assert_int_equal(mpsweep_end(handles[1]), 1);
    }
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_begin(handles[1]), 0);
    assert_int_equal(mpsweep_try_begin(handles[0]), 0);
    close_thread(handles);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(slot_of(0)->iterations, 2);
    assert_int_equal(slot_of(1)->iterations, 2);
}

static void handles_of_a_thread_share_its_planned_starts(void **state)
{
    (void)state;
    struct mpsweep *handles[STREAMS];
    struct shm_settings open = with_streams;
    open.rate_units = 100 * RATE_UNITS * THREADS / STREAMS; /* each thread every 10 ms */
    start_thread(&open, handles);
    uint64_t start_ns = atomic_load(&shm.header->start_ns);
    assert_int_equal(mpsweep_try_begin(handles[0]), 1);
    int begun;
    while ((begun = mpsweep_try_begin(handles[1])) < 0)
        assert_true(atomic_load(&slot_of(1)->idle_until_ns) == UINT64_MAX);
    assert_int_equal(begun, 1);
    assert_true(clock_now_ns() >= start_ns + 10 * NS_PER_MS);
    assert_int_equal(atomic_load(&slot_of(1)->idle_until_ns), 0);
    assert_int_equal(mpsweep_end(handles[0]), 1);
    assert_int_equal(mpsweep_begin(handles[0]), 1);
    assert_true(clock_now_ns() >= start_ns + 20 * NS_PER_MS);
    assert_int_equal(mpsweep_end(handles[1]), 1);
    assert_int_equal(mpsweep_end(handles[0]), 1);
    shm_stop(&shm, 55 * NS_PER_MS);
    assert_int_equal(mpsweep_try_begin(handles[1]), 0);
    assert_int_equal(mpsweep_begin(handles[0]), 0);
    close_thread(handles);
    assert_int_equal(slot_of(0)->latency.count, 2);
    assert_int_equal(slot_of(1)->latency.count, 1);
    assert_int_equal(slot_of(0)->backlog + slot_of(1)->backlog, 3); /* at 30, 40 and 50 ms */
}

static void one_handle_can_be_polled_for_its_planned_start(void **state)
{
    (void)state;
    struct shm_settings settings = closed_loop;
    settings.rate_units = 100 * RATE_UNITS * THREADS;
    struct mpsweep *worker = running(&settings);
    assert_int_equal(mpsweep_try_begin(worker), 1);
    assert_int_equal(mpsweep_end(worker), 1);
    while (mpsweep_try_begin(worker) < 0)
        continue;
    assert_true(clock_now_ns() >= atomic_load(&shm.header->start_ns) + 10 * NS_PER_MS);
    assert_int_equal(mpsweep_end(worker), 1);
    shm_stop(&shm, 25 * NS_PER_MS);
    assert_int_equal(mpsweep_try_begin(worker), 0);
    mpsweep_close(worker);
    assert_int_equal(slot_of(0)->latency.count, 2);
    assert_int_equal(slot_of(0)->backlog, 1);
}

static void a_thread_is_bound_only_when_asked(void **state)
{
    (void)state;
    cpu_set_t before, after;
    struct mpsweep *worker = running(&closed_loop);
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    slot_of(0)->cpus[cpu / 64] = UINT64_C(1) << cpu % 64;
    assert_int_equal(mpsweep_bind(worker), 0);
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    assert_int_equal(CPU_COUNT(&after), 1);
    assert_true(CPU_ISSET(cpu, &after));
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    shm_stop(&shm, 0);
    mpsweep_close(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_mpsweep_nothing_happens),
        cmocka_unit_test(iterations_count_and_have_no_phases),
        cmocka_unit_test(a_worker_of_several_threads_has_the_processs_cpu_time),
        cmocka_unit_test(what_is_wrong_after_the_stop_counts),
        cmocka_unit_test(the_end_of_an_iteration_publishes_at_the_stop),
        cmocka_unit_test(the_first_iteration_says_ready),
        cmocka_unit_test(a_stop_before_the_start_is_heard),
        cmocka_unit_test(what_is_cancelled_does_not_count),
        cmocka_unit_test(fixed_work_waits_for_the_others),
        cmocka_unit_test(an_open_loop_waits_for_the_planned_start),
        cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(a_handle_that_is_closed_early_is_a_failure),
        cmocka_unit_test(a_slot_that_another_has_failed_stays_so),
        cmocka_unit_test(handles_are_those_of_the_layout),
        cmocka_unit_test(the_next_handle_is_one_of_the_callers_thread),
        cmocka_unit_test(the_last_handle_of_a_thread_waits_for_the_start),
        cmocka_unit_test(each_handle_has_an_iteration_in_flight),
        cmocka_unit_test(a_wait_for_its_own_thread_is_a_failure),
        cmocka_unit_test(handles_that_have_finished_wait_for_the_others),
        cmocka_unit_test(handles_of_a_thread_share_its_planned_starts),
        cmocka_unit_test(one_handle_can_be_polled_for_its_planned_start),
        cmocka_unit_test(a_thread_is_bound_only_when_asked),
    };
    return cmocka_run_group_tests(tests, make_memory, free_memory);
}
