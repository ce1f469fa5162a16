/* The search: which of several layouts that do the same is the winner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "tests/unit/tune/rig.h"

/* A search of the first points of the space alone: what others do would be open. */
static void begin_of(size_t count)
{
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].excluded = i >= count;
    rig_begin(&rig_rules);
}

/* Two rounds of the finals. */
static void note_finals(size_t point, double value, double cpus, double p99_us)
{
    const struct tune_observation seen = {.value = value,
                                          .low = 0.999 * value,
                                          .high = 1.001 * value,
                                          .ips = value,
                                          .p99_us = p99_us,
                                          .p99_low_us = p99_us,
                                          .p99_high_us = p99_us,
                                          .cpus = cpus};
    tune_search_note_round(rig.search, point, 0.9999 * value, &seen);
    tune_search_note_round(rig.search, point, 1.0001 * value, &seen);
}

static void preferred(size_t winner, enum tune_reason reason, size_t equals)
{
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.winner, winner);
    assert_int_equal(judgement.reason, reason);
    assert_int_equal(judgement.most, 0);
    assert_int_equal(judgement.equal_count, equals);
    assert_int_equal(judgement.verdict, equals > 1 ? TUNE_EQUAL : TUNE_WINNER);
    if (equals > 1)
        assert_int_equal(judgement.equal[0], winner);
}

static void test_of_equals_the_cheapest_wins(void **state)
{
    static const struct {
        double value, cpus, p99_us;
        size_t winner;
        enum tune_reason reason;
        size_t equals;
    } steps[] = {
        {1000.0, 15.8, 40.0, 0, TUNE_MORE, 1},
        /* Surely more than 1% below: its CPUs do not count. */
        {960.0, 0.1, 1.0, 0, TUNE_MORE, 1},
        /* Fewer CPUs, whatever else, */
        {995.0, 1.05, 50.0, 2, TUNE_FEWER_CPUS, 2},
        /* of those with about as few the lowest percentile, */
        {994.0, 1.0, 60.0, 2, TUNE_FEWER_CPUS, 3},
    };
    (void)state;
    rig_make_space();
    rig.space[0].processes = 8;
    for (size_t count = 1; count <= 4; count++) {
        begin_of(count);
        for (size_t i = 0; i < count; i++)
            note_finals(i, steps[i].value, steps[i].cpus, steps[i].p99_us);
        preferred(steps[count - 1].winner, steps[count - 1].reason, steps[count - 1].equals);
    }
    note_finals(3, 994.0, 1.0, 45.0);
    preferred(3, TUNE_FEWER_CPUS, 3);
}

/* Two rounds of each show little: neither that it is worse nor that it is as good. */
static void test_few_noisy_rounds_make_no_equals(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    for (size_t point = 0; point < 3; point++)
        for (int round = 0; round < 2; round++) {
            double value = 1000.0 - 10.0 * (double)point + (round ? 40.0 : -40.0);
            const struct tune_observation seen = {
                .value = value, .low = 0.92 * value, .high = 1.08 * value, .ips = value};
            tune_search_note_round(rig.search, point, value, &seen);
        }
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_UNFINISHED);
    assert_int_equal(judgement.equal_count, 1);
}

/* CPUs that differ by chance do not decide: the percentile does. */
static void test_equals_stand_in_the_order_of_preference(void **state)
{
    (void)state;
    static const double cpus[] = {1.0, 4.01, 4.0, 4.02, 2.0}, p99_us[] = {40, 30, 70, 10, 90};
    static const size_t order[] = {0, 4, 3, 1, 2};
    rig_make_space();
    rig_begin(&rig_rules);
    for (size_t point = 0; point < 5; point++)
        note_finals(point, 1000.0 - (double)point, cpus[point], p99_us[point]);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.equal_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(judgement.equal[i], order[i]);
}

static void note_round(size_t point, double value, double p99_us)
{
    const struct tune_observation seen = {.value = value,
                                          .low = 0.99 * value,
                                          .high = 1.01 * value,
                                          .ips = value,
                                          .p99_us = p99_us,
                                          .cpus = 1.0};
    tune_search_note_round(rig.search, point, value, &seen);
}

/* Rounds that differ do not show that a finalist does less: it is named beside steady equals. One
 * that is surely 1% below them by all its rounds is not. */
