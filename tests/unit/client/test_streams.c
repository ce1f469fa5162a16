/* The client library with several handles a thread, one for each of its streams. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/clock.h"
#include "job/rate.h"
#include "tests/unit/client/rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_handle_is_one_of_the_callers_thread),
        cmocka_unit_test(the_last_handle_of_a_thread_waits_for_the_start),
        cmocka_unit_test(each_handle_has_an_iteration_in_flight),
        cmocka_unit_test(a_wait_for_its_own_thread_is_a_failure),
        cmocka_unit_test(handles_that_have_finished_wait_for_the_others),
        cmocka_unit_test(handles_of_a_thread_share_its_planned_starts),
        cmocka_unit_test(one_handle_can_be_polled_for_its_planned_start),
    };
    return cmocka_run_group_tests(tests, make_memory, free_memory);
}
