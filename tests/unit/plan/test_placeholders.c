#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/plan/placeholders.h"

static const struct placeholders values = {.process = 3,
                                           .processes = 8,
                                           .threads = 2,
                                           .streams = 5,
                                           .port = 20003,
                                           .seed = 42,
                                           .gpu = "GPU-1234"};

static void words_are_filled_in(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"{process}", "3"},
        {"{process}/{processes}x{threads}x{streams}", "3/8x2x5"},
        {"--port={port}", "--port=20003"},
        {"{seed}{seed}", "4242"},
        {"cuda:{gpu}!", "cuda:GPU-1234!"},
        {"{{", "{"},
        {"{{port}", "{port}"},
        {"{{{port}}", "{20003}"},
        {"}", "}"},
        {"{{\"a\":{port}}", "{\"a\":20003}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(placeholders_check(rows[i][0]), STATUS_OK);
        char *text = placeholders_fill(rows[i][0], &values);
        assert_string_equal(text, rows[i][1]);
        free(text);
    }
}

static void unknown_ones_are_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{prot}", "unknown placeholder '{prot}' in '{prot}'"},
        {"a{b}c", "unknown placeholder '{b}' in 'a{b}c'"},
        {"{}", "unknown placeholder '{}'"},
        {"{", "unknown placeholder '{'"},
        {"{port", "unknown placeholder '{port'"},
        {"{port{", "unknown placeholder '{port'"},
        {"{Port}", "unknown placeholder '{Port}'"},
        {"{ port}", "unknown placeholder '{ port}'"},
        {"{portx}", "unknown placeholder '{portx}'"},
        {"{por}", "unknown placeholder '{por}'"},
        {"{\"a\":1}", "unknown placeholder '{\"a\":1}'"},
        {"{port}{x}", "unknown placeholder '{x}'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(placeholders_check(rows[i][0]), STATUS_USAGE);
        if (!strstr(status_text(), rows[i][1]))
            fail_msg("%s: %s", rows[i][0], status_text());
        assert_non_null(strstr(status_text(),
                               "{process}, {processes}, {threads}, {streams}, {port}, {seed}, "
                               "{gpu}; '{{' is a brace"));
    }
}

static void whether_one_is_used(void **state)
{
    (void)state;
    assert_true(placeholders_use("a{port}", PLACEHOLDER_PORT));
    assert_false(placeholders_use("a{{port}", PLACEHOLDER_PORT));
    assert_false(placeholders_use("a{process}", PLACEHOLDER_PORT));
    assert_false(placeholders_use("{processes}", PLACEHOLDER_PROCESS));
}

static void pieces_follow_each_other(void **state)
{
    static const struct {
        enum placeholder placeholder;
        const char *text;
    } expected[] = {
        {PLACEHOLDER_LETTERS, "a"},
        {PLACEHOLDER_PROCESS, "{process}"},
        {PLACEHOLDER_PROCESSES, "{processes}"},
        {PLACEHOLDER_UNKNOWN, "{processe}"},
        {PLACEHOLDER_UNKNOWN, "{}"},
        {PLACEHOLDER_LETTERS, "{"},
        {PLACEHOLDER_LETTERS, "port}"},
        {PLACEHOLDER_PORT, "{port}"},
        {PLACEHOLDER_THREADS, "{threads}"},
        {PLACEHOLDER_LETTERS, "}"},
        {PLACEHOLDER_SEED, "{seed}"},
        {PLACEHOLDER_GPU, "{gpu}"},
        {PLACEHOLDER_UNKNOWN, "{ "},
        {PLACEHOLDER_UNKNOWN, "{port"},
    };
    const char *at = "a{process}{processes}{processe}{}{{port}{port}{threads}}{seed}{gpu}{ {port";
    struct placeholder_piece piece;
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(placeholders_next(&at, &piece));
        assert_int_equal(piece.placeholder, expected[i].placeholder);
        assert_int_equal(piece.bytes, strlen(expected[i].text));
        assert_memory_equal(piece.text, expected[i].text, piece.bytes);
    }
    assert_false(placeholders_next(&at, &piece));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(words_are_filled_in),
        cmocka_unit_test(unknown_ones_are_named),
        cmocka_unit_test(whether_one_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
