/* What an iteration is of work that no request begins: steps of a training, rounds of a solver,
 * levels of a search, layers whose weights come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/observer/marks.h"

/* Data that stay on the GPU: a wait for the first guess, a first step, and as many more as it takes
 * to converge. A service whose inputs come later is another one. */
static void test_steps_without_input(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0, marks = 0, lost = 0;
    (void)state;
    wait_for(100, 1 << 20, 0, 1000000);
    for (int i = 0; i < 1000; i++) {
        enum period_state states[32];
        uint32_t steps = 11 + draw(&random, 6), step = 0;
        states[step++] = wait_for(5, 0, 4, 1000000);
        states[step++] = wait_for(12, 0, 4, 1000000);
        while (step < steps)
            states[step++] = wait_for(14 + draw(&random, 2), 0, 4, 1000000);
        for (uint32_t s = 0; s < steps; s++, marks++)
            boundaries += states[s] == PERIOD_BOUNDARY;
    }
    assert_in_range(boundaries, marks - 8100, marks - 7990);
    assert_true(period.kind >= PERIOD_INPUTS);
    assert_int_equal(period.length, 1);
    assert_in_range(period_iteration(&period).launches, 13, 14);
    assert_int_equal(period_iteration(&period).at_ns, 1000000);
    assert_int_equal(period_doubt(&period), TICK_WAITS);
    for (int i = 0; i < 6000; i++)
        lost += wait_for(10 + draw(&random, 900), 65536, 4, 1000000) == PERIOD_LOST;
    assert_int_equal(lost, 1);
    assert_true(period.ending.least <= 65536);
}

/* A step of training waits for its batch, and for whether its gradients are finite; each tenth
 * step looks at the loss as well. The wait for the next batch has nothing to wait for then. */
static unsigned train(unsigned steps, unsigned looks_each)
{
    unsigned boundaries = 0;
    bool looked = false;
    for (unsigned i = 1; i <= steps; i++) {
        if (!looked)
            boundaries += wait_for(15, 1 << 20, 0, 1000000) == PERIOD_BOUNDARY;
        boundaries += wait_for(60, (looked ? 1 << 20 : 0) + 2048, 4, 2000000) == PERIOD_BOUNDARY;
        looked = i % looks_each == 0;
        if (looked)
            boundaries += wait_for(15, 0, 4, 1000000) == PERIOD_BOUNDARY;
    }
    return boundaries;
}

static void test_a_report_now_and_then(void **state)
{
    (void)state;
    for (unsigned each = 5; each <= 40; each += 5) {
        set_up(state);
        train(2000, each);
        assert_in_range(train(200, each), 198, 202);
        struct mark iteration = period_iteration(&period);
        assert_in_range(iteration.launches, 73, 77);
        assert_int_equal(period.length, 2);
    }
}

/* Steps of training that wait for each of their two inputs; each ten a wait for the loss, after
 * which the larger input waits for nothing. What is found must not depend on the step at which it
 * is. */
static void test_a_report_at_any_step(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < 10; phase++) {
        set_up(state);
        for (unsigned i = 1; i <= 3000 + phase; i++) {
            bool looked = i % 10 == phase;
            wait_for(24, looked ? 0 : 131072, looked ? 4 : 0, 1000000);
            const struct mark mark = {.at_ns = now_ns += 100000,
                                      .launches = 3,
                                      .copies_in = looked ? 2 : 1,
                                      .bytes_in = looked ? 132096 : 1024};
            period_add(&period, &mark, false);
        }
        struct mark iteration = period_iteration(&period);
        assert_in_range(iteration.launches, 26, 28);
    }
}

/* Inputs that are not of the largest any more: what ended iterations ends none. */
static void test_inputs_become_smaller(void **state)
{
    unsigned lost = 0, boundaries = 0;
    (void)state;
    train(1500, 10);
    assert_true(period.kind >= PERIOD_INPUTS);
    for (unsigned i = 0; i < 4000; i++) {
        enum period_state now = wait_for(75, 300000, i % 10 ? 0 : 4, 3000000);
        lost += now == PERIOD_LOST;
        boundaries += now == PERIOD_BOUNDARY;
    }
    assert_int_equal(lost, 1);
    assert_true(boundaries > 3000);
}

/* A batch of words, and layers of any work each, for which the host takes a part: those with about
 * as much work as each other come by chance. */
