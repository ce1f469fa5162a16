/* Quoting: what is written for each reader, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/emit/quote.h"

/* Collects what a function writes. */
struct page {
    char *text;
    size_t bytes;
    FILE *file;
};

static FILE *begin(struct page *page)
{
    *page = (struct page){0};
    page->file = open_memstream(&page->text, &page->bytes);
    assert_non_null(page->file);
    return page->file;
}

static void end(struct page *page, const char *expected)
{
    fclose(page->file);
    assert_string_equal(page->text, expected);
    free(page->text);
}

static void pieces(void **state)
{
    static const struct {
        enum emit_placeholder placeholder;
        const char *text;
    } expected[] = {
        {EMIT_LITERAL, "a"},          {EMIT_PROCESS, "{process}"}, {EMIT_PROCESSES, "{processes}"},
        {EMIT_UNKNOWN, "{processe}"}, {EMIT_UNKNOWN, "{}"},        {EMIT_LITERAL, "{"},
        {EMIT_LITERAL, "port}"},      {EMIT_PORT, "{port}"},       {EMIT_THREADS, "{threads}"},
        {EMIT_LITERAL, "}"},          {EMIT_SEED, "{seed}"},       {EMIT_GPU, "{gpu}"},
        {EMIT_UNKNOWN, "{ "},         {EMIT_UNKNOWN, "{port"},
    };
    const char *at = "a{process}{processes}{processe}{}{{port}{port}{threads}}{seed}{gpu}{ {port";
    struct emit_piece piece;
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(emit_next_piece(&at, &piece));
        assert_int_equal(piece.placeholder, expected[i].placeholder);
        assert_int_equal(piece.bytes, strlen(expected[i].text));
        assert_memory_equal(piece.text, expected[i].text, piece.bytes);
    }
    assert_false(emit_next_piece(&at, &piece));
}

static void utf8(void **state)
{
    static const char *const good[] = {"", "a", "\x7f", "\u00fc\u4eac\U0001f600", "\U0010ffff"};
    static const char *const bad[] = {
        "\x80",         "\xff",         "a\xc3",        "\xc3(",
        "\xc0\xaf",     "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf8\x88\x80", "\xe4\xba",     "\xf0\x9f\x98",
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(emit_is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(emit_is_utf8(bad[i]));
}

static void environment(void **state)
{
    struct page page;
    (void)state;
    emit_environment_value(begin(&page), "a \"b\" $c `d` \\e 'f' %i");
    end(&page, "\"a \\\"b\\\" \\$c \\`d\\` \\\\e 'f' %i\"");
}

static void unit(void **state)
{
    static const char text[] = "a \"b\" $c 100% \\e\n\x7f \u00fc'";
    struct page page;
    (void)state;
    emit_unit_bytes(begin(&page), text, strlen(text));
    end(&page, "a \\\"b\\\" $$c 100%% \\\\e\\x0a\\x7f \u00fc'");
    emit_unit_path(begin(&page), "/a b/100%/$x");
    end(&page, "/a b/100%%/$x");
}

static void yaml(void **state)
{
    struct page page;
    (void)state;
    emit_yaml(begin(&page), "a: \"b\" $c \\ \u00fc \U0001f600", false);
    end(&page, "\"a: \\\"b\\\" $c \\\\ \u00fc \U0001f600\"");
    emit_yaml(begin(&page), "$$ $(x) ${y}", true);
    end(&page, "\"$$$$ $$(x) $${y}\"");
    emit_yaml(begin(&page), "\n\t\x1b\x7f\xc2\x85\xc2\x9f\u2028\u2029\ufeff\uffff\U0001fffe",
              false);
    end(&page,
        "\"\\u000a\\u0009\\u001b\\u007f\\u0085\\u009f\\u2028\\u2029\\ufeff\\uffff\\U0001fffe\"");
}

static void plain(void **state)
{
    struct page page;
    (void)state;
    emit_plain(begin(&page), "H200 `x` <b> | \u00fc\n#");
    end(&page, "H200 ?x? ?b? ? ???#");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces), cmocka_unit_test(utf8), cmocka_unit_test(environment),
        cmocka_unit_test(unit),   cmocka_unit_test(yaml), cmocka_unit_test(plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
