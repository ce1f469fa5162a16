#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "explain/binding.h"
#include "explain/predict.h"
#include "tests/unit/explain/h200.h"
#include "tests/unit/explain/reason.h"

#define GRAPH .launch = LAUNCH_GRAPH
#define BLOCK .schedule = SCHEDULE_BLOCK
#define OVER_MPS .mps = true
#define PAGEABLE .memory = MEMORY_PAGEABLE

static void find(struct explain_point *point, const struct calibration *calibration,
                 struct ceilings *ceilings, struct binding *out)
{
    point->work = calibration->work;
    ceilings_compute(point, calibration, ceilings);
    binding_find(point, calibration, ceilings, out);
}

/* Measured on the H200 right after its calibration. */
static void what_limits_each_layout_of_the_h200(void **state)
{
    (void)state;
    static const struct {
        struct explain_point point;
        double measured;
        enum ceiling_kind binding, waits_for;
    } table[] = {
        {{.processes = 1, .threads = 1, .connections = 8}, 281.9, CEILING_WORKERS, CEILING_KINDS},
        {{.processes = 1, .threads = 8, .connections = 8},
         1961,
         CEILING_WORKERS,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 1, .threads = 16, .connections = 8},
         2000,
         CEILING_QUEUES,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 8, .threads = 1, .connections = 8},
         266.8,
         CEILING_TIME_SLICING,
         CEILING_KINDS},
        {{OVER_MPS, .processes = 8, .threads = 1, .connections = 2},
         1874,
         CEILING_WORKERS,
         CEILING_GPU_LAUNCH},
        /* 16 workers could do a hair less than the GPU takes, and lose nearly a third by waiting
         * for it. */
        {{OVER_MPS, .processes = 16, .threads = 1, .connections = 2},
         3239,
         CEILING_GPU_LAUNCH,
         CEILING_GPU_LAUNCH},
        {{OVER_MPS, .processes = 1, .threads = 16, .connections = 2},
         545.5,
         CEILING_QUEUES,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 1, .threads = 128, .connections = 32, GRAPH, BLOCK},
         18995,
         CEILING_ARITHMETIC,
         CEILING_ARITHMETIC},
        /* Without a queue each, and so near to the launch path that this is what holds them up. */
        {{.processes = 1, .threads = 32, .connections = 16},
         0,
         CEILING_PROCESS_LAUNCH,
         CEILING_PROCESS_LAUNCH},
        /* As near, but little is lost: twice as many give more. */
        {{.processes = 1, .threads = 64, .connections = 8, GRAPH, BLOCK},
         0,
         CEILING_WORKERS,
         CEILING_ARITHMETIC},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct explain_point point = table[i].point;
        struct ceilings ceilings;
        struct binding binding;
        find(&point, &h200, &ceilings, &binding);
        if (binding.kind != table[i].binding || binding.waits_for != table[i].waits_for)
            fail_msg("row %zu: %s, waits for %s", i, ceiling_name(binding.kind),
                     ceiling_name(binding.waits_for));
        double predicted = predict_ips(&point, &h200);
        assert_true(binding.next != binding.kind);
        assert_true(binding.lost >= 0.0 && binding.lost < 0.5);
        if (table[i].measured > 0.0 && fabs(predicted / table[i].measured - 1.0) > 0.15)
            fail_msg("row %zu: predicted %.0f, measured %.0f", i, predicted, table[i].measured);
    }
}

/* More and more workers run into the line: it becomes the limit once and stays it. */
static void the_limit_changes_once(void **state)
{
    (void)state;
    unsigned changes = 0;
    enum ceiling_kind before = CEILING_WORKERS;
    for (unsigned threads = 1; threads <= 32; threads++) {
        struct explain_point point = {.processes = 1, .threads = threads, .connections = 32};
        struct ceilings ceilings;
        struct binding binding;
        find(&point, &h200, &ceilings, &binding);
        changes += binding.kind != before;
        before = binding.kind;
        if (threads == 8)
            assert_int_equal(binding.kind, CEILING_WORKERS);
    }
    assert_int_equal(before, CEILING_PROCESS_LAUNCH);
    assert_int_equal(changes, 1);
}

