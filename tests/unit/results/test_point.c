/* What a record reports of its point. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_are_of_all_processes),
        cmocka_unit_test(cpus_have_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
