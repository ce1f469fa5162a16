/* The simulated machines by which the search is judged: what it relies on, and how they differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tune/kinds.h"

/* The last one is of programs. */
static const struct tune_family *const families[] = {&tune_family_soft, &tune_family_usl,
                                                     &tune_family_service};
#define FAMILIES (sizeof families / sizeof families[0])
#define CALIBRATED (FAMILIES - 1)

static void make(const struct tune_family *family, unsigned machine, unsigned workload,
                 struct tune_truth *truth, struct tune_space *space)
{
    tune_truth_make(family, machine, workload, truth);
    assert_int_equal(tune_trial_space(truth, space), STATUS_OK);
}

static void test_same_numbers_make_the_same_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAMILIES; i++) {
        struct tune_truth one, same, other;
        struct tune_space space;
        make(families[i], 3, 1, &one, &space);
        tune_truth_make(families[i], 3, 1, &same);
        tune_truth_make(families[i], 4, 1, &other);
        bool differs = false;
        for (size_t at = 0; at < space.plan.count; at++) {
            const struct point *point = &space.plan.points[at];
            double ips = tune_truth_ips(&one, point);
            assert_true(ips == tune_truth_ips(&same, point));
            differs |= ips != tune_truth_ips(&other, point);
        }
        assert_true(differs);
        tune_space_release(&space);
    }
}

/* A layout that works does something, in a time, on CPUs that there are. */
static void test_figures_of_layouts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FAMILIES * 6; i++) {
        struct tune_truth truth;
        struct tune_space space;
        make(families[i % FAMILIES], i, i % TUNE_WORKLOADS, &truth, &space);
        for (size_t at = 0; at < space.plan.count; at++) {
            const struct point *point = &space.plan.points[at];
            double ips = tune_truth_ips(&truth, point), cpus = tune_truth_cpus(&truth, point);
            assert_true(isfinite(ips) && ips >= 0.0);
            if (ips <= 0.0)
                continue;
            double mean_us = 1e6 * point_workers(point) / ips;
            assert_true(tune_truth_p99_us(&truth, point) >= mean_us);
            assert_true(cpus > 0.0 && cpus <= truth.cpus);
        }
        tune_space_release(&space);
    }
}

/* Whether a and b differ in nothing but processes and threads, and b has no fewer of them. */
static bool is_larger(const struct point *a, const struct point *b)
{
    return b->processes >= a->processes && b->threads >= a->threads &&
           point_over_mps(a) == point_over_mps(b) && point_streams(a) == point_streams(b) &&
           a->connections == b->connections && a->work.launch == b->work.launch &&
           a->work.memory == b->work.memory;
}

/* The search does not try what is larger than a layout that was refused. */
static void test_larger_than_refused_is_refused(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (unsigned i = 0; i < CALIBRATED * 4; i++) {
        struct tune_truth truth;
        struct tune_space space;
        make(families[i % CALIBRATED], i, 2, &truth, &space);
        const struct point *points = space.plan.points;
        bool *works = calloc(space.plan.count, sizeof *works);
        for (size_t at = 0; at < space.plan.count; at++)
            works[at] = tune_truth_ips(&truth, &points[at]) > 0.0;
        for (size_t at = 0; at < space.plan.count; at++) {
            refused += !works[at];
            for (size_t other = 0; !works[at] && other < space.plan.count; other++)
                assert_false(works[other] && is_larger(&points[at], &points[other]));
        }
        free(works);
        tune_space_release(&space);
    }
    assert_true(refused > 0);
}

/* One worker alone is what a calibration measures best. */
static void test_calibrations_are_near(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CALIBRATED * 12; i++) {
        struct tune_truth truth;
        struct tune_space space;
        struct calibration calibration;
        make(families[i % CALIBRATED], i, i % TUNE_WORKLOADS, &truth, &space);
        double alone = tune_truth_ips(&truth, &space.plan.points[0]);
        tune_truth_calibrate(&truth, i, &space.plan.points[0], &calibration);
        assert_true(fabs(log(calibration.single_stream_ips / alone)) < 0.4);
        assert_true(calibration.single_graph_ips > 0.0 && calibration.arithmetic_ips > 0.0);
        assert_true(calibration.gpu_launches_per_s > 0.0 && calibration.both_bytes_per_s > 0.0);
        assert_int_equal(calibration.cpus, truth.cpus);
        tune_space_release(&space);
    }
}

