#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <limits.h>

#include "job/options.h"

static struct options options;

static int begin(void **state)
{
    (void)state;
    return options_init(&options) == STATUS_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    options_release(&options);
    return 0;
}

static enum status set(const char *name, const char *text, int rank)
{
    return options_set(&options, option_find(name, ~0u), text, rank);
}

static void table_is_in_order_and_complete(void **state)
{
    (void)state;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        assert_int_equal(row->id, i);
        assert_non_null(row->name);
        assert_non_null(row->help);
        assert_non_null(row->group);
        assert_true(row->commands != 0);
        assert_true(row->metavar || row->choices || row->kind == OPTION_KIND_SWITCH);
        assert_ptr_equal(option_find(row->name, row->commands), row);
        /* Two commands may mean different things by a word, one command may not. */
        for (int j = 0; j < i; j++)
            if (row->commands & option_table[j].commands) {
                assert_false(row->letter && row->letter == option_table[j].letter);
                assert_string_not_equal(row->name, option_table[j].name);
            }
    }
}

static void a_percentage_may_have_its_sign(void **state)
{
    (void)state;
    static const char *const wrong[] = {"%", "5%%", "5 %x", "101%", "0", "", "many%"};
    assert_int_equal(set("precision", "2.5%", 1), STATUS_OK);
    assert_true(options_real(&options, OPTION_PRECISION) == 2.5);
    assert_string_equal(options_text(&options, OPTION_PRECISION), "2.5");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(set("precision", wrong[i], 1), STATUS_USAGE);
    set("precision", "500%", 1);
    assert_string_equal(status_text(), "'500%' is not a value of precision: it takes a number from "
                                       "0.01 to 100, in percent");
}

