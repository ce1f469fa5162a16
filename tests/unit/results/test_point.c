/* What a record reports of its point. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "orchestrator/results/internal.h"
#include "orchestrator/results/point.h"

static double cpus_of(const char *text)
{
    json_t *point = json_loads(text, 0, NULL);
    assert_non_null(point);
    double cpus = point_cpus_in_use(point);
    json_decref(point);
    return cpus;
}

static void cpus_are_of_all_processes(void **state)
{
    (void)state;
    assert_float_equal(cpus_of("{\"processes\": 2, \"threads\": 3, \"streams\": 4, \"gpus\": 5,"
                               " \"cpu\": {\"in_use\": 1.5, \"on_cpu\": 0.5}}"),
                       1.5, 1e-12);
    /* Older: the mean of the threads, on each GPU. */
    assert_float_equal(cpus_of("{\"processes\": 2, \"threads\": 3, \"streams\": 4, \"gpus\": 5,"
                               " \"cpu\": {\"on_cpu\": 0.5}}"),
                       2 * 3 * 5 * 0.5, 1e-12);
    assert_float_equal(cpus_of("{\"processes\": 2, \"threads\": 1, \"cpu\": {\"on_cpu\": 1.0}}"),
                       2.0, 1e-12);
    assert_true(isnan(cpus_of("{\"processes\": 2, \"threads\": 1}")));
    assert_true(isnan(cpus_of("{\"processes\": 2, \"threads\": 1, \"cpu\": {\"on_cpu\": null}}")));
    assert_true(isnan(cpus_of("{\"cpu\": [3]}")));
}

static void cpus_have_three_digits(void **state)
{
    char text[POINT_CPUS_BYTES];
    (void)state;
    assert_string_equal(point_cpus_text(0.0, text), "0.00");
    assert_string_equal(point_cpus_text(0.996, text), "1.00");
    assert_string_equal(point_cpus_text(9.994, text), "9.99");
    assert_string_equal(point_cpus_text(9.996, text), "10.0");
    assert_string_equal(point_cpus_text(99.96, text), "100");
    assert_string_equal(point_cpus_text(1234.5, text), "1234");
}

static const char *interval_of(const char *text, const char *best, char out[POINT_INTERVAL_BYTES])
{
    json_t *point = json_loads(text, 0, NULL), *winner = json_loads(best, 0, NULL);
    assert_true(point && winner);
    point_interval(point, winner, out);
    json_decref(point);
    json_decref(winner);
    return out;
}

static const char *half_of(const char *text, char out[POINT_HALF_BYTES])
{
    json_t *point = json_loads(text, 0, NULL);
    assert_non_null(point);
    point_half_width(point, out);
    json_decref(point);
    return out;
}

/* It must not read as a goal that it has missed. */
static void half_an_unconverged_interval_is_rounded_up(void **state)
{
    char text[POINT_HALF_BYTES];
    (void)state;
    assert_string_equal(half_of("{\"status\": \"ok\", \"ci95_rel\": 0.56847}", text), "56.8%");
    assert_string_equal(half_of("{\"status\": \"ok\", \"ci95_rel\": 0.00123}", text), "0.1%");
    assert_string_equal(half_of("{\"status\": \"unconverged\", \"ci95_rel\": 0.56847}", text),
                        "56.9%");
    assert_string_equal(half_of("{\"status\": \"unconverged\", \"ci95_rel\": 0.0100001}", text),
                        "1.1%");
    assert_string_equal(half_of("{\"status\": \"unconverged\", \"ci95_rel\": 2.301}", text),
                        "230.1%");
    assert_string_equal(half_of("{\"status\": \"unconverged\", \"ci95_rel\": null}", text), "");
}

/* Plus and minus more than all of it would have an end below 0. */
static void a_wide_interval_has_its_ends(void **state)
{
    static const char wide[] = "{\"id\": 7, \"throughput_ips\": 3939, \"ci95_rel\": 1.143}";
    char text[POINT_INTERVAL_BYTES];
    (void)state;
    assert_string_equal(interval_of("{\"throughput_ips\": 3939, \"ci95_rel\": 0.0951}", "{}", text),
                        "±9.5%");
    assert_string_equal(interval_of("{\"throughput_ips\": 3939, \"ci95_rel\": null}", "{}", text),
                        "");
    assert_string_equal(interval_of("{}", "{}", text), "");
    assert_string_equal(interval_of(wide, "{}", text), "1256 to 12353");
    assert_string_equal(interval_of(wide,
                                    "{\"point\": 7, \"value\": 3940, \"throughput_ips\": 3940,"
                                    " \"ci95\": [1255, 12358]}",
                                    text),
                        "1255 to 12358");
    assert_string_equal(interval_of(wide,
                                    "{\"point\": 7, \"value\": 71, \"throughput_ips\": 3940,"
                                    " \"ci95\": [70, 72]}",
                                    text),
                        "1256 to 12353");
}

static void expect_remark(const char *text, const char *remark)
{
    char out[TABLE_REMARK];
    json_t *point = json_loads(text, 0, NULL);
    assert_non_null(point);
    assert_string_equal(table_remark(point, out), remark);
    json_decref(point);
}

