/*
 * Tables for people, in aligned columns or as Markdown, and CSV for programs.
 *
 *     struct columns table = {0};
 *     columns_add(&table, "layout", COLUMNS_LEFT);
 *     columns_add(&table, "p99 ms", COLUMNS_RIGHT);
 *     for (...) {
 *         columns_cell(&table, "%s", layout);
 *         columns_cell(&table, "%.4g", p99_ms);
 *         columns_end_row(&table);
 *     }
 *     columns_print(stdout, &table);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum columns_side { COLUMNS_LEFT, COLUMNS_RIGHT };

/* A table. All zero is an empty one; only these functions read the fields. */
struct columns {
    struct columns_title {
        char *text;
        enum columns_side side;
        bool hidden;
        size_t width;
    } * titles;
    char **cells; /* rows of count cells and a note each; NULL: none */
    size_t count, used, room;
    bool failed; /* out of memory */
};

/* Adds a column, before the first cell. Without any title there is no line of titles. */
void columns_add(struct columns *table, const char *title, enum columns_side side);

/* Fills the next cell of the row. */
void columns_cell(struct columns *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the row; cells that it lacks stay empty. */
void columns_end_row(struct columns *table);

/* Ends the row with a text that no column's width counts, where its next cell would stand. */
void columns_end_row_with(struct columns *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Leaves out the columns without a text in any row. */
void columns_hide_empty(struct columns *table);

/* Prints titles and rows, two blanks between columns, none at a line's end, and releases the table.
 * indent: blanks before each line. As Markdown: a table with an empty line on both sides, where
 * notes are a column. Prints one line that reports it if memory ran out. */
void columns_print(FILE *out, struct columns *table, int indent);

/* -- how all tables of this process are printed -- */

/* Chosen once, before the first table: for --format markdown. */
void columns_set_markdown(bool markdown);

/* What begins an item of a list beside the tables: "" or Markdown's. */
const char *columns_item(void);

/* Whether a value of --format is one of text for people: table, markdown or text. */
bool columns_is_format(const char *format);

/* -- paragraphs -- */

/* Prints label and the words of text in lines of 100 columns, those after the first indented. */
void print_wrapped(FILE *out, const char *label, size_t indent, const char *text);

/* -- CSV -- */

/* The first field of a line: text, in quotes if it needs them. */
void csv_begin(FILE *out, const char *text);

/* A further field: ",TEXT". */
void csv_text(FILE *out, const char *text);

/* A further field: ",NUMBER" with six digits, or "," for a value that is not finite. */
void csv_number(FILE *out, double value);
