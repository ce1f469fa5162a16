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
    const struct window calm = {.settled = true};
    window_merge(&newest, &calm);
    assert_false(newest.settled);
    assert_true(newest.before_rel == -0.2 && newest.drift_rel == -0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_steady_window_has_a_narrow_interval, make, release),
        cmocka_unit_test_setup_teardown(a_transient_is_in_no_figure, make, release),
        cmocka_unit_test_setup_teardown(a_level_that_changes_late_is_not_cut_off, make, release),
        cmocka_unit_test_setup_teardown(a_drift_is_told, make, release),
        cmocka_unit_test_setup_teardown(few_iterations_tell_nothing, make, release),
        cmocka_unit_test(the_worst_round_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
