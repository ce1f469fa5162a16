#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/tune/space.h"
#include "tests/unit/explain/h200.h"
#include "tests/unit/plan/plan_rig.h"
#include "orchestrator/plan/settings.h"

static struct tune_space space;
static struct tune_machine machine = {.cpus = 16};

static int end(void **state)
{
    tune_space_release(&space);
    machine = (struct tune_machine){.cpus = 16};
    return plan_rig_end(state);
}

static void make(void)
{
    tune_space_release(&space);
    assert_int_equal(tune_space_make(&job, &machine, &space), STATUS_OK);
    assert_true(space.candidates > 0 && space.candidates <= space.plan.count);
}

static void refused(const char *words)
{
    struct tune_space none;
    assert_int_equal(tune_space_make(&job, &machine, &none), STATUS_USAGE);
    if (!strstr(status_text(), words))
        fail_msg("'%s' is not in '%s'", words, status_text());
}

/* How many of the candidates have it. */
static size_t with(bool (*has)(const struct point *point))
{
    size_t sum = 0;
    for (size_t i = 0; i < space.candidates; i++)
        sum += has(&space.plan.points[i]);
    return sum;
}

/* How many of the points on all GPUs have it. */
static size_t with_on_all(bool (*has)(const struct point *point))
{
    size_t sum = 0;
    for (size_t i = 0; i < space.on_all_count; i++)
        sum += has(&space.plan.points[space.on_all + i]);
    return sum;
}

static bool as_graph(const struct point *p)
{
    return p->work.launch == LAUNCH_GRAPH;
}
static bool pageable(const struct point *p)
{
    return p->work.memory == MEMORY_PAGEABLE;
}
static bool asleep(const struct point *p)
{
    return p->work.schedule == SCHEDULE_BLOCK;
}
static bool unbound(const struct point *p)
{
    return p->bind == BIND_NONE;
}
static bool over_mps(const struct point *p)
{
    return point_over_mps(p);
}
static bool of_two_gpus(const struct point *p)
{
    return point_gpus(p) == 2;
}
static bool daemon_each(const struct point *p)
{
    return p->mps_daemons == MPS_DAEMONS_PER_GPU;
}
static bool several(const struct point *p)
{
    return p->processes > 1;
}
static bool hybrid(const struct point *p)
{
    return p->processes > 1 && p->threads > 1;
}
static bool shared(const struct point *p)
{
    return p->active_thread_percentage.count > 0;
}
static bool four_queues(const struct point *p)
{
    return p->connections == 4;
}
static bool over_eight(const struct point *p)
{
    return p->processes > 8;
}
static bool over_sixteen(const struct point *p)
{
    return p->threads > 16;
}
static bool many_threads(const struct point *p)
{
    return p->threads == 256;
}
static bool beyond_clients(const struct point *p)
{
    return over_mps(p) && p->processes > 48;
}
static bool own_queues(const struct point *p)
{
    return p->threads == 16 && !over_mps(p) && p->connections == 16;
}

static bool polls(const struct point *p)
{
    return p->streams > 1;
}
static bool polls_asleep(const struct point *p)
{
    return polls(p) && asleep(p);
}
static bool polls_by_stream(const struct point *p)
{
    return polls(p) && !as_graph(p);
}
static bool one_thread_of_112(const struct point *p)
{
    return p->processes == 1 && p->threads == 1 && p->streams == 112 && as_graph(p);
}

static void test_streams_are_offered_where_they_may_pay(void **state)
{
    (void)state;
    make();
    assert_true(with(one_thread_of_112) == 2); /* over MPS, and not */
    assert_true(with(polls_by_stream) > 0 && with(polls_by_stream) < with(polls));
    /* A sixth of the space: it does not grow by the number of their numbers. */
    assert_true(with(polls) > 100 && with(polls) < space.candidates / 5);
    assert_int_equal(with(polls_asleep), 0);
    for (size_t i = 0; i < space.candidates; i++) {
        const struct point *p = &space.plan.points[i];
        if (!polls(p))
            continue;
        assert_true(p->processes * p->threads <= machine.cpus);
        assert_true(point_workers(p) <= 256 && !pageable(p) && !unbound(p));
        assert_true(over_mps(p) || p->processes == 1);
        assert_true(as_graph(p) || p->threads * p->streams <= 32);
    }
    /* None may keep a CPU busy: then they sleep. */
    set(OPTION_MAX_CPUS, "0.5");
    make();
    assert_true(with(polls_asleep) > 0);
}