/* A line for each thing that there is one for: the workers show which. */
static void workers_wait_for_what_is_slow(void **state)
{
    (void)state;
    static const struct calibration idle = {
        .work = {.kernels = 10, .blocks = 1, .threads_per_block = 1, .bytes = 1000},
        .single_stream_ips = 100,
        .single_graph_ips = 100,
        .single_pageable_ips = 100,
        .cpus = 4,
    };
    static const struct {
        size_t figure;
        double value;
        struct explain_point point;
        enum ceiling_kind line;
    } table[] = {
#define FIGURE(name) offsetof(struct calibration, name)
#define THREADS .processes = 1, .threads = 10, .connections = 32
        {FIGURE(process_launches_per_s), 1e4, {THREADS}, CEILING_PROCESS_LAUNCH},
        {FIGURE(gpu_launches_per_s), 1e4, {THREADS}, CEILING_GPU_LAUNCH},
        {FIGURE(graph_kernels_per_s), 1e4, {THREADS, GRAPH}, CEILING_GPU_LAUNCH},
        {FIGURE(process_graphs_per_s), 1e3, {THREADS, GRAPH}, CEILING_PROCESS_LAUNCH},
        {FIGURE(h2d_bytes_per_s), 1e6, {THREADS}, CEILING_COPY_IN},
        {FIGURE(d2h_bytes_per_s), 1e6, {THREADS}, CEILING_COPY_OUT},
        {FIGURE(both_bytes_per_s), 1e6, {THREADS}, CEILING_COPY_BOTH},
        {FIGURE(pageable_bytes_per_s), 1e6, {THREADS, PAGEABLE}, CEILING_STAGING},
        {FIGURE(process_pageable_graph_ips),
         1e3,
         {THREADS, PAGEABLE, GRAPH},
         CEILING_BLOCKED_COPIES},
        {FIGURE(process_unsynced_ips),
         1e3,
         {THREADS, PAGEABLE, .sync = SYNC_NONE},
         CEILING_BLOCKED_COPIES},
        {FIGURE(arithmetic_ips), 1e3, {THREADS}, CEILING_ARITHMETIC},
        {FIGURE(single_stream_cpu_us), 4e3, {THREADS}, CEILING_CPUS},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct explain_point point = table[i].point;
        struct calibration calibration = idle;
        struct ceilings ceilings;
        struct binding binding;
        char text[512];
        memcpy((char *)&calibration + table[i].figure, &table[i].value, sizeof table[i].value);
        find(&point, &calibration, &ceilings, &binding);
        if (binding.waits_for != table[i].line || binding.kind != table[i].line ||
            binding.lost < 0.15)
            fail_msg("row %zu: %s, waits for %s, %.2f lost", i, ceiling_name(binding.kind),
                     ceiling_name(binding.waits_for), binding.lost);
        binding_reason(&binding, &ceilings, &point, &calibration, text, sizeof text);
        assert_non_null(strstr(text, "10 workers would do 1000 iterations/s if they never waited"));
        /* Far above all that they could do it is not worth a word. */
        point.threads = 1;
        find(&point, &calibration, &ceilings, &binding);
        assert_int_equal(binding.kind, CEILING_WORKERS);
        assert_true(binding.lost < 0.001);
        binding_reason(&binding, &ceilings, &point, &calibration, text, sizeof text);
        assert_null(strstr(text, "lost"));
    }
}

static void the_words_say_what_is_lost(void **state)
{
    (void)state;
    struct explain_point point = {OVER_MPS, .processes = 16, .threads = 1, .connections = 2};
    struct ceilings ceilings;
    struct binding binding;
    char text[512];
    find(&point, &h200, &ceilings, &binding);
    assert_string_equal(
        binding_reason(&binding, &ceilings, &point, &h200, text, sizeof text),
        "the GPU takes at most 1.01 million kernels/s, and an iteration launches 220; the 16 "
        "workers would do 4521 iterations/s if they never waited, but 30% of that is lost by "
        "waiting for the GPU to take their launches");
    point.processes = 8;
    find(&point, &h200, &ceilings, &binding);
    assert_string_equal(binding_reason(&binding, &ceilings, &point, &h200, text, sizeof text),
                        "one worker alone does 282.6 iterations/s, so 8 workers cannot do more "
                        "than 2261; the GPU could do more; 16% of the ceiling is lost by waiting "
                        "for the GPU to take their launches");
}

