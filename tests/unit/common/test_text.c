/* Texts from outside: what is UTF-8, and what a terminal only prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/text.h"

#define CROSS "\xef\xbf\xbd"

static void test_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "a\n", "\xc3\x97", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\x1b[m"};
    /* Cut, alone, overlong, half of a pair, beyond the last one. */
    static const char *const bad[] = {"\xc3",         "\x97",         "\xc0\x80",
                                      "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff",         "a\xe2\x82"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_utf8(bad[i]) || text_is_displayable(bad[i]));
}

static void test_displayed(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"hybrid 8\xc3\x97"
         "2",
         "hybrid 8\xc3\x97"
         "2"},
        {"\x1b]0;x\x07", CROSS "]0;x" CROSS},
        {"a\xc2\x9b"
         "31m",
         "a" CROSS "31m"}, /* CSI in one character */
        {"a\xe2\x80\xae"
         "b",
         "a" CROSS "b"}, /* writes backwards */
        {"n\xff"
         "de\r\n",
         "n" CROSS "de" CROSS CROSS},
        {"\x7f\t", CROSS CROSS},
    };
    char out[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_string_equal(text_displayed(texts[i][0], out, sizeof out), texts[i][1]);
        assert_true(text_is_displayable(out));
    }
    /* Cut before a character that does not fit. */
    assert_string_equal(text_displayed("ab\xc3\x97", out, 4), "ab");
    assert_string_equal(text_displayed("\xff", out, 3), "");
}

/* In place, too: a byte stands for a byte. */
static void test_printable(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"boom \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "boom \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\x1b[1m\t\x7f", "?[1m??"},
        {"a\xc2\x9b"
         "31m",
         "a??31m"},
        {"a\xe2\x80\xae"
         "b",
         "a???b"},
        {"n\xff"
         "de\xc3",
         "n?de?"},
    };
    char out[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t length = strlen(texts[i][0]);
        assert_string_equal(text_printable(texts[i][0], length, out, sizeof out), texts[i][1]);
        memcpy(out, texts[i][0], length);
        assert_string_equal(text_printable(out, length, out, sizeof out), texts[i][1]);
    }
    assert_string_equal(text_printable("a\0b", 3, out, sizeof out), "a?b");
    /* Cut before a character that does not fit. */
    assert_string_equal(text_printable("ab\xc3\xa9", 4, out, 4), "ab");
    assert_string_equal(text_printable("ab\xc3\xa9", 4, out, 5), "ab\xc3\xa9");
    assert_string_equal(text_printable("ab\xc3\xa9", 3, out, sizeof out), "ab?");
}

static void test_cut(void **state)
{
    (void)state;
    static const struct {
        const char *whole;
        size_t size;
        const char *cut;
    } rows[] = {
        {"abc", 3, "ab"},          {"a\xc3\xa9", 3, "a"},       {"a\xc3\xa9", 4, "a\xc3\xa9"},
        {"a\xe2\x82\xac", 4, "a"}, {"\xf0\x9f\x98\x80", 4, ""}, {"a\xc3\xa9z", 4, "a\xc3\xa9"}};
    char out[8];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text text = {.at = out, .size = rows[i].size};
        text_append(&text, "%s", rows[i].whole);
        assert_string_equal(out, rows[i].cut);
        assert_int_equal(text.length, strlen(rows[i].cut));
    }
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double ns;
    } good[] = {{"1ns", 1.0}, {"1.5us", 1500.0}, {"5ms", 5e6},
                {"2s", 2e9},  {"1m", 6e10},      {".5h", 1.8e12}};
    static const char *const bad[] = {"",     "5",   "s",    "1.2.3us", "1e3us", "0x1p3s",
                                      "-1us", "nan", "5 ms", "5msx",    ".s"};
    double ns = -1.0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_time_ns(bad[i], &ns));
    assert_true(ns == -1.0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(text_time_ns(good[i].text, &ns));
        assert_true(ns == good[i].ns);
    }
}

/* Whether `name` means `word`, by how many slips; 9: it does not. */
static void check_meant(const char *name, const char *word, unsigned half_slips)
{
    unsigned found = 9;
    assert_int_equal(text_is_meant(name, word, &found), half_slips < 9);
    assert_int_equal(found, half_slips);
}

static void test_meant(void **state)
{
    (void)state;
    check_meant("memory", "memory", 0);
    check_meant("memroy", "memory", 2);
    check_meant("prcsion", "precision", 4);
    check_meant("partition", "sm-partition", 6);
    check_meant("du", "duration", 1);
    check_meant("d", "duration", 9);
    check_meant("", "duration", 9);
    check_meant("rat", "rate", 1);
    check_meant("tu", "tune", 1);
    /* Short, and of other letters. */
    check_meant("foo", "mps", 9);
    check_meant("far", "near", 9);
    check_meant("partitions-of-it", "sm-partition", 9);
    /* Of two that are as near, the first one; rather than with a slip, what begins with it. */
    unsigned half_slips = 2;
    assert_false(text_is_meant("memroy", "memory", &half_slips));
    assert_int_equal(half_slips, 2);
    assert_true(text_is_meant("stat", "status", &half_slips));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_meant),
        cmocka_unit_test(test_times),     cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_displayed), cmocka_unit_test(test_printable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
