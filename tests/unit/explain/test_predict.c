#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "files/results_read.h"
#include "explain/calibration_json.h"
#include "explain/internal.h"
#include "explain/network.h"
#include "explain/predict.h"
#include "orchestrator/explain/point.h"
#include "tests/unit/explain/h200.h"

#define TOLERANCE 0.15

/* What is known to be missed (docs/explain.md): threads of one process that wait for each other's
 * launches, for which predictions are too high, and pageable memory where nothing waits for the
 * stream before the copy out, of which the calibration makes too little. */
static bool is_known_miss(const struct explain_point *point)
{
    unsigned queues = ceiling_active_threads(point, &h200);
    bool by_stream = point->launch == LAUNCH_STREAM;
    bool pageable = point->memory == MEMORY_PAGEABLE;
    /* Streams that end while their thread sleeps for another one wait for it. */
    if (ceiling_polls(point))
        return point->schedule == SCHEDULE_BLOCK;
    /* More than twice as many threads as queues, and more than CPUs, all awake. */
    if (by_stream && point->processes == 1 && point->threads > 2 * queues && point->threads > 16)
        return true;
    if (by_stream && pageable && point->sync == SYNC_NONE && point->processes == 1 &&
        point->threads > 1)
        return true;
    /* A pageable copy within a graph: the more threads, the less they hold each other up. */
    return !by_stream && pageable;
}

static const char *describe(const struct explain_point *point, char *text, size_t size)
{
    snprintf(text, size, "%s %ux%ux%u memory %d sync %d launch %d queues %u schedule %d",
             layout_name(explain_layout(point)), point->processes, point->threads, point->streams,
             (int)point->memory, (int)point->sync, (int)point->launch, point->connections,
             (int)point->schedule);
    return text;
}

/* Returns how many points were compared. */
static unsigned compare_file(const char *name, unsigned *misses)
{
    char path[1024], text[256];
    struct results results;
    unsigned compared = 0;
    snprintf(path, sizeof path, "%s/docs/results/%s", MPSWEEP_SOURCE_DIR, name);
    assert_int_equal(results_load(path, NULL, &results), STATUS_OK);
    for (size_t i = 0; i < json_array_size(results.points); i++) {
        const json_t *record = json_array_get(results.points, i);
        struct explain_point point;
        if (!explain_point_measured(record))
            continue;
        assert_int_equal(explain_point_read(NULL, record, &point), STATUS_OK);
        if (is_known_miss(&point) || !calibration_is_same_work(&h200.work, &point.work))
            continue;
        double measured = json_number_value(json_object_get(record, "throughput_ips"));
        double predicted = predict_ips(&point, &h200);
        compared++;
        if (fabs(predicted / measured - 1.0) <= TOLERANCE)
            continue;
        (*misses)++;
        print_error("%s: %s: measured %.0f, predicted %.0f (%+.0f%%)\n", name,
                    describe(&point, text, sizeof text), measured, predicted,
                    100.0 * (predicted / measured - 1.0));
    }
    results_release(&results);
    return compared;
}

static void all_published_points_are_near(void **state)
{
    (void)state;
    unsigned misses = 0;
    assert_int_equal(compare_file("h200-forum.jsonl", &misses), 112);
    assert_int_equal(compare_file("h200-graphs.jsonl", &misses), 15);
    assert_int_equal(compare_file("h200-mixed.jsonl", &misses), 19);
    assert_int_equal(compare_file("h200-rounds.jsonl", &misses), 7);
    assert_int_equal(compare_file("h200-streams.jsonl", &misses), 70);
    assert_int_equal(compare_file("h200-streams-schedules.jsonl", &misses), 12);
    assert_int_equal(compare_file("h200-streams-pageable.jsonl", &misses), 8);
    /* 32 threads with a queue each, 17% too high; ten processes of two threads without
     * synchronisation, 16% too low. */
    assert_int_equal(misses, 2);
}

