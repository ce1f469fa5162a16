/* The finals of a search: how many rounds they take, of which length, and the time for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "orchestrator/tune/search/internal.h"
#include "tests/unit/tune/rig.h"

/* Rounds of the finals of the only layout, until the search has enough. It surely meets the limit
 * from the given round on. */
static unsigned rounds_until_sure(const struct tune_rules *rules, unsigned sure_from)
{
    struct tune_batch batch;
    unsigned rounds = 0;
    rig_make_space();
    rig.count = 1;
    rig_begin(rules);
    for (;;) {
        tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
        if (batch.count == 0)
            return rounds;
        bool final = batch.stage == TUNE_STAGE_FINAL;
        rounds += final;
        const struct tune_observation seen = {
            .value = 100.0,
            .low = 99.0,
            .high = 101.0,
            .ips = 1e6,
            .p99_us = 10.0,
            .p99_high_us = rounds >= sure_from ? 999.0 : 0.0,
        };
        if (final)
            tune_search_note_round(rig.search, 0, seen.value, &seen);
        else
            tune_search_note(rig.search, 0, &seen);
        assert_true(++rig.steps < 100);
    }
}

static void test_finals_go_on_while_the_percentile_is_unsure(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    limited.max_p99_us = 1000.0;
    assert_int_equal(rounds_until_sure(&limited, 12), 8);
    limited.rounds_unsure = 32;
    assert_int_equal(rounds_until_sure(&limited, 2), 3);
    assert_int_equal(rounds_until_sure(&limited, 12), 12);
    assert_int_equal(rounds_until_sure(&limited, 100), 32);
}

/* Of 400 iterations/s: windows of 0.25 s would hold 100. */
static void test_finals_hold_what_bounds_a_percentile(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    struct tune_batch batch;
    const struct tune_observation seen = {
        .value = 400.0, .low = 380.0, .high = 420.0, .ips = 400.0, .p99_us = 3000.0};
    limited.max_p99_us = 9000.0;
    limited.final_s = 0.25;
    rig_make_space();
    rig.count = 1;
    rig_begin(&limited);
    do {
        tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
        assert_int_equal(batch.count, 1);
        tune_search_note(rig.search, 0, &seen);
        assert_true(++rig.steps < 100);
    } while (batch.stage < TUNE_STAGE_FINAL);
    double iterations = limited.rounds_least * seen.ips * batch.items[0].window_s;
    assert_in_range(iterations, 1400, 1600);
}

/* Notes a window of 300 iterations/s, or a round of the finals. */
static void note_slow(size_t point, bool fresh)
{
    double value = 300.0 - (double)point;
    const struct tune_observation seen = {.value = value,
                                          .low = 0.99 * value,
                                          .high = 1.01 * value,
                                          .ips = value,
                                          .p99_us = 4000.0,
                                          .p99_low_us = 3600.0,
                                          .p99_high_us = 4400.0};
    if (fresh)
        tune_search_note_round(rig.search, point, value, &seen);
    else
        tune_search_note(rig.search, point, &seen);
}

/* Runs the finals of two layouts that were looked at. Returns the length of the first window. */
static double run_slow_finals(const struct tune_rules *rules, double seconds, unsigned rounds[2])
{
    struct tune_batch batch;
    double first_s = 0.0;
    rig_make_space();
    rig.count = 2;
    rig_begin(rules);
    rounds[0] = rounds[1] = 0;
    for (size_t i = 0; i < rig.count; i++)
        note_slow(i, false);
    for (;;) {
        tune_search_next(rig.search, seconds, &rig_cheap, &batch);
        if (batch.stage > TUNE_STAGE_FINAL)
            return first_s;
        for (size_t i = 0; i < batch.count; i++) {
            bool final = batch.stage == TUNE_STAGE_FINAL;
            seconds -= batch.items[i].window_s + rig_cheap.point_s;
            first_s = final && first_s <= 0.0 ? batch.items[i].window_s : first_s;
            rounds[batch.items[i].point] += final;
            note_slow(batch.items[i].point, final);
        }
        assert_true(++rig.steps < 100);
    }
}

/* A rate takes 1000 iterations, or down to 400 for two layouts in three rounds, or in two. */
static void test_finals_compare_two_rates(void **state)
{
    (void)state;
    struct tune_rules searched = rig_rules;
    unsigned rounds[2];
    searched.resolution = 0.05;
    for (double seconds = 10.0; seconds <= 40.0; seconds += 1.0) {
        assert_true(300.0 * run_slow_finals(&searched, seconds, rounds) >= 399.0);
        assert_true(rounds[0] > 1 && rounds[1] > 1);
    }
}

