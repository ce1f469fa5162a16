#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/plan/turns.h"
#include "tests/unit/plan/plan_rig.h"

static struct turn *turns;
static size_t count;

static int end(void **state)
{
    free(turns);
    turns = NULL;
    return plan_rig_end(state);
}

static void make_room(void)
{
    make_plan();
    free(turns);
    turns = calloc(plan.count, sizeof *turns);
    assert_non_null(turns);
}

static void make(const bool *done, unsigned seed, unsigned round, enum turns_reuse reuse)
{
    assert_int_equal(turns_make(&plan, done, seed, round, reuse, turns, &count), STATUS_OK);
}

static const struct point *point_of(size_t turn)
{
    return &plan.points[turns[turn].point];
}

static unsigned starts(void)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += turns[i].starts;
    return sum;
}

/* Whatever the plan: each point once, and the fields of neighbours agree. */
static void check_turns(void)
{
    bool *seen = calloc(plan.count, sizeof *seen);
    size_t started = 0;
    assert_non_null(seen);
    for (size_t i = 0; i < count; i++) {
        assert_false(seen[turns[i].point]);
        seen[turns[i].point] = true;
        assert_int_equal(turns[i].keeps, i + 1 < count && !turns[i + 1].starts);
        assert_true(turns[i].slots_most >= point_of(i)->threads);
        if (turns[i].starts)
            started = i;
        assert_true(turns_serves(point_of(started), point_of(i)));
        assert_true(point_of(started)->processes >= point_of(i)->processes);
        /* It need not be the first that could be started: a crew may fail before. */
        for (size_t j = i; j < count && (j == i || !turns[j].starts); j++)
            assert_true(turns_serves(point_of(i), point_of(j)) &&
                        turns[i].slots_most >= point_of(j)->threads);
    }
    free(seen);
}

/* The two points of a plan of two, in their order. */
static bool serves(void)
{
    make_room();
    assert_int_equal(plan.count, 2);
    return turns_serves(&plan.points[0], &plan.points[1]);
}

