#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emul/cuda/fault.h"

static struct fault_plan plan;

static void test_no_faults(void **state)
{
    (void)state;
    assert_int_equal(fault_plan_parse(NULL, NULL, &plan), STATUS_OK);
    assert_int_equal(plan.count, 0);
    assert_int_equal(fault_plan_apply(&plan, ENTRY_init).error, 0);
    assert_false(fault_plan_apply(&plan, ENTRY_init).corrupt);
    assert_int_equal(fault_plan_parse("", NULL, &plan), STATUS_OK);
    assert_int_equal(plan.count, 0);
}

static void test_list(void **state)
{
    (void)state;
    assert_int_equal(
        fault_plan_parse("cuLaunchKernel#500=crash@1,cuStreamSynchronize#20+=slow:7,"
                         "cuMemcpyDtoHAsync#3=corrupt,cuDevicePrimaryCtxRetain=error:2,attach=skip",
                         "1", &plan),
        STATUS_OK);
    assert_int_equal(plan.count, 5);
    assert_int_equal(plan.faults[0].entry, ENTRY_launch_kernel);
    assert_int_equal(plan.faults[0].action, FAULT_CRASH);
    assert_int_equal(plan.faults[0].nth, 500);
    assert_false(plan.faults[0].onwards);
    assert_int_equal(plan.faults[1].action, FAULT_SLOW);
    assert_int_equal(plan.faults[1].argument, 7);
    assert_true(plan.faults[1].onwards);
    assert_int_equal(plan.faults[2].entry, ENTRY_memcpy_dtoh_async); /* exported with _v2 */
    assert_int_equal(plan.faults[3].nth, 1);
    assert_int_equal(plan.faults[3].argument, 2);
    assert_true(fault_plan_skips_attach(&plan));
}

static void test_other_processes(void **state)
{
    (void)state;
    const char *text = "cuInit=error:3@2,cuInit=error:4";
    assert_int_equal(fault_plan_parse(text, "2", &plan), STATUS_OK);
    assert_int_equal(plan.count, 2);
    assert_int_equal(fault_plan_parse(text, "1", &plan), STATUS_OK);
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.faults[0].argument, 4);
    assert_int_equal(fault_plan_parse(text, NULL, &plan), STATUS_OK);
    assert_int_equal(plan.count, 1);
}

static void test_nonsense(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "cuInit",
        "cuNothing=crash",
        "=crash",
        "cuInit=",
        "cuInit=melt",
        "cuInit=error",
        "cuInit=error:",
        "cuInit=error:x",
        "cuInit=crash:1",
        "cuInit=hold:1",
        "cuInit#0=crash",
        "cuInit#=crash",
        "cuInit#+=crash",
        "cuInit#x=crash",
        "cuInit#-1=crash",
        "cuInit=crash@",
        "cuInit=crash@one",
        "cuInit=skip",
        "attach=crash",
        "cuInit=corrupt",
        "cuMemAlloc_v2=crash",
        ",cuInit=crash",
        "cuInit=crash,,",
        "cuInit= crash",
        "cuInit#1=error:99999999999999",
        "cuInit=fatal:1",
        "cuMemAlloc=fatal:700",
        "cuLaunchKernel=fatal",
        "cuLaunchKernel=fatal:0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        enum status status = fault_plan_parse(texts[i], NULL, &plan);
        if (status != STATUS_USAGE)
            fail_msg("'%s' gave status %d", texts[i], (int)status);
    }
    char longest[400];
    memset(longest, 'c', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(fault_plan_parse(longest, NULL, &plan), STATUS_USAGE);
    assert_int_equal(fault_plan_parse("cuInit=crash,bad=thing", NULL, &plan), STATUS_USAGE);
    assert_string_equal(status_text(), "cannot understand the fault 'bad=thing'");
}

static void test_too_many(void **state)
{
    (void)state;
    char text[FAULT_MAX * 20 + 40] = "cuInit=error:1";
    for (int i = 1; i < FAULT_MAX; i++)
        strcat(text, ",cuInit=error:1");
    assert_int_equal(fault_plan_parse(text, NULL, &plan), STATUS_OK);
    strcat(text, ",cuInit=error:1");
    assert_int_equal(fault_plan_parse(text, NULL, &plan), STATUS_USAGE);
}

static void *call_init(void *unused)
{
    (void)unused;
    fault_plan_apply(&plan, ENTRY_init);
    return NULL;
}

static void test_hold(void **state)
{
    (void)state;
    char folder[] = "/tmp/mpsweep-hold.XXXXXX", path[64];
    pthread_t thread;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/held", folder);
    setenv(FAULT_HOLD_VARIABLE, path, 1);
    assert_int_equal(fault_plan_parse("cuInit#1+=hold", NULL, &plan), STATUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, call_init, NULL), 0);
    while (access(path, F_OK) != 0)
        sched_yield();
    assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* Without the folder nothing is held any more. */
    assert_int_equal(rmdir(folder), 0);
    call_init(NULL);
    unsetenv(FAULT_HOLD_VARIABLE);
}

static void test_counting(void **state)
{
    (void)state;
    assert_int_equal(fault_plan_parse("cuMemAlloc#2=error:2,cuMemFree#2+=error:9,"
                                      "cuMemcpyDtoHAsync#2=corrupt,cuLaunchKernel#2=fatal:700",
                                      NULL, &plan),
                     STATUS_OK);
    for (int call = 1; call <= 4; call++) {
        assert_int_equal(fault_plan_apply(&plan, ENTRY_mem_alloc).error, call == 2 ? 2 : 0);
        assert_int_equal(fault_plan_apply(&plan, ENTRY_mem_free).error, call >= 2 ? 9 : 0);
        struct fault_effect copy = fault_plan_apply(&plan, ENTRY_memcpy_dtoh_async);
        assert_int_equal(copy.error, 0);
        assert_int_equal(copy.corrupt, call == 2);
        struct fault_effect launch = fault_plan_apply(&plan, ENTRY_launch_kernel);
        assert_int_equal(launch.error, call == 2 ? 700 : 0);
        assert_int_equal(launch.fatal, call == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_faults),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_other_processes),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_counting),
        cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
