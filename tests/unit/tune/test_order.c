/* What the search measures first: what is expected to gain most for its seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "orchestrator/campaign/estimate.h"
#include "orchestrator/tune/internal.h"
#include "tests/unit/tune/rig.h"

/* A naive layout that would take more than what is left is left out. */
static void test_a_dear_naive_layout_is_left_out(void **state)
{
    (void)state;
    struct tune_batch batch;
    const struct tune_costs dear = {.point_s = 0.1, .process_s = 10.0};
    rig_make_space();
    rig.count = 2;
    rig.space[0].processes = 16;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].naive = rig.space[i].outside = true;
    rig_begin(&rig_rules);
    tune_search_next(rig.search, 100.0, &dear, &batch);
    assert_int_equal(batch.stage, TUNE_STAGE_NAIVE);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.items[0].point, 1);
}

/* Two that are predicted to do as much: the one whose processes start sooner. */
static void test_gain_counts_by_the_second(void **state)
{
    (void)state;
    struct tune_batch batch;
    struct tune_rules predicted = rig_rules;
    const struct tune_costs costs = {.point_s = 0.1, .process_s = 1.0};
    predicted.predicted = true;
    rig_make_space();
    rig.count = 2;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){.processes = i == 0 ? 16 : 2,
                                               .threads = i == 0 ? 1 : 8,
                                               .connections = 8,
                                               .predicted = 1000.0};
    rig_begin(&predicted);
    tune_search_next(rig.search, 1000.0, &costs, &batch);
    assert_int_equal(batch.stage, TUNE_STAGE_LOOK);
    assert_int_equal(batch.items[0].point, 1);
    /* Not for half a promise: what the dear one is predicted to do more pays for its start. */
    rig.space[0].predicted = 4000.0;
    rig_begin(&predicted);
    tune_search_next(rig.search, 1000.0, &costs, &batch);
    assert_int_equal(batch.items[0].point, 0);
}

/* What starts cost before any was seen, as on H200s and H100s: 48 processes take seconds, and a
 * context with many queues most of one. */
static void test_first_starts_cost_something(void **state)
{
    (void)state;
    struct tune_costs costs = tune_pace_first_costs();
    assert_true(costs.start_s > 0.1 && costs.start_s < 1.0);
    struct point clients = {.layout = LAYOUT_PROCESSES_MPS, .processes = 48, .threads = 1},
                 queues = {.layout = LAYOUT_THREADS, .processes = 1, .connections = 32};
    assert_float_equal(estimate_start_weight(&clients) * costs.process_s, 6.5, 1.0);
    clients.processes = 16;
    assert_float_equal(estimate_start_weight(&clients) * costs.process_s, 1.1, 0.3);
    assert_float_equal(estimate_start_weight(&queues) * costs.process_s, 0.75, 0.2);
    assert_true(96.0 * costs.stream_s > 0.5);
    assert_true(costs.point_s > 0.0);
    assert_float_equal(costs.window_s, 0.0, 0.0);
    assert_float_equal(costs.search_s, 0.0, 0.0);
}

/* Which points the search asks for in its looks, where the time for finals on `gpus` is asked for
 * around each of them. Returns how many there are. */
static size_t looks_on(unsigned gpus, size_t *out, size_t most)
{
    static struct point points[RIG_MOST];
    struct tune tune = {.space = {.gpus = gpus, .plan = {.points = points, .count = RIG_MOST}},
                        .rules = rig_rules,
                        .pace = {.budget_s = 1000.0, .starts = {.process_s = 0.1}}};
    struct tune_batch batch;
    size_t count = 0;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        points[i] = (struct point){.layout = LAYOUT_PROCESSES_MPS,
                                   .processes = rig.space[i].processes,
                                   .threads = rig.space[i].threads};
    rig_begin(&rig_rules);
    tune.search = rig.search;
    assert_float_equal(tune_confirm_s(&tune), 0.0, 0.0);
    for (;;) {
        tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
        if (batch.stage != TUNE_STAGE_LOOK)
            return count;
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            assert_true(count < most);
            out[count++] = point;
            rig_look(point, surface_hill(&rig.space[point]), 0.01, 1.0, false);
            assert_int_equal(tune_confirm_s(&tune) > 0.0, gpus > 1);
        }
    }
}

/* That time takes no judgement, after which other points would come next. */
static void test_time_for_all_gpus_changes_nothing(void **state)
{
    (void)state;
    size_t one[RIG_MOST], several[RIG_MOST];
    size_t count = looks_on(1, one, RIG_MOST);
    assert_int_equal(looks_on(2, several, RIG_MOST), count);
    assert_memory_equal(one, several, count * sizeof *one);
}

