/* The search: what it finds. */
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

/* -- what is found ----------------------------------------------------------------------------- */

static void test_top_of_a_hill_is_found_in_few_points(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_hill, 0.001, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_true(judgement.complete);
    assert_true(surface_is_top(&rig.space[judgement.winner]));
    assert_int_equal(judgement.verdict, TUNE_WINNER);
    assert_int_equal(judgement.equal_count, 1);
    assert_true(judgement.low <= 1000.0 && 1000.0 <= judgement.high * 1.001);
    assert_true(rig_points_asked() <= 52);
    assert_int_equal(judgement.measured, rig_points_asked());
    /* The margin's interval holds the true one: the next best is a step in P or T away. */
    double step = 1.0 / exp(-0.1) - 1.0;
    assert_true(judgement.margin_low <= step && step <= judgement.margin_high);
    assert_true(judgement.margin > 0.0 && judgement.rounds >= 3);
}

static void test_predictions_lead_there_sooner(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].predicted = surface_hill(&rig.space[i]) * (i % 3 == 0 ? 1.15 : 0.9);
    rig_begin(&predicted);
    rig_run(surface_hill, 0.001, 1000.0);
    assert_true(surface_is_top(&rig.space[rig_judge().winner]));
    assert_true(rig_points_asked() <= 52);
}

static void test_wrong_predictions_do_not_win(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].predicted = 1000.0 / surface_hill(&rig.space[i]);
    rig_begin(&predicted);
    rig_run(surface_hill, 0.001, 1000.0);
    assert_true(surface_is_top(&rig.space[rig_judge().winner]));
}

static void test_one_window_that_shows_far_too_much_does_not_win(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].predicted = surface_hill(&rig.space[i]);
    rig_begin(&predicted);
    rig_look(0, 1400.0, 0.001, 1.0, false);
    rig_run(surface_hill, 0.001, 1000.0);
    assert_true(rig.asked[0] > 1);
    assert_true(surface_is_top(&rig.space[rig_judge().winner]));
}

/* Windows of the top claim less than they show: from one to the next they are the same within 1%.
 * Returns how often it was looked at. */
static unsigned looks_at_unsure_top(double claimed)
{
    unsigned looks = 0, steps = 0;
    struct tune_batch batch;
    rig_make_space();
    rig_begin(&rig_rules);
    do {
        tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
        for (size_t i = 0; i < batch.count && !batch.fresh; i++) {
            size_t point = batch.items[i].point;
            bool top = surface_is_top(&rig.space[point]);
            double value = surface_hill(&rig.space[point]) * (1.0 + 0.01 * rig_random_share());
            double wide = top ? claimed : 0.01;
            const struct tune_observation seen = {.value = value,
                                                  .low = value * (1.0 - wide),
                                                  .high = value * (1.0 + wide),
                                                  .ips = value};
            tune_search_note(rig.search, point, &seen);
            looks += top;
        }
        assert_true(++steps < 1000);
    } while (batch.count > 0 && !batch.fresh);
    return looks;
}

static void test_windows_that_agree_are_not_repeated(void **state)
{
    (void)state;
    unsigned sure = looks_at_unsure_top(0.01), unsure = looks_at_unsure_top(0.45);
    assert_in_range(sure, 1, 4);
    assert_in_range(unsure, 1, 8);
}

/* One showed much in two windows, and less and less in rounds: the steady one is the winner. */
static void test_what_rounds_deny_does_not_win(void **state)
{
    (void)state;
    static const double denied[] = {1000.0, 900.0, 800.0}, steady[] = {980.0, 985.0, 982.0};
    rig_make_space();
    rig_begin(&rig_rules);
    for (int i = 0; i < 2; i++) {
        rig_look(0, 1080.0, 0.01, 1.0, false);
        rig_look(1, 985.0, 0.01, 1.0, false);
    }
    for (int i = 0; i < 3; i++) {
        rig_look(0, denied[i], 0.01, 1.0, true);
        rig_look(1, steady[i], 0.01, 1.0, true);
    }
    assert_int_equal(rig_judge().winner, 1);
}

