#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "orchestrator/tune_search.h"

#define MOST 512

static struct tune_candidate space[MOST];
static size_t count;
static struct tune_search *search;
static unsigned asked[MOST];
static unsigned steps;
static uint64_t noise;

/* What a point does; 0: refused, below 0: it fails. */
typedef double (*surface)(const struct tune_candidate *one);

static const struct tune_costs cheap = {.point_s = 0.1};
static const struct tune_rules rules = {
    .window_s = 0.25, .final_s = 1.0, .rounds_least = 3, .rounds_most = 8};

/* P and T of 1 to 16, MPS or not, two ways to launch; the first point is the naive one. */
static void make_space(void)
{
    count = 0;
    for (unsigned p = 1; p <= 16; p *= 2)
        for (unsigned t = 1; t <= 16; t *= 2)
            for (unsigned mps = 0; mps < 2; mps++)
                for (unsigned launch = 0; launch < 2; launch++)
                    space[count++] = (struct tune_candidate){
                        .processes = p,
                        .threads = t,
                        .connections = 8,
                        .axes = {[TUNE_AXIS_MPS] = mps, [TUNE_AXIS_LAUNCH] = launch},
                        .naive = p == 1 && t == 1 && mps == 0 && launch == 0,
                    };
    memset(asked, 0, sizeof asked);
    steps = 0;
    noise = 1;
}

static void begin(const struct tune_rules *with)
{
    tune_search_free(search);
    search = NULL;
    assert_int_equal(tune_search_new(space, count, with, &search), STATUS_OK);
}

static int end(void **state)
{
    (void)state;
    tune_search_free(search);
    search = NULL;
    return 0;
}

static double random_share(void)
{
    return (double)(random_next(&noise) >> 11) / 9007199254740992.0;
}

static void look(size_t point, double value, double spread, double p99_us, bool fresh)
{
    struct tune_observation seen = {.outcome = value > 0.0   ? TUNE_MEASURED
                                               : value < 0.0 ? TUNE_FAILED
                                                             : TUNE_INFEASIBLE};
    asked[point]++;
    if (value > 0.0) {
        double noisy = value * (1.0 + spread * (2.0 * random_share() - 1.0));
        double wide = fmax(spread, 1e-4);
        seen = (struct tune_observation){
            .value = noisy,
            .ips = noisy,
            .low = noisy * (1.0 - wide),
            .high = noisy * (1.0 + wide),
            .p99_us = p99_us,
            .p99_low_us = p99_us * 0.98,
            .p99_high_us = p99_us * 1.02,
        };
    }
    if (fresh)
        tune_search_note_round(search, point, seen.value, &seen);
    else
        tune_search_note(search, point, &seen);
}

/* Little's law: workers of the same speed. */
static double latency_of(size_t point, double value)
{
    return 1e6 * space[point].processes * space[point].threads / fmax(value, 1e-3);
}

/* Runs it to its end; returns the seconds that it took. */
static double run(surface truth, double spread, double budget_s)
{
    struct tune_batch batch;
    double spent_s = 0.0;
    for (;;) {
        tune_search_next(search, budget_s - spent_s, &cheap, &batch);
        if (batch.count == 0)
            return spent_s;
        assert_true(++steps < 1000);
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            double value = truth(&space[point]);
            assert_true(point < count);
            if (spent_s + batch.items[i].window_s + cheap.point_s > budget_s)
                continue;
            spent_s += batch.items[i].window_s + cheap.point_s;
            look(point, value, spread, latency_of(point, value), batch.fresh);
        }
    }
}

static struct tune_judgement judge(void)
{
    struct tune_judgement judgement;
    tune_search_judge(search, &judgement);
    return judgement;
}

static size_t points_asked(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += asked[i] > 0;
    return sum;
}

/* -- surfaces ---------------------------------------------------------------------------------- */

