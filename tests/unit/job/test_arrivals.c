/* Planned starts from a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "job/arrivals.h"
#include "tests/unit/scratch.h"

static enum status read_bytes(const char *text, size_t bytes, struct arrivals *out)
{
    scratch_write(text, bytes);
    return arrivals_read(scratch_path, out);
}

static enum status read_text(const char *text, struct arrivals *out)
{
    return read_bytes(text, strlen(text), out);
}

/* Two near each other, and a third: the mean gap is 5 s. */
static void the_shape_counts(void **state)
{
    (void)state;
    struct arrivals arrivals;
    assert_int_equal(read_text("100\n101.5\r\n110\n", &arrivals), STATUS_OK);
    assert_int_equal(arrivals.count, 3);
    assert_float_equal(arrivals.at[0], 0.0, 1e-9);
    assert_float_equal(arrivals.at[1], 0.3, 1e-9);
    assert_float_equal(arrivals.at[2], 2.0, 1e-9);
    arrivals_release(&arrivals);
}

static void a_line_has_one_number_however_long(void **state)
{
    (void)state;
    struct arrivals arrivals;
    char text[256];
    snprintf(text, sizeof text, "1\n%0200d\n3", 2);
    assert_int_equal(read_text(text, &arrivals), STATUS_OK);
    assert_int_equal(arrivals.count, 3);
    assert_float_equal(arrivals.at[1], 1.0, 1e-9);
    arrivals_release(&arrivals);
}

static void check_refused(const char *text, const char *why)
{
    struct arrivals arrivals;
    assert_int_equal(read_text(text, &arrivals), STATUS_USAGE);
    if (!strstr(status_text(), why))
        fail_msg("'%s' is not in '%s'", why, status_text());
}

static void what_is_not_a_trace_is_refused(void **state)
{
    (void)state;
    struct arrivals arrivals;
    check_refused("", "no two arrivals");
    check_refused("1\n1\n", "no two arrivals");
    check_refused("1\ntwo\n", ":2: 'two' is not a number of seconds");
    check_refused("1\n\n2\n", ":2: '' is not a number of seconds");
    check_refused("1 2\n", ":1: '1 2' is not a number of seconds");
    check_refused("nan\n", "not a number of seconds");
    check_refused("-1e308\n1.7e308\n", "too far from each other");
    check_refused("2\n1\n", ":2: 1 s comes after 2 s: sort the arrivals");
    assert_int_equal(read_bytes("1\0 2\n3\n", 7, &arrivals), STATUS_USAGE);
    assert_int_equal(read_bytes("1\n2\0\n3\n", 7, &arrivals), STATUS_USAGE);
    assert_int_equal(arrivals_read("/nowhere/else", &arrivals), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shape_counts),
        cmocka_unit_test(a_line_has_one_number_however_long),
        cmocka_unit_test(what_is_not_a_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
