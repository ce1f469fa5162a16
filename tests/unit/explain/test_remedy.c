#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "explain/predict.h"
#include "explain/remedy.h"
#include "job/queues.h"
#include "tests/unit/explain/h200.h"

#define GRAPH .launch = LAUNCH_GRAPH
#define BLOCK .schedule = SCHEDULE_BLOCK
#define PAGEABLE .memory = MEMORY_PAGEABLE
#define NO_SYNC .sync = SYNC_NONE

static void remedies_on_the_h200(void **state)
{
    (void)state;
    static const struct {
        struct explain_point point;
        enum remedy_kind kind;
        const char *options;
        double measured; /* of the remedy, where it was; 0: not */
        enum ceiling_kind then;
    } table[] = {
        {{.processes = 1, .threads = 16, .connections = 8},
         REMEDY_CONNECTIONS,
         "--connections 16",
         3637,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 1, .threads = 32, .connections = 8},
         REMEDY_CONNECTIONS,
         "--connections 32 --schedule block",
         3736,
         CEILING_PROCESS_LAUNCH},
        {{.mps = true, .processes = 1, .threads = 16, .connections = 2},
         REMEDY_CONNECTIONS,
         "--connections 16",
         3329,
         CEILING_PROCESS_LAUNCH},
        /* 8 clients with 16 queues each are not allowed, with 8 they are. */
        {{.mps = true, .processes = 8, .threads = 16, .connections = 1},
         REMEDY_CONNECTIONS,
         "--connections 8 --schedule block",
         0,
         CEILING_GPU_LAUNCH},
        {{.processes = 8, .threads = 1, .connections = 8},
         REMEDY_MPS,
         "--layout processes+mps:8",
         1906,
         CEILING_WORKERS},
        {{.processes = 2, .threads = 8, .connections = 8},
         REMEDY_MPS,
         "--layout hybrid:2x8 --connections 8",
         0,
         CEILING_GPU_LAUNCH},
        {{.mps = true, .processes = 16, .threads = 1, .connections = 2},
         REMEDY_GRAPH,
         "--launch graph",
         4310,
         CEILING_WORKERS},
        {{.processes = 1, .threads = 32, .connections = 32},
         REMEDY_GRAPH,
         "--layout threads:1 --streams 32 --launch graph",
         9231,
         CEILING_WORKERS},
        /* What yields gives way as it is. */
        {{.processes = 1, .threads = 32, .connections = 32, .schedule = SCHEDULE_YIELD},
         REMEDY_GRAPH,
         "--launch graph",
         0,
         CEILING_WORKERS},
        {{.processes = 1, .threads = 1, .connections = 8},
         REMEDY_WORKERS,
         "--layout threads:16 --connections 16",
         3637,
         CEILING_PROCESS_LAUNCH},
        {{.mps = true, .processes = 8, .threads = 1, .connections = 2},
         REMEDY_WORKERS,
         "--layout processes+mps:16",
         3236,
         CEILING_GPU_LAUNCH},
        {{.processes = 1, .threads = 64, .connections = 32, GRAPH, BLOCK},
         REMEDY_STREAMS,
         "--layout threads:1 --streams 128 --schedule auto",
         19016,
         CEILING_ARITHMETIC},
        {{.processes = 1, .threads = 1, .connections = 8, GRAPH},
         REMEDY_STREAMS,
         "--streams 128",
         19016,
         CEILING_ARITHMETIC},
        {{.processes = 1, .threads = 1, .streams = 16, .connections = 8, GRAPH},
         REMEDY_STREAMS,
         "--streams 128",
         19016,
         CEILING_ARITHMETIC},
        {{.mps = true, .processes = 2, .threads = 1, .connections = 2, GRAPH},
         REMEDY_STREAMS,
         "--streams 64",
         19015,
         CEILING_ARITHMETIC},
        /* By stream a thread that polls is soon the limit. */
        {{.processes = 1, .threads = 1, .streams = 64, .connections = 8},
         REMEDY_GRAPH,
         "--launch graph",
         16371,
         CEILING_WORKERS},
        {{.processes = 1, .threads = 128, .connections = 32, GRAPH, BLOCK},
         REMEDY_NONE,
         "",
         0,
         CEILING_KINDS},
        {{.processes = 1, .threads = 128, .connections = 32, GRAPH},
         REMEDY_BLOCK,
         "--schedule block",
         18936,
         CEILING_ARITHMETIC},
        {{.processes = 1, .threads = 16, .connections = 8, PAGEABLE, NO_SYNC},
         REMEDY_SYNC,
         "--sync stream",
         1924,
         CEILING_QUEUES},
        {{.processes = 1, .threads = 16, .connections = 8, PAGEABLE, GRAPH, BLOCK},
         REMEDY_PINNED,
         "--memory pinned",
         4296,
         CEILING_WORKERS},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct explain_point point = table[i].point;
        struct remedy remedy;
        point.work = h200.work;
        remedy_find(&point, &h200, NULL, &remedy);
        if (remedy.kind != table[i].kind || strcmp(remedy.options, table[i].options) != 0 ||
            remedy.then != table[i].then)
            fail_msg("row %zu: %s '%s', then %s", i, remedy_name(remedy.kind), remedy.options,
                     ceiling_name(remedy.then));
        assert_true(strlen(remedy.advice) > 10);
        if (remedy.kind == REMEDY_NONE)
            continue;
        assert_true(remedy.gain > 1.0);
        assert_true(fabs(remedy.predicted_ips / remedy.gain / predict_ips(&point, &h200) - 1.0) <
                    1e-6);
        if (table[i].measured > 0.0 && fabs(remedy.predicted_ips / table[i].measured - 1.0) > 0.15)
            fail_msg("row %zu: predicted %.0f, measured %.0f", i, remedy.predicted_ips,
                     table[i].measured);
    }
}