static void test_streams_that_are_given_or_cannot_be(void **state)
{
    (void)state;
    static char program[] = "/bin/true";
    static char *command[] = {program, NULL};
    set(OPTION_STREAMS, "1");
    make();
    assert_int_equal(with(polls), 0);
    size_t one = space.candidates;
    set(OPTION_STREAMS, "4,64");
    make();
    assert_int_equal(with(polls), space.candidates);
    for (size_t i = 0; i < space.plan.count; i++)
        assert_true(point_workers(&space.plan.points[i]) <= 1024);
    assert_true(space.candidates < 2 * one);
    tune_space_release(&space);
    job_release(&job);
    assert_int_equal(job_load(NULL, &job), STATUS_OK);
    job.command = command;
    make();
    assert_int_equal(with(polls), 0);
    job.command = NULL;
}

static void test_everything_is_offered(void **state)
{
    (void)state;
    make();
    assert_true(with(as_graph) > 0 && with(as_graph) < space.candidates);
    assert_true(with(pageable) > 0 && with(asleep) > 0 && with(unbound) > 0);
    assert_true(with(over_mps) > 0 && with(several) > 0 && with(hybrid) > 0);
    assert_true(with(shared) > 0 && with(own_queues) > 0 && with(many_threads) > 0);
    assert_int_equal(with(beyond_clients), 0);
    /* A plan of a few thousand points, each there once. */
    assert_true(space.candidates > 500 && space.candidates < 5000);
    for (size_t i = 1; i < space.plan.count; i++)
        assert_false(point_equal(&space.plan.points[i], &space.plan.points[i - 1]));
}

static void test_what_is_given_is_kept_to(void **state)
{
    (void)state;
    set(OPTION_LAUNCH, "stream");
    set(OPTION_MEMORY, "pinned");
    set(OPTION_SCHEDULE, "block");
    set(OPTION_BIND, "near");
    set(OPTION_CONNECTIONS, "4,8");
    make();
    assert_int_equal(with(as_graph), 0);
    assert_int_equal(with(pageable), 0);
    assert_int_equal(with(asleep), space.candidates);
    assert_int_equal(with(unbound), 0);
    assert_true(with(four_queues) > 0 && with(four_queues) < space.candidates);
    for (size_t i = 0; i < space.candidates; i++)
        assert_true(space.plan.points[i].connections == 4 || space.plan.points[i].connections == 8);
}