/* One hill, at 4x8 over MPS with launch 1. */
static double hill(const struct tune_candidate *one)
{
    double p = log2(one->processes) - 2.0, t = log2(one->threads) - 3.0;
    return 1000.0 * exp(-0.1 * (p * p + t * t)) * (one->axes[TUNE_AXIS_MPS] ? 1.0 : 0.6) *
           (one->axes[TUNE_AXIS_LAUNCH] ? 1.0 : 0.8);
}

static bool is_top(const struct tune_candidate *one)
{
    return one->processes == 4 && one->threads == 8 && one->axes[TUNE_AXIS_MPS] &&
           one->axes[TUNE_AXIS_LAUNCH];
}

static double flat(const struct tune_candidate *one)
{
    return one->processes > 0 ? 500.0 : 0.0;
}

static double more_is_better(const struct tune_candidate *one)
{
    return 10.0 * one->processes * one->threads / (1.0 + 0.02 * one->processes * one->threads);
}

static double refuses_many(const struct tune_candidate *one)
{
    return one->processes >= 8 && one->axes[TUNE_AXIS_MPS] ? 0.0 : hill(one);
}

static double fails_as_graph(const struct tune_candidate *one)
{
    return one->axes[TUNE_AXIS_LAUNCH] ? -1.0 : hill(one);
}

static double fails_always(const struct tune_candidate *one)
{
    (void)one;
    return -1.0;
}

/* -- what is found ----------------------------------------------------------------------------- */

static void test_top_of_a_hill_is_found_in_few_points(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    run(hill, 0.001, 1000.0);
    struct tune_judgement judgement = judge();
    assert_true(judgement.complete);
    assert_true(is_top(&space[judgement.winner]));
    assert_int_equal(judgement.verdict, TUNE_WINNER);
    assert_int_equal(judgement.tied_count, 0);
    assert_true(judgement.low <= 1000.0 && 1000.0 <= judgement.high * 1.001);
    assert_true(points_asked() <= 52);
    assert_int_equal(judgement.measured, points_asked());
    /* The margin's interval holds the true one: the next best is a step in P or T away. */
    double step = 1.0 / exp(-0.1) - 1.0;
    assert_true(judgement.margin_low <= step && step <= judgement.margin_high);
    assert_true(judgement.margin > 0.0 && judgement.rounds >= 3);
}

static void test_predictions_lead_there_sooner(void **state)
{
    (void)state;
    struct tune_rules predicted = rules;
    predicted.predicted = true;
    make_space();
    for (size_t i = 0; i < count; i++)
        space[i].predicted = hill(&space[i]) * (i % 3 == 0 ? 1.15 : 0.9);
    begin(&predicted);
    run(hill, 0.001, 1000.0);
    assert_true(is_top(&space[judge().winner]));
    assert_true(points_asked() <= 52);
}

static void test_wrong_predictions_do_not_win(void **state)
{
    (void)state;
    struct tune_rules predicted = rules;
    predicted.predicted = true;
    make_space();
    for (size_t i = 0; i < count; i++)
        space[i].predicted = 1000.0 / hill(&space[i]);
    begin(&predicted);
    run(hill, 0.001, 1000.0);
    assert_true(is_top(&space[judge().winner]));
}

static void test_equals_are_a_tie(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    run(flat, 0.002, 1000.0);
    struct tune_judgement judgement = judge();
    assert_int_equal(judgement.verdict, TUNE_TIE);
    assert_true(judgement.tied_count >= 2);
    assert_int_equal(judgement.tied[0], judgement.winner);
    assert_true(judgement.margin_low <= 0.0 && judgement.margin_high >= 0.0);
}

static void test_noise_seldom_makes_a_winner_of_equals(void **state)
{
    (void)state;
    unsigned winners = 0;
    for (unsigned seed = 1; seed <= 100; seed++) {
        make_space();
        noise = seed * 7919;
        begin(&rules);
        run(flat, 0.1, 1000.0);
        winners += judge().verdict == TUNE_WINNER;
    }
    assert_true(winners <= 10);
}

