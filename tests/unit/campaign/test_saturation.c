/* The search of a rate on rounds that are made up: what is left of a start whose point gets none.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/clock.h"
#include "orchestrator/campaign/saturation.h"

#define START_S 3.0
#define AGAIN_S 0.01

static struct {
    bool stalls, slow, few;
    unsigned rounds;
} machine;

/* Workers are started for the first round, and stay. */
enum status round_run_on(struct session *session, const struct point *point,
                         const struct round_limits *limits, struct crew *crew,
                         const struct turn *turn, struct round_result *out)
{
    (void)session;
    (void)point;
    (void)limits;
    (void)crew;
    assert_true(turn->keeps);
    bool first = machine.rounds++ == 0;
    *out = (struct round_result){.ready_s = first ? START_S : AGAIN_S,
                                 .reused = !first,
                                 .throughput_ips = 100.0,
                                 .iterations = machine.few ? 10 : 1000,
                                 .window.interval.half_rel = INFINITY,
                                 .window.stall.workers = machine.stalls};
    histogram_record(&out->latency, machine.slow ? NS_PER_S : NS_PER_MS);
    return STATUS_OK;
}

static void progress(void *data, const char *step)
{
    (void)data;
    (void)step;
}

/* Runs a search that ends early, and looks whether it shows its start. */
static void check_start(enum status status, struct saturation *search, uint64_t until_ns)
{
    const struct point point = {
        .processes = 1, .threads = 1, .goal = {.permille = 990, .latency_ns = 10 * NS_PER_MS}};
    const struct round_limits limits = {.duration_ns = NS_PER_S, .max_duration_ns = NS_PER_S};
    const struct turn turn = {.starts = true};
    struct crew crew = CREW_EMPTY;
    const struct searching searching = {.point = &point,
                                        .crew = &crew,
                                        .limits = &limits,
                                        .progress = progress,
                                        .search = search,
                                        .until_ns = until_ns};
    struct round_result result;
    assert_int_equal(saturation_run(&searching, &turn, 0, &result), STATUS_OK);
    assert_int_equal(result.status, status);
    assert_true(*result.error);
    assert_true(result.ready_s == START_S);
    assert_false(result.reused);
    round_result_release(&result);
}

static int set_up(void **state)
{
    (void)state;
    memset(&machine, 0, sizeof machine);
    return 0;
}

static void no_rate_holds(void **state)
{
    struct saturation search = {0};
    (void)state;
    machine.slow = true;
    check_start(STATUS_INFEASIBLE, &search, 0);
    assert_true(machine.rounds > 2);
}

static void another_layout_holds_more(void **state)
{
    struct saturation search = {.beat_units = 200 * RATE_UNITS};
    (void)state;
    check_start(STATUS_INFEASIBLE, &search, 0);
    assert_int_equal(machine.rounds, 1);
}

static void there_is_no_time_for_a_rate(void **state)
{
    struct saturation search = {0};
    (void)state;
    check_start(STATUS_TIMEOUT, &search, 1);
    assert_int_equal(machine.rounds, 1);
}

static void the_capacity_needs_two_windows(void **state)
{
    struct saturation search = {0};
    (void)state;
    machine.few = true;
    check_start(STATUS_TIMEOUT, &search, 1);
    assert_int_equal(machine.rounds, 2);
}

static void a_worker_stands_still(void **state)
{
    struct saturation search = {0};
    (void)state;
    machine.stalls = true;
    check_start(STATUS_WORKER, &search, 0);
    assert_true(machine.rounds > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_rate_holds, set_up),
        cmocka_unit_test_setup(another_layout_holds_more, set_up),
        cmocka_unit_test_setup(there_is_no_time_for_a_rate, set_up),
        cmocka_unit_test_setup(the_capacity_needs_two_windows, set_up),
        cmocka_unit_test_setup(a_worker_stands_still, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
