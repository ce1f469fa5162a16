#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "files/written.h"

static void each_name_is_noted_once(void **state)
{
    unsigned count;
    (void)state;
    assert_string_equal(written_names(&count), "");
    assert_int_equal(count, 0);
    written_note("a.jsonl");
    written_note("directory");
    written_note("a.jsonl");
    written_note("a");
    assert_string_equal(written_names(&count), "'a.jsonl', 'directory', 'a'");
    assert_int_equal(count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_name_is_noted_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
