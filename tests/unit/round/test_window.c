#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "orchestrator/round/window.h"
#include "tests/unit/statistics/series.h"

#define SEED UINT64_C(88172645463325252)
#define SLICE_NS UINT64_C(1000000)
#define ORIGIN_NS UINT64_C(5000000)

struct fixture {
    struct shm shm;
    uint64_t seed;
};

static int make(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.seed = SEED};
    const struct shm_settings settings = {.slice_ns = SLICE_NS, .warmup_ns = ORIGIN_NS};
    *state = &fixture;
    return shm_create(&settings, 2, 3, &fixture.shm) == STATUS_OK ? 0 : -1;
}

static int release(void **state)
{
    struct fixture *fixture = *state;
    shm_release(&fixture->shm);
    return 0;
}

/* Iterations of one worker up to the end of the slices, each of a mean length at its moment,
 * plus or minus a share of it. */
static void work(struct fixture *fixture, unsigned process, unsigned thread, uint64_t slices,
                 double early_ns, double late_ns, uint64_t change, double scatter)
{
    struct shm_slot *slot = shm_slot_at(&fixture->shm, process, thread);
    double at = 0.0, end = (double)(ORIGIN_NS + slices * SLICE_NS);
    while (at < end) {
        double mean_ns = at < (double)(ORIGIN_NS + change * SLICE_NS) ? early_ns : late_ns;
        double to = at + mean_ns * fmax(0.1, 1.0 + scatter * series_normal(&fixture->seed));
        shm_slot_credit(slot, ORIGIN_NS, SLICE_NS, (uint64_t)at, (uint64_t)to);
        at = to;
    }
}

/* The worker's last iteration ended then; its usual ones take 3 ms. */
static void note_end(const struct fixture *fixture, unsigned worker, uint64_t end_ns)
{
    struct shm_slot *slot = shm_slot_at(&fixture->shm, worker / 3, worker % 3);
    atomic_store(&slot->last_end_ns, end_ns);
    atomic_store(&slot->completed, end_ns / 3000000);
    for (unsigned i = 0; i < SHM_LONGEST; i++)
        atomic_store(&slot->longest_ns[i], 3000000);
    atomic_store(&slot->still_ns, 3000000);
}

/* Six workers, one iteration each in three slices, to the end of the slices but for what runs. */
static void run_until(struct fixture *fixture, uint64_t slices, uint64_t running_ns)
{
    for (unsigned worker = 0; worker < 6; worker++) {
        uint64_t end_ns = ORIGIN_NS + slices * SLICE_NS - running_ns;
        struct shm_slot *slot = shm_slot_at(&fixture->shm, worker / 3, worker % 3);
        uint64_t at_ns = end_ns;
        for (; at_ns > 3000000; at_ns -= 3000000)
            shm_slot_credit(slot, ORIGIN_NS, SLICE_NS, at_ns - 3000000, at_ns);
        shm_slot_credit(slot, ORIGIN_NS, SLICE_NS, 0, at_ns);
        note_end(fixture, worker, end_ns);
    }
}

static void all_work(struct fixture *fixture, uint64_t slices, double early_ns, double late_ns,
                     uint64_t change)
{
    for (unsigned p = 0; p < 2; p++)
        for (unsigned t = 0; t < 3; t++)
            work(fixture, p, t, slices, early_ns, late_ns, change, 0.2);
}

static void a_steady_window_has_a_narrow_interval(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    all_work(fixture, 1000, 3e6, 3e6, 0);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.steady_slice, 0);
    assert_true(window.settled);
    assert_true(window.drift_rel == 0.0);
    /* Six workers of one iteration in three slices. */
    assert_true(fabs(window.interval.mean - 2.0) < 0.05);
    assert_true(window.interval.half_rel > 0.0 && window.interval.half_rel < 0.03);
    /* A look in between judges what is there by then. */
    struct window early;
    window_judge(&fixture->shm, 250, &early);
    assert_true(early.interval.half_rel > window.interval.half_rel);
}

