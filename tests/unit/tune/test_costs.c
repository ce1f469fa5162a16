/* What the start of workers is expected to cost, after some starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "orchestrator/campaign/estimate.h"
#include "orchestrator/tune/search/costs.h"
#include "orchestrator/tune/internal.h"

/* As on an H200. */
#define START_S 0.4
#define PROCESS_S 0.1

static struct start_costs costs_of(const double (*starts)[2], unsigned count)
{
    struct start_costs costs;
    start_costs_init(START_S, PROCESS_S, &costs);
    for (unsigned i = 0; i < count; i++)
        start_costs_learn(&costs, starts[i][0], starts[i][1]);
    return costs;
}

static double expected(const struct start_costs *costs, double processes)
{
    return costs->start_s + costs->process_s * processes;
}

static void test_before_any_start_it_is_what_is_usual(void **state)
{
    (void)state;
    struct start_costs costs = costs_of(NULL, 0);
    assert_float_equal(expected(&costs, 16.0), 2.0, 1e-9);
}

/* Many of them load beside each other: the second is not as dear as the first. */
static void test_a_program_that_loads_for_long(void **state)
{
    (void)state;
    static const double starts[][2] = {{1, 5.0}, {1, 5.2}};
    struct start_costs costs = costs_of(starts, 2);
    assert_float_equal(expected(&costs, 1.0), 5.1, 0.2);
    assert_in_range((uintmax_t)expected(&costs, 16.0), 5, 8);
}

static void test_processes_that_start_one_after_the_other(void **state)
{
    (void)state;
    static const double starts[][2] = {{1, 1.0}, {16, 16.0}, {8, 8.1}, {2, 2.0}};
    struct start_costs costs = costs_of(starts, 4);
    assert_float_equal(expected(&costs, 32.0), 32.0, 2.0);
    assert_float_equal(expected(&costs, 1.0), 1.0, 0.5);
}

static void test_nothing_costs_less_than_nothing(void **state)
{
    (void)state;
    static const double starts[][2] = {{1, 3.0}, {48, 0.1}, {48, 0.1}};
    struct start_costs costs = costs_of(starts, 3);
    assert_true(costs.start_s >= 0.0 && costs.process_s >= 0.0);
}

/* As on an H100 that needed longer for one process, with many streams, than for 4: 48 of them,
 * which weigh 212, take seconds yet. */
static void test_few_small_starts_show_little_of_a_large_one(void **state)
{
    (void)state;
    struct start_costs costs;
    start_costs_init(ESTIMATE_START_S, ESTIMATE_START_PROCESS_S, &costs);
    start_costs_learn(&costs, 1.1, 1.18);
    start_costs_learn(&costs, 5.1, 0.13);
    assert_float_equal(expected(&costs, 3.0), 0.65, 0.1);
    assert_in_range((uintmax_t)expected(&costs, 212.0), 4, 7);
}

/* As a PyTorch program on an H200 with 16 CPUs: the first start takes longest, though the second
 * has four processes; and what is usual of many, which wait for CPUs, holds. 48 took 28.5 s. */
static void test_a_first_start_shows_nothing_of_the_number(void **state)
{
    (void)state;
    struct start_costs costs;
    start_costs_init(ESTIMATE_START_S, 0.09, &costs);
    start_costs_learn(&costs, 1.1, 9.65);
    assert_float_equal(expected(&costs, 1.1), 9.5, 0.5);
    start_costs_learn(&costs, 5.1, 7.2);
    assert_float_equal(expected(&costs, 5.1), 7.2, 0.3);
    assert_float_equal(expected(&costs, 212.0), 25.0, 5.0);
}

/* However long a first start takes, it is not an accident: nothing else is known of the program. On
 * an H200 that of four generators of text took 21.4 s, and the next one 17.4 s. */
