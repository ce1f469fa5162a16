#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/plan/shares.h"
#include "tests/unit/plan/plan_rig.h"
#include "orchestrator/plan/settings.h"

static void axes_multiply(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1-3,processes+mps:2");
    set(OPTION_MEMORY, "pinned,pageable");
    set(OPTION_CONNECTIONS, "default,8,32");
    make_plan();
    assert_int_equal(plan.count, 4 * 2 * 3);
    for (size_t i = 0; i < plan.count; i++)
        assert_int_equal(plan.points[i].id, i);
    assert_int_equal(plan.points[23].processes, 2);
    assert_true(point_over_mps(&plan.points[23]));
    assert_true(point_over_mps(&plan.points[23]));
}

static void equal_points_are_one(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:4,threads:2-4");
    set(OPTION_MEMORY, "pinned,pageable");
    set(OPTION_SYNC, "stream,none");
    make_plan();
    assert_int_equal(plan.count, 3 * 3); /* pinned has one way, pageable two */
    set(OPTION_LAUNCH, "graph");
    make_plan();
    assert_int_equal(plan.count, 3 * 2); /* a graph has no synchronisation inside */
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, "default,50");
    make_plan();
    assert_int_equal(plan.count, 3 * 2); /* without MPS there is no share */
}

static void shares_are_lists_of_the_processes(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "processes+mps:3");
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, "default,100,30/70");
    set(OPTION_PRIORITY, "default,0/1");
    set(OPTION_MEMORY_LIMIT, "2G");
    make_plan();
    assert_int_equal(plan.count, 3 * 2);
    /* The percentage is slower than the priority, and both than the schedule. */
    const struct point *first = &plan.points[0], *last = &plan.points[5];
    assert_int_equal(first->active_thread_percentage.count, 0);
    assert_int_equal(first->priority.count, 0);
    assert_int_equal(plan.points[1].priority.count, 2);
    assert_int_equal(plan.points[2].active_thread_percentage.values[0], 100);
    assert_int_equal(shares_at(&last->active_thread_percentage, 0), 30);
    assert_int_equal(shares_at(&last->active_thread_percentage, 1), 70);
    assert_int_equal(shares_at(&last->active_thread_percentage, 2), 30);
    assert_int_equal(shares_at(&last->priority, 1), 1);
    assert_int_equal(shares_at(&last->memory_limit, 2), INT64_C(2) << 30);
    assert_true(point_has_shares(first));
    set(OPTION_MEMORY_LIMIT, "default");
    make_plan();
    assert_false(point_has_shares(&plan.points[0]));
}

/* Points of one layout with these shares. */
static size_t points_with(const char *layout, const char *percentage, const char *priority,
                          const char *memory_limit)
{
    plan_release(&plan);
    job_release(&job);
    assert_int_equal(job_load(NULL, &job), STATUS_OK);
    set(OPTION_LAYOUT, layout);
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, percentage);
    set(OPTION_PRIORITY, priority);
    set(OPTION_MEMORY_LIMIT, memory_limit);
    make_plan();
    return plan.count;
}

static void shares_that_say_the_same_are_one_point(void **state)
{
    (void)state;
    const char *same = "50,50/50,30/70,30/70/30,30/70/20,default,default/default";
    assert_int_equal(points_with("processes+mps:2", same, "default", "default"), 3);
    assert_int_equal(points_with("processes+mps:3", same, "default", "default"), 4);
    assert_int_equal(points_with("threads+mps:4", same, "default", "default"), 3);
    assert_int_equal(plan.points[1].active_thread_percentage.count, 1);
    /* No other process to share with, without MPS. */
    assert_int_equal(points_with("processes:2", same, "0,1,0/1", "1G,2G"), 1);
    assert_false(point_has_shares(&plan.points[0]));
    /* Each of the others is its own. */
    assert_int_equal(points_with("processes+mps:2", "default", "0,1,0/1", "1G,2G"), 3 * 2);
}

static void default_queues_depend_on_mps(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1,threads+mps:1");
    make_plan();
    assert_int_equal(point_connections(&plan.points[0]), 8);
    assert_int_equal(point_connections(&plan.points[1]), 2);
    set(OPTION_CONNECTIONS, "16");
    make_plan();
    assert_int_equal(point_connections(&plan.points[1]), 16);
}

