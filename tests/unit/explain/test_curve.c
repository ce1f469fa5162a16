/* Predictions from the runs of a calibration, on machines that follow simple laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "explain/curve.h"
#include "explain/derive.h"
#include "explain/predict.h"
#include "tests/unit/explain/rig.h"

static void assert_near(const struct explain_point *point, double ips, double tolerance)
{
    const struct calibration calibration = example();
    assert_near_by(point, &calibration, ips, tolerance);
}

static void figures_follow_from_runs(void **state)
{
    (void)state;
    const struct calibration calibration = example();
    assert_float_equal(calibration.single_stream_ips, 1.0 / ALONE_S, 1e-6);
    assert_float_equal(calibration.single_graph_ips, 1.0 / (0.9 * ALONE_S), 1e-6);
    assert_int_equal(calibration.crowd_workers, 4);
    assert_float_equal(calibration.crowd_stream_ips, 4.0 / truth_s(4, false, false), 1e-6);
}

static void runs_are_met(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= CPUS; n *= 4) {
        struct explain_point point = point_of(false, 1, n);
        assert_near(&point, n / truth_s(n, false, false), 1e-9);
    }
    struct explain_point point = point_of(true, 12, 1);
    point.schedule = SCHEDULE_BLOCK;
    assert_near(&point, 12.0 / truth_s(12, true, true), 1e-9);
}

static void between_and_beyond_runs(void **state)
{
    (void)state;
    static const unsigned between[] = {2, 3, 6, 8, 12};
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        struct explain_point point = point_of(false, 1, between[i]);
        assert_near(&point, between[i] / truth_s(between[i], false, false), 0.08);
        point = point_of(true, between[i], 1);
        assert_near(&point, between[i] / truth_s(between[i], true, false), 0.08);
    }
    struct explain_point many = point_of(true, 48, 1);
    many.schedule = SCHEDULE_BLOCK;
    assert_near(&many, 2.0 * LAUNCHES / KERNELS, 0.05);
}

/* A hybrid is limited by the launch path of each process, and by the GPU. */
static void processes_of_many_threads(void **state)
{
    (void)state;
    struct explain_point point = point_of(true, 2, 8);
    assert_near(&point, 16.0 / truth_s(8, false, false), 0.05);
}

static void rows_in_queues(void **state)
{
    (void)state;
    struct explain_point point = point_of(false, 1, 12);
    point.connections = 2;
    assert_near(&point, 2.0 / truth_s(2, false, false), 0.05);
}

/* Threads without a CPU do not cost long rows more than short ones. */
static void queues_of_threads_that_spin(void **state)
{
    (void)state;
    const struct calibration calibration = example();
    struct calibration longer = example();
    for (unsigned i = 0; i < longer.run_count; i++)
        longer.runs[i].ips /= 10.0;
    derive_figures(&longer);
    longer.process_launches_per_s /= 10.0;
    longer.gpu_launches_per_s /= 10.0;
    struct explain_point point = point_of(false, 1, CPUS + 2);
    point.connections = 2; /* so few that kernels of 10 us come in rows */
    double ips = predict_ips(&point, &calibration);
    assert_true(ips < 2.0 / truth_s(2, false, false));
    assert_true(ips > 0.75 * 2.0 / truth_s(2, false, false));
    assert_near_by(&point, &longer, 0.1 * ips, 0.01);
}

static void spinning_takes_cpus(void **state)
{
    (void)state;
    const struct calibration calibration = example();
    struct explain_point point = point_of(false, 1, 64);
    point.launch = LAUNCH_GRAPH;
    double awake = predict_ips(&point, &calibration);
    assert_true(awake < 1.3 * CPUS / (0.9 * ALONE_S));
    point.schedule = SCHEDULE_BLOCK;
    assert_true(predict_ips(&point, &calibration) > 1.1 * awake);
}

/* As on the emulated GPU: with the driver's own choice one alone used little of a CPU. */
static void auto_may_sleep(void **state)
{
    (void)state;
    struct calibration calibration = example();
    struct explain_point crowd = point_of(false, 1, 2 * CPUS);
    struct ceilings ceilings;
    crowd.launch = LAUNCH_GRAPH;
    struct explain_point asleep = crowd, awake = crowd;
    asleep.schedule = SCHEDULE_BLOCK;
    awake.schedule = SCHEDULE_SPIN;
    calibration.single_spin_cpu_us = 0.9e6 / calibration.single_stream_ips;
    assert_near(&crowd, predict_ips(&awake, &calibration), 1e-6);
    double of_spinning = predict_ips(&awake, &calibration);
    calibration.single_spin_cpu_us = 0.1e6 / calibration.single_stream_ips;
    assert_true(fabs(predict_ips(&crowd, &calibration) - predict_ips(&asleep, &calibration)) < 1.0);
    assert_true(predict_ips(&crowd, &calibration) > 1.1 * of_spinning);
    assert_true(fabs(predict_ips(&awake, &calibration) - of_spinning) < 1.0);
    ceilings_compute(&crowd, &calibration, &ceilings);
    double of_crowd = ceilings.ips[CEILING_CPUS];
    ceilings_compute(&awake, &calibration, &ceilings);
    assert_true(of_crowd == 0.0 || of_crowd > ceilings.ips[CEILING_CPUS]);
    assert_true(fabs(ceilings.ips[CEILING_CPUS] - 2.0 * CPUS * calibration.single_graph_ips) < 0.1);
}