/* Windows that have to hold what bounds a percentile are not shorter where time is short: a
 * finalist that begins has two rounds. */
static void test_finals_have_time_for_who_begins(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    unsigned rounds[2];
    limited.max_p99_us = 10000.0;
    for (double seconds = 1.0; seconds <= 20.0; seconds += 0.5) {
        run_slow_finals(&limited, seconds, rounds);
        assert_true(rounds[0] != 1 && rounds[1] != 1);
    }
}

/* A percentile of 800 us that may be that much; the first points are the faster ones. */
static void note_latency(size_t point, double p99_high_us)
{
    double value = 1000.0 - 10.0 * (double)point;
    const struct tune_observation seen = {
        .value = value,
        .low = 0.9 * value,
        .high = 1.1 * value,
        .ips = 1e6,
        .p99_us = 800.0,
        .p99_low_us = 700.0,
        .p99_high_us = p99_high_us,
    };
    tune_search_note(rig.search, point, &seen);
}

/* Some that seem better and may break it, and one that surely meets it. */
static void test_short_finals_keep_who_surely_meets_the_limit(void **state)
{
    (void)state;
    struct tune_rules limited = rig_rules;
    limited.max_p99_us = 1000.0;
    rig_make_space();
    rig.count = 4;
    rig_begin(&limited);
    for (size_t i = 0; i < rig.count; i++)
        note_latency(i, i < 3 ? 1100.0 : 900.0);
    /* Time for three short rounds of two. */
    struct tune_batch batch;
    do {
        tune_search_next(rig.search, 5.0, &rig_cheap, &batch);
        for (size_t i = 0; i < batch.count && batch.stage < TUNE_STAGE_FINAL; i++)
            note_latency(batch.items[i].point, batch.items[i].point < 3 ? 1100.0 : 900.0);
        assert_true(++rig.steps < 100);
    } while (batch.stage < TUNE_STAGE_FINAL);
    bool sure = false;
    for (size_t i = 0; i < batch.count; i++)
        sure |= batch.items[i].point == 3;
    assert_true(sure);
}

static void test_finals_get_their_time(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_hill, 0.01, 15.0);
    assert_true(rig_judge().rounds >= 3);
}

static double start_of(const struct tune_costs *costs, size_t point)
{
    return costs->start_s + costs->process_s * rig.space[point].processes;
}

/* Whether another finalist's processes serve this one of the batch. */
static bool shares(const struct tune_batch *batch, size_t i)
{
    const struct tune_candidate *one = &rig.space[batch->items[i].point];
    for (size_t j = 0; j < batch->count; j++) {
        const struct tune_candidate *other = &rig.space[batch->items[j].point];
        bool larger = other->processes * other->threads > one->processes * one->threads;
        if ((larger || (j < i && other->processes == one->processes)) &&
            tune_may_share_round(rig.search, other, one))
            return true;
    }
    return false;
}

/* Runs a search among layouts of a program whose starts take long: one serves looks until another
 * is asked for. Returns the seconds that it took, and the longest window of the finals. */
static double run_windows(const struct tune_costs *costs, double budget_s, bool final_grows,
                          double *longest_s)
{
    struct tune_batch batch;
    struct tune_rules rules = rig_rules;
    double spent_s = 0.0;
    *longest_s = 0.0;
    rules.program = true;
    rules.final_grows = final_grows;
    rules.budget_s = budget_s;
    rig_make_space();
    rig_begin(&rules);
    for (;;) {
        tune_search_next(rig.search, budget_s - spent_s, costs, &batch);
        if (batch.count == 0 || batch.stage == TUNE_STAGE_NAIVE)
            return spent_s;
        assert_true(batch.fresh || batch.count == 1);
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            bool starts = batch.fresh ? !shares(&batch, i) : !tune_is_held(rig.search, point);
            spent_s += batch.items[i].window_s + costs->point_s;
            spent_s += starts ? start_of(costs, point) : 0.0;
            if (starts)
                tune_search_hold(rig.search, batch.fresh ? TUNE_NO_POINT : point);
            if (batch.fresh)
                *longest_s = fmax(*longest_s, batch.items[i].window_s);
            rig_look(point, surface_hill(&rig.space[point]), 0.001, 1.0, batch.fresh);
        }
        assert_true(++rig.steps < 1000);
        if (!batch.fresh)
            assert_true(tune_search_reserve_s(rig.search, budget_s - spent_s, costs, false) <=
                        budget_s - spent_s);
    }
}

static double run_program(const struct tune_costs *costs, double budget_s)
{
    double longest_s;
    return run_windows(costs, budget_s, true, &longest_s);
}

