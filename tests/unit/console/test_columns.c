/* Tables: cells aligned by what a terminal shows, and fields of CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "orchestrator/console/columns.h"

/* What print() writes, to be freed. */
static char *printed(struct columns *table, int indent)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    columns_print(out, table, indent);
    fclose(out);
    return text;
}

static void expect(struct columns *table, int indent, const char *expected)
{
    char *text = printed(table, indent);
    assert_string_equal(text, expected);
    free(text);
}

static struct columns two_columns(void)
{
    struct columns table = {0};
    columns_add(&table, "layout", COLUMNS_LEFT);
    columns_add(&table, "P×T", COLUMNS_RIGHT);
    return table;
}

static void letters_of_several_bytes_take_one_column(void **state)
{
    (void)state;
    struct columns table = two_columns();
    columns_cell(&table, "threads");
    columns_cell(&table, "1×16");
    columns_end_row(&table);
    columns_cell(&table, "µ");
    columns_cell(&table, "%d", 7);
    columns_end_row(&table);
    expect(&table, 0, "layout    P×T\nthreads  1×16\nµ           7\n");
}

static void no_line_ends_in_blanks(void **state)
{
    (void)state;
    struct columns table = {0};
    columns_add(&table, "a", COLUMNS_LEFT);
    columns_add(&table, "much", COLUMNS_LEFT);
    columns_cell(&table, "long one");
    columns_end_row(&table);
    columns_cell(&table, "x");
    columns_cell(&table, "y");
    columns_end_row(&table);
    expect(&table, 2, "  a         much\n  long one\n  x         y\n");
}

static void a_note_stands_where_the_next_cell_would(void **state)
{
    (void)state;
    struct columns table = two_columns();
    columns_cell(&table, "hybrid");
    columns_end_row_with(&table, "failed: %s", "no memory for it at all");
    columns_cell(&table, "threads");
    columns_cell(&table, "1×2");
    columns_end_row_with(&table, "overloaded");
    expect(&table, 0,
           "layout   P×T\nhybrid   failed: no memory for it at all\n"
           "threads  1×2  overloaded\n");
}

static void an_empty_column_takes_no_place(void **state)
{
    (void)state;
    struct columns table = two_columns();
    columns_add(&table, "verdict", COLUMNS_LEFT);
    columns_cell(&table, "%s", "");
    columns_cell(&table, "1×2");
    columns_end_row(&table);
    columns_cell(&table, "%s", "");
    columns_end_row(&table);
    columns_hide_empty(&table);
    expect(&table, 0, "P×T\n1×2\n\n");
}

static void a_table_without_titles_has_rows_only(void **state)
{
    (void)state;
    struct columns table = {0};
    columns_add(&table, "", COLUMNS_LEFT);
    columns_add(&table, "", COLUMNS_LEFT);
    columns_cell(&table, "a");
    columns_cell(&table, "b");
    columns_end_row(&table);
    expect(&table, 0, "a  b\n");
}

static void markdown_has_sides_notes_and_no_bar_of_a_text(void **state)
{
    (void)state;
    struct columns table = two_columns();
    columns_add(&table, "verdict", COLUMNS_LEFT);
    columns_cell(&table, "a|b\nc");
    columns_cell(&table, "1×2");
    columns_end_row(&table);
    columns_cell(&table, "threads");
    columns_end_row_with(&table, "failed: no | there");
    columns_hide_empty(&table);
    columns_set_markdown(true);
    assert_string_equal(columns_item(), "- ");
    expect(&table, 4,
           "\n| layout | P×T | |\n| --- | ---: | --- |\n| a\\|b c | 1×2 | |\n"
           "| threads | | failed: no \\| there |\n\n");
    table = two_columns();
    columns_cell(&table, "hybrid");
    columns_cell(&table, "2×2");
    columns_end_row(&table);
    expect(&table, 0, "\n| layout | P×T |\n| --- | ---: |\n| hybrid | 2×2 |\n\n");
    columns_set_markdown(false);
}

static void csv_quotes_what_needs_it(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    csv_begin(out, "plain");
    csv_text(out, "a,b");
    csv_text(out, "cite \"x\"");
    csv_text(out, "");
    csv_number(out, 1.5);
    csv_number(out, NAN);
    csv_number(out, INFINITY);
    fclose(out);
    assert_string_equal(text, "plain,\"a,b\",\"cite \"\"x\"\"\",,1.5,,");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_several_bytes_take_one_column),
        cmocka_unit_test(no_line_ends_in_blanks),
        cmocka_unit_test(a_note_stands_where_the_next_cell_would),
        cmocka_unit_test(an_empty_column_takes_no_place),
        cmocka_unit_test(a_table_without_titles_has_rows_only),
        cmocka_unit_test(markdown_has_sides_notes_and_no_bar_of_a_text),
        cmocka_unit_test(csv_quotes_what_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