static void workers_serve_what_their_context_and_environment_fit(void **state)
{
    static const struct {
        enum option_id option;
        const char *values;
        bool serves;
    } rows[] = {
        {OPTION_MEMORY, "pinned,pageable", true},
        {OPTION_LAUNCH, "stream,graph", true},
        {OPTION_BIND, "near,none", true},
        {OPTION_SCHEDULE, "auto,spin", true},
        {OPTION_KERNELS, "5,6", true},
        {OPTION_BLOCKS, "5,6", true},
        {OPTION_SPIN, "5,6", true},
        {OPTION_BYTES, "1K,1M", true},
        {OPTION_WORKLOAD, "builtin,delay", true},
        /* Whatever a plug-in does to its process is its own business only. */
        {OPTION_WORKLOAD, "builtin,./a.so", false},
        {OPTION_WORKLOAD, "./a.so,delay", false},
        {OPTION_WORKLOAD, "./a.so,./b.so", false},
        {OPTION_CONNECTIONS, "default,8", false},
        {OPTION_CONNECTIONS, "2,4", false},
        {OPTION_ACTIVE_THREAD_PERCENTAGE, "default,50", false},
        {OPTION_ACTIVE_THREAD_PERCENTAGE, "50,50/40", false},
        {OPTION_PRIORITY, "0,1", false},
        {OPTION_MEMORY_LIMIT, "1G,2G", false},
        {OPTION_LAYOUT, "processes+mps:4,hybrid:4x8", true},
        {OPTION_LAYOUT, "hybrid:4x8,processes+mps:4", true},
        {OPTION_LAYOUT, "processes:4,hybrid-timesliced:4x2", true},
        {OPTION_LAYOUT, "threads:1,threads:64", true},
        {OPTION_LAYOUT, "threads:4,processes:1", true},
        {OPTION_LAYOUT, "threads+mps:4,processes+mps:1", true},
        {OPTION_LAYOUT, "processes:4,processes+mps:4", false},
        {OPTION_LAYOUT, "threads:4,threads+mps:4", false},
        /* Who idles: up to 15 for each that works, and none beside a single one without MPS. */
        {OPTION_LAYOUT, "processes+mps:32,processes+mps:2", true},
        {OPTION_LAYOUT, "processes+mps:33,processes+mps:2", false},
        {OPTION_LAYOUT, "processes+mps:16,threads+mps:8", true},
        {OPTION_LAYOUT, "processes+mps:17,threads+mps:8", false},
        {OPTION_LAYOUT, "processes+mps:8,processes+mps:9", false},
        {OPTION_LAYOUT, "processes:32,processes:2", true},
        {OPTION_LAYOUT, "processes:33,processes:2", false},
        {OPTION_LAYOUT, "processes:2,threads:8", false},
        {OPTION_LAYOUT, "processes:3,processes:4", false},
        {OPTION_LAYOUT, "hybrid-timesliced:4x2,hybrid-timesliced:2x2", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        end(state);
        plan_rig_begin(state);
        if (rows[i].option != OPTION_LAYOUT)
            set(OPTION_LAYOUT, "processes+mps:4");
        set(rows[i].option, rows[i].values);
        if (serves() != rows[i].serves)
            fail_msg("%s %s", option_table[rows[i].option].name, rows[i].values);
    }
}

/* The two points of a plan of a program, whose command is those words. */
static bool program_serves(const char *layouts, const char *word)
{
    static char name[] = "true", argument[128];
    static char *command[3] = {name};
    snprintf(argument, sizeof argument, "%s", word ? word : "");
    command[1] = word ? argument : NULL;
    set(OPTION_LAYOUT, layouts);
    job.command = command;
    bool answer = serves();
    job.command = NULL;
    return answer;
}

static void programs_serve_what_their_start_fits(void **state)
{
    static const struct {
        const char *layouts, *word;
        bool serves;
    } rows[] = {
        {"processes+mps:4,2", NULL, true},
        {"processes+mps:4,2", "{process} {port} {seed} {gpu} {threads} {streams}", true},
        {"processes+mps:4,2", "{processes}", false},
        {"hybrid:4x2,4x1", "{processes} {port}", true},
        {"hybrid:4x2,4x1", "--threads={threads}", false},
        {"hybrid:4x2,2x1", NULL, true},
        {"hybrid:4x2,2x2", "{threads}", true},
        /* Threads cannot be added to a process, nor processes to a crew. */
        {"hybrid:4x1,4x2", NULL, false},
        {"hybrid:4x2,2x3", NULL, false},
        {"hybrid:2x2,4x1", NULL, false},
        {"threads:4,2", NULL, true},
        {"threads:4,processes:1", NULL, true},
        {"processes:2,1", NULL, false},
        {"processes:4,processes+mps:4", NULL, false},
        {"processes+mps:33,2", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        end(state);
        plan_rig_begin(state);
        if (program_serves(rows[i].layouts, rows[i].word) != rows[i].serves)
            fail_msg("%s %s", rows[i].layouts, rows[i].word ? rows[i].word : "");
    }
}

static void programs_serve_their_own_settings(void **state)
{
    static const struct {
        enum option_id option;
        const char *values;
        bool serves;
    } rows[] = {
        {OPTION_RATE, "closed,100", true},        {OPTION_RATE, "100,200", true},
        {OPTION_BIND, "near,none", false},        {OPTION_STREAMS, "1,2", false},
        {OPTION_CONNECTIONS, "default,8", false}, {OPTION_ACTIVE_THREAD_PERCENTAGE, "50,30", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        end(state);
        plan_rig_begin(state);
        set(rows[i].option, rows[i].values);
        if (program_serves("processes+mps:4", NULL) != rows[i].serves)
            fail_msg("%s %s", option_table[rows[i].option].name, rows[i].values);
    }
    /* Which streams a thread polls is fixed when it has opened them. */
    for (int same = 0; same < 2; same++) {
        end(state);
        plan_rig_begin(state);
        set(OPTION_STREAMS, "2");
        assert_int_equal(program_serves(same ? "hybrid:4x2,2x2" : "hybrid:4x2,4x1", NULL), same);
    }
}

/* Its threads are connections of ours, also where each has several streams, unless its command has
 * their number. */
static void a_server_serves_fewer_threads(void **state)
{
    static char serve[] = "serve", threads[] = "{threads}";
    static char *with_threads[] = {serve, threads, NULL};
    (void)state;
    set(OPTION_STREAMS, "2");
    assert_false(program_serves("hybrid:4x2,4x1", NULL));
    for (int i = 0; i < 2; i++)
        plan.points[i].program.requests.request = "GET http://127.0.0.1:{port}/";
    assert_true(turns_serves(&plan.points[0], &plan.points[1]));
    assert_false(turns_serves(&plan.points[1], &plan.points[0]));
    for (int i = 0; i < 2; i++)
        plan.points[i].program.command = with_threads;
    assert_false(turns_serves(&plan.points[0], &plan.points[1]));
    plan.points[1].threads = plan.points[0].threads;
    assert_true(turns_serves(&plan.points[0], &plan.points[1]));
    plan.points[1].program.requests.body = "another";
    assert_false(turns_serves(&plan.points[0], &plan.points[1]));
    plan.points[1].program.requests.body = NULL;
    plan.points[1].program.requests.bodies = "another";
    assert_false(turns_serves(&plan.points[0], &plan.points[1]));
}

static void programs_of_more_threads_come_first(void **state)
{
    static char name[] = "true";
    static char *command[] = {name, NULL};
    (void)state;
    set(OPTION_LAYOUT, "threads:1-4,processes+mps:4,hybrid:4x2,4x4,3x4,2x8");
    job.command = command;
    make_room();
    job.command = NULL;
    for (unsigned seed = 1; seed < 50; seed++) {
        make(NULL, seed, 0, TURNS_EQUAL);
        /* threads, 4×4 with what it serves, and 2×8, which it does not. */
        assert_int_equal(starts(), 3);
        for (size_t i = 0, first = 0; i < count; i++) {
            first = turns[i].starts ? i : first;
            assert_true(turns_serves(point_of(first), point_of(i)));
            assert_int_equal(turns[first].slots_most, point_of(first)->threads);
        }
    }
}

/* A list of shares is compared as far as the point's processes take from it. */
static void a_plugin_shares_with_itself(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "processes+mps:4");
    set(OPTION_WORKLOAD, "./a.so");
    set(OPTION_LAUNCH, "stream,graph");
    assert_true(serves());
    plan.points[1].workload_options = "n=1";
    assert_false(turns_serves(&plan.points[0], &plan.points[1]));
    plan.points[0].workload_options = "n=2";
    assert_false(turns_serves(&plan.points[0], &plan.points[1]));
    plan.points[0].workload_options = "n=1";
    assert_true(turns_serves(&plan.points[0], &plan.points[1]));
}

static void shares_are_compared_process_by_process(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "processes+mps:4,2");
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, "30/70");
    assert_true(serves());
    set(OPTION_ACTIVE_THREAD_PERCENTAGE, "30/70/30/70,30/60/30/60");
    make_room();
    assert_int_equal(plan.count, 4);
    assert_true(turns_serves(&plan.points[0], &plan.points[2]));
    assert_false(turns_serves(&plan.points[0], &plan.points[3]));
    assert_false(turns_serves(&plan.points[0], &plan.points[1]));
}

