/* The text of the last error: how it is recorded, and how clean-up leaves it whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/status.h"

static void test_context_goes_in_front(void **state)
{
    (void)state;
    assert_int_equal(status_set(STATUS_USAGE, "no layout '%s'", "x"), STATUS_USAGE);
    assert_int_equal(status_prefix(STATUS_USAGE, "'%s' line %d: ", "a.job", 3), STATUS_USAGE);
    assert_string_equal(status_text(), "'a.job' line 3: no layout 'x'");
}

static void test_the_longest_text_survives_cleanup(void **state)
{
    struct status_saved saved;
    char longest[STATUS_TEXT_BYTES];
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    status_record("%s", longest);
    status_save(STATUS_CUDA, &saved);
    status_record("an error of the clean-up");
    assert_int_equal(status_restore(&saved), STATUS_CUDA);
    assert_string_equal(status_text(), longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_goes_in_front),
        cmocka_unit_test(test_the_longest_text_survives_cleanup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