/* The last calibration of a file for that work. */
static bool own_calibration(const struct results *results, const struct work *work,
                            struct calibration *out)
{
    for (size_t i = json_array_size(results->calibrations); i-- > 0;) {
        struct calibration_record record;
        const json_t *json = json_array_get(results->calibrations, i);
        assert_int_equal(calibration_from_json(json, &record), STATUS_OK);
        if (!calibration_is_same_work(&record.figures.work, work))
            continue;
        *out = record.figures;
        return true;
    }
    return false;
}

/* Of all points of the published files that have a calibration of their own, the known misses, too:
 * how far the predictions are off, and how many points there are. */
static void published_calibrations_predict_their_points(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned points, misses;
    } files[] = {
        {"h200-explain.jsonl", 8, 0},
        /* 32 threads with a queue each on 16 CPUs, 17% too high. */
        {"h200-question-b.jsonl", 26, 1},
        /* With 8 and with 32 queues: more threads than CPUs that spin, 27 to 45% off. */
        {"h200-remedies-asleep.jsonl", 3, 2},
        {"h200-remedies.jsonl", 3, 0},
        {"h200-tune.jsonl", 25, 0},
        {"h200-tune-p99.jsonl", 34, 0},
        {"h200-x2-scaling.jsonl", 40, 0},
        /* Pageable copies of 8 threads, from a calibration that did not know how many do less. */
        {"h200-x2-copies.jsonl", 4, 2},
        /* Four threads: pageable copies, between the two numbers that were measured, and pinned
         * ones, which wait for each other less than is thought. */
        {"h200-x2-staging.jsonl", 12, 2},
        /* Copies of 1 MiB with one kernel, of which the calibration finds too little: five; 16 MiB
         * of pageable memory over MPS, which processes share the host's memory for: three; 24 and
         * 32 threads that share 8 queues: three. */
        {"h200-calibrations.jsonl", 48, 11},
        /* Random points. Pageable memory: eight; a few processes over MPS beside many parked ones:
         * two; threads that share queues: two; threads that launch for several streams each. */
        {"h200-random.jsonl", 162, 13},
        /* Pageable copies that wait: five; graphs of 40 threads that spin on 16 CPUs; threads that
         * launch for several streams each; 6 threads with a queue each. */
        {"h200-random-a.jsonl", 84, 8},
        /* Pageable memory: three; processes over MPS between two runs. */
        {"h200-random-b.jsonl", 84, 4},
        /* Pageable memory: nine; 15 threads that launch beside each other. */
        {"h200-random-c.jsonl", 84, 10},
        /* Threads that launch for several streams each; 33 threads with pageable memory. */
        {"h200-random-d.jsonl", 84, 3},
        /* Pageable memory: seven; 44 threads of graphs that sleep; three threads that share queues.
         * This set did not help to make the model. */
        {"h200-random-e.jsonl", 84, 9},
        /* Of described workloads: pageable memory, and 40 processes on 16 CPUs. */
        {"h200-described.jsonl", 84, 5},
        /* 256 threads over MPS with graphs. */
        {"h200-x2-tune.jsonl", 17, 1},
    };
    double sum = 0.0;
    unsigned points = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[1024], text[256];
        struct results results;
        unsigned compared = 0, misses = 0;
        snprintf(path, sizeof path, "%s/docs/results/%s", MPSWEEP_SOURCE_DIR, files[i].name);
        assert_int_equal(results_load(path, NULL, &results), STATUS_OK);
        for (size_t j = 0; j < json_array_size(results.points); j++) {
            const json_t *record = json_array_get(results.points, j);
            struct explain_point point;
            struct calibration own;
            if (!explain_point_measured(record) || !explain_point_known(&results, record))
                continue;
            assert_int_equal(explain_point_read(results.header, record, &point), STATUS_OK);
            if (!own_calibration(&results, &point.work, &own))
                continue;
            double measured = json_number_value(json_object_get(record, "throughput_ips"));
            double off = predict_ips(&point, &own) / measured - 1.0;
            compared++;
            sum += fabs(off);
            if (fabs(off) <= TOLERANCE)
                continue;
            misses++;
            print_message("%s: %s: measured %.0f, predicted %+.0f%%\n", files[i].name,
                          describe(&point, text, sizeof text), measured, 100.0 * off);
        }
        results_release(&results);
        points += compared;
        assert_int_equal(compared, files[i].points);
        assert_int_equal(misses, files[i].misses);
    }
    print_message("%u points, off by %.2f%% on average\n", points, 100.0 * sum / points);
    assert_true(sum / points < 0.075);
}

