/* What a start of a program serves, and what its rounds take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "orchestrator/tune/search/internal.h"
#include "tests/unit/tune/rig.h"

/* Where all time goes for four starts nothing is held back to confirm the first layout, which was
 * only there to be compared with; the next start serves several, and has not more processes or
 * threads than may find room. */
static void test_the_second_start_of_a_program(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 5.0, .process_s = 0.1};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    rules.program = true;
    rules.budget_s = 22.0;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].processes *= rig.space[i].processes > 1 ? 4 : 1;
    rig_begin(&rules);
    tune_search_next(rig.search, 22.0, &costs, &batch);
    assert_int_equal(batch.count, 1);
    rig_look(batch.items[0].point, 1.0, 0.001, 1.0, false);
    tune_search_next(rig.search, 16.5, &costs, &batch);
    assert_int_equal(batch.stage, TUNE_STAGE_LOOK);
    size_t started = batch.items[0].point;
    unsigned processes = rig.space[started].processes, threads = rig.space[started].threads;
    assert_true(processes > 1 && processes <= 16 && processes * threads <= 64);
    for (int looks = 0; looks < 3; looks++) {
        rig_look(batch.items[0].point, 3.0, 0.001, 1.0, false);
        tune_search_hold(rig.search, started);
        tune_search_next(rig.search, 9.5 - looks, &costs, &batch);
        assert_int_equal(batch.stage, TUNE_STAGE_LOOK);
        assert_true(batch.count == 1 && tune_is_held(rig.search, batch.items[0].point));
    }
}

/* Nothing shows that the program heeds how many threads it is to have: processes come first. */
static void test_threads_that_nothing_shows(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 5.0, .process_s = 0.1};
    struct tune_rules rules = rig_rules;
    rules.program = true;
    rules.budget_s = 60.0;
    for (int ignores = 0; ignores < 2; ignores++) {
        struct tune_batch batch;
        rules.may_ignore_threads = ignores;
        rig_make_space();
        rig_begin(&rules);
        tune_search_next(rig.search, 60.0, &costs, &batch);
        rig_look(batch.items[0].point, 1.0, 0.001, 1.0, false);
        tune_search_next(rig.search, 54.0, &costs, &batch);
        const struct tune_candidate *second = &rig.space[batch.items[0].point];
        assert_true(second->processes > 1);
        assert_int_equal(second->threads > 1, !ignores);
        rig_end(NULL);
    }
}

/* However much others promise, processes that cost a start measure about as long as it took, as
 * long as they serve what may be the best. */
static void test_a_start_earns_its_cost(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 5.0};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    double measured_s = 0.0;
    rules.program = rules.predicted = true;
    rig.count = 12;
    /* The last one has another binding, and seems to do half as much more. */
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){
            .processes = 1,
            .threads = 12 - (unsigned)i,
            .connections = 8,
            .predicted = i < 11 ? 100.0 : 150.0,
            .predicted_rel = 0.4,
            .axes = {[TUNE_AXIS_MPS] = 1, [TUNE_AXIS_BIND] = i == 11},
        };
    rig_begin(&rules);
    tune_search_next(rig.search, 500.0, &costs, &batch);
    tune_search_hold(rig.search, 0);
    size_t point = 0;
    for (int looks = 0; point != 11 && looks < 11; looks++) {
        rig_look(point, 100.0, 0.0, 1.0, false);
        tune_search_next(rig.search, 500.0, &costs, &batch);
        assert_int_equal(batch.count, 1);
        point = batch.items[0].point;
        measured_s += batch.items[0].window_s + costs.point_s;
    }
    assert_int_equal(point, 11);
    assert_true(measured_s >= costs.start_s && measured_s < 2.0 * costs.start_s);
}

static void note_a_round(size_t point, double value)
{
    struct tune_observation seen = {.value = value, .ips = value, .high = INFINITY};
    tune_search_note_round(rig.search, point, value, &seen);
}

/* The first batch of the finals of a program's two layouts, which a look each has shown. */
static void begin_finals_of_two(double best, double other, const struct tune_costs *costs,
                                struct tune_batch *batch)
{
    struct tune_rules rules = rig_rules;
    rules.program = rules.final_grows = true;
    rules.budget_s = 90.0;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].excluded = i >= 2;
    rig_begin(&rules);
    tune_search_next(rig.search, 90.0, costs, batch);
    rig_look(0, best, 0.01, 1.0, false);
    rig_look(1, other, 0.01, 1.0, false);
    rig.search->stage = TUNE_STAGE_FINAL;
    tune_search_next(rig.search, 60.0, costs, batch);
}