/* A GPU that allows less gets what fits; if nothing does, that is reported. */
static void remedies_keep_to_the_limits(void **state)
{
    (void)state;
    struct explain_point point = {.mps = true, .processes = 1, .threads = 16, .connections = 2};
    struct remedy remedy;
    point.work = h200.work;
    remedy_find(&point, &h200, &(struct remedy_limits){.clients = 48, .queues = 16}, &remedy);
    assert_true(mps_queues_fit(remedy.point.processes, remedy.point.connections, 16));
    assert_string_equal(remedy.options, "--connections 8");
    remedy_find(&point, &h200, &(struct remedy_limits){.clients = 1, .queues = 4}, &remedy);
    assert_string_equal(remedy.options, "--launch graph");
    point.launch = LAUNCH_STREAM;
    point.processes = 4;
    point.threads = 1;
    remedy_find(&point, &h200, &(struct remedy_limits){.clients = 4, .queues = 96}, &remedy);
    assert_int_equal(remedy.kind, REMEDY_NONE);
    assert_true(strlen(remedy.advice) > 10);
}

/* Where one path of launching is far below the GPU's, processes help. */
static void processes_for_a_slow_launch_path(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {.processes = 1, .threads = 16, .connections = 32};
    struct remedy remedy;
    calibration.process_launches_per_s = 0.2e6;
    calibration.single_graph_ips = 20;
    calibration.crowd_workers = 0;
    point.work = h200.work;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_int_equal(remedy.kind, REMEDY_PROCESSES);
    assert_string_equal(remedy.options, "--layout processes+mps:16");
}

/* A process has no more than 32 queues; several over MPS have more, as many as fit. */
static void processes_for_more_streams_than_queues(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {.processes = 1, .threads = 128, .connections = 32, PAGEABLE};
    struct remedy remedy;
    calibration.single_stream_ips = calibration.single_graph_ips = 20;
    calibration.single_pageable_ips = 19;
    point.work = h200.work;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_int_equal(remedy.kind, REMEDY_HYBRID);
    assert_string_equal(remedy.options, "--layout hybrid:32x4");
    assert_true(remedy.gain > 1.9);
    point.threads = 4;
    point.streams = 16;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_string_equal(remedy.options, "--layout hybrid:2x2 --connections 32");
    assert_non_null(strstr(remedy.advice, "each process with 32 hardware queues"));
    point.threads = 5;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_string_equal(remedy.options, "--layout processes+mps:5 --connections 16");
}

static void a_percentage_is_taken_away(void **state)
{
    (void)state;
    static const struct calibration heavy = {
        .work = {.kernels = 220, .blocks = 264, .threads_per_block = 256},
        .single_stream_ips = 49,
        .arithmetic_ips = 74,
    };
    struct explain_point point = {.mps = true,
                                  .processes = 2,
                                  .threads = 1,
                                  .connections = 2,
                                  .percentage_count = 1,
                                  .percentages = {20}};
    struct remedy remedy;
    point.work = heavy.work;
    remedy_find(&point, &heavy, NULL, &remedy);
    assert_int_equal(remedy.kind, REMEDY_PERCENTAGE);
    assert_string_equal(remedy.options, "--active-thread-percentage default");
    assert_int_equal(remedy.then, CEILING_ARITHMETIC);
}

