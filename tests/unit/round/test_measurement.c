/* What a point keeps between two of its rounds, and what several add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/round/measurement.h"
#include "orchestrator/round/openloop.h"

/* Room for a hundred rates of iterations, whose histograms have a bucket for each. */
#define PACKED_MOST 8192

static void a_measurement_comes_back_as_it_was(void **state)
{
    (void)state;
    struct measurement *before = calloc(1, sizeof *before), *after = calloc(1, sizeof *after);
    struct measurement *copy = malloc(sizeof *copy);
    for (uint64_t i = 0; i < 1000; i++)
        histogram_record(&before->last.latency, 1000000 + 1000 * i);
    before->rounds = 2;
    before->throughputs = malloc(16);
    before->seconds = 1.5;
    memset((unsigned char *)before + sizeof *before - 1, 7, 1);
    memcpy(copy, before, sizeof *copy);
    struct measurement_packed *packed = measurement_pack(before);
    assert_non_null(packed);
    assert_in_range(malloc_usable_size(packed), 1, PACKED_MOST);
    assert_int_equal(before->rounds, 0);
    assert_null(before->throughputs);
    measurement_unpack(packed, after);
    assert_memory_equal(after, copy, sizeof *copy);
    measurement_release(after);
    measurement_unpack(NULL, after);
    assert_int_equal(after->rounds, 0);
    free(before);
    free(after);
    free(copy);
}

/* A round of half a second in which each process kept `busy` CPUs busy; as many workers saw it as
 * there are slots. */
static struct round_result busy_round(double busy, unsigned slots)
{
    const uint64_t wall_ns = slots * UINT64_C(500000000);
    return (struct round_result){
        .cpu = {.process_wall_ns = wall_ns, .process_cpu_ns = (uint64_t)(busy * (double)wall_ns)}};
}

static void cpus_in_use_are_those_of_all_processes(void **state)
{
    (void)state;
    const struct point point = {.processes = 3, .threads = 4, .streams = 2, .gpus = 2};
    struct measurement measurement = {0};
    struct round_result round = busy_round(1.5, 6 * 4);
    assert_float_equal(round_cpus_in_use(&point, &round), 6 * 1.5, 1e-9);
    round = busy_round(1.5, 2); /* few workers did an iteration */
    assert_float_equal(round_cpus_in_use(&point, &round), 6 * 1.5, 1e-9);
    round = busy_round(1.5, 0);
    assert_true(isnan(round_cpus_in_use(&point, &round)));
    for (unsigned i = 1; i <= 2; i++) {
        round = busy_round(i, 6 * 4);
        assert_int_equal(measurement_add(&measurement, &round, 1.0), STATUS_OK);
    }
    assert_float_equal(round_cpus_in_use(&point, &measurement.last), 6 * 1.5, 1e-9);
    measurement_release(&measurement);
}

static void a_request_that_failed_is_beyond_the_limit(void **state)
{
    const struct rate_goal goal = {.permille = 990, .latency_ns = 5000000};
    struct round_result *round = calloc(1, sizeof *round);
    (void)state;
    assert_non_null(round);
    for (int i = 0; i < 990; i++)
        histogram_record(&round->latency, 1000000);
    assert_true(openloop_holds(&goal, round));
    round->requests.errors = 4;
    round->requests.wrong_answers = 6;
    assert_true(openloop_holds(&goal, round));
    assert_true(openloop_latency_ns(&goal, round) < 1.01e6);
    round->requests.errors++;
    assert_false(openloop_holds(&goal, round));
    assert_true(isinf(openloop_latency_ns(&goal, round)));
    free(round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measurement_comes_back_as_it_was),
        cmocka_unit_test(cpus_in_use_are_those_of_all_processes),
        cmocka_unit_test(a_request_that_failed_is_beyond_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
