/* Predictions of points with pageable copies, from the runs of a calibration with such copies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "explain/derive.h"
#include "explain/predict.h"
#include "tests/unit/explain/rig.h"

#define PAGED_S (4.0 * ALONE_S)

static struct calibration with_pageable(struct calibration_run run, double seconds)
{
    struct calibration calibration = example();
    run.memory = MEMORY_PAGEABLE;
    add_run(&calibration, run, seconds);
    run.processes = run.threads = 1;
    run.mps = false;
    add_run(&calibration, run, PAGED_S);
    derive_figures(&calibration);
    return calibration;
}

/* Pageable copies are staged beside the turns of others, and lengthen a turn by what they cost
 * processes over MPS. */
static void turns_with_pageable_copies(void **state)
{
    (void)state;
    const struct calibration calibration =
        with_pageable((struct calibration_run){.mps = true, .processes = 16, .threads = 1},
                      truth_s(16, true, false) + 16.0 * ALONE_S);
    double turn_s = 1.25 * ALONE_S + ALONE_S;
    for (unsigned n = 2; n <= 16; n *= 2) {
        struct explain_point point = point_of(false, n, 1);
        point.memory = MEMORY_PAGEABLE;
        double ips = predict_ips(&point, &calibration), at_best = fmin(n / PAGED_S, 1.0 / turn_s);
        assert_true(ips < 1.05 * at_best && ips > 0.6 * at_best);
    }
}

/* Those that copy are not among those that launch: each launches beside fewer. */
static void workers_that_copy_hold_up_no_launches(void **state)
{
    (void)state;
    const struct calibration calibration =
        with_pageable((struct calibration_run){.processes = 1, .threads = 1}, PAGED_S);
    struct explain_point point = point_of(true, 20, 1);
    point.memory = MEMORY_PAGEABLE;
    point.schedule = SCHEDULE_BLOCK;
    /* Of 20, about five launch. */
    assert_near_by(&point, &calibration, 20.0 / (truth_s(5, true, true) + PAGED_S - ALONE_S), 0.03);
}

/* Processes share the host's memory, over MPS and in turns: fewer of them than the run has take
 * longer, too, where it is the memory that holds that one up. */
static void processes_share_the_hosts_memory(void **state)
{
    (void)state;
    const double memory_s = 0.5 * PAGED_S;
    struct calibration calibration =
        with_pageable((struct calibration_run){.mps = true, .processes = 16, .threads = 1},
                      hypot(truth_s(16, true, false), 16.0 * memory_s));
    struct explain_point point = point_of(true, 8, 1);
    point.memory = MEMORY_PAGEABLE;
    assert_near_by(&point, &calibration, 8.0 / hypot(PAGED_S, 8.0 * memory_s), 0.1);
    point = point_of(false, 4, 1);
    point.memory = MEMORY_PAGEABLE;
    point.launch = LAUNCH_GRAPH;
    struct calibration unshared =
        with_pageable((struct calibration_run){.mps = true, .processes = 16, .threads = 1},
                      truth_s(16, true, false) + PAGED_S - ALONE_S);
    struct calibration_run graph = {
        .processes = 1, .threads = 1, .memory = MEMORY_PAGEABLE, .launch = LAUNCH_GRAPH};
    add_run(&calibration, graph, PAGED_S);
    add_run(&unshared, graph, PAGED_S);
    assert_true(predict_ips(&point, &calibration) < 0.9 * predict_ips(&point, &unshared));
}

/* With pageable memory threads of several processes lose in two lines: for their process's copies,
 * and for the host's memory. */
static void processes_of_many_threads_that_copy(void **state)
{
    (void)state;
    const double memory_s = 0.5 * PAGED_S;
    struct calibration calibration =
        with_pageable((struct calibration_run){.mps = true, .processes = 16, .threads = 1},
                      hypot(truth_s(16, true, false), 16.0 * memory_s));
    struct calibration_run threads = {.processes = 1, .threads = 8, .memory = MEMORY_PAGEABLE};
    add_run(&calibration, threads, 4.0 * PAGED_S);
    struct explain_point point = point_of(true, 2, 8);
    point.memory = MEMORY_PAGEABLE;
    struct explain_point either = point;
    either.processes = 16;
    either.threads = 1;
    double of_all_s = 16.0 / predict_ips(&either, &calibration) - PAGED_S;
    assert_near_by(&point, &calibration, 16.0 / (PAGED_S + hypot(of_all_s, 3.0 * PAGED_S)), 1e-6);
}