static void test_a_long_first_start_counts(void **state)
{
    (void)state;
    static const double starts[][2] = {{4, 21.4}, {4, 17.4}};
    struct start_costs costs = costs_of(starts, 1);
    assert_in_range((uintmax_t)expected(&costs, 4.0), 17, 21);
    costs = costs_of(starts, 2);
    assert_float_equal(expected(&costs, 4.0), 17.4, 0.5);
}

/* Nor is what is seen of large ones disbelieved. */
static void test_many_processes_may_take_less(void **state)
{
    (void)state;
    static const double starts[][2] = {{2, 0.5}, {48, 1.0}, {32, 0.8}};
    struct start_costs costs = costs_of(starts, 3);
    assert_float_equal(expected(&costs, 48.0), 1.0, 0.3);
}

/* A machine that has become slower is so from then on. */
static void test_what_is_new_counts_for_more(void **state)
{
    (void)state;
    static const double before[][2] = {{4, 1.0}, {4, 1.0}, {4, 1.0}, {4, 1.0}};
    static const double after[][2] = {{4, 1.0}, {4, 1.0}, {4, 1.0}, {4, 1.0},
                                      {4, 9.0}, {4, 9.0}, {4, 9.0}, {4, 9.0}};
    struct start_costs costs = costs_of(before, 4);
    assert_float_equal(expected(&costs, 4.0), 1.0, 0.1);
    costs = costs_of(after, 8);
    assert_true(expected(&costs, 4.0) > 5.5);
}

/* Whichever of them it was: one of several starts that takes three times as long. */
static void test_one_slow_start_is_an_accident(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 5; slow++) {
        double starts[5][2] = {{1, 4.0}, {2, 4.1}, {4, 4.1}, {2, 4.0}, {1, 4.0}};
        starts[slow][1] += 8.0;
        struct start_costs costs = costs_of(starts, 5);
        assert_float_equal(expected(&costs, 2.0), 4.0, 0.5);
    }
}

/* It goes on to learn, and has forgotten the first ones. */
static void test_more_starts_than_are_remembered(void **state)
{
    (void)state;
    struct start_costs costs = costs_of(NULL, 0);
    for (int i = 0; i < 3 * START_COSTS_MOST; i++)
        start_costs_learn(&costs, 1.0, i < START_COSTS_MOST ? 9.0 : 2.0);
    assert_int_equal(costs.count, START_COSTS_MOST);
    assert_float_equal(expected(&costs, 1.0), 2.0, 0.1);
}

/* Graphs that take 75 ms each instead of 12, as on the emulated GPU: what a start of many streams
 * takes is not taken for that of a process. */
static void test_what_streams_take_is_learned(void **state)
{
    (void)state;
    const struct tune_costs first = tune_pace_first_costs();
    struct tune tune = {.costs = first};
    const struct point many = {.layout = LAYOUT_THREADS,
                               .processes = 1,
                               .threads = 1,
                               .streams = 64},
                       plain = {.layout = LAYOUT_THREADS, .processes = 1, .threads = 1};
    tune_pace_init(60.0, 0, &tune.pace);
    for (int i = 0; i < 10; i++)
        tune_pace_learn_start(&tune, &many, 0.5 + 64 * 0.075, 0.0);
    assert_float_equal(tune.costs.stream_s, 0.075, 0.01);
    assert_float_equal(tune.pace.starts.start_s + tune.pace.starts.process_s,
                       first.start_s + first.process_s, 0.01);
    /* Once it is known, what a start takes is learned from such points, too. */
    tune.pace.streams_known = true;
    for (int i = 0; i < 4; i++)
        tune_pace_learn_start(&tune, &many, 2.5 + 64 * 0.075, 0.0);
    assert_float_equal(tune.costs.stream_s, 0.075, 0.01);
    assert_float_equal(tune.costs.start_s + tune.costs.process_s, 2.5, 0.5);
    tune_pace_learn_start(&tune, &plain, 2.5, 0.0);
    assert_float_equal(tune.costs.stream_s, 0.075, 0.01);
}

/* Processes of a program that load wait for each other's CPUs: three times as many as there are
 * CPUs take three times as long as one, though a few beside each other took no longer. Those that
 * sleep meanwhile do not wait. */