static double normal(void)
{
    double radius = sqrt(-2.0 * log(1.0 - random_share()));
    return radius * cos(6.283185307179586 * random_share());
}

/* Finals of so many layouts, of which the last is better by a share; rounds are normal. */
static struct tune_judgement simulate_finals(uint64_t seed, size_t finalists, double better)
{
    struct tune_rules all = rules;
    struct tune_batch batch;
    all.exhaustive = true;
    make_space();
    count = finalists;
    noise = seed * 7919;
    begin(&all);
    for (;;) {
        tune_search_next(search, INFINITY, &cheap, &batch);
        if (batch.count == 0)
            return judge();
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            double truth = 500.0 * (point == finalists - 1 ? 1.0 + better : 1.0);
            double value = batch.fresh ? truth * (1.0 + 0.05 * normal()) : truth;
            struct tune_observation seen = {
                .value = value, .ips = value, .low = 0.5 * value, .high = 1.5 * value};
            assert_true(++steps < 100);
            if (batch.fresh)
                tune_search_note_round(search, point, value, &seen);
            else
                tune_search_note(search, point, &seen);
        }
    }
}

/* Finals are looked at after each round, and the base is the best of the sample: both count. */
static void test_equal_finalists_are_seldom_told_apart(void **state)
{
    (void)state;
    const unsigned trials = 1000;
    unsigned named[TUNE_FINALISTS + 1] = {0}, winners = 0;
    for (size_t finalists = 2; finalists <= TUNE_FINALISTS; finalists += 2)
        for (unsigned seed = 1; seed <= trials; seed++)
            named[finalists] += simulate_finals(seed, finalists, 0.0).tied_count < finalists;
    for (unsigned seed = 1; seed <= trials; seed++)
        winners += simulate_finals(seed, 2, 0.3).verdict == TUNE_WINNER;
    if (named[2] > 0.025 * trials || named[4] > 0.025 * trials || winners < 0.95 * trials)
        fail_msg("losers in %u of %u finals of 2 equals, %u of 4; %u winners that are better",
                 named[2], trials, named[4], winners);
}

static void test_naive_layouts_come_first_and_once(void **state)
{
    (void)state;
    struct tune_batch batch;
    make_space();
    begin(&rules);
    tune_search_next(search, 1000.0, &cheap, &batch);
    assert_int_equal(batch.stage, TUNE_STAGE_NAIVE);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.items[0].point, 0);
    run(hill, 0.001, 1000.0);
    assert_int_equal(asked[0], 1);
}

static void test_exhaustive_asks_for_all(void **state)
{
    (void)state;
    struct tune_rules all = rules;
    all.exhaustive = true;
    make_space();
    begin(&all);
    run(hill, 0.001, INFINITY);
    assert_int_equal(points_asked(), count);
    assert_true(is_top(&space[judge().winner]));
}

/* -- what is not tried ------------------------------------------------------------------------- */

static void test_more_of_what_is_refused_is_not_tried(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    /* 2x2 over MPS was refused, with single launches: so would be more of it. */
    for (size_t i = 0; i < count; i++)
        if (space[i].processes == 2 && space[i].threads == 2 && space[i].axes[TUNE_AXIS_MPS] &&
            !space[i].axes[TUNE_AXIS_LAUNCH])
            look(i, 0.0, 0.0, 0.0, false);
    memset(asked, 0, sizeof asked);
    run(hill, 0.001, 1000.0);
    for (size_t i = 0; i < count; i++)
        if (space[i].processes >= 2 && space[i].threads >= 2 && space[i].axes[TUNE_AXIS_MPS] &&
            !space[i].axes[TUNE_AXIS_LAUNCH])
            assert_int_equal(asked[i], 0);
    assert_true(is_top(&space[judge().winner]));

    make_space();
    begin(&rules);
    run(refuses_many, 0.001, 1000.0);
    assert_true(space[judge().winner].processes < 8);
}

