#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "worker/words.h"

/* In pieces of all sizes: where they are cut makes no difference. */
static void the_last_whole_line_is_kept(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"one\n", "one"},
        {"one\ntwo\n", "two"},
        {"one\n\n \t\n", "one"},
        {"10%\r20%\r", "20%"},
        {"one\r\n", "one"},
        {"one\ntwo", "two"},
        {"gr\xc3\xbc\xc3\x9f"
         "e\x1b[0m\n",
         "gr\xc3\xbc\xc3\x9f"
         "e?[0m"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i][0]);
        for (size_t piece = 1; piece <= length + 1; piece++) {
            struct words words = {.length = 0};
            for (size_t at = 0; at < length; at += piece)
                words_take(&words, rows[i][0] + at, length - at < piece ? length - at : piece);
            words_end(&words);
            assert_string_equal(words.last, rows[i][1]);
        }
    }
}

static void it_is_told_when_there_is_another(void **state)
{
    (void)state;
    struct words words = {.length = 0};
    assert_false(words_take(&words, "one", 3));
    assert_true(words_take(&words, "\n", 1));
    assert_false(words_take(&words, "\n  \n", 4));
    assert_false(words_end(&words));
    assert_string_equal(words.last, "one");
}

static void a_long_line_is_cut(void **state)
{
    (void)state;
    static char line[5000];
    struct words words = {.length = 0};
    memset(line, 'x', sizeof line);
    words_take(&words, line, sizeof line);
    assert_true(words_take(&words, "\n", 1));
    assert_int_equal(strlen(words.last), sizeof words.last - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_whole_line_is_kept),
        cmocka_unit_test(it_is_told_when_there_is_another),
        cmocka_unit_test(a_long_line_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