/* A run of many streams is not much slower than one alone: few of them are not faster for it. */
static void predictions_keep_below_ceilings(void **state)
{
    (void)state;
    struct calibration calibration = example();
    struct explain_point point = point_of(false, 1, 1);
    add_run(&calibration,
            (struct calibration_run){
                .processes = 1, .threads = 1, .streams = 32, .launch = LAUNCH_GRAPH},
            0.85 * ALONE_S);
    point.launch = LAUNCH_GRAPH;
    for (point.streams = 2; point.streams <= 256; point.streams *= 2) {
        struct ceilings ceilings;
        ceilings_compute(&point, &calibration, &ceilings);
        double ips = predict_ips(&point, &calibration);
        assert_true(ips > 0.0 && ips <= 1.000001 * ceilings.ips[CEILING_WORKERS]);
        assert_true(ips <= 1.000001 * ceilings.ips[CEILING_ARITHMETIC]);
    }
}

static void a_thread_that_polls(void **state)
{
    (void)state;
    struct explain_point point = point_of(false, 1, 1);
    point.launch = LAUNCH_GRAPH;
    point.streams = 8;
    assert_near(&point, 8.0 / (0.9 * ALONE_S), 0.02);
    point.streams = 64;
    assert_near(&point, 15000.0, 0.02);
    point.threads = 2;
    assert_near(&point, 30000.0, 0.02);
}

static void turns_of_processes(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 8; n *= 2) {
        struct explain_point point = point_of(false, n, 1);
        assert_near(&point, 2.0 / (2.5 * ALONE_S), 1e-9);
    }
}

/* A graph takes its process less alone, and in its turn: that does not count as a second thread. */
static void turns_of_graphs(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 8; n *= 2) {
        struct explain_point point = point_of(false, n, 1);
        point.launch = LAUNCH_GRAPH;
        assert_near(&point, 1.0 / (1.25 * ALONE_S - 0.1 * ALONE_S), 1e-9);
    }
}

/* Launches that hold an iteration up alone are made in the turns of others: then the run of two
 * does not show what changing over takes. */
static void turns_of_graphs_beside_slow_launches(void **state)
{
    (void)state;
    struct calibration calibration = example();
    struct explain_point point = point_of(false, 4, 1);
    point.launch = LAUNCH_GRAPH;
    for (unsigned i = 0; i < calibration.run_count; i++)
        if (!calibration.runs[i].mps && calibration.runs[i].processes == 2)
            calibration.runs[i].ips = 2.0 / (1.2 * ALONE_S);
    double ips = predict_ips(&point, &calibration);
    assert_true(ips < 1.0 / (0.9 * ALONE_S) && ips > 0.8 / (0.9 * ALONE_S));
}

/* Turns end after a fixed time: two processes of which each needs the GPU for half of the time are
 * hardly in each other's way. */
static void turns_that_leave_gaps(void **state)
{
    (void)state;
    struct calibration calibration = example();
    struct calibration_run run = {
        .processes = 1, .threads = 1, .memory = MEMORY_PAGEABLE, .launch = LAUNCH_GRAPH};
    struct explain_point point = point_of(false, 2, 1);
    point.memory = MEMORY_PAGEABLE;
    point.launch = LAUNCH_GRAPH;
    add_run(&calibration, run, 2.3 * ALONE_S);
    double in_turn_s = 1.15 * ALONE_S;
    assert_near_by(&point, &calibration, 2.0 / (2.3 * ALONE_S + 0.25 * in_turn_s), 1e-9);
    point.processes = 5;
    assert_near_by(&point, &calibration, 1.0 / in_turn_s, 1e-9);
}

/* MPS has nothing to share out with one process. */
static void threads_of_one_process_over_mps(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= CPUS; n *= 2) {
        struct explain_point point = point_of(true, 1, n);
        assert_near(&point, n / truth_s(n, false, false), 0.05);
    }
}

/* Threads that launch for many streams each share their process's launch path. */
static void polling_threads_that_launch(void **state)
{
    (void)state;
    struct calibration calibration = example();
    struct explain_point point = point_of(false, 1, 8);
    point.streams = 4;
    calibration.single_stream_cpu_us = 300.0;
    double ips = predict_ips(&point, &calibration);
    assert_true(ips < LAUNCHES / KERNELS && ips > 0.8 * LAUNCHES / KERNELS);
    /* One is slowed down by its launches, and by what it takes to serve a stream. */
    point.threads = 1;
    assert_near_by(&point, &calibration, 1.0 / (300e-6 + 1.0 / 15000.0), 0.05);
}