static void test_layouts_that_are_given(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:4,8");
    set(OPTION_LAYOUT, "hybrid:3x5");
    make();
    for (size_t i = 0; i < space.candidates; i++) {
        const struct point *p = &space.plan.points[i];
        assert_true(p->layout == LAYOUT_THREADS ? p->threads == 4 || p->threads == 8
                                                : p->processes == 3 && p->threads == 5);
    }
    /* The naive ones are there all the same, and cannot win. */
    assert_int_equal(space.naive_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(space.naive[i].point >= space.candidates);
}

static void test_limits_on_processes_and_threads(void **state)
{
    (void)state;
    set(OPTION_MAX_PROCESSES, "8");
    set(OPTION_MAX_THREADS, "16");
    make();
    assert_int_equal(with(over_eight), 0);
    assert_int_equal(with(over_sixteen), 0);
    assert_true(with(hybrid) > 0);
    for (size_t i = 0; i < space.naive_count; i++) {
        const struct point *p = &space.plan.points[space.naive[i].point];
        assert_true(p->processes <= 8 && p->threads <= 16);
    }
    set(OPTION_LAYOUT, "processes:4,threads:16,hybrid:2x32");
    make();
    assert_int_equal(with(hybrid), 0);
    assert_true(with(several) > 0 && with(several) < space.candidates);
    tune_space_release(&space);
    job_release(&job);
    assert_int_equal(job_load(NULL, &job), STATUS_OK);
    set(OPTION_MAX_PROCESSES, "8");
    set(OPTION_LAYOUT, "processes:16");
    refused("none of the layouts given is within");
}

static void test_known_limits_bound_the_clients(void **state)
{
    (void)state;
    struct tune_machine known = machine;
    known.clients = 6;
    assert_int_equal(tune_space_make(&job, &known, &space), STATUS_OK);
    for (size_t i = 0; i < space.plan.count; i++)
        if (point_over_mps(&space.plan.points[i]))
            assert_true(space.plan.points[i].processes <= 6);
}

/* The layout of a GPU is searched, with its part of the CPUs and limits of its own. */
static void test_several_gpus(void **state)
{
    (void)state;
    machine.gpus = 2;
    set(OPTION_MAX_PROCESSES, "8");
    make();
    assert_int_equal(with(of_two_gpus), 0);
    assert_int_equal(with(over_eight), 0);
    assert_int_equal(with_on_all(daemon_each), 0);
    /* Each layout once on one GPU, and once on all. */
    assert_int_equal(space.gpus, 2);
    assert_int_equal(space.cpus, 8);
    assert_int_equal(space.on_all_count, space.candidates);
    assert_int_equal(with_on_all(of_two_gpus), space.on_all_count);
    for (size_t i = 0; i < space.candidates; i++) {
        size_t on_all = tune_space_next_on_all(&space, i, 0);
        assert_int_equal(on_all, space.on_all + i);
        assert_int_equal(tune_space_next_on_all(&space, i, on_all + 1), space.plan.count);
    }
    /* 8 CPUs of each: 16 times as many threads, and one for each of those that come to mind. */
    assert_int_equal(with(many_threads), 0);
    for (size_t i = 0; i < space.naive_count; i++) {
        const struct point *p = &space.plan.points[space.naive[i].point];
        assert_int_equal(2, point_gpus(p));
        assert_true(p->processes * p->threads <= 8);
    }
    set(OPTION_MPS_DAEMONS, "shared,per-gpu");
    make();
    assert_int_equal(with(daemon_each), 0);
    assert_int_equal(with_on_all(daemon_each), with(over_mps));
    assert_int_equal(with_on_all(over_mps), 2 * with(over_mps));
    for (size_t i = 0; i < space.candidates; i++) {
        size_t first = tune_space_next_on_all(&space, i, 0);
        size_t second = tune_space_next_on_all(&space, i, first + 1);
        assert_true(first < space.plan.count);
        assert_int_equal(over_mps(&space.plan.points[i]), second < space.plan.count);
    }
    /* As many as are given, and one number of them. */
    set(OPTION_GPUS_PER_POINT, "1");
    make();
    assert_int_equal(with(of_two_gpus), 0);
    assert_int_equal(space.gpus, 1);
    assert_int_equal(space.on_all_count, 0);
    assert_true(with(many_threads) > 0);
    set(OPTION_GPUS_PER_POINT, "1,2");
    refused("give 'gpus-per-point' as one number");
    set(OPTION_GPUS_PER_POINT, "4");
    refused("4 is more than the 2 GPUs");
}

static void test_all_gpus_have_as_many_workers_as_can_be_had(void **state)
{
    (void)state;
    unsigned most = 0;
    machine = (struct tune_machine){.cpus = 224, .gpus = 8};
    make();
    for (size_t i = 0; i < space.plan.count; i++)
        if (point_workers(&space.plan.points[i]) > most)
            most = point_workers(&space.plan.points[i]);
    assert_int_equal(1024, most);
    /* What is asked for by its name is not made less. */
    set(OPTION_LAYOUT, "threads:256");
    refused("threads 1x256 on 8 GPUs has 2048 workers");
}

static void test_naive_layouts(void **state)
{
    (void)state;
    static const enum layout_kind kinds[] = {LAYOUT_THREADS, LAYOUT_THREADS, LAYOUT_PROCESSES,
                                             LAYOUT_PROCESSES_MPS};
    static const unsigned workers[] = {1, 16, 16, 16};
    make();
    assert_int_equal(space.naive_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct point *p = &space.plan.points[space.naive[i].point];
        assert_int_equal(p->layout, kinds[i]);
        assert_int_equal(point_workers(p), workers[i]);
        assert_int_equal(p->work.launch, LAUNCH_STREAM);
        assert_int_equal(p->connections, 0);
        assert_int_equal(p->work.schedule, SCHEDULE_AUTO);
    }
}

static void test_one_workload_only(void **state)
{
    (void)state;
    set(OPTION_KERNELS, "10,20");
    refused("'kernels' has 2 values");
    set(OPTION_KERNELS, "10");
    make();
    set(OPTION_RATE, "max-under-p99=5ms");
    make();
    assert_int_equal(space.plan.points[0].goal.permille, 990);
    assert_false(tune_space_can_calibrate(&space));
    set(OPTION_RATE, "100,max-under-p99=5ms");
    refused("'rate' has 2 values");
    set(OPTION_RATE, "100");
    make();
    assert_false(tune_space_can_calibrate(&space));
    set(OPTION_RATE, "closed");
    make();
    assert_true(tune_space_can_calibrate(&space));
    set(OPTION_ITERATIONS, "10");
    refused("'iterations'");
}

static size_t find(unsigned processes, unsigned threads, bool mps, bool graph, bool block)
{
    for (size_t i = 0; i < space.candidates; i++) {
        const struct point *p = &space.plan.points[i];
        if (p->processes == processes && p->threads == threads && !polls(p) && over_mps(p) == mps &&
            as_graph(p) == graph && asleep(p) == block && !pageable(p))
            return i;
    }
    fail_msg("no %ux%u", processes, threads);
    return 0;
}

static size_t find_polling(unsigned threads, unsigned streams)
{
    for (size_t i = 0; i < space.candidates; i++) {
        const struct point *p = &space.plan.points[i];
        if (p->processes == 1 && p->threads == threads && p->streams == streams && as_graph(p) &&
            !over_mps(p))
            return i;
    }
    fail_msg("no 1x%ux%u", threads, streams);
    return 0;
}

static void test_predictions_and_axes(void **state)
{
    (void)state;
    bool predicted;
    make();
    struct tune_candidate *made = tune_space_candidates(&space, TUNE_THROUGHPUT, &h200, &predicted);

    assert_non_null(made);
    assert_true(predicted);
    const struct tune_candidate *one = &made[find(1, 1, false, false, false)];
    const struct tune_candidate *many = &made[find(1, 128, false, true, true)];
    const struct tune_candidate *streams = &made[find_polling(1, 128)];
    assert_true(one->naive && !many->naive);
    /* As on that machine: 283 and 19 000 iterations/s. */
    assert_true(one->predicted > 250.0 && one->predicted < 320.0);
    assert_true(many->predicted > 15000.0 && many->predicted <= many->ceiling);
    assert_true(many->mean_us > 1e6 * 128 / 20000.0 && many->mean_us < 1e6 * 128 / 15000.0);
    /* As many in flight do as much; a thread that polls has a CPU, and 128 that sleep share one. */
    assert_true(fabs(streams->predicted / many->predicted - 1.0) < 0.01);
    assert_true(streams->cpus == 1.0 && many->cpus > 0.5 && many->cpus < 1.2);
    assert_true(made[find(1, 128, false, true, false)].cpus == 16.0);
    assert_int_equal(one->axes[TUNE_AXIS_MPS], 0);
    assert_int_equal(many->axes[TUNE_AXIS_LAUNCH], LAUNCH_GRAPH);
    free(made);

    made = tune_space_candidates(&space, TUNE_P99, &h200, &predicted);
    assert_non_null(made);
    /* The least latency is that of one alone, and no ceiling limits it. */
    assert_true(made[find(1, 1, false, true, false)].predicted >
                made[find(1, 128, false, true, true)].predicted);
    for (size_t i = 0; i < space.plan.count; i++)
        assert_true(made[i].ceiling == 0.0);
    free(made);

    made = tune_space_candidates(&space, TUNE_THROUGHPUT, NULL, &predicted);
    assert_non_null(made);
    assert_false(predicted);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_is_offered, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_streams_are_offered_where_they_may_pay, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_streams_that_are_given_or_cannot_be, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_what_is_given_is_kept_to, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_layouts_that_are_given, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_limits_on_processes_and_threads, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_known_limits_bound_the_clients, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_several_gpus, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_all_gpus_have_as_many_workers_as_can_be_had,
                                        plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_naive_layouts, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_one_workload_only, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(test_predictions_and_axes, plan_rig_begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