static void a_transient_is_in_no_figure(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    all_work(fixture, 1000, 4.5e6, 3e6, 30);
    window_judge(&fixture->shm, 1000, &window);
    assert_in_range(window.steady_slice, 30, 50);
    assert_true(window.before_rel < -0.2 && window.before_rel > -0.4);
    assert_true(fabs(window.interval.mean - 2.0) < 0.05);
    assert_true(window_is_plain(&window));
}

static void a_level_that_changes_late_is_not_cut_off(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    unsigned narrow = 5;
    all_work(fixture, 1000, 4.5e6, 3e6, 200);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.steady_slice, 0);
    assert_false(window.settled);
    assert_true(window.before_rel < -0.2 && window.before_rel > -0.4);
    assert_false(window_is_plain(&window));
    assert_false(window_ends(&window, 1.0, &narrow));
    assert_int_equal(narrow, 0);
}

static void a_window_far_from_its_goal_ends_at_half_its_length(void **state)
{
    (void)state;
    const struct window wide = {.settled = true, .interval.half_rel = 0.1};
    /* Twice as long it would be at 7.1%. */
    assert_true(window_is_hopeless(&wide, 0.035, 500, 1000));
    assert_false(window_is_hopeless(&wide, 0.036, 500, 1000));
    /* Too early to know. */
    assert_false(window_is_hopeless(&wide, 0.001, 499, 1000));
    struct window window = wide;
    window.settled = false;
    assert_false(window_is_hopeless(&window, 0.01, 500, 1000));
    window = wide;
    window.stall.workers = 1;
    assert_false(window_is_hopeless(&window, 0.01, 500, 1000));
    window = wide;
    window.interval.half_rel = INFINITY;
    assert_false(window_is_hopeless(&window, 0.01, 500, 1000));
    assert_false(window_is_hopeless(&wide, INFINITY, 500, 1000));
}

static void a_drift_is_told(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    for (unsigned step = 0; step < 20; step++)
        for (unsigned i = 0; i < 50; i++)
            atomic_store(&shm_slot_at(&fixture->shm, 0, 0)->slices[step * 50 + i],
                         SHM_ITERATION_UNITS * (100 - step) / 10);
    for (unsigned i = 1; i < 6; i++)
        work(fixture, i / 3, i % 3, 1000, 1e6, 1e6, 0, 0.0);
    window_judge(&fixture->shm, 1000, &window);
    assert_true(window.drift_rel < -0.08 && window.drift_rel > -0.16);
}

/* However regular the slices look: few iterations, even of one worker only, show nothing. */
static void few_iterations_tell_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    all_work(fixture, 1000, 3e6, 3e6, 0);
    struct shm_slot *slowest = shm_slot_at(&fixture->shm, 1, 2);
    for (unsigned i = 0; i < 1000; i++)
        atomic_store(&slowest->slices[i], SHM_ITERATION_UNITS * 9 / 1000);
    window_judge(&fixture->shm, 1000, &window);
    assert_true(isinf(window.interval.half_rel));
    for (unsigned i = 0; i < 1000; i++)
        atomic_store(&slowest->slices[i], SHM_ITERATION_UNITS * 13 / 1000);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.interval.batches, 6);
    for (unsigned i = 0; i < 1000; i++)
        atomic_store(&slowest->slices[i], 0);
    window_judge(&fixture->shm, 1000, &window);
    assert_true(isinf(window.interval.half_rel));
    window_judge(&fixture->shm, 0, &window);
    assert_true(isinf(window.interval.half_rel));
    assert_true(window.settled);
}

static void an_iteration_that_runs_counts_by_its_usual_time(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    run_until(fixture, 1000, 2500000);
    window_judge(&fixture->shm, 1000, &window);
    assert_true(fabs(window.interval.mean - 2.0) < 0.001);
    assert_true(window.interval.half_rel < 0.01);
    assert_int_equal(window.stall.workers, 0);
    /* From where on is asked for does not matter. */
    const struct shm_slot *slot = shm_slot_at(&fixture->shm, 0, 0);
    double all = window_iterations(&fixture->shm, slot, 0, 1000, NULL);
    double early = window_iterations(&fixture->shm, slot, 0, 400, NULL);
    double late = window_iterations(&fixture->shm, slot, 400, 1000, NULL);
    assert_true(fabs(all - early - late) < 0.001);
    assert_true(fabs(window_iterations(&fixture->shm, slot, 999, 1000, NULL) - 1.0 / 3) < 0.001);
}