static void test_layers_of_any_work(void **state)
{
    for (uint32_t seed = 25; seed <= 30; seed++) {
        uint32_t random = seed;
        unsigned boundaries = 0, requests = 0;
        set_up(state);
        for (int i = 0; i < 400; i++) {
            requests += period.length > 0;
            boundaries += wait_for_kernel(1, 15, 72, 208, 4000000) == PERIOD_BOUNDARY;
            for (int layer = 1; layer <= 8; layer++)
                boundaries +=
                    wait_for_kernel(2, (layer < 8 ? 15 : 4) + 3 * (2 + draw(&random, 7)), 208,
                                    layer < 8 ? 208 : 72, 4000000) == PERIOD_BOUNDARY;
        }
        assert_true(requests > 100);
        assert_in_range(boundaries, requests * 9 / 10, requests + 1);
    }
}

/* Levels of a search, each with its number in and a flag out, and then the distances: each wait is
 * one, but may be none. */
static void test_levels_of_a_search(void **state)
{
    uint32_t random = 5;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        wait_for_kernel(1, 6, 4, 4, 500000);
        for (uint32_t level = 0, levels = 8 + draw(&random, 16); level < levels; level++)
            wait_for_kernel(2, 4, 4, 4, 500000);
        wait_for_kernel(2, 4, 4, 200000, 500000);
    }
    assert_true(period.length > 0);
    assert_int_equal(period_doubt(&period), TICK_KINDS);
}

/* Rounds of a solver with two waits for as much work each, until they are over: the kernels show
 * which is which. */
static void test_rounds_of_any_number(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0, rounds = 0;
    (void)state;
    for (int i = 0; i < 8000; i++) {
        boundaries += wait_for_kernel(1, 30, 0, 8, 400000) == PERIOD_BOUNDARY;
        for (uint32_t round = 0, all = 2 + draw(&random, 4); round < all; round++) {
            rounds += period.length > 0;
            boundaries += wait_for_kernel(2, 8, 0, 8, 400000) == PERIOD_BOUNDARY;
            boundaries += wait_for_kernel(3, 8, 0, 8, 400000) == PERIOD_BOUNDARY;
        }
    }
    assert_true(rounds > 3000);
    assert_in_range(boundaries, rounds - 1, rounds + 1);
    assert_int_equal(period.length, 2);
    /* None come any more. */
    for (int i = 0; i < 40 && period.length; i++)
        wait_for_kernel(4, 8, 0, 8, 400000);
    assert_int_equal(period.length, 0);
}

/* Waits for work of any size, without an input: each is one in the end, but may be none. */
static void test_any_work_without_input(void **state)
{
    uint32_t random = 5;
    unsigned boundaries = 0;
    (void)state;
    for (int i = 0; i < 2400; i++)
        boundaries += wait_for(1 + draw(&random, 1000), 0, 8, 20000000) == PERIOD_BOUNDARY;
    assert_true(boundaries > 500);
    assert_int_equal(period_doubt(&period), TICK_WAITS);
}

/* A word has a position, and then the weights of each layer. */
static void test_weights_of_layers(void **state)
{
    unsigned boundaries = 0, words = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        words += period.length > 0;
        for (unsigned layer = 0; layer < 24; layer++) {
            const struct mark mark = {.at_ns = now_ns += 1000000,
                                      .launches = layer ? 12 : 20,
                                      .few_in = layer == 0,
                                      .copies_in = layer ? 1 : 2,
                                      .bytes_in = 1 << 20,
                                      .copies_out = layer == 23,
                                      .bytes_out = layer == 23 ? 8 : 0};
            boundaries += period_add(&period, &mark, false) == PERIOD_BOUNDARY;
        }
    }
    assert_true(words > 500);
    assert_in_range(boundaries, words, words + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_steps_without_input, set_up),
        cmocka_unit_test_setup(test_a_report_now_and_then, set_up),
        cmocka_unit_test_setup(test_a_report_at_any_step, set_up),
        cmocka_unit_test_setup(test_inputs_become_smaller, set_up),
        cmocka_unit_test_setup(test_layers_of_any_work, set_up),
        cmocka_unit_test_setup(test_levels_of_a_search, set_up),
        cmocka_unit_test_setup(test_rounds_of_any_number, set_up),
        cmocka_unit_test_setup(test_any_work_without_input, set_up),
        cmocka_unit_test_setup(test_weights_of_layers, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