/* A round that holds less than the first one: what the first one held, it held, too. */
static void test_a_rate_that_is_lowered_keeps_its_rounds(void **state)
{
    (void)state;
    struct tune_rules rate = rig_rules;
    rate.resolution = 0.05;
    rig_make_space();
    rig_begin(&rate);
    rig_look(0, 1000.0, 0.05, 0.0, false);
    rig_look(0, 1000.0, 0.0, 0.0, true);
    tune_search_lower_rounds(rig.search, 0, 900.0);
    rig_look(0, 900.0, 0.0, 0.0, true);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.winner, 0);
    assert_int_equal(judgement.rounds, 2);
    assert_true(judgement.value == 900.0);
}

static void test_equals_are_all_named(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_flat, 0.002, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_EQUAL);
    assert_true(judgement.equal_count >= 2);
    assert_int_equal(judgement.equal[0], judgement.winner);
    assert_true(judgement.margin_low <= 0.0 && judgement.margin_high >= 0.0);
}

static void test_noise_seldom_makes_a_winner_of_equals(void **state)
{
    (void)state;
    unsigned winners = 0;
    for (unsigned seed = 1; seed <= 50; seed++) {
        rig_make_space();
        rig.noise = seed * 7919;
        rig_begin(&rig_rules);
        rig_run(surface_flat, 0.1, 1000.0);
        winners += rig_judge().verdict == TUNE_WINNER;
    }
    assert_true(winners <= 5);
}

static double normal(void)
{
    double radius = sqrt(-2.0 * log(1.0 - rig_random_share()));
    return radius * cos(6.283185307179586 * rig_random_share());
}

/* Simulates finals of N layouts, of which the last is better by a share; rounds are normal. */
static struct tune_judgement simulate_finals(uint64_t seed, size_t finalists, double better)
{
    struct tune_rules all = rig_rules;
    struct tune_batch batch;
    all.exhaustive = true;
    rig_make_space();
    rig.count = finalists;
    rig.noise = seed * 7919;
    rig_begin(&all);
    for (;;) {
        tune_search_next(rig.search, INFINITY, &rig_cheap, &batch);
        if (batch.count == 0)
            return rig_judge();
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            double truth = 500.0 * (point == finalists - 1 ? 1.0 + better : 1.0);
            double value = batch.fresh ? truth * (1.0 + 0.05 * normal()) : truth;
            struct tune_observation seen = {
                .value = value, .ips = value, .low = 0.5 * value, .high = 1.5 * value};
            assert_true(++rig.steps < 100);
            if (batch.fresh)
                tune_search_note_round(rig.search, point, value, &seen);
            else
                tune_search_note(rig.search, point, &seen);
        }
    }
}

/* Finals are looked at after each round, and the base is the best of the sample: both count. */
static void test_of_equals_seldom_one_is_the_winner(void **state)
{
    (void)state;
    const unsigned trials = 1000;
    unsigned named[TUNE_FINALISTS + 1] = {0}, winners = 0;
    for (size_t finalists = 2; finalists <= TUNE_FINALISTS; finalists += 2)
        for (unsigned seed = 1; seed <= trials; seed++)
            named[finalists] += simulate_finals(seed, finalists, 0.0).verdict == TUNE_WINNER;
    for (unsigned seed = 1; seed <= trials; seed++)
        winners += simulate_finals(seed, 2, 0.3).verdict == TUNE_WINNER;
    if (named[2] > 0.025 * trials || named[4] > 0.025 * trials || winners < 0.95 * trials)
        fail_msg("winners in %u of %u finals of 2 equals, %u of 4; %u that are better", named[2],
                 trials, named[4], winners);
}

