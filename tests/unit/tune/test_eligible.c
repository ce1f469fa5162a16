/* The search: which layouts it does not try. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "orchestrator/tune/search/internal.h"
#include "tests/unit/tune/rig.h"

static void test_more_of_what_is_refused_is_not_tried(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    /* 2x2 over MPS was refused, with single launches: so would be more of it. */
    for (size_t i = 0; i < rig.count; i++)
        if (rig.space[i].processes == 2 && rig.space[i].threads == 2 &&
            rig.space[i].axes[TUNE_AXIS_MPS] && !rig.space[i].axes[TUNE_AXIS_LAUNCH])
            rig_look(i, 0.0, 0.0, 0.0, false);
    memset(rig.asked, 0, sizeof rig.asked);
    rig_run(surface_hill, 0.001, 1000.0);
    for (size_t i = 0; i < rig.count; i++)
        if (rig.space[i].processes >= 2 && rig.space[i].threads >= 2 &&
            rig.space[i].axes[TUNE_AXIS_MPS] && !rig.space[i].axes[TUNE_AXIS_LAUNCH])
            assert_int_equal(rig.asked[i], 0);
    assert_true(surface_is_top(&rig.space[rig_judge().winner]));

    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_refuses_many, 0.001, 1000.0);
    assert_true(rig.space[rig_judge().winner].processes < 8);
}

/* There is not room for another client with these queues, whatever the clients were to do. */
static void test_as_many_queues_of_clients_are_not_tried(void **state)
{
    (void)state;
    struct tune_candidate space[] = {
        {.processes = 4, .threads = 8, .connections = 32, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 4, .threads = 1, .connections = 32, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 9, .threads = 1, .connections = 16, .axes = {[TUNE_AXIS_MPS] = 1}},
        /* As many of the clients, and fewer of the server. */
        {.processes = 8, .threads = 1, .connections = 16, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 16, .threads = 1, .connections = 4, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 2, .threads = 1, .connections = 64, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 4, .threads = 1, .connections = 32},
    };
    const bool is_beyond[] = {false, true, true, false, false, false, false};
    const struct tune_observation full = {.outcome = TUNE_INFEASIBLE, .crowded = true};
    rig_take_space(space, sizeof space / sizeof *space);
    rig_begin(&rig_rules);
    tune_search_note(rig.search, 0, &full);
    for (size_t i = 0; i < rig.count; i++)
        assert_int_equal(tune_search_is_beyond(rig.search, i), is_beyond[i]);
    rig_run(surface_flat, 0.001, 1000.0);
    for (size_t i = 1; i < rig.count; i++)
        assert_int_equal(rig.asked[i] == 0, is_beyond[i]);
    /* What has worked may be tried again, although larger ones were refused. */
    rig_begin(&rig_rules);
    rig_look(1, 100.0, 0.001, 1000.0, false);
    tune_search_note(rig.search, 0, &full);
    assert_false(tune_search_is_beyond(rig.search, 1));
    /* Nor is it a limit that keeps out others, where as many have worked. */
    rig_begin(&rig_rules);
    rig_look(2, 100.0, 0.001, 1000.0, false);
    tune_search_note(rig.search, 0, &full);
    assert_false(tune_search_is_beyond(rig.search, 1));
    /* Without room for the buffers fewer threads may fit. */
    const struct tune_observation large = {.outcome = TUNE_INFEASIBLE};
    rig_begin(&rig_rules);
    tune_search_note(rig.search, 0, &large);
    for (size_t i = 1; i < rig.count; i++)
        assert_false(tune_search_is_beyond(rig.search, i));
}

/* What lacked memory lacks it as other threads, with other queues and as graphs, too. */
static void test_as_much_memory_is_not_tried(void **state)
{
    (void)state;
    struct tune_candidate space[] = {
        {.processes = 2, .threads = 8, .streams = 2, .connections = 8},
        {.processes = 2, .threads = 1, .streams = 16, .connections = 2},
        {.processes = 4, .threads = 8, .axes = {[TUNE_AXIS_LAUNCH] = 1}},
        {.processes = 1, .threads = 64, .connections = 8},
        {.processes = 4, .threads = 4, .streams = 1},
        {.processes = 4, .threads = 8, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 4, .threads = 8, .axes = {[TUNE_AXIS_LIMIT] = 1}},
    };
    const bool is_beyond[] = {false, true, true, false, false, false, false};
    const struct tune_observation full = {.outcome = TUNE_INFEASIBLE, .full = true};
    const struct tune_observation other = {.outcome = TUNE_INFEASIBLE};
    rig_take_space(space, sizeof space / sizeof *space);
    rig_begin(&rig_rules);
    tune_search_note(rig.search, 0, &full);
    for (size_t i = 0; i < rig.count; i++)
        assert_int_equal(tune_search_is_beyond(rig.search, i), is_beyond[i]);
    /* For another reason these may work. */
    rig_begin(&rig_rules);
    tune_search_note(rig.search, 0, &other);
    for (size_t i = 0; i < rig.count; i++)
        assert_false(tune_search_is_beyond(rig.search, i));
}