/* Predicted to lose a third, and measured to lose nothing; or less than was predicted. */
static void what_is_reached_is_not_lost(void **state)
{
    (void)state;
    struct explain_point point = {OVER_MPS, .processes = 16, .threads = 1, .connections = 2};
    struct ceilings ceilings;
    struct binding binding;
    char text[512];
    find(&point, &h200, &ceilings, &binding);
    double lost = binding.lost;
    point.measured_ips = point.measured_low_ips = 0.99 * ceilings.ips[CEILING_WORKERS];
    find(&point, &h200, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_WORKERS);
    assert_true(binding.lost < 0.02 && lost > 0.2);
    binding_reason(&binding, &ceilings, &point, &h200, text, sizeof text);
    assert_null(strstr(text, "lost"));
    point.measured_ips = point.measured_low_ips = 0.5 * ceilings.ips[CEILING_WORKERS];
    find(&point, &h200, &ceilings, &binding);
    assert_true(binding.lost == lost);
}

static void a_ceiling_that_is_passed_is_none(void **state)
{
    (void)state;
    struct explain_point point = {OVER_MPS, .processes = 16, .threads = 1, .connections = 2};
    struct ceilings ceilings;
    struct binding binding;
    find(&point, &h200, &ceilings, &binding);
    double workers_ips = ceilings.ips[CEILING_WORKERS];
    assert_int_equal(binding.passed, CEILING_KINDS);
    /* Of the GPU's launches 4581/s are known: both are passed, and the next one is far. */
    point.measured_ips = point.measured_low_ips = 1.1 * workers_ips;
    find(&point, &h200, &ceilings, &binding);
    assert_int_equal(binding.passed, CEILING_WORKERS);
    assert_int_equal(binding.kind, CEILING_WORKERS);
    /* It is as far above as the launches are below, or less. */
    struct calibration near = h200;
    near.arithmetic_ips = 1.01 * pow(point.measured_ips, 2.0) / ceilings.ips[CEILING_GPU_LAUNCH];
    find(&point, &near, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_WORKERS);
    near.arithmetic_ips *= 0.98;
    find(&point, &near, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_ARITHMETIC);
    assert_int_equal(binding.lowest, CEILING_ARITHMETIC);
    assert_int_equal(binding.passed, CEILING_WORKERS);
    assert_int_equal(binding.waits_for, CEILING_KINDS);
    /* But not surely so. */
    point.measured_low_ips = 0.9 * workers_ips;
    find(&point, &near, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_WORKERS);
    assert_int_equal(binding.passed, CEILING_KINDS);
}

/* Copies go on beside full queues: a point does more than its queues alone allow, as predicted. */
static void what_is_predicted_passes_no_ceiling(void **state)
{
    (void)state;
    /* Of the emulated GPU: its copies take long. */
    const struct calibration slow_copies = {
        .work =
            {.kernels = 40, .blocks = 5, .threads_per_block = 64, .spin = 3072, .bytes = 1441792},
        .single_stream_ips = 151.1278,
        .single_pageable_ips = 143.8976,
        .single_spin_cpu_us = 137.18,
        .process_launches_per_s = 333998.5,
        .gpu_launches_per_s = 186213.3,
        .arithmetic_ips = 5635.553,
        .both_bytes_per_s = 1.192796e10,
        .pageable_bytes_per_s = 5.723732e9,
        .crowd_stream_ips = 303.1,
        .pageable_workers = 2,
        .crowd_workers = 2,
        .cpus = 2,
        .sms = 32,
        .runs = {{.processes = 1, .threads = 1, .streams = 1, .ips = 151.1278},
                 {.processes = 1, .threads = 2, .streams = 1, .ips = 303.1},
                 {PAGEABLE, .processes = 1, .threads = 1, .streams = 1, .ips = 143.8976},
                 {PAGEABLE, .processes = 1, .threads = 2, .streams = 1, .ips = 288.9188}},
        .run_count = 4,
    };
    struct explain_point point = {PAGEABLE, .processes = 1, .threads = 16, .connections = 8};
    struct ceilings ceilings;
    struct binding binding;
    find(&point, &slow_copies, &ceilings, &binding);
    double expected = predict_ips(&point, &slow_copies);
    assert_true(expected > 1.05 * ceilings.ips[CEILING_QUEUES]);
    point.measured_ips = point.measured_low_ips = expected;
    find(&point, &slow_copies, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_QUEUES);
    assert_int_equal(binding.passed, CEILING_KINDS);
    point.measured_ips = point.measured_low_ips = 1.2 * expected;
    find(&point, &slow_copies, &ceilings, &binding);
    assert_int_equal(binding.passed, CEILING_QUEUES);
}