/* Where its look and its first round are below all that the best showed, and far below, a finalist
 * leaves its time to the windows of the best; it returns if a round of the best denies that. */
static void test_a_beaten_finalist_leaves_its_time(void **state)
{
    (void)state;
    static const double first[] = {486.0, 396.0};
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 9.0};
    struct tune_batch batch, alone;
    begin_finals_of_two(473.0, 382.0, &costs, &batch);
    assert_int_equal(batch.count, 2);
    for (size_t i = 0; i < 2; i++)
        note_a_round(i, first[i]);
    tune_search_next(rig.search, 38.0, &costs, &alone);
    assert_true(tune_is_beaten(rig.search, 0, 1) && !tune_is_beaten(rig.search, 1, 0));
    assert_true(alone.count == 1 && alone.items[0].point == 0);
    assert_true(alone.items[0].window_s > 2.0 * batch.items[0].window_s);
    assert_true(alone.items[0].window_s <= costs.start_s);
    /* The other one is not an equal, and leaves no doubt. */
    note_a_round(0, 490.0);
    note_a_round(0, 484.0);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.equal_count, 1);
    assert_false(judgement.open);
    note_a_round(0, 387.0);
    assert_false(tune_is_beaten(rig.search, 0, 1));
}

/* A program's finalist that did far less than the best costs no start; it has one if a round shows
 * that the window of the best was wrong. */
static void test_a_far_finalist_costs_no_start(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 9.0};
    struct tune_batch batch;
    begin_finals_of_two(473.0, 236.0, &costs, &batch);
    assert_true(batch.count == 1 && batch.items[0].point == 0);
    note_a_round(0, 150.0);
    tune_search_next(rig.search, 50.0, &costs, &batch);
    bool returns = false;
    for (size_t i = 0; i < batch.count; i++)
        returns |= batch.items[i].point == 1;
    assert_true(returns);
}

/* Processes over MPS of the start after one of four, which had each so much of a CPU, of 16. */
static unsigned second_crew(double cpus)
{
    static const unsigned counts[] = {1, 2, 4, 8, 16, 32, 48};
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 10.0, .load_s = 0.7};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    rules.program = true;
    rules.cpus = 16.0;
    rig.count = sizeof counts / sizeof *counts;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){
            .processes = counts[i], .threads = 1, .connections = 2, .axes = {[TUNE_AXIS_MPS] = 1}};
    rig_begin(&rules);
    tune_search_next(rig.search, 90.0, &costs, &batch);
    assert_int_equal(counts[batch.items[0].point], 4);
    const struct tune_observation seen = {
        .value = 4.0, .ips = 4.0, .low = 3.98, .high = 4.02, .cpus = 4.0 * cpus};
    tune_search_note(rig.search, batch.items[0].point, &seen);
    tune_search_next(rig.search, 82.0, &costs, &batch);
    assert_int_equal(batch.count, 1);
    unsigned processes = counts[batch.items[0].point];
    rig_end(NULL);
    return processes;
}

/* More processes that wait awake than CPUs promise nothing; of those that sleep many may do more.
 */
static void test_processes_that_wait_awake_need_cpus(void **state)
{
    (void)state;
    assert_int_equal(second_crew(0.97), 16);
    assert_true(second_crew(0.3) > 16);
}

/* Rounds that leave open which of two is better ask for time for more of them. */
static void test_what_is_open_takes_a_larger_budget(void **state)
{
    (void)state;
    static const double rounds[2][3] = {{479.0, 465.0, 451.0}, {380.0, 428.0}};
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 10.0};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    rules.program = true;
    rules.budget_s = 90.0;
    rig_make_space();
    rig_begin(&rules);
    tune_search_next(rig.search, 90.0, &costs, &batch);
    for (size_t i = 0; i < rig.count; i++)
        rig_look(i, i < 2 ? rounds[i][0] : 10.0, 0.01, 1.0, false);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3 && rounds[i][k] > 0.0; k++) {
            struct tune_observation seen = {.value = rounds[i][k], .high = INFINITY};
            tune_search_note_round(rig.search, i, rounds[i][k], &seen);
        }
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_UNFINISHED);
    assert_true(judgement.open);
    assert_true(judgement.enough_budget_s > 90.0 + 2.0 * 10.0);
}