/* A program has no more threads than it has, in whatever layout. */
static void test_more_threads_than_a_program_has_are_not_tried(void **state)
{
    (void)state;
    struct tune_candidate space[] = {
        {.processes = 2, .threads = 16},
        {.processes = 1, .threads = 3, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 4, .threads = 2, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 8, .threads = 1},
    };
    const bool is_beyond[] = {false, true, false, false};
    const struct tune_observation short_of = {
        .outcome = TUNE_FAILED, .unready = true, .threads = 2};
    rig_take_space(space, sizeof space / sizeof *space);
    rig_begin(&rig_rules);
    tune_search_note(rig.search, 0, &short_of);
    for (size_t i = 0; i < rig.count; i++)
        assert_int_equal(tune_search_is_beyond(rig.search, i), is_beyond[i]);
    rig_run(surface_flat, 0.001, 1000.0);
    for (size_t i = 1; i < rig.count; i++)
        assert_int_equal(rig.asked[i] == 0, is_beyond[i]);
}

/* It got ready as far as it has threads: as many processes may have one each. */
static void test_processes_that_lacked_threads_had_room(void **state)
{
    (void)state;
    struct tune_candidate space[] = {
        {.processes = 12, .threads = 4, .connections = 2, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 12, .threads = 1, .connections = 2, .axes = {[TUNE_AXIS_MPS] = 1}},
    };
    struct tune_rules rules = rig_rules;
    struct tune_observation short_of = {.outcome = TUNE_FAILED, .unready = true, .threads = 1};
    rules.program = true;
    rig_take_space(space, sizeof space / sizeof *space);
    rig_begin(&rules);
    tune_search_note(rig.search, 0, &short_of);
    assert_false(tune_search_is_beyond(rig.search, 1));
    /* A program that died may have found no room. */
    short_of.threads = 0;
    rig_begin(&rules);
    tune_search_note(rig.search, 0, &short_of);
    assert_true(tune_search_is_beyond(rig.search, 1));
}

/* Where many processes do not start over MPS, their number may be the reason. */
static void test_a_crowd_that_did_not_start_does_not_rule_out_mps(void **state)
{
    (void)state;
    struct tune_candidate space[] = {
        {.processes = 1, .threads = 1},
        {.processes = 16, .threads = 1, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 4, .threads = 1, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 1, .threads = 1, .axes = {[TUNE_AXIS_MPS] = 1}},
    };
    const struct tune_observation died = {.outcome = TUNE_FAILED, .unready = true};
    struct tune_rules rules = rig_rules;
    rules.program = true;
    rig_take_space(space, sizeof space / sizeof *space);
    rig_begin(&rules);
    rig_look(0, 100.0, 0.01, 0.0, false);
    tune_search_note(rig.search, 1, &died);
    assert_false(tune_has_dead_setting(rig.search, 2));
    /* That of one process has no other reason. */
    tune_search_note(rig.search, 3, &died);
    assert_true(tune_has_dead_setting(rig.search, 2));
}

static void test_what_mps_does_not_serve_is_not_tried_over_it(void **state)
{
    (void)state;
    struct tune_candidate space[] = {
        {.processes = 1, .threads = 1},
        {.processes = 16, .threads = 4, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 2, .threads = 1, .axes = {[TUNE_AXIS_MPS] = 1}},
        {.processes = 16, .threads = 4},
    };
    const struct tune_observation apart = {.outcome = TUNE_FAILED, .unattached = true};
    struct tune_rules rules = rig_rules;
    rules.program = true;
    rig_take_space(space, sizeof space / sizeof *space);
    rig_begin(&rules);
    rig_look(0, 100.0, 0.01, 0.0, false);
    tune_search_note(rig.search, 1, &apart);
    assert_true(tune_has_dead_setting(rig.search, 2));
    /* Nothing is known of as many workers without it. */
    assert_false(tune_has_dead_setting(rig.search, 3));
}

static void test_a_setting_that_never_works_is_given_up(void **state)
{
    (void)state;
    unsigned graphs = 0;
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_fails_as_graph, 0.001, 1000.0);
    for (size_t i = 0; i < rig.count; i++)
        graphs += rig.space[i].axes[TUNE_AXIS_LAUNCH] && rig.asked[i];
    /* One batch of the coarse design asks for them. */
    assert_true(graphs >= 3 && graphs <= 18);
    assert_int_equal(rig.space[rig_judge().winner].axes[TUNE_AXIS_LAUNCH], 0);
    assert_int_equal(rig.space[rig_judge().winner].processes, 4);

    rig_make_space();
    rig_begin(&rig_rules);
    for (size_t i = 0, failed = 0; i < rig.count && failed < 3; i++)
        if (rig.space[i].axes[TUNE_AXIS_LAUNCH]) {
            rig_look(i, -1.0, 0.0, 0.0, false);
            failed++;
        }
    memset(rig.asked, 0, sizeof rig.asked);
    rig_run(surface_hill, 0.001, 1000.0);
    for (size_t i = 0; i < rig.count; i++)
        assert_true(!rig.space[i].axes[TUNE_AXIS_LAUNCH] || !rig.asked[i]);
}