/* Threads on few queues with a CPU each: rows up to 24 threads on 8 queues and with 2 and 4 queues,
 * turns from 28 on; short kernels go in turns from 16 on, long ones not at all. */
static void turns_and_rows_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        unsigned threads, queues;
        double single_ips, measured; /* docs/results/h200-turns.txt */
        bool turns;
    } table[] = {
        {12, 8, 282.6, 1954, false}, {16, 8, 282.6, 1955, false}, {20, 8, 282.6, 1953, false},
        {24, 8, 282.6, 1951, false}, {28, 8, 282.6, 2946, true},  {32, 8, 282.6, 2995, true},
        {16, 2, 282.6, 518, false},  {16, 4, 282.6, 1019, false}, {24, 4, 282.6, 927, false},
        {32, 2, 282.6, 567, false},  {32, 4, 282.6, 937, false},  {24, 16, 282.6, 3104, true},
        {32, 16, 282.6, 3143, true}, {16, 8, 107.7, 820, false},  {24, 8, 107.7, 823, false},
        {32, 8, 107.7, 821, false},  {16, 8, 603.3, 3099, true},  {24, 8, 603.3, 3038, true},
        {32, 8, 603.3, 3035, true},
    };
    /* As measured on another such machine, with 32 CPUs (h200-remedies.jsonl). */
    struct calibration calibration = h200;
    calibration.cpus = 32;
    calibration.process_launches_per_s = 883729;
    calibration.gpu_launches_per_s = 991132;
    unsigned near_border = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct explain_point point = {.processes = 1,
                                      .threads = table[i].threads,
                                      .connections = table[i].queues,
                                      .work = H200_WORK};
        char text[256];
        calibration.single_stream_ips = table[i].single_ips;
        /* What crowds lose was measured of one kind of kernels only. */
        calibration.crowd_workers = 0;
        struct prediction predicted;
        predict(&point, &calibration, &predicted);
        bool either = ceiling_may_do_either(&point, &calibration);
        near_border += either;
        if (!either)
            assert_int_equal(ceiling_takes_turns(&point, &calibration), table[i].turns);
        double off = predicted.ips / table[i].measured - 1.0;
        if (fabs(off) > (either ? 0.3 : 0.25))
            fail_msg("%s: measured %.0f, predicted %+.0f%%", describe(&point, text, sizeof text),
                     table[i].measured, 100.0 * off);
    }
    assert_int_equal(near_border, 3); /* 24, 28 and 32 threads on 8 queues */
}

/* Shares of the rounds that were in turns, of h100-turns-unseen.jsonl (docs/results), to which the
 * chance was not fitted, where one can see which of both it was. */
static void near_the_border_there_is_a_chance_of_turns(void **state)
{
    (void)state;
    static const struct {
        unsigned threads, queues;
        double single_ips, share;
    } table[] = {
        {9, 3, 516.7, 0.0},   {13, 3, 516.7, 1.0},  {19, 3, 516.7, 1.0},  {25, 3, 516.7, 1.0},
        {31, 3, 516.7, 1.0},  {9, 3, 345.3, 0.0},   {13, 3, 345.3, 0.0},  {19, 3, 345.3, 0.0},
        {25, 3, 345.3, 0.38}, {31, 3, 345.3, 1.0},  {9, 5, 345.4, 0.0},   {13, 5, 345.4, 0.0},
        {19, 5, 345.4, 0.38}, {25, 5, 345.4, 1.0},  {31, 5, 345.4, 1.0},  {13, 10, 209.5, 0.0},
        {19, 10, 209.5, 0.0}, {23, 20, 134.6, 0.0}, {27, 20, 134.6, 0.0},
    };
    struct calibration calibration = h200;
    double sum = 0.0;
    const size_t count = sizeof table / sizeof table[0];
    calibration.cpus = 16;
    calibration.process_launches_per_s = 752136;
    calibration.both_bytes_per_s = 43.7e9;
    for (size_t i = 0; i < count; i++) {
        struct explain_point point = {.processes = 1,
                                      .threads = table[i].threads,
                                      .connections = table[i].queues,
                                      .work = H200_WORK};
        calibration.single_stream_ips = table[i].single_ips;
        double off = fabs(ceiling_turns_chance(&point, &calibration) - table[i].share);
        if (off > 0.5)
            print_message("%u threads, %u queues: off by %.2f\n", point.threads, point.connections,
                          off);
        sum += off;
    }
    print_message("off by %.2f on average\n", sum / (double)count);
    assert_true(sum / (double)count < 0.25);
}

