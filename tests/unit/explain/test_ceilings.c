#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "explain/binding.h"
#include "explain/ceilings.h"
#include "explain/internal.h"
#include "tests/unit/explain/h200.h"
#include "tests/unit/explain/reason.h"

#define GRAPH .launch = LAUNCH_GRAPH
#define BLOCK .schedule = SCHEDULE_BLOCK
#define PAGEABLE .memory = MEMORY_PAGEABLE
#define NO_SYNC .sync = SYNC_NONE

static void check(const struct explain_point *given, const struct calibration *calibration,
                  enum ceiling_kind binding, double ips, enum ceiling_kind next, size_t row)
{
    struct explain_point point = *given;
    struct ceilings ceilings;
    point.work = calibration->work;
    ceilings_compute(&point, calibration, &ceilings);
    struct binding limit;
    binding_find(&point, calibration, &ceilings, &limit);
    enum ceiling_kind found = limit.kind;
    if (found != binding)
        fail_msg("row %zu: %s binds, not %s", row, ceiling_name(found), ceiling_name(binding));
    if (fabs(ceilings.ips[found] / ips - 1.0) > 0.001)
        fail_msg("row %zu: %s is %.1f, not %.1f", row, ceiling_name(found), ceilings.ips[found],
                 ips);
    found = limit.next;
    if (found != next)
        fail_msg("row %zu: %s is next, not %s", row, ceiling_name(found), ceiling_name(next));
}

/* The forum's experiment: what limits each layout there, and what comes next. */
static void layouts_of_the_h200(void **state)
{
    (void)state;
    const struct {
        struct explain_point point;
        enum ceiling_kind binding;
        double ips;
        enum ceiling_kind next;
    } table[] = {
        {{.processes = 1, .threads = 8, .connections = 8},
         CEILING_WORKERS,
         8 * h200.single_stream_ips,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 1, .threads = 9, .connections = 8},
         CEILING_QUEUES,
         8 * h200.single_stream_ips,
         CEILING_WORKERS},
        {{.processes = 1, .threads = 32, .connections = 8},
         CEILING_QUEUES,
         8 * h200.single_stream_ips,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 1, .threads = 16, .connections = 32},
         CEILING_PROCESS_LAUNCH,
         h200.process_launches_per_s / 220,
         CEILING_WORKERS},
        {{.mps = true, .processes = 1, .threads = 8, .connections = 2},
         CEILING_QUEUES,
         2 * h200.single_stream_ips,
         CEILING_WORKERS},
        {{.processes = 8, .threads = 1, .connections = 8},
         CEILING_TIME_SLICING,
         h200.single_stream_ips,
         CEILING_WORKERS},
        {{.processes = 4, .threads = 12, .connections = 8},
         CEILING_TIME_SLICING,
         8 * h200.single_stream_ips,
         CEILING_GPU_LAUNCH},
        {{.mps = true, .processes = 8, .threads = 1, .connections = 2},
         CEILING_WORKERS,
         8 * h200.single_stream_ips,
         CEILING_GPU_LAUNCH},
        {{.mps = true, .processes = 16, .threads = 1, .connections = 2},
         CEILING_GPU_LAUNCH,
         h200.gpu_launches_per_s / 220,
         CEILING_WORKERS},
        {{.mps = true, .processes = 4, .threads = 4, .connections = 2},
         CEILING_QUEUES,
         8 * h200.single_stream_ips,
         CEILING_WORKERS},
        /* Graphs hold no queue. */
        {{.processes = 1, .threads = 64, .connections = 8, GRAPH, BLOCK},
         CEILING_WORKERS,
         64 * h200.single_graph_ips,
         CEILING_ARITHMETIC},
        {{.processes = 1, .threads = 128, .connections = 8, GRAPH, BLOCK},
         CEILING_ARITHMETIC,
         h200.arithmetic_ips,
         CEILING_GPU_LAUNCH},
        {{.processes = 1, .threads = 128, .connections = 32, GRAPH},
         CEILING_CPUS,
         2 * 16 * h200.single_graph_ips / (1e-6 * h200.single_spin_cpu_us * h200.single_stream_ips),
         CEILING_ARITHMETIC},
        {{.processes = 1, .threads = 8, .connections = 8, PAGEABLE},
         CEILING_WORKERS,
         8 * h200.single_pageable_ips,
         CEILING_PROCESS_LAUNCH},
        {{.processes = 1, .threads = 8, .connections = 8, PAGEABLE, NO_SYNC},
         CEILING_BLOCKED_COPIES,
         h200.process_unsynced_ips,
         CEILING_WORKERS},
        {{.mps = true, .processes = 16, .threads = 1, .connections = 2, PAGEABLE, NO_SYNC},
         CEILING_GPU_LAUNCH,
         h200.gpu_launches_per_s / 220,
         CEILING_WORKERS},
        {{.processes = 1, .threads = 8, .connections = 8, PAGEABLE, GRAPH},
         CEILING_BLOCKED_COPIES,
         h200.process_pageable_graph_ips,
         CEILING_WORKERS},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check(&table[i].point, &h200, table[i].binding, table[i].ips, table[i].next, i);
}