static void test_nothing_that_works_is_no_winner(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    rig_run(surface_fails_always, 0.001, 1000.0);
    struct tune_judgement judgement = rig_judge();
    assert_int_equal(judgement.verdict, TUNE_NONE);
    assert_true(judgement.winner == TUNE_NO_POINT && judgement.closest == TUNE_NO_POINT);
    assert_false(judgement.complete || judgement.cut);
}

/* As long as nothing has worked, what failed does not show which setting it was. */
static void test_first_failures_do_not_close_the_space(void **state)
{
    (void)state;
    rig_make_space();
    rig_begin(&rig_rules);
    for (size_t i = 0; i < 4; i++)
        rig_look(i, -1.0, 0.0, 0.0, false);
    rig_run(surface_hill, 0.001, 1000.0);
    assert_true(rig_judge().winner != TUNE_NO_POINT &&
                surface_is_top(&rig.space[rig_judge().winner]));
    assert_true(rig_judge().complete);
}

static void test_excluded_and_outside(void **state)
{
    (void)state;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++) {
        rig.space[i].excluded = rig.space[i].axes[TUNE_AXIS_MPS] && rig.space[i].processes == 4;
        rig.space[i].outside = rig.space[i].naive;
    }
    rig_begin(&rig_rules);
    rig_run(surface_hill, 0.001, 1000.0);
    for (size_t i = 0; i < rig.count; i++)
        assert_true(!rig.space[i].excluded || !rig.asked[i]);
    assert_int_equal(rig.asked[0], 1);
    /* Only what is outside has been measured: it is not an answer. */
    rig_begin(&rig_rules);
    rig_look(0, 1000.0, 0.001, 1.0, false);
    assert_int_equal(rig_judge().verdict, TUNE_NONE);
}

static void test_a_ceiling_below_the_best_is_not_tried(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++) {
        rig.space[i].predicted = 1000.0;
        rig.space[i].ceiling = rig.space[i].axes[TUNE_AXIS_MPS] ? 2000.0 : 100.0;
    }
    rig_begin(&predicted);
    /* The best is known before anything else is looked at. */
    for (size_t i = 0; i < rig.count; i++)
        if (surface_is_top(&rig.space[i]))
            rig_look(i, 1000.0, 0.001, 1.0, false);
    rig_run(surface_hill, 0.001, 1000.0);
    for (size_t i = 0; i < rig.count; i++)
        assert_true(rig.space[i].axes[TUNE_AXIS_MPS] || rig.space[i].naive || !rig.asked[i]);
}

static void test_ceilings_that_are_surpassed_rule_out_less(void **state)
{
    (void)state;
    struct tune_rules predicted = rig_rules;
    predicted.predicted = true;
    rig_make_space();
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].predicted = rig.space[i].ceiling = 0.5 * surface_hill(&rig.space[i]);
    rig_begin(&predicted);
    /* Beside the top: more than all ceilings. */
    for (size_t i = 0; i < rig.count; i++)
        if (surface_hill(&rig.space[i]) > 900.0 && !surface_is_top(&rig.space[i]))
            rig_look(i, surface_hill(&rig.space[i]), 0.001, 1.0, false);
    rig_run(surface_hill, 0.001, 1000.0);
    assert_true(surface_is_top(&rig.space[rig_judge().winner]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_more_of_what_is_refused_is_not_tried, rig_end),
        cmocka_unit_test_teardown(test_as_many_queues_of_clients_are_not_tried, rig_end),
        cmocka_unit_test_teardown(test_as_much_memory_is_not_tried, rig_end),
        cmocka_unit_test_teardown(test_more_threads_than_a_program_has_are_not_tried, rig_end),
        cmocka_unit_test_teardown(test_processes_that_lacked_threads_had_room, rig_end),
        cmocka_unit_test_teardown(test_a_crowd_that_did_not_start_does_not_rule_out_mps, rig_end),
        cmocka_unit_test_teardown(test_what_mps_does_not_serve_is_not_tried_over_it, rig_end),
        cmocka_unit_test_teardown(test_a_setting_that_never_works_is_given_up, rig_end),
        cmocka_unit_test_teardown(test_nothing_that_works_is_no_winner, rig_end),
        cmocka_unit_test_teardown(test_first_failures_do_not_close_the_space, rig_end),
        cmocka_unit_test_teardown(test_excluded_and_outside, rig_end),
        cmocka_unit_test_teardown(test_a_ceiling_below_the_best_is_not_tried, rig_end),
        cmocka_unit_test_teardown(test_ceilings_that_are_surpassed_rule_out_less, rig_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