/* The launch of a graph with pageable copies waits for them itself, and does so asleep if its
 * worker is to. */
static void graphs_with_pageable_copies_wake_up(void **state)
{
    (void)state;
    struct calibration calibration = with_pageable(
        (struct calibration_run){.processes = 1, .threads = 1, .launch = LAUNCH_GRAPH}, PAGED_S);
    struct calibration_run asleep = {
        .processes = 1, .threads = 1, .launch = LAUNCH_GRAPH, .schedule = SCHEDULE_BLOCK};
    add_run(&calibration, asleep, 0.9 * ALONE_S + ASLEEP_S);
    struct explain_point point = point_of(false, 1, 1);
    point.memory = MEMORY_PAGEABLE;
    point.launch = LAUNCH_GRAPH;
    assert_near_by(&point, &calibration, 1.0 / PAGED_S, 1e-9);
    point.schedule = SCHEDULE_BLOCK;
    assert_near_by(&point, &calibration, 1.0 / (PAGED_S + ASLEEP_S), 1e-9);
    point.memory = MEMORY_PINNED;
    assert_near_by(&point, &calibration, 1.0 / (0.9 * ALONE_S + ASLEEP_S), 1e-9);
}

/* Threads whose copies wait for each other wait asleep, and more of them do as much as 8. */
static void copies_that_wait_take_no_cpu(void **state)
{
    (void)state;
    const struct calibration calibration = with_pageable(
        (struct calibration_run){.processes = 1, .threads = 8, .launch = LAUNCH_GRAPH},
        8.0 * PAGED_S);
    for (unsigned n = 8; n <= 128; n *= 4) {
        struct explain_point point = point_of(false, 1, n);
        point.memory = MEMORY_PAGEABLE;
        point.launch = LAUNCH_GRAPH;
        assert_near_by(&point, &calibration, 1.0 / PAGED_S, 0.02);
    }
}

/* The launch of a graph with pageable copies holds its process's lock: more threads than can get on
 * beside it do no more. */
static void more_threads_wait_for_the_same_lock(void **state)
{
    (void)state;
    const struct calibration calibration = with_pageable(
        (struct calibration_run){.processes = 1, .threads = 8, .launch = LAUNCH_GRAPH},
        1.5 * PAGED_S);
    for (unsigned n = 8; n <= 64; n *= 2) {
        struct explain_point point = point_of(false, 1, n);
        point.memory = MEMORY_PAGEABLE;
        point.launch = LAUNCH_GRAPH;
        point.schedule = n > 16 ? SCHEDULE_BLOCK : SCHEDULE_AUTO;
        assert_near_by(&point, &calibration, 8.0 / (1.5 * PAGED_S), 1e-9);
    }
}

/* Each further thread whose copies wait takes the others as long as those of the run did, and none
 * is faster than if it synchronised; the farther from the run, the less is known of them. */
static void more_threads_that_never_wait(void **state)
{
    (void)state;
    const struct calibration_run unsynced = {.processes = 1, .threads = 8, .sync = SYNC_NONE};
    struct calibration calibration = with_pageable(unsynced, 2.4 * PAGED_S);
    struct prediction run, before = {.half_rel = 0.0};
    struct explain_point point = point_of(false, 1, 8);
    point.memory = MEMORY_PAGEABLE;
    point.sync = SYNC_NONE;
    predict(&point, &calibration, &run);
    assert_float_equal(run.ips, 8.0 / (2.4 * PAGED_S), 1e-6);
    for (unsigned n = 15; n <= 29; n += 7) {
        struct prediction prediction;
        point.threads = n;
        predict(&point, &calibration, &prediction);
        assert_float_equal(prediction.ips, n / ((2.4 + 0.2 * (n - 8)) * PAGED_S), 1e-6);
        assert_true(prediction.half_rel > fmax(run.half_rel, before.half_rel));
        before = prediction;
    }
    point.schedule = SCHEDULE_BLOCK;
    assert_near_by(&point, &calibration, 29.0 / (6.6 * PAGED_S + 21.0 * ASLEEP_S), 1e-9);
    point.schedule = SCHEDULE_AUTO;
    struct calibration_run synced = {.processes = 1, .threads = 16, .memory = MEMORY_PAGEABLE};
    add_run(&calibration, synced, 8.0 * PAGED_S);
    point.threads = 16;
    assert_near_by(&point, &calibration, 2.0 / PAGED_S, 1e-9);
}