static void turns_are_of_threads_that_share_queues(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {
        .processes = 1, .threads = 48, .connections = 8, .work = H200_WORK};
    calibration.cpus = 32; /* more threads than CPUs launch in turns, too */
    assert_true(ceiling_takes_turns(&point, &calibration));
    assert_int_equal(ceiling_active_threads(&point, &calibration), 48);
    point.threads = 20;
    assert_false(ceiling_takes_turns(&point, &calibration));
    assert_int_equal(ceiling_active_threads(&point, &calibration), 8);
    /* Measured, it needs no model. */
    point.passed_ips = 2509;
    assert_true(ceiling_takes_turns(&point, &calibration));
    assert_false(ceiling_may_do_either(&point, &calibration));
    point.passed_ips = 0.0;
    point.threads = 48;
    calibration.single_stream_ips = 0.0;
    assert_false(ceiling_takes_turns(&point, &calibration));
    calibration.single_stream_ips = h200.single_stream_ips;
    point.launch = LAUNCH_GRAPH;
    assert_false(ceiling_takes_turns(&point, &calibration));
    point.launch = LAUNCH_STREAM;
    point.threads = 8;
    assert_false(ceiling_takes_turns(&point, &calibration));
}

/* Copies of 16 MiB beside 8 short kernels (docs/results/h200-pageable.jsonl), with what a
 * calibration would have found: 2 threads do most, 8 a good half of it. */
static void many_pageable_copies_get_in_each_others_way(void **state)
{
    (void)state;
    static const struct {
        unsigned threads;
        double measured, tolerance;
    } table[] = {{1, 375, 0.1},  {2, 711, 0.25}, {3, 653, 0.2},
                 {6, 397, 0.25}, {8, 378, 0.1},  {16, 377, 0.1}};
    struct calibration calibration = {
        .work =
            {.kernels = 8, .blocks = 5, .threads_per_block = 64, .spin = 3072, .bytes = 16777216},
        .single_stream_ips = 1185,
        .single_pageable_ips = 375,
        .process_launches_per_s = 930e3,
        .arithmetic_ips = 5e5,
        .h2d_bytes_per_s = 54e9,
        .d2h_bytes_per_s = 54e9,
        .both_bytes_per_s = 48.7e9,
        .pageable_bytes_per_s = 711 * 16777216.0,
        .pageable_workers = 2,
        .pageable_crowd_workers = 8,
        .pageable_crowd_bytes_per_s = 378 * 16777216.0,
        .cpus = 32,
    };
    struct explain_point point = {
        .processes = 1, .connections = 32, .memory = MEMORY_PAGEABLE, .work = calibration.work};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        point.threads = table[i].threads;
        double off = predict_ips(&point, &calibration) / table[i].measured - 1.0;
        if (fabs(off) > table[i].tolerance)
            fail_msg("%u threads: %+.0f%%", point.threads, 100.0 * off);
    }
    point.threads = 8;
    calibration.pageable_workers = 0;
    assert_true(predict_ips(&point, &calibration) > 600);
}

