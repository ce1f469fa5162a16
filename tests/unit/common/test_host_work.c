/* Work of the host: it takes CPU time in proportion, and measuring it leaves the thread where it
 * may run. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/host_work.h"

static uint64_t cpu_ns(uint64_t turns)
{
    uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    host_work(turns);
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static void more_turns_take_more_cpu_time(void **state)
{
    (void)state;
    host_work(0);
    assert_true(cpu_ns(50000000) > cpu_ns(100000));
}

static void measuring_leaves_the_thread_where_it_may_run(void **state)
{
    cpu_set_t before, after;
    uint64_t each[CPU_SETSIZE], most = 0;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    uint64_t turns = host_work_turns_per_ms(each, CPU_SETSIZE);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    /* No CPU does a turn in less than a thirtieth of a nanosecond. */
    assert_in_range(turns, 1, 30 * NS_PER_MS);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        assert_int_equal(each[cpu] > 0, CPU_ISSET(cpu, &before) != 0);
        most = each[cpu] > most ? each[cpu] : most;
    }
    assert_int_equal(turns, most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_turns_take_more_cpu_time),
        cmocka_unit_test(measuring_leaves_the_thread_where_it_may_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