static void an_open_loop_names_the_duration_that_it_lacks(void **state)
{
    (void)state;
    expect_remark("{\"status\": \"unconverged\", \"latency_us\": {}, \"iterations\": 80,"
                  " \"rate\": {\"offered_ips\": 100.0}, \"rounds\": [{}]}",
                  "unconverged: 80 iterations, and p99 needs 368: give --max-duration 4.1");
    /* One that is overloaded would have the p99 of another window in a longer one. */
    expect_remark("{\"status\": \"unconverged\", \"latency_us\": {}, \"iterations\": 80,"
                  " \"rate\": {\"offered_ips\": 100.0, \"saturated\": true}, \"rounds\": [{}]}",
                  "unconverged: 80 iterations, and p99 needs 368  overloaded");
    /* Rounds count together. */
    expect_remark("{\"status\": \"unconverged\", \"latency_us\": {}, \"iterations\": 80,"
                  " \"rate\": {\"offered_ips\": 100.0}, \"rounds\": [{}, {}], \"rounds_left\": 1}",
                  "unconverged: 80 iterations, and p99 needs 368: give --max-duration 1.4");
}

/* Which the goal, 5% or 100%, does not have. */
static void what_misses_the_goal_does_not_read_as_the_goal(void **state)
{
    static const struct {
        const char *reached, *text;
    } cases[] = {{"0.05018", "5.1"},  {"0.050002", "5.1"}, {"0.04", "4.0"},
                 {"0.00731", "0.8"}, {"0.9", "90.0"},        {"1.0", "100.0"},
                 {"1.143", "114.3"},     {"12.341", "1234.1"},   {"0.0", "0.0"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char point[256], remark[128];
        snprintf(point, sizeof point,
                 "{\"status\": \"unconverged\", \"latency_us\": {}, \"ci95_rel\": %s,"
                 " \"rounds\": [{\"seconds\": 0.8}]}",
                 cases[i].reached);
        snprintf(remark, sizeof remark, "unconverged: ±%s%% after 0.8 s", cases[i].text);
        expect_remark(point, remark);
    }
}

/* Records that were joined have more rounds than what advised them knew of. */
static void rounds_that_are_there_are_not_advised(void **state)
{
    static const struct {
        unsigned needs;
        const char *remark;
    } cases[] = {{3, "unconverged: ±5.0% after 3 rounds"},
                 {4, "unconverged: ±5.0% after 3 rounds: give --rounds 4"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char point[256];
        snprintf(point, sizeof point,
                 "{\"status\": \"unconverged\", \"latency_us\": {}, \"ci95_rel\": 0.05,"
                 " \"rounds\": [{}, {}, {}], \"interval\": {\"needs_rounds\": %u.0}}",
                 cases[i].needs);
        expect_remark(point, cases[i].remark);
    }
}

static bool fail_alike(const char *error, const char *before)
{
    json_t *point = json_pack("{s:s}", "error", error);
    json_t *other = json_pack("{s:s}", "error", before);
    assert_true(point && other);
    bool alike = point_fails_like(point, other);
    json_decref(point);
    json_decref(other);
    return alike;
}

static void the_process_makes_no_other_reason(void **state)
{
    (void)state;
    assert_true(fail_alike("process 1 (a) exited", "process 1 (a) exited"));
    assert_true(fail_alike("process 12 (a) exited", "process 0 (a) exited"));
    assert_false(fail_alike("process 1 (a) exited", "process 1 (b) exited"));
    assert_false(fail_alike("worker 1 of 2 hangs", "worker 0 of 2 hangs"));
    assert_false(fail_alike("", ""));
}

static double p99_of(const char *text)
{
    json_t *point = json_loads(text, 0, NULL);
    assert_non_null(point);
    double us = point_latency_us(point, "p99");
    json_decref(point);
    return us;
}

static void a_limit_counts_requests_that_failed(void **state)
{
    (void)state;
    assert_float_equal(p99_of("{\"latency_us\": {\"p99\": 7.5}}"), 7.5, 1e-12);
    assert_float_equal(p99_of("{\"iterations\": 995, \"latency_us\": {\"p99\": 7.5},"
                              " \"requests\": {\"errors\": 2, \"wrong_answers\": 3,"
                              " \"latency_us\": {\"p99\": 9.5}}}"),
                       9.5, 1e-12);
    /* Also in records of before, which lack the latency of all. */
    assert_float_equal(p99_of("{\"iterations\": 990, \"latency_us\": {\"p99\": 7.5},"
                              " \"requests\": {\"errors\": 10, \"wrong_answers\": 0}}"),
                       7.5, 1e-12);
    assert_true(isinf(p99_of("{\"iterations\": 990, \"latency_us\": {\"p99\": 7.5},"
                             " \"requests\": {\"errors\": 0, \"wrong_answers\": 11}}")));
    assert_true(isnan(p99_of("{}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_are_of_all_processes),
        cmocka_unit_test(cpus_have_three_digits),
        cmocka_unit_test(half_an_unconverged_interval_is_rounded_up),
        cmocka_unit_test(a_wide_interval_has_its_ends),
        cmocka_unit_test(an_open_loop_names_the_duration_that_it_lacks),
        cmocka_unit_test(what_misses_the_goal_does_not_read_as_the_goal),
        cmocka_unit_test(rounds_that_are_there_are_not_advised),
        cmocka_unit_test(the_process_makes_no_other_reason),
        cmocka_unit_test(a_limit_counts_requests_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