/* Of a described workload: 4 ms of kernels, and 6 ms for which the host sleeps. */
static void steps_of_the_host(void **state)
{
    (void)state;
    struct calibration figures = {
        .work = {.workload = WORKLOAD_DESCRIBED, .kernels = 40, .think_ns = 6000000},
        .single_stream_ips = 100,
        .kernels_ips = 250,
        .process_launches_per_s = 1e6,
        .cpus = 32,
    };
    struct explain_point point = {
        .processes = 1, .threads = 16, .connections = 8, .work = figures.work};
    struct ceilings ceilings;
    /* After the kernels: a queue is free then. */
    ceilings_compute(&point, &figures, &ceilings);
    assert_float_equal(ceilings.ips[CEILING_QUEUES], 8 * 250, 1e-6);
    /* Half of it beside them; and all of it. */
    figures.single_stream_ips = 1e3 / 7;
    ceilings_compute(&point, &figures, &ceilings);
    assert_float_equal(ceilings.ips[CEILING_QUEUES], 8 * 250, 1e-6);
    assert_float_equal(ceiling_host_steps_s(&point.work, &figures), 3e-3, 1e-9);
    figures.single_stream_ips = 250;
    assert_float_equal(ceiling_host_steps_s(&point.work, &figures), 0, 1e-9);
    /* No more than there is: the rest is launches and waiting. */
    figures.single_stream_ips = 10;
    assert_float_equal(ceiling_host_steps_s(&point.work, &figures), 6e-3, 1e-9);
    /* Not known. */
    figures.kernels_ips = 0;
    assert_float_equal(ceiling_host_steps_s(&point.work, &figures), 0, 1e-9);
    /* One kernel leaves its queue as it starts. */
    point.work.kernels = 1;
    ceilings_compute(&point, &figures, &ceilings);
    assert_true(ceilings.ips[CEILING_QUEUES] == 0);
}