static void the_id_tells_plans_apart(void **state)
{
    (void)state;
    char first[PLAN_ID_BYTES];
    set(OPTION_LAYOUT, "threads:1-4");
    make_plan();
    snprintf(first, sizeof first, "%s", plan.id);
    make_plan();
    assert_string_equal(plan.id, first);
    set(OPTION_SPIN, "3073");
    make_plan();
    assert_string_not_equal(plan.id, first);
    /* Each share, its values, and where they stand. */
    static const struct {
        enum option_id id;
        const char *text;
    } shares[] = {
        {OPTION_ACTIVE_THREAD_PERCENTAGE, "1"},
        {OPTION_ACTIVE_THREAD_PERCENTAGE, "1/2"},
        {OPTION_ACTIVE_THREAD_PERCENTAGE, "2/1"},
        {OPTION_PRIORITY, "1"},
        {OPTION_PRIORITY, "0"},
        {OPTION_MEMORY_LIMIT, "1G"},
        {OPTION_MEMORY_LIMIT, "1G/2G"},
    };
    enum { SHARES = sizeof shares / sizeof shares[0] };
    char ids[SHARES + 1][PLAN_ID_BYTES];
    set(OPTION_LAYOUT, "processes+mps:2");
    make_plan();
    snprintf(ids[SHARES], sizeof ids[SHARES], "%s", plan.id);
    for (size_t i = 0; i < SHARES; i++) {
        set(shares[i].id, shares[i].text);
        make_plan();
        set(shares[i].id, "default");
        snprintf(ids[i], sizeof ids[i], "%s", plan.id);
        assert_string_not_equal(ids[i], ids[SHARES]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
}

static void the_id_tells_rates_apart(void **state)
{
    (void)state;
    static const char *const rates[][3] = {
        {"closed", "constant", "1"},
        {"100", "constant", "1"},
        {"100.5", "constant", "1"},
        {"100", "poisson", "1"},
        {"100", "poisson", "2"},
        {"max-under-p99=5ms", "constant", "1"},
        {"max-under-p90=5ms", "constant", "1"},
        {"max-under-p99=6ms", "constant", "1"},
    };
    enum { RATES = sizeof rates / sizeof rates[0] };
    char ids[RATES][PLAN_ID_BYTES], first[PLAN_ID_BYTES];
    set(OPTION_LAYOUT, "threads:2");
    for (size_t i = 0; i < RATES; i++) {
        set(OPTION_RATE, rates[i][0]);
        set(OPTION_ARRIVAL, rates[i][1]);
        set(OPTION_SEED, rates[i][2]);
        make_plan();
        assert_int_equal(point_is_open(&plan.points[0]), i > 0);
        snprintf(ids[i], sizeof ids[i], "%s", plan.id);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
    /* The seed is only of the order where nothing else is random. */
    set(OPTION_ARRIVAL, "constant");
    make_plan();
    snprintf(first, sizeof first, "%s", plan.id);
    set(OPTION_SEED, "3");
    make_plan();
    assert_string_equal(plan.id, first);
}

static void descriptions_show_what_differs(void **state)
{
    (void)state;
    char text[POINT_DESCRIPTION];
    set(OPTION_LAYOUT, "hybrid:8x2");
    make_plan();
    point_describe(&plan.points[0], text, sizeof text);
    assert_string_equal(text, "hybrid 8×2, pinned");
    set(OPTION_MEMORY, "pageable");
    set(OPTION_SYNC, "none");
    set(OPTION_CONNECTIONS, "32");
    set(OPTION_SCHEDULE, "block");
    make_plan();
    point_describe(&plan.points[0], text, sizeof text);
    assert_string_equal(text, "hybrid 8×2, pageable, no sync, 32 queues, block");
    set(OPTION_KERNELS, "1");
    set(OPTION_CONNECTIONS, "1");
    make_plan();
    point_describe(&plan.points[0], text, sizeof text);
    assert_string_equal(text, "hybrid 8×2, pageable, no sync, 1 queue, block, 1 kernel");
    set(OPTION_KERNELS, "220");
    set(OPTION_CONNECTIONS, "32");
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, "30/default");
    set(OPTION_PRIORITY, "1");
    set(OPTION_MEMORY_LIMIT, "512M/2048M");
    make_plan();
    point_describe(&plan.points[0], text, sizeof text);
    assert_string_equal(text, "hybrid 8×2, pageable, no sync, 32 queues, 30/default% threads, "
                              "priority 1, memory limit 512M/2G, block");
}

static void the_longest_description_has_room(void **state)
{
    (void)state;
    char text[POINT_DESCRIPTION], list[OPTION_MOST_SHARES * 16] = "";
    for (int i = 0; i < OPTION_MOST_SHARES; i++)
        sprintf(list + strlen(list), "%s%dM", i ? "/" : "", 1000001 + i);
    set(OPTION_LAYOUT, "hybrid:128x8");
    set(OPTION_MEMORY_LIMIT, list);
    *list = '\0';
    for (int i = 0; i < OPTION_MOST_SHARES; i++)
        sprintf(list + strlen(list), "%s%s", i ? "/" : "", i ? "default" : "1");
    set(OPTION_PRIORITY, list);
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, list);
    set(OPTION_MEMORY, "pageable");
    set(OPTION_SYNC, "none");
    set(OPTION_CONNECTIONS, "32");
    set(OPTION_SCHEDULE, "block");
    set(OPTION_BIND, "scatter");
    set(OPTION_KERNELS, "100000");
    set(OPTION_BLOCKS, "1000000");
    set(OPTION_THREADS_PER_BLOCK, "1024");
    set(OPTION_SPIN, "100000000");
    set(OPTION_BYTES, "255G");
    make_plan();
    point_describe(&plan.points[0], text, sizeof text);
    assert_non_null(strstr(text, "default% threads, priority 1/default"));
    assert_non_null(strstr(text, "/1000064M, block, bind scatter"));
    assert_non_null(strstr(text, " GiB"));
}

static void a_path_is_a_plugin(void **state)
{
    (void)state;
    static const char *const words[] = {"./mine.so", "mine.so", "dir/mine", "/mine"};
    set(OPTION_LAYOUT, "threads:1");
    set(OPTION_WORKLOAD_OPTIONS, "n=1, m=2");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        set(OPTION_WORKLOAD, words[i]);
        make_plan();
        assert_int_equal(plan.points[0].work.workload, WORKLOAD_PLUGIN);
        assert_false(point_is_builtin(&plan.points[0]));
        assert_string_equal(point_workload(&plan.points[0]), words[i]);
        assert_string_equal(plan.points[0].workload_options, "n=1, m=2");
    }
    set(OPTION_WORKLOAD, ".so");
    assert_int_equal(plan_make(&job, 1, &plan), STATUS_USAGE);
}

