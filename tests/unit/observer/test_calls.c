#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observer/calls.h"
#include "wire/tick.h"

static void test_calls_of_all_versions(void **state)
{
    (void)state;
    assert_int_equal(call_kind_of("cuLaunchKernel"), CALL_LAUNCH);
    assert_int_equal(call_kind_of("cuLaunchKernel_ptsz"), CALL_LAUNCH);
    assert_int_equal(call_kind_of("cuLaunchKernelEx_ptsz"), CALL_LAUNCH);
    assert_int_equal(call_kind_of("cuGraphLaunch"), CALL_GRAPH);
    assert_int_equal(call_kind_of("cuStreamSynchronize_ptsz"), CALL_WAIT);
    assert_int_equal(call_kind_of("cuCtxSynchronize_v2"), CALL_WAIT);
    assert_int_equal(call_kind_of("cuMemcpyDtoH_v2"), CALL_COPY_OUT_WAIT);
    assert_int_equal(call_kind_of("cuMemcpyDtoHAsync_v2"), CALL_COPY_OUT);
    assert_int_equal(call_kind_of("cuMemcpyDtoHAsync_v2_ptsz"), CALL_COPY_OUT);
    assert_int_equal(call_kind_of("cuMemcpyHtoD_v2_ptds"), CALL_COPY_IN);
}

static void test_calls_that_begin_alike(void **state)
{
    (void)state;
    assert_int_equal(call_kind_of("cuLaunchHostFunc"), CALL_OTHER);
    assert_int_equal(call_kind_of("cuLaunchKernelExC"), CALL_OTHER);
    assert_int_equal(call_kind_of("cuMemcpyDtoHAsync_v2_other"), CALL_OTHER);
    assert_int_equal(call_kind_of("cuMemAlloc_v2"), CALL_OTHER);
    assert_int_equal(call_kind_of("cuStreamSynchronizeAll"), CALL_OTHER);
}

static void test_ticks(void **state)
{
    struct tick tick;
    (void)state;
    assert_true(tick_parse("auto", &tick));
    assert_int_equal(tick.kind, TICK_AUTO);
    assert_true(tick_parse("kernel:gemm", &tick));
    assert_int_equal(tick.kind, TICK_KERNEL);
    assert_string_equal(tick.name, "gemm");
    assert_true(tick_parse("nvtx:one request", &tick));
    assert_string_equal(tick.name, "one request");
    assert_false(tick_parse("nvtx:", &tick));
    assert_false(tick_parse("kernel", &tick));
    assert_false(tick_parse("syncs", &tick));
    assert_false(tick_parse("", &tick));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_of_all_versions),
        cmocka_unit_test(test_calls_that_begin_alike),
        cmocka_unit_test(test_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