static void those_that_share_a_crew_are_neighbours(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1-4,processes:2,4,processes+mps:2,4,hybrid:4x3");
    set(OPTION_MEMORY, "pinned,pageable");
    set(OPTION_CONNECTIONS, "default,4");
    make_room();
    for (unsigned seed = 1; seed < 50; seed++) {
        make(NULL, seed, 0, TURNS_EQUAL);
        assert_int_equal(count, plan.count);
        check_turns();
        /* threads, time-sliced, 2 and 4 over MPS; with two numbers of connections each. */
        assert_int_equal(starts(), 8);
        for (size_t i = 1; i < count; i++)
            assert_true(turns[i].starts || point_of(i)->processes <= point_of(i - 1)->processes);
    }
}

static void reuse_is_of_neighbours_in_a_plan_that_keeps_its_order(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1,processes:2,processes+mps:4,3,8,processes:2,threads:3,threads:2");
    make_room();
    make(NULL, 0, 0, TURNS_EQUAL);
    check_turns();
    assert_int_equal(count, plan.count);
    static const bool expected[] = {true, true, true, false, true, true, false};
    assert_int_equal(count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(turns[i].point, i);
        assert_int_equal(turns[i].starts, expected[i]);
    }
    assert_int_equal(turns[5].slots_most, 3);
    assert_int_equal(turns[6].slots_most, 2);
}