/* Measured by hand before there was a program for it: iterations/s. */
static void known_figures_are_near(void **state)
{
    (void)state;
    static const struct {
        struct explain_point point;
        double measured;
    } table[] = {
        {{.processes = 1, .threads = 1, .connections = 8}, 286},
        {{.processes = 1, .threads = 8, .connections = 8}, 1960},
        {{.processes = 1, .threads = 16, .connections = 8}, 1960},
        {{.processes = 1, .threads = 16, .connections = 32}, 3206},
        {{.processes = 8, .threads = 1, .connections = 8}, 270},
        {{.processes = 16, .threads = 1, .connections = 8}, 270},
        {{.mps = true, .processes = 8, .threads = 1, .connections = 2}, 1895},
        {{.mps = true, .processes = 16, .threads = 1, .connections = 2}, 3250},
        {{.mps = true, .processes = 32, .threads = 1, .connections = 2}, 3712},
        {{.mps = true, .processes = 48, .threads = 1, .connections = 2}, 3890},
        {{.mps = true, .processes = 1, .threads = 8, .connections = 2}, 577},
        {{.mps = true, .processes = 1, .threads = 16, .connections = 32}, 3329},
        {{.mps = true, .processes = 8, .threads = 2, .connections = 2}, 3224},
        {{.mps = true, .processes = 16, .threads = 2, .connections = 2}, 3831},
        {{.mps = true, .processes = 16, .threads = 4, .connections = 2}, 4026},
        {{.mps = true, .processes = 4, .threads = 8, .connections = 8}, 3936},
        {{.mps = true,
          .processes = 32,
          .threads = 1,
          .connections = 2,
          .launch = LAUNCH_GRAPH,
          .schedule = SCHEDULE_BLOCK},
         8848},
        {{.mps = true,
          .processes = 48,
          .threads = 1,
          .connections = 2,
          .launch = LAUNCH_GRAPH,
          .schedule = SCHEDULE_BLOCK},
         13097},
        {{.processes = 1,
          .threads = 64,
          .connections = 32,
          .launch = LAUNCH_GRAPH,
          .schedule = SCHEDULE_BLOCK},
         16221},
        {{.processes = 1,
          .threads = 128,
          .connections = 32,
          .launch = LAUNCH_GRAPH,
          .schedule = SCHEDULE_BLOCK},
         18965},
        /* Without a queue each, graphs are as fast. */
        {{.processes = 1,
          .threads = 128,
          .connections = 8,
          .launch = LAUNCH_GRAPH,
          .schedule = SCHEDULE_YIELD},
         19016},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct explain_point point = table[i].point;
        char text[256];
        point.work = h200.work;
        double predicted = predict_ips(&point, &h200);
        if (fabs(predicted / table[i].measured - 1.0) > TOLERANCE)
            fail_msg("%s: measured %.0f, predicted %.0f", describe(&point, text, sizeof text),
                     table[i].measured, predicted);
    }
}

/* 128 threads that spin on 16 CPUs, with graphs: the prediction is a little above the 8208
 * measured.
 */
static void spinning_is_nearly_foretold(void **state)
{
    (void)state;
    const struct explain_point point = {.processes = 1,
                                        .threads = 128,
                                        .connections = 32,
                                        .launch = LAUNCH_GRAPH,
                                        .work = H200_WORK};
    double off = predict_ips(&point, &h200) / 8208 - 1.0;
    assert_true(off > 0.0 && off < 0.17);
}

/* Workers that share nothing: N of them do N times as much. */
static void no_lines_without_demands(void **state)
{
    (void)state;
    const struct calibration nothing = {.work = H200_WORK, .single_stream_ips = 100};
    struct explain_point point = {.processes = 1, .threads = 7, .connections = 32};
    point.work = nothing.work;
    assert_true(fabs(predict_ips(&point, &nothing) - 700.0) < 0.1);
}

/* One line and no other work: known from any textbook, X = N / (D (N + Z/D)...) only in the limits;
 * never above 1/D, and near it for many. */
static void saturation_is_approached_from_below(void **state)
{
    (void)state;
    const struct calibration one = {
        .work = H200_WORK, .single_stream_ips = 100, .arithmetic_ips = 1000};
    struct explain_point point = {.processes = 1, .connections = 32, .work = H200_WORK};
    double before = 0.0;
    for (unsigned threads = 1; threads <= 32; threads++) {
        point.threads = threads;
        double ips = predict_ips(&point, &one);
        assert_true(ips > before);
        assert_true(ips <= 1000.0 && ips <= 100.0 * threads + 1e-6);
        before = ips;
    }
    assert_true(before > 950.0);
    /* Exact mean value analysis at the knee, N = 10, Z = 9 ms, D = 1 ms: 798 iterations/s. */
    point.threads = 10;
    assert_true(fabs(predict_ips(&point, &one) / 798.0 - 1.0) < 0.05);
}

