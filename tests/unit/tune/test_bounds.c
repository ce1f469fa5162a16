/* The search within bounds: limits of the latency, budgets of time, what an earlier run measured.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "orchestrator/tune/search/search.h"
#include "tests/unit/tune/rig.h"

/* -- constraints ------------------------------------------------------------------------------- */

static void test_the_winner_is_within_the_limit(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    rig_make_space();
    /* 10 workers' worth at most: latency is (1 + 0.02 workers) / 10 seconds. */
    limited.max_p99_us = 1e6 * (1.0 + 0.02 * 20.0) / 10.0;
    rig_begin(&limited);
    rig_run(surface_more_is_better, 0.001, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_true(judgement.winner != TUNE_NO_POINT);
    assert_int_equal(rig.space[judgement.winner].processes * rig.space[judgement.winner].threads,
                     16);
}

static void test_a_limit_that_no_layout_meets(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    rig_make_space();
    limited.max_p99_us = 1.0;
    rig_begin(&limited);
    rig_run(surface_more_is_better, 0.001, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_NONE);
    assert_true(judgement.winner == TUNE_NO_POINT);
    assert_true(judgement.closest != TUNE_NO_POINT);
    assert_int_equal(rig.space[judgement.closest].processes * rig.space[judgement.closest].threads,
                     1);
}

static void test_a_percentile_without_upper_bound_meets_nothing(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    struct tune_observation seen = {
        .value = 100.0, .low = 99.0, .high = 101.0, .ips = 100.0, .p99_us = 10.0};
    rig_make_space();
    limited.max_p99_us = 1000.0;
    rig_begin(&limited);
    tune_search_note(rig.search, 3, &seen);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
    assert_int_equal(rig_judge().closest, 3);
    seen.p99_high_us = 999.0;
    tune_search_note(rig.search, 3, &seen);
    assert_int_equal(rig_judge().winner, 3);
    seen.p99_high_us = 1001.0;
    tune_search_note(rig.search, 3, &seen);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
}

/* One window, or one of two rounds of the finals, without an upper end of the percentile. */
static void note_unsure(size_t point, double value, double p99_us, bool final)
{
    const struct tune_observation seen = {
        .value = value, .low = 0.9 * value, .high = 1.1 * value, .ips = value, .p99_us = p99_us};
    if (final)
        tune_search_note_round(rig.search, point, value, &seen);
    else
        tune_search_note(rig.search, point, &seen);
}

static void test_the_closest_is_what_its_figures_show(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    rig_make_space();
    limited.max_p99_us = 50e3;
    rig_begin(&limited);
    /* One that seemed to do much, and then showed less, with a percentile near the limit. */
    note_unsure(1, 4800.0, 7e3, false);
    note_unsure(1, 2800.0, 46e3, true);
    assert_int_equal(rig_judge().closest, 1);
    /* Well below the limit, but slow; in finals; and with more in one short window. */
    note_unsure(2, 150.0, 6e3, false);
    assert_int_equal(rig_judge().closest, 2);
    note_unsure(3, 4600.0, 11e3, true);
    note_unsure(3, 4500.0, 15e3, true);
    note_unsure(4, 4700.0, 10e3, false);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
    assert_int_equal(rig_judge().closest, 3);
    note_unsure(5, 4700.0, 20e3, true);
    assert_int_equal(rig_judge().closest, 5);
}

/* Notes a window of it, or a round of the finals; point i has 1000 iterations/s less 1 for each i.
 */
static void note_cpus(size_t point, double cpus, bool fresh)
{
    double value = 1000.0 - (double)point;
    const struct tune_observation seen = {
        .value = value, .low = value, .high = value, .ips = value, .p99_us = 10.0, .cpus = cpus};
    if (fresh)
        tune_search_note_round(rig.search, point, value, &seen);
    else
        tune_search_note(rig.search, point, &seen);
}

static void test_a_winner_surely_has_the_cpus(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    limited.max_cpus = 2.0;
    rig_make_space();
    rig_begin(&limited);
    /* Too many, not known, and in one of two rounds too many: of none it is sure. */
    note_cpus(0, 3.0, false);
    note_cpus(1, 0.0, false);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
    assert_int_equal(rig_judge().closest, 1);
    note_cpus(2, 2.5, true);
    note_cpus(2, 1.5, true);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
    /* As many as are allowed, but for what clocks make of them. */
    note_cpus(3, 2.01, true);
    note_cpus(3, 2.0, true);
    assert_int_equal(rig_judge().winner, 3);
}

static void test_what_takes_too_many_cpus_is_not_tried(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    limited.max_cpus = 4.0;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].cpus = rig.space[i].processes * rig.space[i].threads;
    rig_begin(&limited);
    rig_run(surface_more_is_better, 0.001, 1000.0);
    for (size_t i = 0; i < rig.count; i++)
        assert_true(rig.space[i].cpus <= 4.0 || rig.asked[i] == 0);
    assert_true(rig_points_asked() > 5);
}