/* In proportion to a start that is dear, and up to as long as that where the time is not enough for
 * another round, unless their length is given. */
static void test_windows_of_the_finals_suit_the_start(void **state)
{
    (void)state;
    const struct tune_costs dear = {.point_s = 0.2, .start_s = 20.0};
    const struct tune_costs cheap = {.point_s = 0.2, .start_s = 1.0};
    double longest_s;
    assert_true(run_windows(&dear, 600.0, true, &longest_s) <= 600.0);
    assert_true(longest_s > 5.9 && longest_s <= dear.start_s);
    run_windows(&dear, 600.0, false, &longest_s);
    assert_true(longest_s == rig_rules.final_s);
    run_windows(&cheap, 600.0, true, &longest_s);
    assert_true(longest_s == rig_rules.final_s);
    /* Whatever the budget, there is time for them. */
    for (double budget_s = 60.0; budget_s < 600.0; budget_s *= 1.1)
        assert_true(run_windows(&dear, budget_s, true, &longest_s) <= budget_s);
}

static void test_finals_of_a_program_with_dear_starts(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 60.0};
    /* From where there is time for two rounds of two. */
    for (double budget_s = 400.0; budget_s < 3000.0; budget_s *= 1.3) {
        assert_true(run_program(&costs, budget_s) <= budget_s);
        struct tune_judgement judgement = rig_judge();
        assert_true(judgement.rounds >= 2 && judgement.finals_budget_s == 0.0);
        assert_true(judgement.next != TUNE_NO_POINT);
    }
    /* One start serves more layouts than it would if it were cheap. */
    assert_true(rig_points_asked() > 12);
    /* Of the best layout at least, as there is little time to compare it; and none. */
    assert_true(run_program(&costs, 390.0) <= 390.0);
    assert_true(rig_judge().rounds >= 2);
    assert_true(run_program(&costs, 170.0) <= 170.0);
    struct tune_judgement judgement = rig_judge();
    assert_true(judgement.rounds == 0 && judgement.verdict == TUNE_UNFINISHED);
    assert_true(judgement.finals_budget_s > 390.0 && judgement.finals_budget_s < 440.0);
    assert_true(judgement.enough_budget_s >= judgement.finals_budget_s);
    assert_true(run_program(&costs, judgement.finals_budget_s) <= judgement.finals_budget_s);
    assert_true(rig_judge().rounds >= 2);
    /* Where the best starts much later than others do, too. */
    const struct tune_costs uneven = {.point_s = 0.2, .start_s = 6.0, .process_s = 3.0};
    run_program(&uneven, 26.0);
    judgement = rig_judge();
    assert_true(judgement.rounds == 0 && judgement.finals_budget_s > 26.0);
    run_program(&uneven, judgement.finals_budget_s);
    assert_true(rig_judge().rounds >= 2);
}

/* What is left of a program of which one layout alone works is for its rounds. */
static void test_finals_of_the_only_layout(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 10.0};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    double spent_s = 0.0;
    rules.program = true;
    rules.budget_s = 100.0;
    rig_make_space();
    rig_begin(&rules);
    for (;;) {
        tune_search_next(rig.search, 100.0 - spent_s, &costs, &batch);
        if (batch.count == 0 || batch.stage == TUNE_STAGE_NAIVE)
            break;
        const struct tune_candidate *first = &rig.space[batch.items[0].point];
        bool works = first->naive;
        spent_s += costs.start_s + batch.items[0].window_s + costs.point_s;
        rig_look(batch.items[0].point, works ? 1.0 : -1.0, 0.001, 1.0, batch.fresh);
        assert_true(++rig.steps < 1000);
    }
    assert_true(spent_s <= 100.0);
    assert_true(rig_judge().rounds >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_finals_go_on_while_the_percentile_is_unsure, rig_end),
        cmocka_unit_test_teardown(test_finals_hold_what_bounds_a_percentile, rig_end),
        cmocka_unit_test_teardown(test_finals_compare_two_rates, rig_end),
        cmocka_unit_test_teardown(test_finals_have_time_for_who_begins, rig_end),
        cmocka_unit_test_teardown(test_short_finals_keep_who_surely_meets_the_limit, rig_end),
        cmocka_unit_test_teardown(test_finals_get_their_time, rig_end),
        cmocka_unit_test_teardown(test_windows_of_the_finals_suit_the_start, rig_end),
        cmocka_unit_test_teardown(test_finals_of_a_program_with_dear_starts, rig_end),
        cmocka_unit_test_teardown(test_finals_of_the_only_layout, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
