#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "orchestrator/campaign/bracket.h"

/* Searches among rates of which all up to a limit hold; returns the steps that it took. */
static unsigned search(struct bracket *bracket, uint64_t limit)
{
    unsigned steps = 0;
    for (uint64_t next; (next = bracket_next(bracket)) > 0; steps++) {
        assert_true(next > bracket->held_units && next < bracket->failed_units);
        assert_true(steps < 32);
        bracket_note(bracket, next, next <= limit);
    }
    return steps;
}

static void the_limit_is_bracketed(void **state)
{
    (void)state;
    for (uint64_t limit = 1000; limit < 64000; limit += 777) {
        struct bracket bracket = {
            .width = BRACKET_WIDTH, .failed_units = 64000, .lowest_units = 1000};
        unsigned steps = search(&bracket, limit);
        assert_in_range(limit, bracket.held_units, bracket.failed_units - 1);
        assert_true((double)bracket.held_units >= (1 - BRACKET_WIDTH) * (double)limit - 1);
        assert_in_range(steps, 4, 12);
    }
}

static void nothing_is_found_where_nothing_holds(void **state)
{
    (void)state;
    struct bracket bracket = {.width = BRACKET_WIDTH, .failed_units = 64000, .lowest_units = 1000};
    assert_int_equal(search(&bracket, 999), 6);
    assert_int_equal(bracket.held_units, 0);
    assert_int_equal(bracket.failed_units, 1000);
}

static void without_a_bound_it_looks_upward(void **state)
{
    (void)state;
    for (uint64_t limit = 1000; limit < 64000; limit += 777) {
        struct bracket bracket = {.width = BRACKET_WIDTH, .first_units = 2000, .lowest_units = 100};
        unsigned steps = 0;
        for (uint64_t next; (next = bracket_next(&bracket)) > 0; steps++)
            bracket_note(&bracket, next, next <= limit);
        assert_in_range(limit, bracket.held_units, bracket.failed_units - 1);
        assert_true((double)bracket.held_units >= (1 - BRACKET_WIDTH) * (double)limit - 1);
        assert_in_range(steps, 4, 12);
    }
}

static void it_ends_with_the_smallest_numbers(void **state)
{
    (void)state;
    for (uint64_t failed = 1; failed < 20; failed++) {
        for (uint64_t limit = 0; limit < failed; limit++) {
            struct bracket bracket = {
                .width = BRACKET_WIDTH, .failed_units = failed, .lowest_units = 1};
            search(&bracket, limit);
            assert_int_equal(bracket.held_units, limit);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_bracketed),
        cmocka_unit_test(nothing_is_found_where_nothing_holds),
        cmocka_unit_test(without_a_bound_it_looks_upward),
        cmocka_unit_test(it_ends_with_the_smallest_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
