/* What the client library does between two assignments of a program. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sched.h>
#include <cmocka.h>

#include "common/clock.h"
#include "job/rate.h"
#include "tests/unit/client/rig.h"

/* The next assignment, as the orchestrator hands it out. */
static void assign(const struct shm_settings *settings, unsigned processes, unsigned threads,
                   bool keeps)
{
    shm_reset(&shm, settings, processes, threads);
    shm.header->keeps = keeps;
    shm_gate_open(&shm, clock_now_ns());
    shm_assign(&shm);
}

/* The first one: to a program that has yet to open its handles. */
static void assign_first(const struct shm_settings *settings, unsigned threads)
{
    /* The test before may have dismissed its program. */
    atomic_store(&shm.header->assignment, 1);
    lay_out(settings);
    assign(settings, 1, threads, true);
    for (unsigned i = 0; i < THREADS; i++) {
        atomic_store(&slot_of(i)->opened, SHM_OPENED_NOT);
        atomic_store(&slot_of(i)->held, 0);
    }
}

/* A thread of a program, with its handle. */
struct user {
    pthread_t id;
    unsigned number;
    struct mpsweep *handle;
    _Atomic unsigned iterations;
    int answer;
};

static void *serve(void *argument)
{
    struct user *user = argument;
    user->answer = mpsweep_ready(user->handle);
    while (mpsweep_begin(user->handle)) {
        atomic_fetch_add(&user->iterations, 1);
        mpsweep_end(user->handle);
        sched_yield();
    }
    mpsweep_close(user->handle);
    return NULL;
}

static void start_users(struct user users[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.number = i, .handle = mpsweep_open((int)i)};
        assert_non_null(users[i].handle);
        assert_int_equal(pthread_create(&users[i].id, NULL, serve, &users[i]), 0);
    }
}

static void join_users(struct user users[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(users[i].id, NULL), 0);
}

/* make check ends what waits in vain. */
static void await_iterations(unsigned number, uint64_t least)
{
    while (atomic_load(&slot_of(number)->completed) < least)
        sched_yield();
}

static void await_parked(void)
{
    while (!shm_parked(&shm, 0))
        sched_yield();
}

static void one_start_serves_several_assignments(void **state)
{
    static const struct {
        unsigned processes, threads;
        bool keeps;
    } rows[] = {{1, THREADS, true}, {1, 2, true}, {0, 1, true}, {1, 1, true}, {1, 3, false}};
    struct user users[THREADS];
    (void)state;
    assign_first(&closed_loop, THREADS);
    start_users(users);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        unsigned threads = rows[row].processes ? rows[row].threads : 0;
        unsigned before[THREADS];
        for (unsigned i = 0; i < THREADS; i++)
            before[i] = atomic_load(&users[i].iterations);
        if (row > 0)
            assign(&closed_loop, rows[row].processes, rows[row].threads, rows[row].keeps);
        for (unsigned i = 0; i < threads; i++)
            await_iterations(i, 20);
        shm_stop(&shm, UINT64_MAX);
        if (rows[row].keeps)
            await_parked();
        for (unsigned i = 0; i < threads; i++) {
            while (state_of(i) != SHM_STATE_DONE)
                sched_yield();
            /* Of this assignment alone. */
            assert_int_equal(slot_of(i)->iterations, atomic_load(&slot_of(i)->completed));
            assert_int_equal(slot_of(i)->latency.count, slot_of(i)->iterations);
            assert_int_equal(atomic_load(&slot_of(i)->opened), SHM_OPENED_BEGUN);
        }
        /* Those without a part have done nothing. */
        for (unsigned i = threads; i < THREADS && row > 0; i++)
            assert_int_equal(atomic_load(&users[i].iterations), before[i]);
    }
    shm_dismiss(&shm);
    join_users(users);
}

static void a_handle_without_a_part_is_held_from_the_start(void **state)
{
    struct user users[THREADS];
    (void)state;
    assign_first(&closed_loop, 1);
    start_users(users);
    await_iterations(0, 5);
    for (unsigned i = 1; i < THREADS; i++) {
        while (atomic_load(&slot_of(i)->held) != atomic_load(&shm.header->assignment))
            sched_yield();
        assert_int_equal(state_of(i), SHM_STATE_STARTING);
    }
    assert_false(shm_parked(&shm, 0));
    shm_stop(&shm, UINT64_MAX);
    await_parked();
    shm_dismiss(&shm);
    join_users(users);
    for (unsigned i = 1; i < THREADS; i++)
        assert_int_equal(users[i].answer, 0);
}

static void more_may_follow_until_the_last_assignment(void **state)
{
    (void)state;
    assign_first(&closed_loop, 1);
    struct mpsweep *worker = mpsweep_open(0);
    for (int trial = 0; trial < 3; trial++) {
        assert_int_equal(mpsweep_try_begin(worker), 1);
        assert_int_equal(mpsweep_end(worker), 1);
        assert_int_equal(mpsweep_begin(worker), 1);
        assert_int_equal(mpsweep_stop_requested(worker), 0);
        shm_stop(&shm, UINT64_MAX);
        assert_int_equal(mpsweep_stop_requested(worker), 2); /* within an iteration */
        /* Only bindings see the difference. */
        assert_int_equal(trial ? mpsweep_end(worker) : mpsweep_end_or_hold(worker), trial ? 1 : 2);
        assert_int_equal(mpsweep_stop_requested(worker), 0);
        assert_int_equal(state_of(0), SHM_STATE_DONE);
        assert_int_equal(mpsweep_end(worker), 1);
        assert_int_equal(atomic_load(&slot_of(0)->held), 0);
        assert_int_equal(mpsweep_try_begin(worker), -1);
        assert_int_equal(atomic_load(&slot_of(0)->held), atomic_load(&shm.header->assignment));
        assert_int_equal(mpsweep_try_begin(worker), -1);
        assert_int_equal(mpsweep_stop_requested(worker), 0);
        assign(&closed_loop, 1, 1, trial < 1);
        if (trial == 1)
            break;
    }
    assert_int_equal(mpsweep_ready(worker), 1);
    assert_int_equal(mpsweep_begin(worker), 1);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_stop_requested(worker), 1);
    assert_int_equal(mpsweep_end_or_hold(worker), 0);
    assert_int_equal(mpsweep_begin(worker), 0);
    mpsweep_close(worker);
}