static void test_a_setting_that_never_works_is_given_up(void **state)
{
    (void)state;
    unsigned graphs = 0;
    make_space();
    begin(&rules);
    run(fails_as_graph, 0.001, 1000.0);
    for (size_t i = 0; i < count; i++)
        graphs += space[i].axes[TUNE_AXIS_LAUNCH] && asked[i];
    /* One batch of the coarse design asks for them. */
    assert_true(graphs >= 3 && graphs <= 18);
    assert_int_equal(space[judge().winner].axes[TUNE_AXIS_LAUNCH], 0);
    assert_int_equal(space[judge().winner].processes, 4);

    make_space();
    begin(&rules);
    for (size_t i = 0, failed = 0; i < count && failed < 3; i++)
        if (space[i].axes[TUNE_AXIS_LAUNCH]) {
            look(i, -1.0, 0.0, 0.0, false);
            failed++;
        }
    memset(asked, 0, sizeof asked);
    run(hill, 0.001, 1000.0);
    for (size_t i = 0; i < count; i++)
        assert_true(!space[i].axes[TUNE_AXIS_LAUNCH] || !asked[i]);
}

static void test_nothing_that_works_is_no_winner(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    run(fails_always, 0.001, 1000.0);
    struct tune_judgement judgement = judge();
    assert_int_equal(judgement.verdict, TUNE_NONE);
    assert_true(judgement.winner == TUNE_NO_POINT && judgement.closest == TUNE_NO_POINT);
    assert_false(judgement.complete || judgement.cut);
}

/* As long as nothing has worked, what failed does not say which setting it was. */
static void test_first_failures_do_not_close_the_space(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    for (size_t i = 0; i < 4; i++)
        look(i, -1.0, 0.0, 0.0, false);
    run(hill, 0.001, 1000.0);
    assert_true(judge().winner != TUNE_NO_POINT && is_top(&space[judge().winner]));
    assert_true(judge().complete);
}

static void test_excluded_and_outside(void **state)
{
    (void)state;
    make_space();
    for (size_t i = 0; i < count; i++) {
        space[i].excluded = space[i].axes[TUNE_AXIS_MPS] && space[i].processes == 4;
        space[i].outside = space[i].naive;
    }
    begin(&rules);
    run(hill, 0.001, 1000.0);
    for (size_t i = 0; i < count; i++)
        assert_true(!space[i].excluded || !asked[i]);
    assert_int_equal(asked[0], 1);
    /* Only what is outside has been measured: it is no answer. */
    begin(&rules);
    look(0, 1000.0, 0.001, 1.0, false);
    assert_int_equal(judge().verdict, TUNE_NONE);
}

static void test_a_ceiling_below_the_best_is_not_tried(void **state)
{
    (void)state;
    struct tune_rules predicted = rules;
    predicted.predicted = true;
    make_space();
    for (size_t i = 0; i < count; i++) {
        space[i].predicted = 1000.0;
        space[i].ceiling = space[i].axes[TUNE_AXIS_MPS] ? 2000.0 : 100.0;
    }
    begin(&predicted);
    /* The best is known before anything else is looked at. */
    for (size_t i = 0; i < count; i++)
        if (is_top(&space[i]))
            look(i, 1000.0, 0.001, 1.0, false);
    run(hill, 0.001, 1000.0);
    for (size_t i = 0; i < count; i++)
        assert_true(space[i].axes[TUNE_AXIS_MPS] || space[i].naive || !asked[i]);
}

/* -- constraints ------------------------------------------------------------------------------- */