static void axes_take_lists_and_ranges(void **state)
{
    (void)state;
    assert_int_equal(set("kernels", "1, 4-6,9", 1), STATUS_OK);
    const struct option_value *value = &options.values[OPTION_KERNELS];
    const int wanted[] = {1, 4, 5, 6, 9};
    assert_int_equal(value->count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(value->items[i].integer, wanted[i]);
    assert_int_equal(set("connections", "default,32", 1), STATUS_OK);
    assert_int_equal(options.values[OPTION_CONNECTIONS].items[0].integer, 0);
    assert_int_equal(options.values[OPTION_CONNECTIONS].items[1].integer, 32);
    assert_int_equal(set("bytes", "64K,2M", 1), STATUS_OK);
    assert_int_equal(options.values[OPTION_BYTES].items[1].integer, 2 << 20);
}

static void sizes_have_units_of_either_form(void **state)
{
    (void)state;
    static const char *const wrong[] = {"64KB", "1Mi", "1MiBs", "1iB", "1 MiB", "1T", "1TiB"};
    assert_int_equal(set("bytes", "64KiB,1MiB,2mib,1GiB", 1), STATUS_OK);
    const int64_t wanted[] = {64 << 10, 1 << 20, 2 << 20, 1 << 30};
    for (int i = 0; i < 4; i++)
        assert_int_equal(options.values[OPTION_BYTES].items[i].integer, wanted[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(set("bytes", wrong[i], 1), STATUS_USAGE);
}

static void times_may_be_hours(void **state)
{
    (void)state;
    assert_int_equal(set("budget", "1.5h", 1), STATUS_OK);
    assert_true(options_real(&options, OPTION_BUDGET) == 5400.0);
    assert_int_equal(set("budget", "25h", 1), STATUS_USAGE);
}

static const struct option_item *share_item(enum option_id id, size_t index)
{
    assert_true(index < options.values[id].count);
    return &options.values[id].items[index];
}

static void an_item_may_hold_a_list_for_the_processes(void **state)
{
    (void)state;
    enum option_id id = OPTION_ACTIVE_THREAD_PERCENTAGE;
    assert_int_equal(share_item(id, 0)->shares[0], OPTION_SHARE_DEFAULT);
    assert_int_equal(set("active-thread-percentage", "100, 30 / default/70,default,8-9", 1),
                     STATUS_OK);
    assert_int_equal(options.values[id].count, 5);
    assert_int_equal(share_item(id, 0)->share_count, 1);
    assert_int_equal(share_item(id, 0)->shares[0], 100);
    assert_int_equal(share_item(id, 1)->share_count, 3);
    assert_int_equal(share_item(id, 1)->shares[0], 30);
    assert_int_equal(share_item(id, 1)->shares[1], OPTION_SHARE_DEFAULT);
    assert_int_equal(share_item(id, 1)->shares[2], 70);
    assert_string_equal(share_item(id, 1)->text, "30 / default/70");
    assert_int_equal(share_item(id, 2)->shares[0], OPTION_SHARE_DEFAULT);
    assert_int_equal(share_item(id, 3)->shares[0], 8);
    assert_int_equal(share_item(id, 4)->shares[0], 9);
    /* Normal priority is not the default: the daemon may have another. */
    assert_int_equal(set("priority", "default/0/1", 1), STATUS_OK);
    assert_int_equal(share_item(OPTION_PRIORITY, 0)->shares[0], OPTION_SHARE_DEFAULT);
    assert_int_equal(share_item(OPTION_PRIORITY, 0)->shares[1], 0);
    assert_int_equal(share_item(OPTION_PRIORITY, 0)->shares[2], 1);
    assert_int_equal(set("memory-limit", "16M,2g/20480K/1024G", 1), STATUS_OK);
    assert_int_equal(share_item(OPTION_MEMORY_LIMIT, 0)->shares[0], 16 << 20);
    assert_string_equal(share_item(OPTION_MEMORY_LIMIT, 0)->text, "16M");
    assert_int_equal(share_item(OPTION_MEMORY_LIMIT, 1)->shares[0], INT64_C(2) << 30);
    assert_int_equal(share_item(OPTION_MEMORY_LIMIT, 1)->shares[1], 20 << 20);
    assert_int_equal(share_item(OPTION_MEMORY_LIMIT, 1)->shares[2], INT64_C(1) << 40);
}

static void a_list_has_a_largest_length(void **state)
{
    (void)state;
    char text[3 * (OPTION_MOST_SHARES + 1)] = "";
    for (int i = 0; i < OPTION_MOST_SHARES; i++)
        snprintf(text + strlen(text), 4, "%s%d", i ? "/" : "", 10 + i);
    assert_int_equal(set("active-thread-percentage", text, 1), STATUS_OK);
    const struct option_item *item = share_item(OPTION_ACTIVE_THREAD_PERCENTAGE, 0);
    assert_int_equal(item->share_count, OPTION_MOST_SHARES);
    assert_int_equal(item->shares[OPTION_MOST_SHARES - 1], 10 + OPTION_MOST_SHARES - 1);
    strcat(text, "/9");
    assert_int_equal(set("active-thread-percentage", text, 1), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "active-thread-percentage takes at most 64 entries"));
}

static void layouts_are_read(void **state)
{
    (void)state;
    assert_int_equal(set("layout", "threads:1-3,8, hybrid:8x2,16x2 processes+mps:4", 1), STATUS_OK);
    const struct option_value *value = &options.values[OPTION_LAYOUT];
    static const struct {
        enum layout_kind layout;
        unsigned processes, threads;
    } wanted[] = {{LAYOUT_THREADS, 1, 1},      {LAYOUT_THREADS, 1, 2}, {LAYOUT_THREADS, 1, 3},
                  {LAYOUT_THREADS, 1, 8},      {LAYOUT_HYBRID, 8, 2},  {LAYOUT_HYBRID, 16, 2},
                  {LAYOUT_PROCESSES_MPS, 4, 1}};
    assert_int_equal(value->count, 7);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(value->items[i].layout, wanted[i].layout);
        assert_int_equal(value->items[i].processes, wanted[i].processes);
        assert_int_equal(value->items[i].threads, wanted[i].threads);
    }
    assert_string_equal(value->items[4].text, "hybrid:8x2");
}

static void the_stronger_source_wins(void **state)
{
    (void)state;
    assert_int_equal(set("layout", "threads:1", 1), STATUS_OK);
    assert_int_equal(set("layout", "threads:2", 1), STATUS_OK); /* repeatable: adds */
    assert_int_equal(options.values[OPTION_LAYOUT].count, 2);
    assert_int_equal(set("layout", "processes:4", 2), STATUS_OK); /* stronger: replaces */
    assert_int_equal(options.values[OPTION_LAYOUT].count, 1);
    assert_int_equal(set("memory", "pinned,pageable", 1), STATUS_OK);
    assert_int_equal(set("memory", "pageable", 1), STATUS_OK); /* given again: the last counts */
    assert_int_equal(options.values[OPTION_MEMORY].count, 1);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } table[] = {
        {"memory", "unpinned", "pinned|pageable"},
        {"memory", "pinned,,pageable", "empty item"},
        {"kernels", "0", "from 1 to"},
        {"kernels", "9-3", "backwards"},
        {"kernels", "12x", "whole number"},
        {"kernels", "5 junk,7 9", "'5 junk' is not a value"},
        {"bytes", "1K-4K", "not a range"},
        {"kernels", "99999999999999999999", "whole number"},
        {"kernels", "1-99999", "more than"},
        {"connections", "33", "default or"},
        {"bytes", "1000", "1024"},
        {"bytes", "1Q", "K, M or G"},
        {"bytes", "256KB", "KB may mean powers of 1000: write 256K for those of 1024"},
        {"bytes", "1.3M", "'1.3M' is not a value of bytes: a size has no decimals"},
        {"bytes", "1.2.3M", "K, M or G"},
        {"bytes", "nan", "K, M or G"},
        {"bytes", "1.5e5", "K, M or G"},
        {"bytes", "9999999999G", "K, M or G"},
        {"active-thread-percentage", "30/101",
         "in '30/101': '101' is not a value of active-thread-percentage: it takes default or a "
         "whole number from 1 to 100; '/' stands between the values of several processes"},
        {"active-thread-percentage", "30//70", "in '30//70': '' is not a value"},
        {"active-thread-percentage", "/30", "in '/30': '' is not a value"},
        {"active-thread-percentage", "30/", "in '30/': '' is not a value"},
        {"active-thread-percentage", "10-20/70", "'10-20' is not a value"},
        {"active-thread-percentage", "30:70", "'30:70' is not a value"},
        {"bind", "naer",
         "'naer' is not a value of bind: it takes one of near|scatter|none; did you mean 'near'?"},
        {"bind", "sc",
         "'sc' is not a value of bind: it takes one of near|scatter|none; did you mean "
         "'scatter'?"},
        {"memory", "pinned,pageble",
         "'pageble' is not a value of memory: it takes one of "
         "pinned|pageable; did you mean 'pageable'?"},
        {"connections", "defualt", "from 1 to 32; did you mean 'default'?"},
        {"priority", "2", "from 0 to 1"},
        {"priority", "0/low", "'low' is not a value of priority"},
        {"memory-limit", "8M", "default or a size from 16M to 1048576M, with K, M or G"},
        {"memory-limit", "512", "size from 16M"},
        {"memory-limit", "1025G", "to 1048576M"},
        {"memory-limit", "1T", "'1T' is not a value"},
        {"memory-limit", "1.5G",
         "'1.5G' is not a value of memory-limit: a size has no decimals: write 1536M"},
        {"memory-limit", "512M/20481K", "'20481K' is not a multiple of 1M"},
        {"memory-limit", "16M-32M", "not a range"},
        {"kernels", "5/6",
         "'5/6' is not a value of kernels: it takes a whole number from 1 to "
         "100000"},
        {"duration", "0", "from 0.01"},
        {"duration", "nan", "number"},
        {"duration", "1d", "number of seconds, or one with its unit"},
        {"rounds", "1-3", "whole number"},
        {"resume", "maybe", "yes or no"},
        {"output", "", "empty"},
        {"layout", "thread:4", "unknown layout 'thread'"},
        {"layout", "threads", "no worker counts"},
        {"layout", "hybrid:8", "PxT"},
        {"layout", "hybrid:8x", "PxT"},
        {"layout", "hybrid:512x512", "up to 1024"},
        {"layout", "threads:0", "range"},
        {"layout", "threads:4-2", "range"},
        {"layout", "threads:5000", "up to 1024"},
        {"layout", "", "unknown layout"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(set(table[i].name, table[i].text, 1), STATUS_USAGE);
        if (!strstr(status_text(), table[i].says))
            fail_msg("%s=%s reports: %s", table[i].name, table[i].text, status_text());
    }
}

static void a_bad_value_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(set("kernels", "5", 1), STATUS_OK);
    assert_int_equal(set("kernels", "6,x", 2), STATUS_USAGE);
    assert_int_equal(options.values[OPTION_KERNELS].count, 1);
    assert_int_equal(options_integer(&options, OPTION_KERNELS), 5);
}

