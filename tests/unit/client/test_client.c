/* The client library against shared memory that the test has made. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/program.h"
#include "common/clock.h"
#include "job/rate.h"
#include "tests/unit/client/rig.h"

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
    assert_int_equal(atomic_load(&slot->completed), 10);
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
static void a_trace_has_its_iterations(void **state)
{
    (void)state;
    uint64_t before = trace_buffer_count(&traced, 0), begun_ns = clock_now_ns();
    struct mpsweep *worker = running(&closed_loop);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mpsweep_begin(worker), 1);
        assert_int_equal(mpsweep_end(worker), 1);
    }
    assert_int_equal(mpsweep_begin(worker), 1);
    mpsweep_cancel(worker);
    const struct trace_thread *thread = trace_buffer_threads(&traced, 0);
    assert_int_equal(thread->id, gettid());
    assert_int_equal(trace_buffer_process(&traced, 0)->from_ns, atomic_load(&shm.header->start_ns));
    assert_int_equal(trace_buffer_count(&traced, 0) - before, 2);
    const struct trace_record *records = trace_buffer_records(&traced, 0) + before;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(records[i].kind, TRACE_ITERATION);
        assert_int_equal(records[i].thread, gettid());
        assert_in_range(records[i].begin_ns, begun_ns, records[i].end_ns);
    }
    assert_in_range(records[1].begin_ns, records[0].end_ns, clock_now_ns());
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_in_range(thread->end_ns, records[1].end_ns, clock_now_ns());
    mpsweep_close(worker);
}

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
        cmocka_unit_test(a_trace_has_its_iterations),
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
        cmocka_unit_test(a_thread_is_bound_only_when_asked),
    };
    return cmocka_run_group_tests(tests, make_memory, free_memory);
}