/* One start serves others for the price of a window, but only those that the larger one serves. */
static void test_finalists_share_a_start(void **state)
{
    (void)state;
    static const unsigned processes[] = {9, 6, 4};
    const struct tune_costs costs = {.point_s = 0.5, .start_s = 10.0};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    rules.program = true;
    rig.count = 3;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){.processes = processes[i],
                                               .threads = 1,
                                               .connections = 8,
                                               .axes = {[TUNE_AXIS_MPS] = 1}};
    rig_begin(&rules);
    tune_search_next(rig.search, 1000.0, &costs, &batch);
    for (size_t i = 0; i < rig.count; i++)
        rig_look(i, 100.0 - 10.0 * (double)i, 0.001, 1.0, false);
    rig.search->left_s = 1000.0;
    /* All rounds of the best two, of which one start serves both: 9 serves 6, and 6 serves 4. */
    double window_s = rig_rules.final_s + costs.point_s;
    double whole_s = rig_rules.rounds_least * (costs.start_s + 2.0 * window_s);
    assert_true(tune_whole_finals_s(rig.search) < 1.2 * whole_s);
    rig.search->rules.fresh = true;
    assert_true(tune_whole_finals_s(rig.search) > 1.2 * whole_s);
}

/* Twice an even share is another percentage for another number of processes, which a start does not
 * serve. */
static void test_a_start_has_one_share(void **state)
{
    (void)state;
    struct tune_rules rules = rig_rules;
    rules.program = true;
    rig.count = 3;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){.processes = i < 2 ? 12 : 8,
                                               .threads = i == 0 ? 4 : 1,
                                               .connections = 2,
                                               .axes = {[TUNE_AXIS_MPS] = 1, [TUNE_AXIS_SHARE] = 7},
                                               .share = i < 2 ? 16 : 25};
    rig_begin(&rules);
    assert_true(tune_may_serve(rig.search, &rig.space[0], &rig.space[1]));
    assert_false(tune_may_serve(rig.search, &rig.space[0], &rig.space[2]));
    rig.space[2].share = 16;
    assert_true(tune_may_serve(rig.search, &rig.space[0], &rig.space[2]));
}

/* It worked with one thread, and did not start with several: it has one. */
static void test_a_program_without_threads(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 2.0};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    unsigned several = 0;
    rules.program = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].axes[TUNE_AXIS_SEVERAL] = rig.space[i].threads > 1;
    rig_begin(&rules);
    for (;;) {
        tune_search_next(rig.search, 1000.0, &costs, &batch);
        if (batch.count == 0)
            break;
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            const struct tune_observation hung = {.outcome = TUNE_FAILED, .unready = true};
            assert_true(++rig.steps < 1000);
            if (rig.space[point].threads == 1) {
                rig_look(point, surface_hill(&rig.space[point]), 0.001, 1.0, batch.fresh);
                continue;
            }
            /* The rest of a batch of one start is not asked for. */
            several += i == 0 || rig.space[batch.items[0].point].threads == 1;
            tune_search_note(rig.search, point, &hung);
        }
    }
    /* Each other setting may be what it was, until it has worked. */
    assert_true(several >= 1 && several <= 3);
    assert_int_equal(rig.space[rig_judge().winner].threads, 1);
}

/* Notes the answers of a program of which nothing gets ready, but one kind of layout; returns how
 * many layouts are tried until the search is over, or one of them works. */
static unsigned tries_until(bool (*works)(const struct tune_candidate *one))
{
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 2.0};
    const struct tune_observation died = {.outcome = TUNE_FAILED, .unready = true};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    unsigned tries = 0;
    rules.program = true;
    rig_make_space();
    rig_begin(&rules);
    for (bool worked = false; !worked; tries += batch.count > 0) {
        tune_search_next(rig.search, 1000.0, &costs, &batch);
        if (batch.count == 0)
            break;
        size_t point = batch.items[0].point;
        worked = works(&rig.space[point]);
        if (!worked)
            tune_search_note(rig.search, point, &died);
    }
    assert_true(tries < 100);
    return tries;
}

static bool never(const struct tune_candidate *one)
{
    (void)one;
    return false;
}

static bool with_several_threads(const struct tune_candidate *one)
{
    return one->threads > 1;
}

static bool as_several_clients(const struct tune_candidate *one)
{
    return one->processes > 1 && one->axes[TUNE_AXIS_MPS];
}

/* One worker, MPS, several threads, several processes. */
static void test_a_program_that_does_not_work(void **state)
{
    (void)state;
    assert_int_equal(tries_until(never), 4);
    assert_false(rig_judge().complete);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
    rig_end(state);
    assert_in_range(tries_until(with_several_threads), 2, 4);
}