static void mistyped_names_find_the_right_one(void **state)
{
    (void)state;
    unsigned slips = UINT_MAX;
    assert_string_equal(option_nearest("memroy", ~0u, &slips), "memory");
    assert_int_equal(slips, 2);
    assert_null(option_nearest("conections", ~0u, &slips));
    slips = UINT_MAX;
    assert_string_equal(option_nearest("conections", ~0u, &slips), "connections");
    slips = UINT_MAX;
    assert_null(option_nearest("frobnicate", ~0u, &slips));
    assert_null(option_find("memory", OPTION_PLOT));
}

static void copies_are_independent(void **state)
{
    (void)state;
    struct options copy;
    assert_int_equal(options_copy(&options, &copy), STATUS_OK);
    assert_int_equal(set("kernels", "7", 1), STATUS_OK);
    assert_int_equal(options_integer(&copy, OPTION_KERNELS), 220);
    options_release(&copy);
    assert_int_equal(set("priority", "0/1", 1), STATUS_OK);
    assert_int_equal(options_copy(&options, &copy), STATUS_OK);
    assert_int_equal(set("priority", "default", 1), STATUS_OK);
    assert_int_equal(copy.values[OPTION_PRIORITY].items[0].share_count, 2);
    assert_int_equal(copy.values[OPTION_PRIORITY].items[0].shares[1], 1);
    options_release(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(table_is_in_order_and_complete, begin, end),
        cmocka_unit_test_setup_teardown(a_percentage_may_have_its_sign, begin, end),
        cmocka_unit_test_setup_teardown(axes_take_lists_and_ranges, begin, end),
        cmocka_unit_test_setup_teardown(sizes_have_units_of_either_form, begin, end),
        cmocka_unit_test_setup_teardown(times_may_be_hours, begin, end),
        cmocka_unit_test_setup_teardown(an_item_may_hold_a_list_for_the_processes, begin, end),
        cmocka_unit_test_setup_teardown(a_list_has_a_largest_length, begin, end),
        cmocka_unit_test_setup_teardown(layouts_are_read, begin, end),
        cmocka_unit_test_setup_teardown(the_stronger_source_wins, begin, end),
        cmocka_unit_test_setup_teardown(bad_values_are_named, begin, end),
        cmocka_unit_test_setup_teardown(a_bad_value_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(mistyped_names_find_the_right_one, begin, end),
        cmocka_unit_test_setup_teardown(copies_are_independent, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
