#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/plan/settings.h"
#include "orchestrator/results/shares.h"

#define DEFAULT OPTION_SHARE_DEFAULT
#define MIB INT64_C(1048576)
#define SHARES(...)                                                                                \
    {                                                                                              \
        .values = (const int64_t[]){__VA_ARGS__},                                                  \
        .count = sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)                                  \
    }

static void a_process_takes_its_entry_in_turn(void **state)
{
    (void)state;
    const struct point_shares none = {0}, shares = SHARES(30, 70, DEFAULT);
    assert_int_equal(shares_at(&none, 5), DEFAULT);
    assert_int_equal(shares_at(&shares, 0), 30);
    assert_int_equal(shares_at(&shares, 1), 70);
    assert_int_equal(shares_at(&shares, 2), DEFAULT);
    assert_int_equal(shares_at(&shares, 3), 30);
    assert_int_equal(shares_at(&shares, 1000), 70);
}

static void lists_that_say_the_same_are_the_same(void **state)
{
    (void)state;
    const struct {
        struct point_shares shares;
        unsigned processes, count;
    } table[] = {
        {{0}, 4, 0},
        {SHARES(DEFAULT), 4, 0},
        {SHARES(DEFAULT, DEFAULT), 4, 0},
        {SHARES(DEFAULT, 1), 1, 0},
        {SHARES(25), 4, 1},
        {SHARES(25, 25, 25), 4, 1},
        {SHARES(30, 70), 1, 1},
        {SHARES(30, 70), 2, 2},
        {SHARES(30, 70), 5, 2},
        {SHARES(30, 70, 30, 70), 4, 2},
        {SHARES(30, 70, 30), 3, 2},
        {SHARES(30, 70, 30), 4, 3}, /* the fourth has 30 */
        {SHARES(30, 30, 70), 2, 1},
        {SHARES(30, 30, 70), 3, 3},
        {SHARES(30, 70, 20, 10), 3, 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct point_shares shortest = shares_canonical(&table[i].shares, table[i].processes);
        if (shortest.count != table[i].count)
            fail_msg("case %zu: %u entries instead of %u", i, shortest.count, table[i].count);
        for (unsigned p = 0; p < table[i].processes; p++)
            assert_int_equal(shares_at(&shortest, p), shares_at(&table[i].shares, p));
    }
}

static bool shares_equal(const struct point_shares *a, const struct point_shares *b)
{
    const struct point left = {.priority = *a}, right = {.priority = *b};
    return setting_equal(&option_table[OPTION_PRIORITY], &left, &right);
}

static void equality_is_of_counts_and_values(void **state)
{
    (void)state;
    const struct point_shares none = {0}, one = SHARES(30), two = SHARES(30, 70),
                              same = SHARES(30, 70), other = SHARES(30, 71);
    assert_true(shares_equal(&none, &none));
    assert_true(shares_equal(&two, &same));
    assert_false(shares_equal(&none, &one));
    assert_false(shares_equal(&one, &two));
    assert_false(shares_equal(&two, &other));
}

static void texts_are_as_a_user_would_write(void **state)
{
    (void)state;
    char text[64];
    const struct point_shares mixed = SHARES(30, DEFAULT, 70),
                              sizes = SHARES(512 * MIB, 2048 * MIB, DEFAULT, 1536 * MIB);
    assert_string_equal(shares_text(&mixed, false, text, sizeof text), "30/default/70");
    assert_string_equal(shares_text(&sizes, true, text, sizeof text), "512M/2G/default/1536M");
    assert_string_equal(shares_text(&(struct point_shares){0}, false, text, sizeof text), "");
}

static void texts_that_are_cut_still_differ(void **state)
{
    (void)state;
    int64_t values[OPTION_MOST_SHARES];
    char whole[32], cut[32], other[32], exact[200];
    for (int i = 0; i < OPTION_MOST_SHARES; i++)
        values[i] = 10 + i % 90;
    struct point_shares shares = {.values = values, .count = 10}; /* 29 characters */
    shares_text(&shares, false, whole, sizeof whole);
    assert_string_equal(whole, "10/11/12/13/14/15/16/17/18/19");
    shares.count = OPTION_MOST_SHARES;
    shares_text(&shares, false, cut, sizeof cut);
    assert_non_null(strstr(cut, "10/11/12"));
    assert_non_null(strstr(cut, "/…"));
    assert_true(strlen(cut) < sizeof cut);
    values[OPTION_MOST_SHARES - 1]++;
    shares_text(&shares, false, other, sizeof other);
    assert_string_not_equal(cut, other);
    /* 64 numbers of two digits and 63 separators fit exactly. */
    assert_null(strstr(shares_text(&shares, false, exact, 192), "…"));
    assert_int_equal(strlen(exact), 191);
    assert_non_null(strstr(shares_text(&shares, false, exact, 191), "…"));
    assert_true(strlen(exact) < 191);
}

static void fields_hold_an_entry_for_each_process(void **state)
{
    (void)state;
    char text[64];
    const struct point_shares none = {0}, one = SHARES(25), two = SHARES(30, DEFAULT);
    assert_null(shares_json(&none, 4));
    json_t *number = shares_json(&one, 4);
    assert_int_equal(json_integer_value(number), 25);
    json_t *array = shares_json(&two, 3);
    json_t *wanted = json_pack("[i, n, i]", 30, 30);
    assert_true(json_equal(array, wanted));
    assert_string_equal(shares_json_text(number, false, text, sizeof text), "25");
    assert_string_equal(shares_json_text(array, false, text, sizeof text), "30/default");
    json_t *word = json_string("30"), *empty = json_array();
    assert_string_equal(shares_json_text(word, false, text, sizeof text), "");
    assert_string_equal(shares_json_text(empty, false, text, sizeof text), "");
    assert_string_equal(shares_json_text(NULL, false, text, sizeof text), "");
    for (int i = 0; i < 5000; i++)
        json_array_append_new(empty, json_integer(i));
    assert_true(strlen(shares_json_text(empty, false, text, sizeof text)) < sizeof text);
    json_decref(empty);
    json_decref(word);
    json_decref(wanted);
    json_decref(array);
    json_decref(number);
}

static void a_share_of_the_multiprocessors_is_a_ceiling(void **state)
{
    (void)state;
    /* As an H200 under driver 580 gave them. */
    static const struct {
        int percentage, found;
    } seen[] = {{1, 8},   {2, 8},   {3, 8},   {5, 8},   {10, 12},  {25, 32},
                {30, 38}, {33, 42}, {50, 66}, {70, 92}, {99, 130}, {100, 132}};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        assert_true(shares_fit_multiprocessors(seen[i].percentage, seen[i].found, 132));
        assert_false(shares_fit_multiprocessors(seen[i].percentage, 0, 132));
        assert_false(shares_fit_multiprocessors(seen[i].percentage, 133, 132));
        if (seen[i].percentage < 100)
            assert_false(shares_fit_multiprocessors(seen[i].percentage, 132, 132));
    }
    assert_true(shares_fit_multiprocessors(50, 66, 132));
    assert_false(shares_fit_multiprocessors(50, 67, 132));
    assert_true(shares_fit_multiprocessors(1, 16, 132)); /* the smallest share, an eighth */
    assert_false(shares_fit_multiprocessors(1, 17, 132));
    assert_true(shares_fit_multiprocessors(DEFAULT, 132, 132));
    assert_false(shares_fit_multiprocessors(DEFAULT, 133, 132));
    assert_false(shares_fit_multiprocessors(DEFAULT, -1, 132));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_takes_its_entry_in_turn),
        cmocka_unit_test(lists_that_say_the_same_are_the_same),
        cmocka_unit_test(equality_is_of_counts_and_values),
        cmocka_unit_test(texts_are_as_a_user_would_write),
        cmocka_unit_test(texts_that_are_cut_still_differ),
        cmocka_unit_test(fields_hold_an_entry_for_each_process),
        cmocka_unit_test(a_share_of_the_multiprocessors_is_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