static void test_a_crowd_waits_for_cpus(void **state)
{
    (void)state;
    for (unsigned cpus = 4; cpus <= 64; cpus *= 2) {
        struct tune tune = {.costs = tune_pace_first_costs(), .space.cpus = cpus};
        struct point some = {
            .layout = LAYOUT_PROCESSES_MPS, .threads = 1, .work.workload = WORKLOAD_PROGRAM};
        struct point crowd = some;
        crowd.processes = 3 * cpus;
        tune_pace_init(300.0, 0, &tune.pace);
        for (some.processes = 1; some.processes <= cpus; some.processes *= 2)
            tune_pace_learn_start(&tune, &some, 9.0, 8.0 * some.processes);
        assert_float_equal(tune_load_seconds(&tune.costs, crowd.processes, 1), 24.0, 1e-6);
        assert_false(tune_pace_hangs(&tune, &crowd, 2.0 * 24.0));
        /* Each further thread adds to that. */
        some.threads = crowd.threads = 4;
        tune_pace_learn_start(&tune, &some, 9.0, 14.0 * some.processes);
        assert_float_equal(tune_load_seconds(&tune.costs, crowd.processes, 1), 24.0, 1e-6);
        assert_float_equal(tune_load_seconds(&tune.costs, crowd.processes, 4), 42.0, 1e-6);
        assert_false(tune_pace_hangs(&tune, &crowd, 2.0 * 42.0));
        some.threads = crowd.threads = 1;
        tune_pace_learn_start(&tune, &some, 9.0, 0.5 * some.processes);
        assert_true(tune_pace_hangs(&tune, &crowd, 2.0 * 24.0));
    }
}

/* Seconds of a budget that a final of that many processes leaves for their end. */
static double left_for_end_s(const struct tune *tune, unsigned processes)
{
    const struct point point = {.layout = LAYOUT_PROCESSES_MPS,
                                .processes = processes,
                                .threads = 1,
                                .work.workload = WORKLOAD_PROGRAM};
    uint64_t until_ns = tune_pace_until_ns(tune, &point, TUNE_STAGE_FINAL, 0.0);
    return (double)(tune->pace.deadline_ns - until_ns) / 1e9;
}

/* Twice as many may take twice as long to end, until they were seen to, but no tenth of a budget.
 */
static void test_more_processes_take_longer_to_end(void **state)
{
    (void)state;
    struct tune tune = {.costs = tune_pace_first_costs()};
    tune_pace_init(60.0, 0, &tune.pace);
    tune_pace_learn_stop(&tune.pace, true, 16, 0.9);
    assert_float_equal(left_for_end_s(&tune, 8), 0.9, 1e-3);
    assert_float_equal(left_for_end_s(&tune, 32), 1.8, 1e-3);
    assert_float_equal(left_for_end_s(&tune, 640), 6.0, 1e-3);
    tune_pace_learn_stop(&tune.pace, true, 32, 1.1);
    assert_float_equal(left_for_end_s(&tune, 32), 1.1, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_processes_take_longer_to_end),
        cmocka_unit_test(test_before_any_start_it_is_what_is_usual),
        cmocka_unit_test(test_a_program_that_loads_for_long),
        cmocka_unit_test(test_processes_that_start_one_after_the_other),
        cmocka_unit_test(test_nothing_costs_less_than_nothing),
        cmocka_unit_test(test_few_small_starts_show_little_of_a_large_one),
        cmocka_unit_test(test_a_first_start_shows_nothing_of_the_number),
        cmocka_unit_test(test_a_long_first_start_counts),
        cmocka_unit_test(test_many_processes_may_take_less),
        cmocka_unit_test(test_what_is_new_counts_for_more),
        cmocka_unit_test(test_one_slow_start_is_an_accident),
        cmocka_unit_test(test_more_starts_than_are_remembered),
        cmocka_unit_test(test_what_streams_take_is_learned),
        cmocka_unit_test(test_a_crowd_waits_for_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