static void without_reuse_all_start_in_the_order_of_the_plan(void **state)
{
    (void)state;
    size_t order[24];
    set(OPTION_LAYOUT, "threads:1-8,processes+mps:1-4");
    set(OPTION_MEMORY, "pinned,pageable");
    make_room();
    assert_int_equal(plan.count, 24);
    for (unsigned seed = 0; seed < 4; seed++) {
        plan_order(24, seed, 1, order);
        make(NULL, seed, 1, TURNS_FRESH);
        check_turns();
        assert_int_equal(starts(), 24);
        for (size_t i = 0; i < 24; i++) {
            assert_int_equal(turns[i].point, order[i]);
            assert_int_equal(turns[i].slots_most, point_of(i)->threads);
        }
    }
}

static void what_is_done_has_no_turn(void **state)
{
    (void)state;
    bool done[8] = {true, false, true, true, false, false, true, true};
    set(OPTION_LAYOUT, "threads:1-8");
    make_room();
    make(done, 3, 0, TURNS_EQUAL);
    check_turns();
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_false(done[turns[i].point]);
        /* Room for those that come, and not for those that are done or were. */
        unsigned most = 0;
        for (size_t j = i; j < count; j++)
            most = point_of(j)->threads > most ? point_of(j)->threads : most;
        assert_int_equal(turns[i].slots_most, most);
    }
    memset(done, true, sizeof done);
    make(done, 3, 0, TURNS_EQUAL);
    assert_int_equal(count, 0);
}

/* Which group comes first, and which point within a group, is as random as the order was. */
static void groups_and_points_are_shuffled_repeatably(void **state)
{
    (void)state;
    unsigned first_group[3] = {0}, first_thread[4] = {0};
    set(OPTION_LAYOUT, "threads:1-4,processes:2,processes+mps:2");
    make_room();
    for (unsigned seed = 1; seed <= 600; seed++) {
        make(NULL, seed, seed % 3, TURNS_EQUAL);
        check_turns();
        first_group[point_of(0)->processes == 1 ? 0 : point_over_mps(point_of(0)) ? 1 : 2]++;
        for (size_t i = 0; i < count; i++)
            if (turns[i].starts && point_of(i)->processes == 1)
                first_thread[point_of(i)->threads - 1]++;
    }
    /* Fair ones are within six standard deviations of their mean. */
    for (int i = 0; i < 3; i++)
        assert_in_range(first_group[i], 130, 270);
    for (int i = 0; i < 4; i++)
        assert_in_range(first_thread[i], 86, 214);
    struct turn again[6];
    size_t again_count;
    assert_int_equal(turns_make(&plan, NULL, 5, 2, TURNS_EQUAL, again, &again_count), STATUS_OK);
    make(NULL, 5, 2, true);
    assert_int_equal(count, again_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(turns[i].point, again[i].point);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(workers_serve_what_their_context_and_environment_fit,
                                        plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(a_plugin_shares_with_itself, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(programs_serve_what_their_start_fits, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(programs_serve_their_own_settings, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(a_server_serves_fewer_threads, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(programs_of_more_threads_come_first, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(shares_are_compared_process_by_process, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(those_that_share_a_crew_are_neighbours, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(reuse_is_of_neighbours_in_a_plan_that_keeps_its_order,
                                        plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(without_reuse_all_start_in_the_order_of_the_plan,
                                        plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(what_is_done_has_no_turn, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(groups_and_points_are_shuffled_repeatably, plan_rig_begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
