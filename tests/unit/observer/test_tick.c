#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/tick.h"

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
        cmocka_unit_test(test_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