static void test_the_winner_is_within_the_limit(void **state)
{
    (void)state;
    struct tune_rules limited = rules;
    make_space();
    /* 10 workers' worth at most: latency is (1 + 0.02 workers) / 10 seconds. */
    limited.max_p99_us = 1e6 * (1.0 + 0.02 * 20.0) / 10.0;
    begin(&limited);
    run(more_is_better, 0.001, 1000.0);
    struct tune_judgement judgement = judge();
    assert_true(judgement.winner != TUNE_NO_POINT);
    assert_int_equal(space[judgement.winner].processes * space[judgement.winner].threads, 16);
}

static void test_a_limit_that_nobody_meets(void **state)
{
    (void)state;
    struct tune_rules limited = rules;
    make_space();
    limited.max_p99_us = 1.0;
    begin(&limited);
    run(more_is_better, 0.001, 1000.0);
    struct tune_judgement judgement = judge();
    assert_int_equal(judgement.verdict, TUNE_NONE);
    assert_true(judgement.winner == TUNE_NO_POINT);
    assert_true(judgement.closest != TUNE_NO_POINT);
    assert_int_equal(space[judgement.closest].processes * space[judgement.closest].threads, 1);
}

static void test_a_percentile_without_upper_bound_meets_nothing(void **state)
{
    (void)state;
    struct tune_rules limited = rules;
    struct tune_observation seen = {
        .value = 100.0, .low = 99.0, .high = 101.0, .ips = 100.0, .p99_us = 10.0};
    make_space();
    limited.max_p99_us = 1000.0;
    begin(&limited);
    tune_search_note(search, 3, &seen);
    assert_int_equal(judge().verdict, TUNE_NONE);
    assert_int_equal(judge().closest, 3);
    seen.p99_high_us = 999.0;
    tune_search_note(search, 3, &seen);
    assert_int_equal(judge().winner, 3);
    seen.p99_high_us = 1001.0;
    tune_search_note(search, 3, &seen);
    assert_int_equal(judge().verdict, TUNE_NONE);
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
    tune_search_note(search, point, &seen);
}

/* Some that seem better and may break it, and one that surely meets it. */
static void test_short_finals_keep_who_surely_meets_the_limit(void **state)
{
    (void)state;
    struct tune_rules limited = rules;
    limited.max_p99_us = 1000.0;
    make_space();
    count = 4;
    begin(&limited);
    for (size_t i = 0; i < count; i++)
        note_latency(i, i < 3 ? 1100.0 : 900.0);
    /* Time for three rounds of one, but not of two. */
    struct tune_batch batch;
    do {
        tune_search_next(search, 5.0, &cheap, &batch);
        for (size_t i = 0; i < batch.count && batch.stage < TUNE_STAGE_FINAL; i++)
            note_latency(batch.items[i].point, batch.items[i].point < 3 ? 1100.0 : 900.0);
        assert_true(++steps < 100);
    } while (batch.stage < TUNE_STAGE_FINAL);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.items[0].point, 3);
}

/* -- time -------------------------------------------------------------------------------------- */

static void test_a_budget_is_kept_and_said(void **state)
{
    (void)state;
    for (double budget_s = 0.2; budget_s < 40.0; budget_s *= 1.5) {
        make_space();
        begin(&rules);
        double spent_s = run(hill, 0.01, budget_s);
        assert_true(spent_s <= budget_s);
        if (budget_s > 1.0)
            assert_true(judge().winner != TUNE_NO_POINT);
        if (budget_s < 5.0)
            assert_false(judge().complete);
    }
}

static void test_no_time_for_anything(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    run(hill, 0.01, 0.01);
    struct tune_judgement judgement = judge();
    assert_int_equal(judgement.verdict, TUNE_NONE);
    assert_int_equal(judgement.measured, 0);
    assert_false(judgement.complete);
}

static void test_finals_get_their_time(void **state)
{
    (void)state;
    make_space();
    begin(&rules);
    run(hill, 0.01, 15.0);
    assert_true(judge().rounds >= 3);
}