/* A crowd that does better than by chance takes the lines away, one that does worse costs time. */
static void crowd_is_met_where_it_was_measured(void **state)
{
    (void)state;
    static const double seen[] = {1700, 1900, 2100, 2250};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        struct calibration calibration = h200;
        struct explain_point point = {.processes = 1, .threads = 8, .connections = 8};
        point.work = h200.work;
        calibration.crowd_stream_ips = seen[i];
        assert_true(fabs(predict_ips(&point, &calibration) / seen[i] - 1.0) < 0.005);
    }
}

/* Those that take turns do what one of them does, and that is below its ceiling. */
static void time_sliced_processes_do_what_one_does(void **state)
{
    (void)state;
    struct explain_point one = {.processes = 1, .threads = 8, .connections = 8};
    struct explain_point four = {.processes = 4, .threads = 8, .connections = 8};
    one.work = four.work = h200.work;
    assert_true(predict_ips(&four, &h200) == predict_ips(&one, &h200));
    assert_true(predict_ips(&four, &h200) < 8 * 284 * 0.9);
    four.mps = true;
    assert_true(predict_ips(&four, &h200) > 1.5 * predict_ips(&one, &h200));
}

static void a_thread_serves_its_streams_one_after_the_other(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {.processes = 1,
                                  .threads = 1,
                                  .streams = 64,
                                  .connections = 8,
                                  .launch = LAUNCH_GRAPH,
                                  .work = h200.work};
    struct explain_point threads = point;
    threads.threads = 64;
    threads.streams = 1;
    threads.schedule = SCHEDULE_BLOCK;
    /* What counts is how many are in flight, */
    double ratio = predict_ips(&point, &h200) / predict_ips(&threads, &h200);
    assert_true(ratio > 0.9 && ratio <= 1.0);
    /* until it takes the whole of the thread: */
    calibration.single_graph_cpu_us = 200.0;
    assert_true(predict_ips(&point, &calibration) <= 5000.0);
    assert_true(predict_ips(&point, &calibration) > 4500.0);
    assert_true(network_ips(&point, &calibration, CEILING_POLLING) > 9000.0);
    point.threads = 2;
    assert_true(predict_ips(&point, &calibration) > 9000.0);
    /* A launch of pageable copies in a graph keeps it for the whole iteration. */
    point.memory = MEMORY_PAGEABLE;
    assert_true(predict_ips(&point, &h200) <= 2.0 * h200.single_graph_ips);
}

static void without_the_figure_of_one_worker_there_is_none(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {.processes = 1, .threads = 8, .connections = 8};
    point.work = h200.work;
    calibration.single_stream_ips = 0;
    assert_true(predict_ips(&point, &calibration) == 0.0);
    point.launch = LAUNCH_GRAPH;
    assert_true(predict_ips(&point, &calibration) > 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_published_points_are_near),
        cmocka_unit_test(published_calibrations_predict_their_points),
        cmocka_unit_test(turns_and_rows_are_told_apart),
        cmocka_unit_test(turns_are_of_threads_that_share_queues),
        cmocka_unit_test(near_the_border_there_is_a_chance_of_turns),
        cmocka_unit_test(many_pageable_copies_get_in_each_others_way),
        cmocka_unit_test(known_figures_are_near),
        cmocka_unit_test(spinning_is_nearly_foretold),
        cmocka_unit_test(no_lines_without_demands),
        cmocka_unit_test(saturation_is_approached_from_below),
        cmocka_unit_test(crowd_is_met_where_it_was_measured),
        cmocka_unit_test(time_sliced_processes_do_what_one_does),
        cmocka_unit_test(a_thread_serves_its_streams_one_after_the_other),
        cmocka_unit_test(without_the_figure_of_one_worker_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
