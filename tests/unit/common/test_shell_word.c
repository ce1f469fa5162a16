/* Shell quoting: what a POSIX shell reads back byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/shell_word.h"

static void quotes_in_a_buffer(void **state)
{
    char word[64], small[6];
    (void)state;
    assert_string_equal(shell_word("", word, sizeof word), "''");
    assert_string_equal(shell_word("it's $x `y` \\ \"z\"\n-", word, sizeof word),
                        "'it'\\''s $x `y` \\ \"z\"\n-'");
    assert_string_equal(shell_word("too long", small, sizeof small), "'too ");
}

static void quotes_only_what_needs_it(void **state)
{
    static const char *const words[][2] = {
        {"a/b-c_d.1,2:3=4@5%6+", "a/b-c_d.1,2:3=4@5%6+"},
        {"", "''"},
        {"a b", "'a b'"},
        {"it's", "'it'\\''s'"},
        {"~", "'~'"},
        {"$x", "'$x'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *text;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        shell_word_write(file, words[i][0]);
        fclose(file);
        assert_string_equal(text, words[i][1]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_in_a_buffer),
        cmocka_unit_test(quotes_only_what_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