/* One GPU of which the kernels of an iteration take a quarter: with as many workers as it has room
 * for they wait for each other, and more of them keep it busy. */
static const struct calibration quarter = {
    .work = {.kernels = 20, .blocks = 33, .threads_per_block = 256},
    .single_stream_ips = 25,
    .single_graph_ips = 25,
    .arithmetic_ips = 100,
    .cpus = 16,
};

static void find(struct explain_point point, struct remedy *remedy)
{
    point.work = quarter.work;
    remedy_find(&point, &quarter, NULL, remedy);
}

static void far_below_its_ceiling_a_point_may_come_nearer(void **state)
{
    (void)state;
    struct explain_point five = {.processes = 1, .threads = 5, .connections = 32}, most = five,
                         graphs = five;
    struct remedy remedy;
    most.work = quarter.work;
    find(five, &remedy);
    assert_int_equal(remedy.kind, REMEDY_WORKERS);
    assert_true(remedy.nearer);
    assert_string_equal(remedy.options, "--layout threads:10");
    assert_int_equal(remedy.then, CEILING_ARITHMETIC);
    assert_true(remedy.gain > 1.1 && remedy.predicted_ips <= quarter.arithmetic_ips);
    /* Measured to do less than predicted, too. */
    five.measured_ips = five.measured_low_ips = 40.0;
    find(five, &remedy);
    assert_int_equal(remedy.kind, REMEDY_WORKERS);
    /* What has come near to it by itself has nothing to gain. */
    five.measured_ips = five.measured_low_ips = 92.0;
    find(five, &remedy);
    assert_int_equal(remedy.kind, REMEDY_NONE);
    assert_false(remedy.nearer);
    assert_false(remedy.tried);
    /* Nor has what is predicted to be near. */
    most.threads = 64;
    find(most, &remedy);
    assert_true(predict_ips(&most, &quarter) > 0.9 * quarter.arithmetic_ips);
    assert_int_equal(remedy.kind, REMEDY_NONE);
    assert_false(remedy.nearer);
    /* Streams, where a thread polls some. */
    graphs.threads = 1;
    graphs.streams = 5;
    graphs.launch = LAUNCH_GRAPH;
    find(graphs, &remedy);
    assert_int_equal(remedy.kind, REMEDY_STREAMS);
    assert_true(remedy.nearer);
    assert_string_equal(remedy.options, "--streams 10");
}

/* A point may do more than is predicted of it, and then more than is predicted of a remedy. */
static void no_remedy_is_slower_than_what_was_measured(void **state)
{
    (void)state;
    static const unsigned threads[] = {2, 16, 32, 64};
    struct explain_point point = {.processes = 1, .work = h200.work};
    unsigned found = 0;
    for (unsigned i = 0; i < 16; i++) {
        point.threads = threads[i % 4];
        point.connections = i & 4 ? 8 : 32;
        point.launch = i & 8 ? LAUNCH_GRAPH : LAUNCH_STREAM;
        for (double above = 0.9; above < 1.5; above += 0.05) {
            struct remedy remedy;
            double ips = above * predict_ips(&point, &h200);
            point.measured_ips = point.measured_low_ips = ips;
            remedy_find(&point, &h200, NULL, &remedy);
            if (remedy.kind != REMEDY_NONE && remedy.predicted_ips <= ips)
                fail_msg("%u threads, %u queues: %s to %.0f from %.0f", point.threads,
                         point.connections, remedy.options, remedy.predicted_ips, ips);
            found += remedy.kind != REMEDY_NONE;
        }
    }
    assert_true(found > 50);
}

static void nothing_known_nothing_proposed(void **state)
{
    (void)state;
    const struct calibration unknown = {.work = H200_WORK};
    struct explain_point point = {.processes = 1, .threads = 16, .connections = 8};
    struct remedy remedy;
    point.work = unknown.work;
    remedy_find(&point, &unknown, NULL, &remedy);
    assert_int_equal(remedy.kind, REMEDY_NONE);
    assert_int_equal(remedy.then, CEILING_KINDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remedies_on_the_h200),
        cmocka_unit_test(remedies_keep_to_the_limits),
        cmocka_unit_test(processes_for_a_slow_launch_path),
        cmocka_unit_test(processes_for_more_streams_than_queues),
        cmocka_unit_test(a_percentage_is_taken_away),
        cmocka_unit_test(far_below_its_ceiling_a_point_may_come_nearer),
        cmocka_unit_test(no_remedy_is_slower_than_what_was_measured),
        cmocka_unit_test(nothing_known_nothing_proposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