static void test_what_an_earlier_run_measured_is_not_asked_for_again(void **state)
{
    (void)state;
    unsigned before[MOST];
    make_space();
    begin(&rules);
    run(hill, 0.001, 4.0);
    memcpy(before, asked, sizeof before);
    begin(&rules);
    for (size_t i = 0; i < count; i++)
        if (before[i])
            look(i, hill(&space[i]), 0.001, 1.0, false);
    memset(asked, 0, sizeof asked);
    struct tune_batch batch;
    for (;;) {
        tune_search_next(search, 1000.0, &cheap, &batch);
        if (batch.stage >= TUNE_STAGE_HALVE)
            break;
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            assert_int_equal(before[point], 0);
            look(point, hill(&space[point]), 0.001, 1.0, batch.fresh);
        }
    }
    assert_true(points_asked() > 0);
}

/* -- anything ---------------------------------------------------------------------------------- */

static double arbitrary(const struct tune_candidate *one)
{
    uint64_t state = one->processes * 31u + one->threads * 17u + one->axes[0] * 7u + one->axes[1];
    uint64_t number = random_next(&state);
    return number % 5 == 0 ? 0.0 : number % 7 == 0 ? -1.0 : 1.0 + (double)(number % 1000);
}

static void test_any_surface_comes_to_an_end(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 40; seed++) {
        struct tune_rules any = rules;
        make_space();
        noise = seed;
        any.max_p99_us = seed % 3 ? 0.0 : 1e4 * (seed + 1);
        any.predicted = seed % 2;
        any.exhaustive = seed % 5 == 0;
        for (size_t i = 0; i < count; i++) {
            space[i].predicted = any.predicted ? 1000.0 * random_share() : 0.0;
            space[i].mean_us = any.predicted ? 1e5 * random_share() : 0.0;
        }
        begin(&any);
        run(arbitrary, 0.2, seed % 4 ? INFINITY : 20.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_top_of_a_hill_is_found_in_few_points, end),
        cmocka_unit_test_teardown(test_predictions_lead_there_sooner, end),
        cmocka_unit_test_teardown(test_wrong_predictions_do_not_win, end),
        cmocka_unit_test_teardown(test_equals_are_a_tie, end),
        cmocka_unit_test_teardown(test_noise_seldom_makes_a_winner_of_equals, end),
        cmocka_unit_test_teardown(test_equal_finalists_are_seldom_told_apart, end),
        cmocka_unit_test_teardown(test_naive_layouts_come_first_and_once, end),
        cmocka_unit_test_teardown(test_exhaustive_asks_for_all, end),
        cmocka_unit_test_teardown(test_more_of_what_is_refused_is_not_tried, end),
        cmocka_unit_test_teardown(test_a_setting_that_never_works_is_given_up, end),
        cmocka_unit_test_teardown(test_nothing_that_works_is_no_winner, end),
        cmocka_unit_test_teardown(test_first_failures_do_not_close_the_space, end),
        cmocka_unit_test_teardown(test_excluded_and_outside, end),
        cmocka_unit_test_teardown(test_a_ceiling_below_the_best_is_not_tried, end),
        cmocka_unit_test_teardown(test_the_winner_is_within_the_limit, end),
        cmocka_unit_test_teardown(test_a_limit_that_nobody_meets, end),
        cmocka_unit_test_teardown(test_a_percentile_without_upper_bound_meets_nothing, end),
        cmocka_unit_test_teardown(test_short_finals_keep_who_surely_meets_the_limit, end),
        cmocka_unit_test_teardown(test_a_budget_is_kept_and_said, end),
        cmocka_unit_test_teardown(test_no_time_for_anything, end),
        cmocka_unit_test_teardown(test_finals_get_their_time, end),
        cmocka_unit_test_teardown(test_what_an_earlier_run_measured_is_not_asked_for_again, end),
        cmocka_unit_test_teardown(test_any_surface_comes_to_an_end, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