static void a_plugin_has_no_axes_of_the_builtin_work(void **state)
{
    (void)state;
    char id[sizeof plan.id];
    set(OPTION_LAYOUT, "threads:1");
    set(OPTION_WORKLOAD, "builtin,./mine.so");
    set(OPTION_WORKLOAD_OPTIONS, "n=1");
    set(OPTION_KERNELS, "5,6,7");
    set(OPTION_MEMORY, "pinned,pageable");
    set(OPTION_SYNC, "stream,none");
    make_plan();
    /* The built-in work: three times pinned, pageable with and without a synchronisation. */
    assert_int_equal(plan.count, 3 * 3 + 1);
    for (size_t i = 0; i < plan.count; i++)
        assert_true(point_is_builtin(&plan.points[i]) == (plan.points[i].workload_options == NULL));
    memcpy(id, plan.id, sizeof id);
    set(OPTION_WORKLOAD_OPTIONS, "n=2");
    make_plan();
    assert_string_not_equal(id, plan.id);
    set(OPTION_WORKLOAD_OPTIONS, "n=1");
    make_plan();
    assert_string_equal(id, plan.id);
}

static void the_order_is_a_repeatable_shuffle(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    size_t first[COUNT], again[COUNT], other[COUNT];
    bool seen[COUNT] = {false};
    plan_order(COUNT, 3, 0, first);
    plan_order(COUNT, 3, 0, again);
    plan_order(COUNT, 3, 1, other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    for (int i = 0; i < COUNT; i++)
        seen[first[i]] = true;
    for (int i = 0; i < COUNT; i++)
        assert_true(seen[i]);
    plan_order(COUNT, 0, 0, first);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(first[i], i);
}

static const struct workload described[] = {
    {.name = "detect",
     .count = 2,
     .steps = {{STEP_COPY_IN, 1, 0, 0, 1 << 20, 0}, {STEP_COMPUTE, 4, 8, 64, 0, 15000}}},
    {.name = "embed", .count = 1, .steps = {{STEP_MEMORY, 1, 8, 64, 1 << 20, 0}}},
};

static void describe_two(void)
{
    job.workloads = malloc(sizeof described);
    assert_non_null(job.workloads);
    memcpy(job.workloads, described, sizeof described);
    job.workload_count = 2;
}

static void workloads_can_be_described(void **state)
{
    (void)state;
    char text[POINT_DESCRIPTION];
    describe_two();
    set(OPTION_LAYOUT, "threads:4");
    set(OPTION_WORKLOAD, "detect,embed:3+detect,builtin");
    make_plan();
    assert_int_equal(plan.count, 3);
    assert_int_equal(plan.points[0].work.workload, WORKLOAD_DESCRIBED);
    const struct mix_work *work = plan.points[0].mix;
    assert_int_equal(work->count, 1);
    assert_string_equal(work->workloads[0].name, "detect");
    assert_int_equal(work->workloads[0].count, 2);
    assert_memory_equal(work->steps, described[0].steps, 2 * sizeof work->steps[0]);
    work = plan.points[1].mix;
    assert_int_equal(work->count, 2);
    assert_string_equal(work->workloads[0].name, "embed");
    assert_int_equal(work->workloads[0].weight, 3);
    assert_int_equal(work->workloads[1].first, 1);
    assert_int_equal(work->workloads[1].weight, 1);
    assert_memory_equal(&work->steps[1], described[0].steps, 2 * sizeof work->steps[0]);
    point_describe(&plan.points[1], text, sizeof text);
    assert_string_equal(text, "threads 1×4, pinned, embed:3+detect");
    assert_int_equal(plan.points[2].work.workload, WORKLOAD_CHAIN);
}

static void described_points_that_are_equal_are_one(void **state)
{
    (void)state;
    describe_two();
    set(OPTION_LAYOUT, "threads:4");
    set(OPTION_KERNELS, "1-20");
    set(OPTION_BYTES, "64K,128K");
    set(OPTION_WORKLOAD, "detect,detect:7,detect:2+embed:2,detect+embed,embed+detect");
    make_plan();
    /* Weights of the same ratio are the same; who is dealt to first makes a difference. */
    assert_int_equal(plan.count, 3);
    assert_string_equal(plan.points[2].workload, "embed+detect");
}

static void steps_belong_to_the_plan(void **state)
{
    (void)state;
    char before[PLAN_ID_BYTES];
    describe_two();
    set(OPTION_LAYOUT, "threads:4");
    set(OPTION_WORKLOAD, "detect");
    make_plan();
    memcpy(before, plan.id, sizeof before);
    make_plan();
    assert_string_equal(plan.id, before);
    job.workloads[0].steps[1].asked_ns = 15001;
    make_plan();
    assert_string_not_equal(plan.id, before);
    job.workloads[0].steps[1].asked_ns = 15000;
    job.workloads[0].check = WORKLOAD_CHECK_NO;
    make_plan();
    assert_string_not_equal(plan.id, before);
    job.workloads[0].check = WORKLOAD_CHECK_POSSIBLE;
    job.workloads[1].count = 0; /* another workload's */
    make_plan();
    assert_string_equal(plan.id, before);
}

static void unknown_workloads_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *word, *says;
    } table[] = {
        {"detekt", "'detekt' is not a value of workload: it takes one of builtin|delay"},
        {"detect+embde:2",
         "'detect+embde:2' is not a value of workload: 'embde' is not a [workload "
         "NAME] of the job file; there are detect|embed"},
        {"detect+builtin", "'builtin' is not a [workload NAME] of the job file"},
        {"detect:0", "a weight is a number from 1 to 1000"},
    };
    describe_two();
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        set(OPTION_WORKLOAD, table[i].word);
        assert_int_equal(plan_make(&job, 1, &plan), STATUS_USAGE);
        if (!strstr(status_text(), table[i].says))
            fail_msg("'%s' gives: %s", table[i].word, status_text());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workloads_can_be_described, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(described_points_that_are_equal_are_one, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(steps_belong_to_the_plan, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(unknown_workloads_are_refused, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(axes_multiply, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(equal_points_are_one, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(shares_are_lists_of_the_processes, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(shares_that_say_the_same_are_one_point, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(default_queues_depend_on_mps, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(the_id_tells_plans_apart, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(the_id_tells_rates_apart, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(descriptions_show_what_differs, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(the_longest_description_has_room, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(a_path_is_a_plugin, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(a_plugin_has_no_axes_of_the_builtin_work, plan_rig_begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(the_order_is_a_repeatable_shuffle, plan_rig_begin,
                                        plan_rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