static void a_worker_that_stands_still_counts_as_such(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    run_until(fixture, 1000, 0);
    struct shm_slot *frozen = shm_slot_at(&fixture->shm, 1, 1);
    for (unsigned i = 500; i < 1000; i++)
        atomic_store(&frozen->slices[i], 0);
    note_end(fixture, 4, ORIGIN_NS + 500 * SLICE_NS);
    window_judge(&fixture->shm, 1000, &window);
    /* What of it comes before may pass for a transient. */
    assert_true(window.interval.mean < 2.0 - 1.0 / 6 + 0.002);
    assert_int_equal(window.stall.workers, 1);
    assert_int_equal(window.stall.worker, 4);
    assert_int_equal(window.stall.ns, 500 * SLICE_NS);
    assert_int_equal(window.stall.usual_ns, 3000000);
    double half = window_iterations(&fixture->shm, frozen, 0, 1000, NULL);
    assert_true(fabs(half - 1.0 - 500.0 / 3) < 0.01);
}

/* Whether a worker's longest iteration in a window of `slices` is taken for a stall. */
static bool stalls(struct fixture *fixture, uint64_t slices, uint64_t still_ns, uint64_t usual_ns)
{
    struct window window;
    struct shm_slot *slot = shm_slot_at(&fixture->shm, 0, 2);
    atomic_store(&slot->still_ns, still_ns);
    atomic_store(&slot->longest_ns[SHM_LONGEST - 1], usual_ns);
    window_judge(&fixture->shm, slices, &window);
    return window.stall.workers > 0;
}

static void only_a_long_and_rare_iteration_is_a_stall(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t ms = 1000000;
    run_until(fixture, 1000, 0);
    assert_true(stalls(fixture, 1000, 600 * ms, 20 * ms));
    /* It ended after the window, or began before. */
    assert_true(stalls(fixture, 1000, 15000 * ms, 20 * ms));
    /* Such iterations recur. */
    assert_false(stalls(fixture, 1000, 600 * ms, 590 * ms));
    assert_false(stalls(fixture, 1000, 600 * ms, 130 * ms));
    /* A busy host does that. */
    assert_false(stalls(fixture, 1000, 400 * ms, 5 * ms));
    /* Too few iterations in the window to know what is usual: those of the warm-up show it. */
    assert_true(stalls(fixture, 1000, 600 * ms, 0));
    assert_false(stalls(fixture, 1000, 600 * ms, 590 * ms));
    struct shm_slot *slot = shm_slot_at(&fixture->shm, 0, 2);
    atomic_store(&slot->completed, 2);
    assert_false(stalls(fixture, 1000, 600 * ms, 0));
    atomic_store(&slot->completed, 0);
    assert_false(stalls(fixture, 1000, 600 * ms, 0));
    /* One of many in a longer window: it is in the interval. */
    fixture->shm.header->settings.slice_ns *= 10;
    for (unsigned worker = 0; worker < 6; worker++)
        note_end(fixture, worker, ORIGIN_NS + 10000 * ms);
    assert_false(stalls(fixture, 1000, 600 * ms, 20 * ms));
    assert_true(stalls(fixture, 1000, 1100 * ms, 20 * ms));
}

/* It may have been the first of all: then no other worker's kept it waiting. */
static void one_iteration_shows_nothing_of_what_is_usual(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    struct shm_slot *slot = shm_slot_at(&fixture->shm, 0, 2);
    run_until(fixture, 1000, 0);
    for (unsigned i = 0; i < SHM_LONGEST; i++)
        atomic_store(&slot->longest_ns[i], 0);
    atomic_store(&slot->completed, 1);
    atomic_store(&slot->last_end_ns, 100000000);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.stall.workers, 0);
    atomic_store(&slot->completed, 2);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.stall.workers, 1);
}