/* A machine with one low figure each time: that one binds. */
static void each_figure_can_bind(void **state)
{
    (void)state;
    static const struct calibration fast = {
        .work = {.kernels = 10, .blocks = 1, .threads_per_block = 1, .bytes = 1000},
        .single_stream_ips = 100,
        .single_graph_ips = 100,
        .single_pageable_ips = 100,
        .single_stream_cpu_us = 1,
        .single_graph_cpu_us = 1,
        .single_spin_cpu_us = 10000,
        .gpu_launches_per_s = 1e9,
        .graph_kernels_per_s = 1e9,
        .arithmetic_ips = 1e7,
        .h2d_bytes_per_s = 1e12,
        .d2h_bytes_per_s = 1e12,
        .both_bytes_per_s = 1e12,
        .pageable_bytes_per_s = 1e12,
        .process_unsynced_ips = 1e6,
        .process_pageable_graph_ips = 1e6,
        .cpus = 16,
    };
    const struct explain_point threads = {.processes = 1, .threads = 16, .connections = 32};
    const struct {
        size_t figure; /* the low one */
        double value;
        struct explain_point point;
        enum ceiling_kind binding;
        double ips;
    } table[] = {
        {offsetof(struct calibration, process_launches_per_s), 5000, threads,
         CEILING_PROCESS_LAUNCH, 500},
        {offsetof(struct calibration, gpu_launches_per_s), 5000, threads, CEILING_GPU_LAUNCH, 500},
        {offsetof(struct calibration, arithmetic_ips), 500, threads, CEILING_ARITHMETIC, 500},
        {offsetof(struct calibration, h2d_bytes_per_s), 5e5, threads, CEILING_COPY_IN, 500},
        {offsetof(struct calibration, d2h_bytes_per_s), 5e5, threads, CEILING_COPY_OUT, 500},
        {offsetof(struct calibration, both_bytes_per_s), 5e5, threads, CEILING_COPY_BOTH, 500},
        {offsetof(struct calibration, single_stream_cpu_us), 32000, threads, CEILING_CPUS, 500},
        {offsetof(struct calibration, single_stream_cpu_us),
         2000,
         {.processes = 1, .threads = 1, .streams = 16, .connections = 32},
         CEILING_POLLING,
         500},
        {offsetof(struct calibration, pageable_bytes_per_s),
         5e5,
         {.processes = 1, .threads = 16, .connections = 32, PAGEABLE},
         CEILING_STAGING,
         500},
        {offsetof(struct calibration, pageable_bytes_per_s),
         2.5e5,
         {.mps = true, .processes = 2, .threads = 8, .connections = 32, PAGEABLE},
         CEILING_STAGING,
         500},
        {offsetof(struct calibration, process_unsynced_ips),
         500,
         {.processes = 1, .threads = 16, .connections = 32, PAGEABLE, NO_SYNC},
         CEILING_BLOCKED_COPIES,
         500},
        {offsetof(struct calibration, process_pageable_graph_ips),
         500,
         {.processes = 1, .threads = 16, .connections = 32, PAGEABLE, GRAPH},
         CEILING_BLOCKED_COPIES,
         500},
        {offsetof(struct calibration, graph_kernels_per_s),
         5000,
         {.processes = 1, .threads = 16, .connections = 32, GRAPH},
         CEILING_GPU_LAUNCH,
         500},
        {offsetof(struct calibration, process_graphs_per_s),
         500,
         {.processes = 1, .threads = 16, .connections = 32, GRAPH},
         CEILING_PROCESS_LAUNCH,
         500},
        {offsetof(struct calibration, process_graphs_per_s),
         250,
         {.mps = true, .processes = 2, .threads = 8, .connections = 2, GRAPH},
         CEILING_PROCESS_LAUNCH,
         500},
        {offsetof(struct calibration, single_graph_cpu_us),
         32000,
         {.processes = 1, .threads = 16, .connections = 32, GRAPH},
         CEILING_CPUS,
         500},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct calibration calibration = fast;
        memcpy((char *)&calibration + table[i].figure, &table[i].value, sizeof table[i].value);
        check(&table[i].point, &calibration, table[i].binding, table[i].ips, CEILING_WORKERS, i);
    }
}

/* Calls of 300 µs, or of 20 µs for a graph, and 5 µs that polling takes beside them. */
static void a_thread_that_polls_need_not_wake_up(void **state)
{
    (void)state;
    struct calibration calibration = {.single_stream_ips = 280,
                                      .single_graph_ips = 300,
                                      .single_stream_cpu_us = 400,
                                      .single_graph_cpu_us = 60,
                                      .single_stream_calls_us = 300,
                                      .single_graph_calls_us = 20,
                                      .polled_graphs_per_s = 80000,
                                      .polled_calls_us = 7.5,
                                      .cpus = 16};
    struct explain_point point = {.processes = 1, .threads = 1, .streams = 64};
    assert_float_equal(ceiling_polling_s(&point, &calibration), 305e-6, 1e-9);
    /* Turns take what was measured of them. */
    calibration.turns_per_ms = 5e5;
    point.work.turns = 20000;
    assert_float_equal(ceiling_polling_s(&point, &calibration), 345e-6, 1e-9);
    point.work.turns = 0;
    point.launch = LAUNCH_GRAPH;
    assert_float_equal(ceiling_polling_s(&point, &calibration), 25e-6, 1e-9);
    /* A launch may wait for room, where CPU time counts no waiting. */
    calibration.single_graph_calls_us = 3000;
    assert_float_equal(ceiling_polling_s(&point, &calibration), 60e-6, 1e-9);
    /* Of an earlier calibration. */
    calibration.single_graph_calls_us = 20;
    calibration.polled_calls_us = 0;
    assert_float_equal(ceiling_polling_s(&point, &calibration), 60e-6, 1e-9);
}

