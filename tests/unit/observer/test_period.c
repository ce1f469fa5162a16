#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/random.h"
#include "tests/unit/observer/marks.h"

static void test_each_wait_is_an_iteration(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 400; i++)
        boundaries += wait_for(220, 1 << 20, 1 << 20, 3000000) == PERIOD_BOUNDARY;
    assert_int_equal(period.length, 1);
    assert_true(boundaries >= 50);
    struct mark iteration = period_iteration(&period);
    assert_int_equal(iteration.launches, 220);
    assert_int_equal(iteration.bytes_in, 1 << 20);
    assert_int_equal(iteration.at_ns, 3000000);
}

/* What is launched grows a little, as with the cache of a decoder. */
static void test_slow_growth_is_no_change(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        boundaries += wait_for(900 + i, 512, 8, 20000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 230);
}

/* A request: input, 12 steps, a large answer. */
static enum period_state request(unsigned *boundaries, unsigned *last)
{
    enum period_state state = PERIOD_UNKNOWN;
    for (unsigned i = 0; i < 13; i++) {
        state = wait_for(i == 0 ? 400 : 40, i == 0 ? 65536 : 0, i == 12 ? 32768 : 8, 1000000);
        if (state != PERIOD_BOUNDARY)
            continue;
        ++*boundaries;
        *last = i;
    }
    return state;
}

static void test_requests_of_several_waits(void **state)
{
    unsigned boundaries = 0, last = 99;
    (void)state;
    for (int i = 0; i < 90; i++)
        request(&boundaries, &last);
    assert_int_equal(period.length, 13);
    boundaries = 0;
    for (int i = 0; i < 10; i++)
        request(&boundaries, &last);
    assert_int_equal(boundaries, 10);
    /* The next request begins with its input. */
    assert_int_equal(last, 12);
    struct mark iteration = period_iteration(&period);
    assert_int_equal(iteration.launches, 400 + 12 * 40);
    /* Each of its steps may be what one is after. */
    assert_int_equal(period_doubt(&period), TICK_STEPS);
}

/* Weights are loaded, each tensor with a wait, and nothing is launched. */
static void test_loading_is_no_iteration(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(wait_for(0, 1 << 22, 0, 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 600; i++)
        boundaries += wait_for(100, 4096, 4096, 2000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 30);
}

/* The first iterations of a program take longer. */
static void test_a_warm_up_is_awaited(void **state)
{
    static const uint64_t ms[] = {900, 400, 200, 100, 60};
    (void)state;
    for (size_t i = 0; i < sizeof ms / sizeof ms[0]; i++)
        assert_int_equal(wait_for(100, 4096, 4096, ms[i] * 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    /* It is slow: two seconds show it, if not 64 waits. */
    for (int i = 0; i < 60; i++)
        boundaries += wait_for(100, 4096, 4096, 50000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 15);
}

/* One that never gets steady has iterations as well. */
static void test_uneven_iterations_count_in_the_end(void **state)
{
    unsigned boundaries = 0;
    (void)state;
    uint32_t random = 1;
    for (unsigned i = 0; i < 500; i++) {
        random = random * 1664525 + 1013904223;
        boundaries += wait_for(100, 4096, 4096, 1000000 + random / 1000) == PERIOD_BOUNDARY;
    }
    assert_true(boundaries >= 30);
}

/* A library tries out its kernels, each with a wait, and then the program begins. */
static void test_a_short_repetition_is_no_iteration(void **state)
{
    (void)state;
    for (int i = 0; i < 1500; i++)
        assert_int_equal(wait_for(2, 0, 0, 500000), PERIOD_UNKNOWN);
    for (int i = 0; i < 300; i++)
        assert_int_equal(wait_for(40, 4096, 4096, 3000000), PERIOD_UNKNOWN);
}

/* Launches without any wait: of three kernels, one twice. */
static void test_launches_by_their_kernel(void **state)
{
    static const uint64_t kernels[] = {11, 22, 11, 33};
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 10000; i++) {
        const struct mark mark = {
            .at_ns = (uint64_t)i * 500000, .launches = 1, .kernel = kernels[i % 4]};
        boundaries += period_add(&period, &mark, false) == PERIOD_BOUNDARY;
    }
    assert_int_equal(period.length, 4);
    assert_true(boundaries >= 400);
}

static void test_nothing_repeats(void **state)
{
    uint32_t random = 12345;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        random = random * 1664525 + 1013904223;
        assert_int_equal(wait_for(1 + (random >> 16) % 5000, 0, (random >> 8) % 100000, 1000000),
                         PERIOD_UNKNOWN);
    }
}

static void test_a_period_is_lost(void **state)
{
    enum period_state last = PERIOD_UNKNOWN;
    (void)state;
    for (int i = 0; i < 400; i++)
        last = wait_for(220, 4096, 4096, 3000000);
    assert_int_equal(last, PERIOD_BOUNDARY);
    unsigned lost = 0;
    uint32_t launches = 2000;
    for (int i = 0; i < 100; i++)
        lost += wait_for(launches = launches * 3 / 2 % 9973 + 1, 0, 0, 1000000) == PERIOD_LOST;
    assert_true(lost >= 1);
    for (int i = 0; i < 500; i++)
        last = wait_for(50, 128, 64, 3000000);
    assert_int_equal(last, PERIOD_BOUNDARY);
}

/* Five waits a step, and an evaluation of more behind each six hundred steps. */
static void test_an_evaluation_is_no_loss(void **state)
{
    unsigned lost = 0;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        for (uint32_t k = 0; k < 5; k++)
            lost += wait_for(90 - 15 * k, k ? 0 : 1 << 18, 4, 1000000) == PERIOD_LOST;
        for (int k = 0; i % 600 == 599 && k < 12; k++)
            lost += wait_for(14, 1 << 17, 4, 1000000) == PERIOD_LOST;
    }
    assert_int_equal(period.length, 5);
    assert_int_equal(lost, 0);
}