/* A search that knew one kind of layout only would fail on most machines. */
static void test_no_kind_always_wins(void **state)
{
    (void)state;
    enum { MACHINES = 12, TRIALS = MACHINES * TUNE_WORKLOADS };
    unsigned wins[TUNE_KINDS] = {0}, kinds = 0, shares = 0, asleep = 0;
    for (unsigned i = 0; i < TRIALS; i++) {
        struct tune_truth truth;
        struct tune_space space;
        double best_ips[TUNE_KINDS];
        make(&tune_family_usl, i / TUNE_WORKLOADS, i % TUNE_WORKLOADS, &truth, &space);
        const struct point *best = &space.plan.points[tune_kinds_find(&truth, &space, best_ips)];
        wins[tune_kind_of(best)]++;
        shares += best->active_thread_percentage.count > 0;
        asleep += best->work.schedule == SCHEDULE_BLOCK;
        tune_space_release(&space);
    }
    for (unsigned kind = 0; kind < TUNE_KINDS; kind++) {
        kinds += wins[kind] > 0;
        assert_true(wins[kind] <= TRIALS / 2);
    }
    assert_true(kinds >= 5);
    assert_in_range(shares, TRIALS / 10, TRIALS * 9 / 10);
    assert_in_range(asleep, TRIALS / 20, TRIALS * 9 / 10);
}

static double spread_of(const double *values, size_t count)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += log(values[i]);
        squares += log(values[i]) * log(values[i]);
    }
    return sqrt(fmax(squares / (double)count - sum * sum / (double)count / (double)count, 0.0));
}

/* Long windows on one set of processes agree, and those on other sets do not. */
static void test_sets_differ_more_than_windows(void **state)
{
    (void)state;
    enum { LOOKS = 200 };
    unsigned more = 0;
    for (unsigned machine = 0; machine < 10; machine++) {
        struct tune_truth truth;
        struct tune_space space;
        struct tune_observation seen;
        double same[LOOKS], fresh[LOOKS];
        uint64_t random = machine;
        make(&tune_family_usl, machine, 0, &truth, &space);
        for (uint64_t i = 0; i < LOOKS; i++) {
            tune_truth_look(&truth, &space.plan.points[0], 100.0, 7, &random, &seen);
            same[i] = seen.ips;
            tune_truth_look(&truth, &space.plan.points[0], 100.0, i, &random, &seen);
            fresh[i] = seen.ips;
        }
        more += spread_of(fresh, LOOKS) > spread_of(same, LOOKS);
        tune_space_release(&space);
    }
    assert_true(more >= 7);
}

/* What a trial reports of itself is in order. */
static void test_trials(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALIBRATED; i++) {
        struct tune_truth truth;
        struct tune_space space;
        struct tune_trial trial = {.guided = false, .budget_s = 120.0};
        make(families[i], 2, 0, &truth, &space);
        assert_int_equal(tune_trial_run(&truth, &space, 2, &trial), STATUS_OK);
        assert_true(trial.judgement.winner != TUNE_NO_POINT);
        assert_true(0.0 < trial.won_ips && trial.won_ips <= trial.best_measured_ips);
        assert_true(trial.best_measured_ips <= trial.best_ips);
        assert_true(trial.equal_most_ips <= trial.best_measured_ips);
        assert_true(trial.equal_least_ips <= trial.equal_most_ips);
        assert_true(trial.sets > 0 && trial.seconds <= trial.budget_s);
        tune_space_release(&space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_numbers_make_the_same_machine),
        cmocka_unit_test(test_figures_of_layouts),
        cmocka_unit_test(test_larger_than_refused_is_refused),
        cmocka_unit_test(test_calibrations_are_near),
        cmocka_unit_test(test_no_kind_always_wins),
        cmocka_unit_test(test_sets_differ_more_than_windows),
        cmocka_unit_test(test_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