/* The handle of the only worker, once its point has stopped and its iteration has ended. */
static struct mpsweep *stopped(void)
{
    assign_first(&closed_loop, 1);
    struct mpsweep *worker = mpsweep_open(0);
    assert_int_equal(mpsweep_begin(worker), 1);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_end(worker), 1);
    return worker;
}

static void a_dismissal_ends_what_is_held(void **state)
{
    (void)state;
    struct mpsweep *worker = stopped();
    assert_int_equal(mpsweep_try_begin(worker), -1);
    shm_dismiss(&shm);
    assert_int_equal(mpsweep_stop_requested(worker), 1);
    assert_int_equal(mpsweep_try_begin(worker), 0);
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_int_equal(mpsweep_ready(worker), 0);
    assert_int_equal(mpsweep_end(worker), 0);
    mpsweep_close(worker);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
}

static void who_leaves_instead_is_done_and_not_held(void **state)
{
    (void)state;
    struct mpsweep *worker = stopped();
    mpsweep_close(worker);
    assert_int_equal(state_of(0), SHM_STATE_DONE);
    assert_int_equal(atomic_load(&slot_of(0)->held), 0);
}

static void what_is_wrong_is_not_held(void **state)
{
    (void)state;
    struct mpsweep *worker = stopped();
    mpsweep_check(worker, 0, "the last one is wrong");
    assert_failed(0, "failed in thread 0: the last one is wrong");
    assert_int_equal(mpsweep_begin(worker), 0);
    assert_int_equal(atomic_load(&slot_of(0)->held), 0);
    mpsweep_close(worker);
}

static void fixed_work_is_done_anew(void **state)
{
    struct shm_settings fixed = closed_loop;
    fixed.iterations = 3;
    (void)state;
    assign_first(&fixed, 1);
    struct mpsweep *worker = mpsweep_open(0);
    for (int i = 0; i < 2; i++) {
        for (int done = 0; done < 3; done++) {
            assert_int_equal(mpsweep_begin(worker), 1);
            assert_int_equal(mpsweep_end(worker), 1);
        }
        assert_int_equal(state_of(0), SHM_STATE_FINISHED);
        assert_int_equal(mpsweep_try_begin(worker), -1);
        shm_stop(&shm, UINT64_MAX);
        assert_int_equal(mpsweep_try_begin(worker), -1);
        assert_int_equal(state_of(0), SHM_STATE_DONE);
        assert_int_equal(slot_of(0)->iterations, 3);
        assign(&fixed, 1, 1, true);
    }
    shm_stop(&shm, 0);
    shm_dismiss(&shm);
    mpsweep_close(worker);
}

/* A rate of one assignment is not that of the next, and its planned starts begin anew. */
static void an_open_loop_starts_anew(void **state)
{
    struct shm_settings slow = closed_loop, fast = closed_loop;
    slow.rate_units = 1;
    fast.rate_units = 1000000 * (uint64_t)RATE_UNITS;
    (void)state;
    assign_first(&slow, 1);
    struct mpsweep *worker = mpsweep_open(0);
    assert_int_equal(mpsweep_try_begin(worker), 1); /* planned at the start */
    assert_int_equal(mpsweep_end(worker), 1);
    assert_int_equal(mpsweep_try_begin(worker), -1); /* in a long time */
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_try_begin(worker), -1);
    assign(&fast, 1, 1, true);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(mpsweep_begin(worker), 1);
        assert_int_equal(mpsweep_end(worker), 1);
    }
    atomic_store(&shm.header->window_end_ns, 50 * NS_PER_US);
    shm_stop(&shm, 50 * NS_PER_US);
    assert_int_equal(mpsweep_try_begin(worker), -1);
    /* The starts at 0, 1, ... 50 us, but for those that it began. */
    assert_int_equal(slot_of(0)->backlog, 41);
    assign(&closed_loop, 1, 1, false);
    assert_int_equal(mpsweep_begin(worker), 1);
    shm_stop(&shm, UINT64_MAX);
    assert_int_equal(mpsweep_end(worker), 0);
    assert_int_equal(slot_of(0)->backlog + slot_of(0)->late, 0);
    mpsweep_close(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_start_serves_several_assignments),
        cmocka_unit_test(a_handle_without_a_part_is_held_from_the_start),
        cmocka_unit_test(more_may_follow_until_the_last_assignment),
        cmocka_unit_test(fixed_work_is_done_anew),
        cmocka_unit_test(an_open_loop_starts_anew),
        cmocka_unit_test(who_leaves_instead_is_done_and_not_held),
        cmocka_unit_test(what_is_wrong_is_not_held),
        cmocka_unit_test(a_dismissal_ends_what_is_held),
    };
    return cmocka_run_group_tests_name("client/hold", tests, make_memory, free_memory);
}