/* Two workers over MPS, 74 iterations/s of arithmetic, one alone 49: as measured on an H200. */
static void thread_caps(void **state)
{
    (void)state;
    static const struct calibration heavy = {
        .work = {.kernels = 220, .blocks = 264, .threads_per_block = 256},
        .single_stream_ips = 49,
        .arithmetic_ips = 74,
    };
    static const struct {
        unsigned count, percentages[2];
        enum ceiling_kind binding;
        double ips;
    } table[] = {
        {0, {0}, CEILING_ARITHMETIC, 74},
        {1, {100}, CEILING_ARITHMETIC, 74},
        {1, {50}, CEILING_ARITHMETIC, 74},
        {1, {25}, CEILING_THREAD_CAP, 37},
        {2, {10, 90}, CEILING_THREAD_CAP, 7.4 + 49},
        {2, {20, 0}, CEILING_THREAD_CAP, 14.8 + 49},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct explain_point point = {.mps = true,
                                      .processes = 2,
                                      .threads = 1,
                                      .connections = 2,
                                      .percentage_count = table[i].count};
        struct ceilings ceilings;
        memcpy(point.percentages, table[i].percentages, sizeof table[i].percentages);
        point.work = heavy.work;
        ceilings_compute(&point, &heavy, &ceilings);
        enum ceiling_kind binding = ceilings_lowest(&ceilings);
        /* Half each is as much as there is: of equal ones the first counts. */
        if (binding != table[i].binding || fabs(ceilings.ips[binding] - table[i].ips) > 0.01)
            fail_msg("row %zu: %s %.2f", i, ceiling_name(binding), ceilings.ips[binding]);
    }
}

/* The slower engine is the reason where copies the other way do not slow it down. */
static void copies_both_ways_are_named_only_where_they_matter(void **state)
{
    (void)state;
    struct explain_point point = {.processes = 1, .threads = 32, .connections = 32};
    struct calibration calibration = h200;
    struct ceilings ceilings;
    point.work = h200.work;
    calibration.d2h_bytes_per_s = 1e9;
    calibration.both_bytes_per_s = 0.98e9;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_int_equal(ceilings_lowest(&ceilings), CEILING_COPY_OUT);
    calibration.both_bytes_per_s = 0.9e9;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_int_equal(ceilings_lowest(&ceilings), CEILING_COPY_BOTH);
}

static void the_gpu_takes_what_one_process_launches(void **state)
{
    (void)state;
    struct explain_point point = {.processes = 1, .threads = 32, .connections = 32};
    struct calibration calibration = h200;
    struct ceilings ceilings;
    point.work = h200.work;
    calibration.gpu_launches_per_s = 0.5e6;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_true(ceilings.ips[CEILING_GPU_LAUNCH] == h200.process_launches_per_s / 220);
    calibration.gpu_launches_per_s = 0.0;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_true(ceilings.ips[CEILING_GPU_LAUNCH] == 0.0);
}