static void a_connection_waits_while_its_server_answers_others(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    run_until(fixture, 1000, 0);
    fixture->shm.header->settings.server = 1;
    note_end(fixture, 4, ORIGIN_NS + 300 * SLICE_NS);
    note_end(fixture, 5, ORIGIN_NS + 300 * SLICE_NS);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.stall.workers, 0);
    /* The other server does not count. */
    note_end(fixture, 3, ORIGIN_NS + 400 * SLICE_NS);
    window_judge(&fixture->shm, 1000, &window);
    assert_true(window.stall.workers > 0);
    assert_int_equal(window.stall.worker, 3);
    assert_int_equal(window.stall.ns, 600 * SLICE_NS);
}

static void an_idle_worker_of_an_open_loop_does_not_stand_still(void **state)
{
    struct fixture *fixture = *state;
    struct window window;
    run_until(fixture, 1000, 0);
    fixture->shm.header->settings.rate_units = 1;
    note_end(fixture, 3, ORIGIN_NS);
    const struct shm_slot *slot = shm_slot_at(&fixture->shm, 1, 0);
    double counted = window_iterations(&fixture->shm, slot, 0, 1000, NULL);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.stall.workers, 0);
    fixture->shm.header->settings.rate_units = 0;
    assert_true(window_iterations(&fixture->shm, slot, 0, 1000, NULL) > counted + 0.9);
    window_judge(&fixture->shm, 1000, &window);
    assert_int_equal(window.stall.worker, 3);
}

static void the_worst_round_stays(void **state)
{
    (void)state;
    struct window newest = {
        .settled = true, .steady_slice = 10, .before_rel = 0.1, .drift_rel = 0.01};
    const struct window before = {
        .settled = false, .steady_slice = 20, .before_rel = -0.2, .drift_rel = -0.03};
    window_merge(&newest, &before);
    assert_false(newest.settled);
    assert_int_equal(newest.steady_slice, 20);
    assert_true(newest.before_rel == -0.2 && newest.drift_rel == -0.03);
    const struct window calm = {.settled = true, .stall = {.workers = 1, .worker = 2, .ns = 7}};
    window_merge(&newest, &calm);
    assert_int_equal(newest.stall.worker, 2);
    const struct window longer = {.settled = true, .stall = {.workers = 1, .worker = 1, .ns = 8}};
    window_merge(&newest, &longer);
    window_merge(&newest, &calm);
    assert_int_equal(newest.stall.worker, 1);
    assert_false(newest.settled);
    assert_true(newest.before_rel == -0.2 && newest.drift_rel == -0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_steady_window_has_a_narrow_interval, make, release),
        cmocka_unit_test_setup_teardown(a_transient_is_in_no_figure, make, release),
        cmocka_unit_test_setup_teardown(a_level_that_changes_late_is_not_cut_off, make, release),
        cmocka_unit_test(a_window_far_from_its_goal_ends_at_half_its_length),
        cmocka_unit_test_setup_teardown(a_drift_is_told, make, release),
        cmocka_unit_test_setup_teardown(few_iterations_tell_nothing, make, release),
        cmocka_unit_test_setup_teardown(an_iteration_that_runs_counts_by_its_usual_time, make,
                                        release),
        cmocka_unit_test_setup_teardown(a_worker_that_stands_still_counts_as_such, make, release),
        cmocka_unit_test_setup_teardown(only_a_long_and_rare_iteration_is_a_stall, make, release),
        cmocka_unit_test_setup_teardown(one_iteration_shows_nothing_of_what_is_usual, make,
                                        release),
        cmocka_unit_test_setup_teardown(a_connection_waits_while_its_server_answers_others, make,
                                        release),
        cmocka_unit_test_setup_teardown(an_idle_worker_of_an_open_loop_does_not_stand_still, make,
                                        release),
        cmocka_unit_test(the_worst_round_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