static void test_an_unsteady_finalist_is_among_the_equals(void **state)
{
    (void)state;
    static const double unsteady[] = {1048.0, 952.0, 996.4, 998.8},
                        less[] = {972.0, 970.0, 971.0, 971.0};
    rig_make_space();
    for (int equals = 1; equals <= 2; equals++) {
        begin_of(4);
        for (int round = 0; round < 4; round++) {
            note_round(0, 1000.0 + round % 2, 70.0);
            if (equals > 1)
                note_round(1, 999.0 + round % 2, 72.0);
            note_round(2, unsteady[round], 10.0);
            note_round(3, less[round], 1.0);
        }
        struct tune_judgement judgement = rig_judge();
        assert_int_equal(judgement.winner, 0);
        /* Beside one alone it is open: more rounds would show it. */
        assert_int_equal(judgement.verdict, equals > 1 ? TUNE_EQUAL : TUNE_UNFINISHED);
        assert_int_equal(judgement.equal_count, equals > 1 ? 3 : 1);
        if (equals > 1)
            assert_int_equal(judgement.equal[1], 2);
    }
}

static void test_of_equals_with_equal_cpus(void **state)
{
    (void)state;
    rig_make_space();
    rig.space[0].processes = 8;
    /* One whose CPUs are not known leaves them out. */
    for (size_t count = 2; count <= 3; count++) {
        begin_of(count);
        note_finals(0, 1000.0, 1.0, 40.0);
        note_finals(1, 999.0, 1.0, 30.0);
        if (count > 2)
            note_finals(2, 998.0, 0.0, 20.0);
        preferred(count - 1, TUNE_LOWER_P99, count);
    }

    begin_of(2);
    note_finals(0, 1000.0, 1.0, 40.0);
    note_finals(1, 999.0, 1.05, 40.2);
    preferred(1, TUNE_FEWER_PROCESSES, 2);

    /* A share of the GPU that gains nothing is not worth having, with a lower p99, too. */
    rig_make_space();
    rig.space[0].axes[TUNE_AXIS_SHARE] = 25;
    rig.space[2].axes[TUNE_AXIS_SHARE] = 100;
    for (size_t count = 2; count <= 3; count++) {
        begin_of(count);
        note_finals(0, 1000.0, 1.0, 30.0);
        note_finals(1, 999.0, 1.05, 50.0);
        if (count > 2)
            note_finals(2, 999.0, 1.05, 40.0);
        preferred(count - 1, TUNE_WHOLE_GPU, count);
    }

    /* One client alone needs no daemon. */
    rig_make_space();
    rig.space[0].axes[TUNE_AXIS_MPS] = 1;
    begin_of(2);
    note_finals(0, 1000.0, 1.0, 40.0);
    note_finals(1, 999.0, 1.05, 40.2);
    preferred(1, TUNE_NO_DAEMON, 2);
}

static double cpus_of_flat(const struct tune_candidate *one)
{
    return one->streams > 1 ? 1.0 : one->processes * one->threads;
}

/* On a plateau the cheapest gets to the finals. */
static void test_the_cheapest_of_a_plateau_is_a_finalist(void **state)
{
    (void)state;
    rig_make_space();
    rig.space[rig.count - 1].streams = 16;
    rig_begin(&rig_rules);
    struct tune_batch batch;
    do {
        tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            /* It seems to be the worst of them, by less than windows show. */
            double value = point == rig.count - 1 ? 995.0 : 1000.0 + (double)(point % 7);
            const struct tune_observation seen = {.value = value,
                                                  .low = 0.98 * value,
                                                  .high = 1.02 * value,
                                                  .ips = value,
                                                  .p99_us = 10.0,
                                                  .cpus = cpus_of_flat(&rig.space[point])};
            if (batch.fresh)
                tune_search_note_round(rig.search, point, value, &seen);
            else
                tune_search_note(rig.search, point, &seen);
        }
    } while (batch.count > 0);
    struct tune_judgement judgement = rig_judge();
    assert_true(cpus_of_flat(&rig.space[judgement.winner]) <= 1.0);
    assert_int_equal(judgement.reason, TUNE_FEWER_CPUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_of_equals_the_cheapest_wins, rig_end),
        cmocka_unit_test_teardown(test_few_noisy_rounds_make_no_equals, rig_end),
        cmocka_unit_test_teardown(test_equals_stand_in_the_order_of_preference, rig_end),
        cmocka_unit_test_teardown(test_an_unsteady_finalist_is_among_the_equals, rig_end),
        cmocka_unit_test_teardown(test_of_equals_with_equal_cpus, rig_end),
        cmocka_unit_test_teardown(test_the_cheapest_of_a_plateau_is_a_finalist, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