static void nothing_is_made_of_unknown_figures(void **state)
{
    (void)state;
    const struct calibration unknown = {.work = H200_WORK};
    struct explain_point point = {
        .processes = 4, .threads = 12, .connections = 8, PAGEABLE, NO_SYNC, .percentage_count = 1};
    struct ceilings ceilings;
    point.percentages[0] = 50;
    point.work = unknown.work;
    ceilings_compute(&point, &unknown, &ceilings);
    for (int i = 0; i < CEILING_KINDS; i++)
        assert_true(ceilings.ips[i] == 0.0);
    assert_int_equal(ceilings_lowest(&ceilings), CEILING_KINDS);
    /* Pageable memory is not faster than pinned. */
    struct calibration some = unknown;
    some.single_stream_ips = 100;
    assert_true(ceiling_single_ips(&point, &some) == 100.0);
}

static void every_kind_has_words(void **state)
{
    (void)state;
    struct explain_point point = {.processes = 2, .threads = 3, .connections = 1};
    point.work = h200.work;
    for (int i = 0; i < CEILING_KINDS; i++) {
        char text[1024];
        assert_string_not_equal(ceiling_name((enum ceiling_kind)i), "none");
        assert_non_null(ceiling_title((enum ceiling_kind)i, &point));
        assert_true(strlen(reason_of((enum ceiling_kind)i, &point, &h200, text)) > 20);
        assert_true(strlen(text) < sizeof text - 1);
    }
    assert_string_equal(ceiling_name(CEILING_KINDS), "none");
    /* The kernels of a described workload may only wait. */
    char text[1024];
    assert_string_equal(ceiling_title(CEILING_ARITHMETIC, &point), "arithmetic");
    point.work.workload = WORKLOAD_DESCRIBED;
    assert_string_equal(ceiling_title(CEILING_ARITHMETIC, &point), "work on the GPU");
    reason_of(CEILING_ARITHMETIC, &point, &h200, text);
    assert_non_null(strstr(text, "kernels and device copies"));
}

static void a_calibration_is_for_one_work(void **state)
{
    (void)state;
    struct work other = h200.work;
    assert_true(calibration_is_same_work(&h200.work, &other));
    other.bytes++;
    assert_false(calibration_is_same_work(&h200.work, &other));
    other = h200.work;
    other.kernels++;
    assert_false(calibration_is_same_work(&h200.work, &other));
    other = h200.work;
    other.delay_cycles++;
    assert_false(calibration_is_same_work(&h200.work, &other));
}

/* Two processes that take turns did more than one alone: what is not kernels of an iteration goes
 * on in the turns of the other. */
static void turns_that_are_shorter_than_iterations(void **state)
{
    (void)state;
    struct calibration calibration = h200;
    struct explain_point point = {
        .processes = 4, .threads = 1, .connections = 8, .work = h200.work};
    struct ceilings ceilings;
    char text[1024];
    calibration.runs[0] = (struct calibration_run){
        .processes = 2, .threads = 1, .streams = 1, .ips = 1.6 * h200.single_stream_ips};
    calibration.run_count = 1;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_true(fabs(ceilings.ips[CEILING_TIME_SLICING] - calibration.runs[0].ips) < 1e-6);
    reason_of(CEILING_TIME_SLICING, &point, &calibration, text);
    assert_non_null(strstr(text, "for 2.21 ms of an iteration of 3.54 ms"));
    /* A turn that takes longer shows nothing new. */
    calibration.runs[0].ips = 0.95 * h200.single_stream_ips;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_true(fabs(ceilings.ips[CEILING_TIME_SLICING] - h200.single_stream_ips) < 1e-6);
    reason_of(CEILING_TIME_SLICING, &point, &calibration, text);
    assert_non_null(strstr(text, "4 processes together do what one of them does alone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_of_the_h200),
        cmocka_unit_test(each_figure_can_bind),
        cmocka_unit_test(steps_of_the_host),
        cmocka_unit_test(a_thread_that_polls_need_not_wake_up),
        cmocka_unit_test(thread_caps),
        cmocka_unit_test(copies_both_ways_are_named_only_where_they_matter),
        cmocka_unit_test(the_gpu_takes_what_one_process_launches),
        cmocka_unit_test(nothing_is_made_of_unknown_figures),
        cmocka_unit_test(every_kind_has_words),
        cmocka_unit_test(a_calibration_is_for_one_work),
        cmocka_unit_test(turns_that_are_shorter_than_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