/* A round of a solver waits for two numbers, behind as much work of other kernels. */
static void test_waits_for_other_kernels(void **state)
{
    unsigned boundaries = 0, rounds = 0;
    (void)state;
    for (unsigned i = 0; i < 8000; i++) {
        rounds += period.length > 0;
        for (unsigned k = 0; k < 2; k++)
            boundaries += wait_for_kernel(1 + k, 9, 0, 8, 500000) == PERIOD_BOUNDARY;
    }
    assert_true(rounds > 300);
    assert_in_range(boundaries, rounds, rounds + 1);
}

/* Inputs of any size, for the larger of which a library has another kernel: in what order they come
 * is chance, and no two of them are one request. */
static void test_kernels_for_any_size(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        set_up(NULL);
        while (period.length == 0) {
            unsigned size = 1 + (unsigned)(random_next(&random) % 64);
            wait_for_kernel(size > 32 ? 2 : 1, 18, 1024 * size, 4 * size, 500000);
            assert_true(period.count < 100000);
        }
        assert_int_equal(period.length, 1);
    }
}

static void test_one_odd_wait_among_many(void **state)
{
    unsigned lost = 0, boundaries = 0;
    (void)state;
    for (int i = 0; i < 700; i++) {
        enum period_state now = wait_for(i % 50 == 49 ? 1000 : 220, 4096, 4096, 3000000);
        lost += now == PERIOD_LOST;
        boundaries += now == PERIOD_BOUNDARY;
    }
    assert_int_equal(lost, 0);
    assert_true(boundaries >= 230);
}

/* A library that tries out its kernels takes no input; a program may not either. */
static void test_without_input_it_must_last(void **state)
{
    (void)state;
    for (int i = 0; i < 3900; i++)
        assert_int_equal(wait_for(2, 0, 4, 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 200; i++)
        boundaries += wait_for(2, 0, 4, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 90);
    /* An earlier process had such iterations: two launches, a copy out and a wait. */
    period_begin(&period, 4);
    boundaries = 0;
    for (int i = 0; i < 1300; i++)
        boundaries += wait_for(2, 0, 4, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 200);
}

/* What only copies may do so before its first launch, whatever it copies in. */
static void test_without_a_launch_it_must_last(void **state)
{
    (void)state;
    for (int i = 0; i < 3900; i++)
        assert_int_equal(wait_for(0, 1 << 20, 1 << 20, 1000000), PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 200; i++)
        boundaries += wait_for(0, 1 << 20, 1 << 20, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 90);
}

/* A library tries out its kernels in bursts, between which it compiles. */
static void test_bursts_are_no_iterations(void **state)
{
    (void)state;
    for (int burst = 0; burst < 5; burst++)
        for (int i = 0; i < (burst == 3 ? 60 : 300); i++)
            assert_int_equal(
                wait_for(i % 6 == 0 ? 1 : 2, 0, i % 6 == 5 ? 8 : 0, i ? 100000 : 4100000000),
                PERIOD_UNKNOWN);
    unsigned boundaries = 0;
    for (int i = 0; i < 1300; i++)
        boundaries += wait_for(40, 4096, 4096, 1000000) == PERIOD_BOUNDARY;
    assert_true(boundaries >= 200);
}

/* A slow program is as regular where an earlier process had its iterations. */
static void test_known_and_slow(void **state)
{
    (void)state;
    period_begin(&period, 102);
    for (int i = 0; i < 40; i++)
        wait_for(100, 4096, 0, 280000000);
    assert_int_equal(period.length, 1);
    assert_false(period.kind >= PERIOD_INPUTS);
}

/* Another thread launches, up to two batches ahead: a wait may have none of them, one or two. */
static void test_waits_for_another_thread(void **state)
{
    unsigned lost = 0, boundaries = 0;
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        wait_for(16, 32768, 32768, 1000000);
    assert_int_equal(period.length, 1);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned batches = 1 + i % 2;
        const struct mark mark = {.at_ns = now_ns += 1000000,
                                  .launches = 16 * batches,
                                  .copies_in = batches,
                                  .bytes_in = 32768ull * batches,
                                  .copies_out = 1,
                                  .bytes_out = 32768};
        enum period_state now = period_add(&period, &mark, false);
        lost += now == PERIOD_LOST;
        boundaries += now == PERIOD_BOUNDARY;
    }
    assert_int_equal(lost, 0);
    assert_int_equal(boundaries, 1000);
}