/* -- time -------------------------------------------------------------------------------------- */

static void test_a_budget_is_kept_and_said(void **state)
{
    (void)state;
    for (double budget_s = 0.2; budget_s < 40.0; budget_s *= 1.5) {
        rig_make_space();
        rig_begin(&rig_rules);
        double spent_s = rig_run(surface_hill, 0.01, budget_s);
        assert_true(spent_s <= budget_s);
        if (budget_s > 1.0)
            assert_true(rig_judge().winner != TUNE_NO_POINT);
        if (budget_s < 5.0)
            assert_false(rig_judge().complete);
    }
}

static void test_no_time_for_anything(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_hill, 0.01, 0.01);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_NONE);
    assert_int_equal(judgement.measured, 0);
    assert_false(judgement.complete);
}

static const struct tune_costs dear_start = {.point_s = 0.2, .start_s = 60.0};
static const struct tune_costs cheap_start = {.point_s = 0.2, .start_s = 6.0};
static const struct tune_costs *const starts[] = {&dear_start, &cheap_start};

/* A start with several threads is waited for in vain if the program has one: where starts are dear
 * processes come first, and then no start that leaves no time for the finals. */
static void test_dear_starts_have_one_thread_first(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct tune_rules rules = rig_rules;
        struct tune_batch batch;
        unsigned most = 0;
        double budget_s = 8.0 * starts[k]->start_s;
        rules.program = true;
        rules.budget_s = budget_s;
        rig_make_space();
        rig_begin(&rules);
        tune_search_next(rig.search, budget_s, starts[k], &batch);
        assert_int_equal(batch.count, 1);
        rig_look(batch.items[0].point, 1.0, 0.001, 1.0, false);
        tune_search_next(rig.search, 0.87 * budget_s, starts[k], &batch);
        assert_int_equal(batch.stage, TUNE_STAGE_LOOK);
        assert_true(batch.count > 0);
        for (size_t i = 0; i < batch.count; i++) {
            const struct tune_candidate *one = &rig.space[batch.items[i].point];
            most = one->threads > most ? one->threads : most;
        }
        assert_true(starts[k] == &dear_start ? most == 1 : most > 1);
        for (size_t i = 0; i < batch.count; i++)
            rig_look(batch.items[i].point, 4.0, 0.001, 1.0, false);
        tune_search_next(rig.search, 0.6 * budget_s, starts[k], &batch);
        for (size_t i = 0; i < batch.count && starts[k] == &dear_start; i++)
            assert_int_equal(rig.space[batch.items[i].point].threads, 1);
    }
}

/* Nor is there time for settings that a layout may do without: a start with them serves no other.
 */
