/* Colours: where, and of which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "orchestrator/console/color.h"

static void expect(const char *text, const char *expected)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    assert_non_null(out);
    color_print(out, text);
    fclose(out);
    assert_string_equal(printed, expected);
    free(printed);
}

static void a_status_is_coloured_and_nothing_else(void **state)
{
    (void)state;
    color_choose("always");
    expect("ok", "\033[32mok\033[0m");
    expect("failed: no memory, failed", "\033[31mfailed\033[0m: no memory, failed");
    expect("57 iterations/s, unconverged", "57 iterations/s, \033[33munconverged\033[0m");
    expect("worse", "\033[31mworse\033[0m");
    expect("threads", "threads");
    expect("okay, unsurely", "okay, unsurely");
    expect("", "");
    expect(", ", ", ");
}

static void never_and_no_terminal_have_no_colour(void **state)
{
    (void)state;
    const char *const words[] = {"never", "auto"};
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    for (int i = 0; i < 2; i++) {
        color_choose(words[i]);
        expect("failed: no memory", "failed: no memory");
        expect("57 iterations/s, unconverged", "57 iterations/s, unconverged");
    }
}

static void a_terminal_has_colours_unless_the_environment_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *no_color, *term;
        bool on;
    } cases[] = {{NULL, "xterm", true},
                 {"", "xterm", true},
                 {"1", "xterm", false},
                 {NULL, "dumb", false},
                 {NULL, NULL, false}};
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        skip();
    FILE *terminal = fdopen(fd, "w");
    assert_non_null(terminal);
    color_choose("auto");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsetenv("NO_COLOR");
        unsetenv("TERM");
        if (cases[i].no_color)
            setenv("NO_COLOR", cases[i].no_color, 1);
        if (cases[i].term)
            setenv("TERM", cases[i].term, 1);
        assert_int_equal(color_is_on(terminal), cases[i].on);
    }
    /* What is asked for by name comes first. */
    setenv("NO_COLOR", "1", 1);
    color_choose("always");
    assert_true(color_is_on(terminal));
    fclose(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_is_coloured_and_nothing_else),
        cmocka_unit_test(never_and_no_terminal_have_no_colour),
        cmocka_unit_test(a_terminal_has_colours_unless_the_environment_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