static void nothing_known_nothing_limits(void **state)
{
    (void)state;
    const struct calibration unknown = {.work = H200_WORK};
    struct explain_point point = {.processes = 1, .threads = 8, .connections = 8};
    struct ceilings ceilings;
    struct binding binding;
    find(&point, &unknown, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_KINDS);
    assert_int_equal(binding.next, CEILING_KINDS);
    assert_int_equal(binding.waits_for, CEILING_KINDS);
    assert_true(binding.lost == 0.0);
}

/* What one worker does alone may be the limit, wherever that was not measured. */
static void without_one_worker_a_far_ceiling_limits_nothing(void **state)
{
    (void)state;
    struct calibration calibration = {.work = H200_WORK, .arithmetic_ips = 1000.0};
    struct explain_point point = {.processes = 1, .threads = 8, .connections = 8};
    struct ceilings ceilings;
    struct binding binding;
    point.measured_ips = point.measured_low_ips = 400.0;
    find(&point, &calibration, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_KINDS);
    assert_int_equal(binding.lowest, CEILING_KINDS);
    assert_int_equal(binding.next, CEILING_ARITHMETIC);
    point.measured_ips = point.measured_low_ips = 600.0;
    find(&point, &calibration, &ceilings, &binding);
    assert_int_equal(binding.kind, CEILING_ARITHMETIC);
    assert_int_equal(binding.next, CEILING_KINDS);
}

/* What many pageable copies do, and that a calibration of before does not know it. */
static void staging_says_what_more_threads_do(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {PAGEABLE, .processes = 1, .threads = 8, .connections = 8,
                                  .work = H200_WORK};
    char text[1024];
    reason_of(CEILING_STAGING, &point, &calibration, text);
    assert_non_null(
        strstr(text, "; many threads may reach only half of it; this calibration did not"));
    calibration.pageable_workers = 2;
    reason_of(CEILING_STAGING, &point, &calibration, text);
    assert_null(strstr(text, "threads"));
    calibration.pageable_crowd_workers = 8;
    calibration.pageable_crowd_bytes_per_s = 4e9;
    reason_of(CEILING_STAGING, &point, &calibration, text);
    assert_non_null(strstr(text, "4 GB/s of pageable memory"));
    assert_non_null(strstr(text, "; 2 threads would do 8.26 GB/s: more get in each other's way"));
    point.threads = 2;
    reason_of(CEILING_STAGING, &point, &calibration, text);
    assert_null(strstr(text, "threads"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staging_says_what_more_threads_do),
        cmocka_unit_test(what_limits_each_layout_of_the_h200),
        cmocka_unit_test(the_limit_changes_once),
        cmocka_unit_test(workers_wait_for_what_is_slow),
        cmocka_unit_test(the_words_say_what_is_lost),
        cmocka_unit_test(what_is_reached_is_not_lost),
        cmocka_unit_test(a_ceiling_that_is_passed_is_none),
        cmocka_unit_test(what_is_predicted_passes_no_ceiling),
        cmocka_unit_test(nothing_known_nothing_limits),
        cmocka_unit_test(without_one_worker_a_far_ceiling_limits_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
