/* The search within bounds: limits of the latency, budgets of time, what an earlier run measured.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/tune/search/internal.h"
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
        assert_true(rig_points_asked() > 3);
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
        cmocka_unit_test_teardown(test_finals_go_on_while_the_percentile_is_unsure, rig_end),
        cmocka_unit_test_teardown(test_finals_compare_two_rates, rig_end),
        cmocka_unit_test_teardown(test_finals_have_time_for_who_begins, rig_end),
        cmocka_unit_test_teardown(test_finals_hold_what_bounds_a_percentile, rig_end),
        cmocka_unit_test_teardown(test_short_finals_keep_who_surely_meets_the_limit, rig_end),
        cmocka_unit_test_teardown(test_a_winner_surely_has_the_cpus, rig_end),
        cmocka_unit_test_teardown(test_what_takes_too_many_cpus_is_not_tried, rig_end),
        cmocka_unit_test_teardown(test_a_budget_is_kept_and_said, rig_end),
        cmocka_unit_test_teardown(test_no_time_for_anything, rig_end),
        cmocka_unit_test_teardown(test_finals_get_their_time, rig_end),
        cmocka_unit_test_teardown(test_windows_of_the_finals_suit_the_start, rig_end),
        cmocka_unit_test_teardown(test_finals_of_a_program_with_dear_starts, rig_end),
        cmocka_unit_test_teardown(test_dear_starts_have_one_thread_first, rig_end),
        cmocka_unit_test_teardown(test_dear_starts_are_plain, rig_end),
        cmocka_unit_test_teardown(test_too_many_queues_come_later, rig_end),
        cmocka_unit_test_teardown(test_finals_of_the_only_layout, rig_end),
        cmocka_unit_test_teardown(test_what_an_earlier_run_measured_is_not_asked_for_again,
                                  rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