/* Two that are predicted to do as much: a thread gets its streams ready one after the other. */
static void test_many_streams_of_a_thread_cost_time(void **state)
{
    (void)state;
    struct tune_batch batch;
    struct tune_rules predicted = rig_rules;
    const struct tune_costs costs = {.point_s = 0.1, .start_s = 0.4, .stream_s = 0.05};
    predicted.predicted = true;
    rig_make_space();
    rig.count = 2;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){.processes = 1,
                                               .threads = i == 0 ? 1 : 8,
                                               .streams = i == 0 ? 128 : 16,
                                               .connections = 8,
                                               .predicted = 1000.0};
    rig_begin(&predicted);
    tune_search_next(rig.search, 1000.0, &costs, &batch);
    assert_int_equal(batch.items[0].point, 1);
}

/* Nothing is predicted: one worker alone shows what a start and a window cost. */
static void test_the_plainest_goes_first_by_itself(void **state)
{
    (void)state;
    struct tune_batch batch;
    rig_make_space();
    rig_begin(&rig_rules);
    tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
    assert_int_equal(batch.stage, TUNE_STAGE_LOOK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.items[0].point, 0);
    rig_look(0, 100.0, 0.01, 0.0, false);
    tune_search_next(rig.search, 1000.0, &rig_cheap, &batch);
    assert_true(batch.count > 1);
}

/* One thread of a server may answer one request after the other: more servers are tried before more
 * connections to one, which no start of its own shows either. */
static void test_more_servers_before_more_connections(void **state)
{
    (void)state;
    struct tune_batch batch;
    struct tune_rules rules = rig_rules;
    struct tune_costs costs = rig_cheap;
    size_t count = 0;
    rules.program = rules.server = true;
    costs.start_s = 4.0;
    costs.search_s = 5.0;
    for (unsigned processes = 1; processes <= 8; processes *= 2)
        for (unsigned connections = 1; connections * processes <= 256; connections *= 2)
            rig.space[count++] = (struct tune_candidate){.processes = processes,
                                                         .threads = connections,
                                                         .connections = 8,
                                                         .axes = {[TUNE_AXIS_MPS] = 1}};
    rig.space[0].naive = true;
    rig.count = count;
    rig_begin(&rules);
    tune_search_next(rig.search, 150.0, &costs, &batch);
    assert_int_equal(batch.items[0].point, 0);
    rig_look(0, 430.0, 0.01, 0.0, false);
    tune_search_next(rig.search, 130.0, &costs, &batch);
    size_t started = batch.items[0].point;
    assert_int_equal(rig.space[started].processes, 8);
    rig_look(started, 800.0, 0.01, 0.0, false);
    tune_search_hold(rig.search, started);
    tune_search_next(rig.search, 120.0, &costs, &batch);
    assert_int_equal(batch.count, 1);
    assert_true(rig.space[batch.items[0].point].threads <= rig.space[started].threads);
}

/* A program of which eight did not start over MPS with 32 queues each: no more of either are tried,
 * until as many have worked. */
static void test_a_program_that_found_no_room(void **state)
{
    (void)state;
    static const struct {
        unsigned processes, connections;
        bool mps;
    } points[] = {{1, 2, true}, {8, 32, true}, {8, 32, true}, {16, 32, true},
                  {8, 2, true}, {4, 32, true}, {8, 32, false}};
    struct tune_rules program = rig_rules;
    const struct tune_observation died = {.outcome = TUNE_FAILED, .unready = true};
    program.program = true;
    rig_make_space();
    rig.count = sizeof points / sizeof points[0];
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i] = (struct tune_candidate){.processes = points[i].processes,
                                               .threads = i == 2 ? 4 : 2,
                                               .connections = points[i].connections,
                                               .axes = {[TUNE_AXIS_MPS] = points[i].mps}};
    rig_begin(&program);
    rig_look(0, 100.0, 0.01, 0.0, false);
    tune_search_note(rig.search, 1, &died);
    assert_true(tune_search_is_beyond(rig.search, 2));
    assert_true(tune_search_is_beyond(rig.search, 3));
    for (size_t i = 4; i < rig.count; i++)
        assert_false(tune_search_is_beyond(rig.search, i));
    rig_look(3, 100.0, 0.01, 0.0, false);
    assert_false(tune_search_is_beyond(rig.search, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_dear_naive_layout_is_left_out, rig_end),
        cmocka_unit_test_teardown(test_gain_counts_by_the_second, rig_end),
        cmocka_unit_test(test_first_starts_cost_something),
        cmocka_unit_test_teardown(test_time_for_all_gpus_changes_nothing, rig_end),
        cmocka_unit_test_teardown(test_many_streams_of_a_thread_cost_time, rig_end),
        cmocka_unit_test_teardown(test_the_plainest_goes_first_by_itself, rig_end),
        cmocka_unit_test_teardown(test_more_servers_before_more_connections, rig_end),
        cmocka_unit_test_teardown(test_a_program_that_found_no_room, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