/* What is reported is not the odd iteration, even where that was the last. */
static void test_the_usual_iteration(void **state)
{
    (void)state;
    for (int i = 0; i < 33 * 100; i++) {
        bool updates = i % 33 == 32;
        wait_for(updates ? 108 : 4, updates ? 270000 : 4096, updates ? 4 : 128, 1000000);
    }
    assert_int_equal(period.length, 1);
    assert_int_equal(period_iteration(&period).launches, 4);
}

static void test_every_mark(void **state)
{
    const struct mark mark = {.launches = 1};
    (void)state;
    assert_int_equal(period_add(&period, &mark, true), PERIOD_UNKNOWN);
    assert_int_equal(period_add(&period, &mark, true), PERIOD_UNKNOWN);
    for (int i = 0; i < 5; i++)
        assert_int_equal(period_add(&period, &mark, true), PERIOD_BOUNDARY);
}

/* One thread launches, and another one waits, now and then for two batches at once. */
static void test_two_batches_now_and_then(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        uint32_t random = seed;
        set_up(state);
        for (int i = 0; i < 20000 && period.length == 0; i++) {
            uint32_t batches = draw(&random, 40) == 0 ? 2 : 1;
            wait_for(16 * batches, 32768 * batches, 32768 * batches, 250000);
        }
        assert_int_equal(period.length, 1);
    }
}

/* A tick that was given: stages of a request differ, and what is shown is their mean. */
static void test_given_marks_that_differ(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++) {
        const struct mark mark = {.at_ns = 1000000u * (unsigned)i, .launches = i % 2 ? 30 : 10};
        assert_int_equal(period_add(&period, &mark, true),
                         i < 2 ? PERIOD_UNKNOWN : PERIOD_BOUNDARY);
    }
    assert_true(period_is_mean(&period));
    assert_true(period_alike(&period) == 0);
    assert_int_equal(period_iteration(&period).launches, 20);
    assert_int_equal(period_iteration(&period).at_ns, 1000000);
    for (int i = 600; i < 1200; i++) {
        const struct mark mark = {.at_ns = 1000000u * (unsigned)i, .launches = 30};
        period_add(&period, &mark, true);
    }
    assert_false(period_is_mean(&period));
    assert_true(period_alike(&period) == 1);
    assert_int_equal(period_iteration(&period).launches, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_given_marks_that_differ, set_up),
        cmocka_unit_test_setup(test_two_batches_now_and_then, set_up),
        cmocka_unit_test_setup(test_each_wait_is_an_iteration, set_up),
        cmocka_unit_test_setup(test_slow_growth_is_no_change, set_up),
        cmocka_unit_test_setup(test_requests_of_several_waits, set_up),
        cmocka_unit_test_setup(test_loading_is_no_iteration, set_up),
        cmocka_unit_test_setup(test_a_warm_up_is_awaited, set_up),
        cmocka_unit_test_setup(test_uneven_iterations_count_in_the_end, set_up),
        cmocka_unit_test_setup(test_a_short_repetition_is_no_iteration, set_up),
        cmocka_unit_test_setup(test_launches_by_their_kernel, set_up),
        cmocka_unit_test_setup(test_nothing_repeats, set_up),
        cmocka_unit_test_setup(test_a_period_is_lost, set_up),
        cmocka_unit_test_setup(test_an_evaluation_is_no_loss, set_up),
        cmocka_unit_test_setup(test_waits_for_other_kernels, set_up),
        cmocka_unit_test_setup(test_kernels_for_any_size, set_up),
        cmocka_unit_test_setup(test_one_odd_wait_among_many, set_up),
        cmocka_unit_test_setup(test_without_input_it_must_last, set_up),
        cmocka_unit_test_setup(test_without_a_launch_it_must_last, set_up),
        cmocka_unit_test_setup(test_bursts_are_no_iterations, set_up),
        cmocka_unit_test_setup(test_known_and_slow, set_up),
        cmocka_unit_test_setup(test_waits_for_another_thread, set_up),
        cmocka_unit_test_setup(test_the_usual_iteration, set_up),
        cmocka_unit_test_setup(test_every_mark, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