static void test_dear_starts_are_plain(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct tune_rules rules = rig_rules;
        struct tune_batch batch;
        size_t others = 0;
        double left_s = 480.0;
        rules.program = true;
        rules.budget_s = left_s;
        rig_make_space();
        for (size_t i = 0; i < rig.count; i++) {
            uint32_t *axes = rig.space[i].axes;
            axes[i % 3 ? TUNE_AXIS_SHARE : TUNE_AXIS_BIND] = axes[TUNE_AXIS_LAUNCH];
            axes[TUNE_AXIS_LAUNCH] = 0;
        }
        rig_begin(&rules);
        for (; left_s > 200.0; left_s -= starts[k]->start_s) {
            tune_search_next(rig.search, left_s, starts[k], &batch);
            if (batch.count == 0)
                break;
            /* They would be better. */
            for (size_t i = 0; i < batch.count; i++) {
                const uint32_t *axes = rig.space[batch.items[i].point].axes;
                bool plain = axes[TUNE_AXIS_SHARE] + axes[TUNE_AXIS_BIND] == 0;
                others += !plain;
                rig_look(batch.items[i].point, plain ? 4.0 : 5.0, 0.001, 1.0, batch.fresh);
            }
        }
        assert_true(rig_points_asked() > 2);
        assert_true(starts[k] == &dear_start ? others == 0 : others > 0);
    }
}

/* Clients with more hardware queues than GPUs usually have may be refused, and come later. */
static void test_too_many_queues_come_later(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 6.0};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    rules.program = true;
    rules.budget_s = 100.0;
    rig_make_space();
    rig.count = 0;
    for (unsigned p = 1; p <= 16; p *= 4)
        for (unsigned queues = 32; queues >= 2; queues /= 4)
            rig.space[rig.count++] = (struct tune_candidate){.processes = p,
                                                             .threads = 1,
                                                             .connections = queues,
                                                             .axes = {[TUNE_AXIS_MPS] = p > 1},
                                                             .naive = p == 1 && queues == 32};
    rig_begin(&rules);
    unsigned beyond = 0;
    for (double left_s = 100.0; beyond == 0; left_s -= 7.0) {
        assert_true(left_s > 0.0);
        tune_search_next(rig.search, left_s, &costs, &batch);
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            const struct tune_candidate *one = &rig.space[point];
            beyond += (one->processes + 1) * one->connections > 128;
            rig_look(point, one->processes, 0.001, 1.0, batch.fresh);
        }
    }
    /* After all others that are as large. */
    for (size_t i = 0; i < rig.count; i++)
        if (rig.space[i].processes == 16 && rig.space[i].connections == 2)
            assert_true(rig.asked[i] > 0);
}

static void test_what_an_earlier_run_measured_is_not_asked_for_again(void **state)
{
    (void)state;
    unsigned before[RIG_MOST];
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_hill, 0.001, 4.0);
    memcpy(before, rig.asked, sizeof before);
    rig_begin(&rig_rules);
    for (size_t i = 0; i < rig.count; i++)
        if (before[i])
            rig_look(i, surface_hill(&rig.space[i]), 0.001, 1.0, false);
    memset(rig.asked, 0, sizeof rig.asked);
    struct tune_batch batch;
    for (;;) {
        tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
        if (batch.stage >= TUNE_STAGE_FINAL)
            break;
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            assert_int_equal(before[point], 0);
            rig_look(point, surface_hill(&rig.space[point]), 0.001, 1.0, batch.fresh);
        }
    }
    assert_true(rig_points_asked() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_winner_is_within_the_limit, rig_end),
        cmocka_unit_test_teardown(test_a_limit_that_no_layout_meets, rig_end),
        cmocka_unit_test_teardown(test_a_percentile_without_upper_bound_meets_nothing, rig_end),
        cmocka_unit_test_teardown(test_the_closest_is_what_its_figures_show, rig_end),
        cmocka_unit_test_teardown(test_a_winner_surely_has_the_cpus, rig_end),
        cmocka_unit_test_teardown(test_what_takes_too_many_cpus_is_not_tried, rig_end),
        cmocka_unit_test_teardown(test_a_budget_is_kept_and_said, rig_end),
        cmocka_unit_test_teardown(test_no_time_for_anything, rig_end),
        cmocka_unit_test_teardown(test_dear_starts_have_one_thread_first, rig_end),
        cmocka_unit_test_teardown(test_dear_starts_are_plain, rig_end),
        cmocka_unit_test_teardown(test_too_many_queues_come_later, rig_end),
        cmocka_unit_test_teardown(test_what_an_earlier_run_measured_is_not_asked_for_again,
                                  rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