/* Neither what got ready, nor what was refused, shows that there is no layout. */
static void test_a_program_that_fails_late_goes_on(void **state)
{
    (void)state;
    const struct tune_costs costs = {.point_s = 0.2, .start_s = 2.0};
    const struct tune_observation late = {.outcome = TUNE_FAILED};
    struct tune_rules rules = rig_rules;
    struct tune_batch batch;
    rules.program = true;
    rig_make_space();
    rig_begin(&rules);
    for (rig.steps = 0; rig.steps < 20; rig.steps++) {
        tune_search_next(rig.search, 1000.0, &costs, &batch);
        assert_int_equal(batch.count, 1);
        if (as_several_clients(&rig.space[batch.items[0].point]))
            return;
        tune_search_note(rig.search, batch.items[0].point, &late);
    }
    fail();
}

/* The chance that 48 processes do much more, where `values` are those of 1, 3, 6, 12 and 24. */
static double chance_of_more(const double *values)
{
    struct tune_rules rules = rig_rules;
    rules.program = true;
    rules.budget_s = 300.0;
    rig.count = 7;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){
            .processes = 1u << i, .threads = 1, .connections = 2, .axes = {[TUNE_AXIS_MPS] = 1}};
    rig_begin(&rules);
    for (size_t i = 0; i < 5; i++)
        rig_look(i, values[i], 0.01, 1.0, false);
    struct tune_judgement judgement = rig_judge();
    rig_end(NULL);
    return judgement.better_chance;
}

/* Where more processes have done no more, many more are not expected to. */
static void test_a_plateau_goes_on(void **state)
{
    (void)state;
    assert_true(chance_of_more((const double[]){100, 290, 360, 365, 362}) < 0.7);
    assert_true(chance_of_more((const double[]){100, 300, 590, 1180, 2350}) > 0.8);
}

/* The best one has processes that are not ready soon enough for rounds: one that does nearly as
 * much has them, and one that does far less has not. */
static void test_finals_for_which_there_is_time(void **state)
{
    (void)state;
    struct tune_rules rules = rig_rules;
    rules.program = true;
    rules.budget_s = 90.0;
    for (int i = 0; i < 4; i++) {
        /* Each process takes its time, or has to wait for CPUs. */
        bool less = i % 2, waits = i / 2;
        const struct tune_costs costs = {.point_s = 0.2,
                                         .start_s = 5.0,
                                         .process_s = waits ? 0.0 : 0.5,
                                         .load_s = waits ? 0.6 : 0.0};
        struct tune_batch batch;
        rig.count = 2;
        for (size_t j = 0; j < rig.count; j++)
            rig.space[j] = (struct tune_candidate){.processes = j ? 8 : 64,
                                                   .threads = 1,
                                                   .connections = 2,
                                                   .axes = {[TUNE_AXIS_MPS] = 1}};
        rig_begin(&rules);
        rig_look(0, 480.0, 0.001, 1.0, false);
        rig_look(1, less ? 300.0 : 470.0, 0.001, 1.0, false);
        tune_search_next(rig.search, 35.0, &costs, &batch);
        assert_int_equal(batch.stage, less ? TUNE_STAGE_DONE : TUNE_STAGE_FINAL);
        assert_true(less || (batch.count == 1 && batch.items[0].point == 1));
        rig_end(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_second_start_of_a_program, rig_end),
        cmocka_unit_test_teardown(test_threads_that_nothing_shows, rig_end),
        cmocka_unit_test_teardown(test_a_start_earns_its_cost, rig_end),
        cmocka_unit_test_teardown(test_a_beaten_finalist_leaves_its_time, rig_end),
        cmocka_unit_test_teardown(test_a_far_finalist_costs_no_start, rig_end),
        cmocka_unit_test_teardown(test_processes_that_wait_awake_need_cpus, rig_end),
        cmocka_unit_test_teardown(test_what_is_open_takes_a_larger_budget, rig_end),
        cmocka_unit_test_teardown(test_finalists_share_a_start, rig_end),
        cmocka_unit_test_teardown(test_a_start_has_one_share, rig_end),
        cmocka_unit_test_teardown(test_a_plateau_goes_on, rig_end),
        cmocka_unit_test_teardown(test_finals_for_which_there_is_time, rig_end),
        cmocka_unit_test_teardown(test_a_program_without_threads, rig_end),
        cmocka_unit_test_teardown(test_a_program_that_does_not_work, rig_end),
        cmocka_unit_test_teardown(test_a_program_that_fails_late_goes_on, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