/* For comparison: nothing else may have to do without its time. */
static void test_naive_layouts_come_last_and_once(void **state)
{
    (void)state;
    struct tune_batch batch;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].outside = rig.space[i].naive;
    rig_begin(&rig_rules);
    tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
    assert_int_equal(batch.stage, TUNE_STAGE_LOOK);
    rig_begin(&rig_rules);
    rig_run(surface_hill, 0.001, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(rig.asked[0], 1);
    assert_true(judgement.complete && rig.asked[judgement.winner] > 3);
    assert_true(rig.first_step[0] > rig.first_step[judgement.winner] + 3);
}

/* The time was enough for two rounds of another layout, and one of the best. */
static void test_rounds_alone_do_not_make_a_winner(void **state)
{
    (void)state;
    struct tune_batch batch;
    rig_make_space();
    rig_begin(&rig_rules);
    tune_search_next(rig.search, 30.0, &rig_cheap, &batch);
    for (size_t i = 0; i < 8; i++)
        rig_look(i, i == 5 ? 1030.0 : 1000.0 - (double)i, 0.001, 1.0, false);
    rig_look(5, 1030.0, 0.001, 1.0, false);
    rig_look(5, 1030.0, 0.001, 1.0, true);
    rig_look(6, 1000.0, 0.001, 1.0, true);
    rig_look(6, 1000.0, 0.001, 1.0, true);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.winner, 5);
    assert_int_equal(judgement.rounds, 1);
}

/* An obvious layout that predictions held for slow does most: it has rounds of its own. */
static double surface_of_surprise(const struct tune_candidate *one)
{
    return one->naive ? 2000.0 : 1000.0;
}

static void test_a_naive_layout_may_win_in_the_end(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].predicted = rig.space[i].naive ? 10.0 : 1000.0;
    rig_begin(&predicted);
    rig_run(surface_of_surprise, 0.001, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.winner, 0);
    assert_in_range(judgement.rounds, 2, 8);
}

/* One layout was measured, and others are predicted to do twice as much. */
static void test_a_search_that_ends_too_soon_is_unfinished(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    predicted.budget_s = 30.0;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].predicted = i < 50 ? 500.0 : 1000.0;
    struct tune_batch batch;
    rig_begin(&predicted);
    tune_search_next(rig.search, 30.0, &rig_cheap, &batch);
    rig_look(0, 500.0, 0.001, 1.0, false);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_UNFINISHED);
    assert_int_equal(judgement.winner, 0);
    assert_true(judgement.better_chance > 0.9);
    assert_true(fabs(judgement.reached_share - 0.5) < 0.01);
    assert_true(judgement.enough_budget_s > 30.0);
}

/* Two had finals, and one that had none does surely more: theirs decide nothing. */
static void test_no_winner_is_surely_less_than_another(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    for (size_t point = 0; point < 2; point++)
        for (int round = 0; round < 2; round++)
            rig_look(point, 500.0, 0.001, 1.0, true);
    rig_look(2, 1000.0, 0.01, 1.0, false);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_UNFINISHED);
    assert_int_equal(judgement.winner, 2);
    assert_int_equal(judgement.equal_count, 1);
}

/* Of a space that is measured as a whole, where the time was over. */
static void test_a_whole_space_that_was_not_measured_is_unfinished(void **state)
{
    (void)state;
    struct tune_rules all = rig_rules;
    struct tune_batch batch;
    all.exhaustive = true;
    rig_make_space();
    rig_begin(&all);
    tune_search_next(rig.search, INFINITY, &rig_cheap, &batch);
    rig_look(0, 500.0, 0.001, 1.0, false);
    rig_look(0, 500.0, 0.001, 1.0, true);
    rig_look(0, 500.0, 0.001, 1.0, true);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.winner, 0);
    assert_int_equal(judgement.verdict, TUNE_UNFINISHED);
    assert_true(judgement.better_chance > TUNE_BETTER_CHANCE);
}