/* Processes in turns do no more than over MPS, also where it is not their turns that limit them. */
static void turns_give_nothing(void **state)
{
    (void)state;
    struct calibration calibration = example();
    calibration.both_bytes_per_s = 2.0 * 1024 / (0.9 * ALONE_S);
    struct explain_point point = point_of(true, 12, 1);
    point.launch = LAUNCH_GRAPH;
    double over_mps = predict_ips(&point, &calibration);
    assert_true(over_mps < 1.02 * calibration.both_bytes_per_s / 1024);
    point.mps = false;
    for (unsigned i = 0; i < calibration.run_count; i++)
        if (!calibration.runs[i].mps && calibration.runs[i].processes == 2)
            calibration.runs[i].ips = 1.0 / (0.2 * ALONE_S);
    assert_near_by(&point, &calibration, over_mps, 1e-9);
}

/* Waking up takes one worker alone longer than processes that keep the CPUs from idling. */
static void processes_wake_up_as_their_runs_do(void **state)
{
    (void)state;
    struct calibration calibration = example();
    for (unsigned i = 0; i < calibration.run_count; i++) {
        struct calibration_run *run = &calibration.runs[i];
        if (run->schedule == SCHEDULE_BLOCK && run->processes == 1)
            run->ips = 1.0 / (2.0 * ALONE_S);
    }
    struct explain_point point = point_of(true, 6, 1);
    point.schedule = SCHEDULE_BLOCK;
    assert_near_by(&point, &calibration, 6.0 / truth_s(6, true, true), 1e-9);
}

/* Graphs that take much longer beside others than alone do all that the GPU can do, and fewer of
 * them take no longer than that. */
static void a_crowd_of_graphs_shows_what_the_gpu_does(void **state)
{
    (void)state;
    struct calibration calibration = example();
    double most = 8000.0;
    add_run(&calibration,
            (struct calibration_run){
                .processes = 1, .threads = 1, .streams = 32, .launch = LAUNCH_GRAPH},
            32.0 / most);
    static const struct {
        unsigned threads, streams;
    } points[] = {{1, 12}, {1, 20}, {2, 32}, {4, 16}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct explain_point point = point_of(false, 1, points[i].threads);
        point.streams = points[i].streams;
        point.launch = LAUNCH_GRAPH;
        assert_near_by(&point, &calibration, most, 0.03);
    }
    struct explain_point few = point_of(false, 1, 1);
    few.streams = 4;
    few.launch = LAUNCH_GRAPH;
    assert_near_by(&few, &calibration, 4.0 / (0.9 * ALONE_S), 0.02);
}

static void intervals_grow_with_the_distance(void **state)
{
    (void)state;
    const struct calibration calibration = example();
    struct explain_point point = point_of(true, 8, 1);
    struct prediction near, far, beyond;
    predict(&point, &calibration, &near);
    assert_true(near.half_rel > 0.02 && near.half_rel < 0.2);
    assert_false(near.is_beyond);
    point.schedule = SCHEDULE_BLOCK;
    point.processes = 48;
    predict(&point, &calibration, &far);
    assert_true(far.half_rel > near.half_rel);
    assert_false(far.is_beyond);
    point.processes = 200;
    predict(&point, &calibration, &beyond);
    assert_true(beyond.half_rel > far.half_rel);
    assert_true(beyond.is_beyond);
}

/* As of earlier versions. */
static void without_runs_there_is_no_interval(void **state)
{
    (void)state;
    struct calibration calibration = example();
    struct explain_point point = point_of(false, 1, 4);
    struct prediction prediction;
    calibration.run_count = 0;
    predict(&point, &calibration, &prediction);
    assert_true(prediction.ips > 0.0);
    assert_true(prediction.half_rel == 0.0);
    assert_false(prediction.is_beyond);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_follow_from_runs),
        cmocka_unit_test(runs_are_met),
        cmocka_unit_test(between_and_beyond_runs),
        cmocka_unit_test(processes_of_many_threads),
        cmocka_unit_test(rows_in_queues),
        cmocka_unit_test(queues_of_threads_that_spin),
        cmocka_unit_test(spinning_takes_cpus),
        cmocka_unit_test(auto_may_sleep),
        cmocka_unit_test(predictions_keep_below_ceilings),
        cmocka_unit_test(a_thread_that_polls),
        cmocka_unit_test(turns_of_processes),
        cmocka_unit_test(turns_of_graphs),
        cmocka_unit_test(turns_of_graphs_beside_slow_launches),
        cmocka_unit_test(turns_that_leave_gaps),
        cmocka_unit_test(threads_of_one_process_over_mps),
        cmocka_unit_test(polling_threads_that_launch),
        cmocka_unit_test(turns_give_nothing),
        cmocka_unit_test(processes_wake_up_as_their_runs_do),
        cmocka_unit_test(a_crowd_of_graphs_shows_what_the_gpu_does),
        cmocka_unit_test(intervals_grow_with_the_distance),
        cmocka_unit_test(without_runs_there_is_no_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
