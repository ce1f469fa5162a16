/* A thread's time between two readings, whose fields are of different moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"

static const struct thread_time begin = {.wall_ns = 1000, .cpu_ns = 400, .delay_ns = 50};

static void subtracts_what_a_thread_waits_for_a_cpu(void **state)
{
    const struct thread_time end = {.wall_ns = 1900, .cpu_ns = 500, .delay_ns = 350};
    (void)state;
    assert_int_equal(thread_time_undelayed_ns(&begin, &end), 600);
    assert_int_equal(thread_time_asleep_ns(&begin, &end), 500);
}

static void a_wait_between_the_fields_of_a_reading_is_not_subtracted_from_nothing(void **state)
{
    /* Preempted after the wall time of the second reading, before its delay. */
    const struct thread_time end = {.wall_ns = 1020, .cpu_ns = 410, .delay_ns = 4050};
    (void)state;
    assert_int_equal(thread_time_undelayed_ns(&begin, &end), 0);
    assert_int_equal(thread_time_asleep_ns(&begin, &end), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subtracts_what_a_thread_waits_for_a_cpu),
        cmocka_unit_test(a_wait_between_the_fields_of_a_reading_is_not_subtracted_from_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