/* Threads wait for each other's copies with their rows done: their queues do not wait. */
static void copies_that_wait_hold_no_queue(void **state)
{
    (void)state;
    const struct calibration_run unsynced = {.processes = 1, .threads = 2, .sync = SYNC_NONE};
    struct calibration calibration = with_pageable(unsynced, 1.9 * PAGED_S);
    struct calibration_run many = {
        .processes = 1, .threads = 8, .memory = MEMORY_PAGEABLE, .sync = SYNC_NONE};
    add_run(&calibration, many, 2.0 * PAGED_S);
    struct calibration_run alone = {.processes = 1, .threads = 1, .memory = MEMORY_PAGEABLE};
    add_run(&calibration, alone, PAGED_S);
    struct explain_point point = point_of(false, 1, 8);
    point.memory = MEMORY_PAGEABLE;
    point.sync = SYNC_NONE;
    point.connections = 2;
    assert_near_by(&point, &calibration, 2.0 / PAGED_S, 0.03);
}

/* Where a run of pinned memory shows that threads get in each other's way, they do so with pageable
 * memory. */
static void pageable_memory_is_not_faster(void **state)
{
    (void)state;
    double crowded_s = 1.6 * ALONE_S, most_s = truth_s(16, false, false);
    struct calibration calibration = with_pageable(
        (struct calibration_run){.processes = 1, .threads = 16}, most_s + 0.1 * ALONE_S);
    struct explain_point point = point_of(false, 1, 4);
    for (unsigned i = 0; i < calibration.run_count; i++) {
        struct calibration_run *run = &calibration.runs[i];
        if (run->memory == MEMORY_PAGEABLE && run->threads == 1)
            run->ips = 1.0 / (1.1 * ALONE_S);
        if (run->memory == MEMORY_PINNED && run->processes == 1 && run->threads == 4)
            run->ips = 4.0 / crowded_s;
    }
    derive_figures(&calibration);
    point.memory = MEMORY_PAGEABLE;
    assert_near_by(&point, &calibration, 4.0 / (crowded_s + 0.1 * ALONE_S), 0.03);
}

/* What threads that never wait copy, those that wait can copy. */
static void unsynced_copies_are_a_bound(void **state)
{
    (void)state;
    struct calibration calibration =
        with_pageable((struct calibration_run){.processes = 1, .threads = 16}, 32.0 * PAGED_S);
    struct explain_point point = point_of(false, 1, 8);
    point.memory = MEMORY_PAGEABLE;
    double before = predict_ips(&point, &calibration);
    struct calibration_run run = {
        .processes = 1, .threads = 8, .memory = MEMORY_PAGEABLE, .sync = SYNC_NONE};
    add_run(&calibration, run, 4.0 * PAGED_S);
    assert_near_by(&point, &calibration, 2.0 / PAGED_S, 1e-9);
    calibration.runs[calibration.run_count - 1].ips = 0.1 * before;
    assert_near_by(&point, &calibration, before, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_with_pageable_copies),
        cmocka_unit_test(workers_that_copy_hold_up_no_launches),
        cmocka_unit_test(processes_share_the_hosts_memory),
        cmocka_unit_test(processes_of_many_threads_that_copy),
        cmocka_unit_test(graphs_with_pageable_copies_wake_up),
        cmocka_unit_test(copies_that_wait_take_no_cpu),
        cmocka_unit_test(more_threads_wait_for_the_same_lock),
        cmocka_unit_test(more_threads_that_never_wait),
        cmocka_unit_test(copies_that_wait_hold_no_queue),
        cmocka_unit_test(pageable_memory_is_not_faster),
        cmocka_unit_test(unsynced_copies_are_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
