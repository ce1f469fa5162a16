/* The line of progress on a terminal, and in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text.h"
#include "orchestrator/console/progress.h"

#define CLEAR "\r\033[K"

/* A terminal with that many columns in place of standard error; its other end, and the old one. */
static int terminal, saved;

static void open_terminal(unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal), 0);
    assert_int_equal(unlockpt(terminal), 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(end >= 0);
    assert_int_equal(ioctl(end, TIOCSWINSZ, &size), 0);
    setenv("TERM", "xterm", 1);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    assert_true(dup2(end, STDERR_FILENO) >= 0);
    close(end);
}

/* What was printed on it. A terminal hands it over in parts: with its last writer gone, reading
 * goes on to the end. */
static void read_terminal(char *text, size_t size)
{
    size_t length = 0;
    ssize_t bytes;
    dup2(saved, STDERR_FILENO);
    close(saved);
    while ((bytes = read(terminal, text + length, size - 1 - length)) > 0)
        length += (size_t)bytes;
    close(terminal);
    text[length] = '\0';
}

/* The same, behind what clears the line. */
static const char *close_terminal(void)
{
    static char text[512];
    read_terminal(text, sizeof text);
    assert_memory_equal(text, CLEAR, strlen(CLEAR));
    return text + strlen(CLEAR);
}

static struct progress of_three_steps(void)
{
    struct progress progress;
    progress_init(&progress, false, 3, 0.0);
    return progress;
}

static void the_line_names_subject_and_step(void **state)
{
    (void)state;
    open_terminal(80);
    struct progress progress = of_three_steps();
    progress_begin(&progress, "threads 1×16");
    progress_end(&progress, NULL);
    close_terminal();
    open_terminal(80);
    progress_step(&progress, "capacity");
    assert_string_equal(close_terminal(), "[2/3] 0 s left: threads 1×16: capacity");
}

static void a_cut_line_ends_with_a_whole_character(void **state)
{
    (void)state;
    /* "[1/3] 0 s left: " takes 16 columns; a byte more of the last letter would be half of it. */
    for (unsigned short columns = 18; columns <= 24; columns++) {
        char expected[64] = "[1/3] 0 s left: ";
        for (int i = 16; i < columns - 1; i++)
            strcat(expected, "×");
        open_terminal(columns);
        struct progress progress = of_three_steps();
        progress_begin(&progress, "××××××××××××××××");
        assert_string_equal(close_terminal(), expected);
    }
}

static void a_subject_cut_by_bytes_ends_with_a_whole_character(void **state)
{
    (void)state;
    char text[] = "a×";
    text[2] = '\0';
    text_cut(text, 80);
    assert_string_equal(text, "a");
}

static void a_result_stays_above_the_line(void **state)
{
    (void)state;
    open_terminal(80);
    struct progress progress = of_three_steps();
    snprintf(progress.subject, sizeof progress.subject, "threads 1×16");
    progress_end(&progress, "12 iterations/s");
    assert_string_equal(close_terminal(), "[1/3] threads 1×16: 12 iterations/s\r\n");
}

/* A file in place of standard error; what was printed to it. */
static void open_file(void)
{
    char name[] = "/tmp/mpsweep-progress-XXXXXX";
    terminal = mkstemp(name);
    assert_true(terminal >= 0);
    unlink(name);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    assert_true(dup2(terminal, STDERR_FILENO) >= 0);
}

static const char *close_file(void)
{
    static char text[512];
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t bytes = pread(terminal, text, sizeof text - 1, 0);
    close(terminal);
    assert_true(bytes >= 0);
    text[bytes] = '\0';
    return text;
}

static void a_file_has_a_line_where_none_came_for_long(void **state)
{
    (void)state;
    open_file();
    struct progress progress = of_three_steps();
    progress_begin(&progress, "threads 1×16");
    progress_end(&progress, NULL);
    progress.every_ns = 0;
    progress_begin(&progress, "threads 1×8");
    progress_end(&progress, NULL);
    progress.every_ns = PROGRESS_EVERY_NS;
    progress_begin(&progress, "threads 1×4");
    progress_end(&progress, "12 iterations/s");
    assert_string_equal(close_file(), "[2/3] 0 s left: threads 1×8\n"
                                      "[3/3] threads 1×4: 12 iterations/s\n");
}

static void a_terminal_that_takes_no_sequences_has_lines(void **state)
{
    (void)state;
    static char text[512];
    open_terminal(80);
    setenv("TERM", "dumb", 1);
    struct progress progress = of_three_steps();
    progress_begin(&progress, "threads 1×8");
    progress_end(&progress, "12 iterations/s");
    read_terminal(text, sizeof text);
    assert_string_equal(text, "[1/3] threads 1×8: 12 iterations/s\r\n");
}

static void a_quiet_file_has_none(void **state)
{
    (void)state;
    open_file();
    struct progress progress = of_three_steps();
    progress.quiet = true;
    progress.every_ns = 0;
    progress_begin(&progress, "threads 1×8");
    progress_end(&progress, "12 iterations/s");
    assert_string_equal(close_file(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_names_subject_and_step),
        cmocka_unit_test(a_cut_line_ends_with_a_whole_character),
        cmocka_unit_test(a_subject_cut_by_bytes_ends_with_a_whole_character),
        cmocka_unit_test(a_result_stays_above_the_line),
        cmocka_unit_test(a_file_has_a_line_where_none_came_for_long),
        cmocka_unit_test(a_terminal_that_takes_no_sequences_has_lines),
        cmocka_unit_test(a_quiet_file_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