static void test_exhaustive_asks_for_all(void **state)
{
    (void)state;
    struct tune_rules all = rig_rules;
    all.exhaustive = true;
    rig_make_space();
    rig_begin(&all);
    rig_run(surface_hill, 0.001, INFINITY);
    assert_int_equal(rig_points_asked(), rig.count);
    struct tune_judgement judgement = rig_judge();
    assert_true(surface_is_top(&rig.space[judgement.winner]));
    assert_true(judgement.better_chance == 0.0);
    /* Nothing is left of which to believe anything. */
    assert_null(rig.search->beliefs[TUNE_VALUE].gp);
}

/* -- streams ----------------------------------------------------------------------------------- */

static double as_many_in_flight(const struct tune_candidate *one)
{
    double n = (double)one->processes * one->threads * (one->streams ? one->streams : 1);
    double cpu = 1e4 * one->threads * (one->streams > 1 ? 1.0 : 0.2);
    return fmin(fmin(100.0 * n, 9000.0), cpu);
}

/* From few threads to many streams of one, in steps. */
static void test_streams_take_the_place_of_threads(void **state)
{
    (void)state;
    rig_make_space();
    rig.count = 0;
    for (unsigned t = 1; t <= 16; t *= 2)
        for (unsigned s = 1; s <= 128; s *= 2)
            rig.space[rig.count++] = (struct tune_candidate){
                .processes = 1, .threads = t, .streams = s, .naive = t == 2 && s == 1};
    rig_begin(&rig_rules);
    rig_run(as_many_in_flight, 0.001, 1000.0);
    const struct tune_candidate *winner = &rig.space[rig_judge().winner];
    assert_true(as_many_in_flight(winner) == 9000.0);
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
        struct tune_rules any = rig_rules;
        rig_make_space();
        rig.noise = seed;
        any.max_p99_us = seed % 3 ? 0.0 : 1e4 * (seed + 1);
        any.predicted = seed % 2;
        any.exhaustive = seed % 5 == 0;
        for (size_t i = 0; i < rig.count; i++) {
            rig.space[i].predicted = any.predicted ? 1000.0 * rig_random_share() : 0.0;
            rig.space[i].mean_us = any.predicted ? 1e5 * rig_random_share() : 0.0;
        }
        rig_begin(&any);
        rig_run(arbitrary, 0.2, seed % 4 ? INFINITY : 20.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_top_of_a_hill_is_found_in_few_points, rig_end),
        cmocka_unit_test_teardown(test_predictions_lead_there_sooner, rig_end),
        cmocka_unit_test_teardown(test_wrong_predictions_do_not_win, rig_end),
        cmocka_unit_test_teardown(test_one_window_that_shows_far_too_much_does_not_win, rig_end),
        cmocka_unit_test_teardown(test_windows_that_agree_are_not_repeated, rig_end),
        cmocka_unit_test_teardown(test_what_rounds_deny_does_not_win, rig_end),
        cmocka_unit_test_teardown(test_a_rate_that_is_lowered_keeps_its_rounds, rig_end),
        cmocka_unit_test_teardown(test_equals_are_all_named, rig_end),
        cmocka_unit_test_teardown(test_noise_seldom_makes_a_winner_of_equals, rig_end),
        cmocka_unit_test_teardown(test_of_equals_seldom_one_is_the_winner, rig_end),
        cmocka_unit_test_teardown(test_naive_layouts_come_last_and_once, rig_end),
        cmocka_unit_test_teardown(test_a_naive_layout_may_win_in_the_end, rig_end),
        cmocka_unit_test_teardown(test_rounds_alone_do_not_make_a_winner, rig_end),
        cmocka_unit_test_teardown(test_a_search_that_ends_too_soon_is_unfinished, rig_end),
        cmocka_unit_test_teardown(test_no_winner_is_surely_less_than_another, rig_end),
        cmocka_unit_test_teardown(test_a_whole_space_that_was_not_measured_is_unfinished, rig_end),
        cmocka_unit_test_teardown(test_exhaustive_asks_for_all, rig_end),
        cmocka_unit_test_teardown(test_streams_take_the_place_of_threads, rig_end),
        cmocka_unit_test_teardown(test_any_surface_comes_to_an_end, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
