#include "orchestrator/console/columns.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/console/color.h"

static bool as_markdown;

void columns_set_markdown(bool markdown)
{
    as_markdown = markdown;
}

const char *columns_item(void)
{
    return as_markdown ? "- " : "";
}

bool columns_is_format(const char *format)
{
    return strcmp(format, "table") == 0 || strcmp(format, "markdown") == 0 ||
           strcmp(format, "text") == 0;
}

void columns_add(struct columns *table, const char *title, enum columns_side side)
{
    struct columns_title *titles =
        reallocarray(table->titles, table->count + 1, sizeof *table->titles);
    char *text = strdup(title);
    if (titles)
        table->titles = titles;
    if (titles && text)
        titles[table->count++] = (struct columns_title){.text = text, .side = side};
    else
        free(text);
    table->failed |= !titles || !text;
}

/* Takes over the text. */
static void push(struct columns *table, char *text)
{
    if (table->used == table->room) {
        size_t room = table->room ? 2 * table->room : 256;
        char **cells = reallocarray(table->cells, room, sizeof *cells);
        if (!cells) {
            table->failed = true;
            free(text);
            return;
        }
        table->cells = cells;
        table->room = room;
    }
    table->cells[table->used++] = text;
}

__attribute__((format(printf, 2, 0))) static char *text_of(struct columns *table,
                                                           const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) >= 0)
        return text;
    table->failed = true;
    return NULL;
}

void columns_cell(struct columns *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    push(table, text_of(table, format, arguments));
    va_end(arguments);
}

static void end_row(struct columns *table, char *note)
{
    while (!table->failed && table->used % (table->count + 1) != table->count)
        push(table, NULL);
    push(table, note);
}

void columns_end_row(struct columns *table)
{
    end_row(table, NULL);
}

void columns_end_row_with(struct columns *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_row(table, text_of(table, format, arguments));
    va_end(arguments);
}

void columns_hide_empty(struct columns *table)
{
    for (size_t c = 0; c < table->count; c++) {
        bool empty = true;
        for (size_t i = c; i < table->used; i += table->count + 1)
            empty &= !table->cells[i] || !*table->cells[i];
        table->titles[c].hidden = empty;
    }
}

/* Prints the row of cells, or of titles for NULL. Blanks are owed until something follows them. */
static void print_row(FILE *out, const struct columns *table, char *const *cells, int indent)
{
    size_t owed = (size_t)indent, begun = 0;
    while (cells && begun < table->count && cells[begun])
        begun++;
    for (size_t c = 0; c < (cells ? begun : table->count); c++) {
        const struct columns_title *title = &table->titles[c];
        const char *text = cells ? cells[c] : title->text;
        size_t padding = title->width - text_columns(text);
        if (title->hidden)
            continue;
        if (title->side == COLUMNS_RIGHT)
            owed += padding;
        if (*text) {
            fprintf(out, "%*s", (int)owed, "");
            if (cells)
                color_print(out, text);
            else
                fputs(text, out);
            owed = 0;
        }
        owed += 2 + (title->side == COLUMNS_LEFT ? padding : 0);
    }
    const char *note = cells && cells[table->count] ? cells[table->count] : "";
    if (*note) {
        fprintf(out, "%*s", (int)owed, "");
        color_print(out, note);
    }
    fputc('\n', out);
}

static void print_table(FILE *out, struct columns *table, int indent)
{
    bool titled = false;
    for (size_t c = 0; c < table->count; c++) {
        struct columns_title *title = &table->titles[c];
        title->width = text_columns(title->text);
        titled |= *title->text != '\0';
        for (size_t i = c; i < table->used; i += table->count + 1) {
            size_t width = table->cells[i] ? text_columns(table->cells[i]) : 0;
            title->width = width > title->width ? width : title->width;
        }
    }
    if (titled)
        print_row(out, table, NULL, indent);
    for (size_t i = 0; i < table->used; i += table->count + 1)
        print_row(out, table, table->cells + i, indent);
}

/* -- Markdown -- */

/* A bar would end the cell, and a line's end the row. */
static void print_markdown_cell(FILE *out, const char *text)
{
    fputs(*text ? " " : "", out);
    for (; *text; text++)
        fputs(*text == '|' ? "\\|" : *text == '\n' ? " " : (char[]){*text, '\0'}, out);
    fputs(" |", out);
}

/* Prints the row of cells, or of titles for NULL; with a cell for the note if any row has one. */
static void print_markdown_row(FILE *out, const struct columns *table, char *const *cells,
                               bool noted)
{
    bool ended = false;
    fputc('|', out);
    for (size_t c = 0; c < table->count; c++) {
        ended |= cells && !cells[c];
        if (!table->titles[c].hidden)
            print_markdown_cell(out, ended ? "" : cells ? cells[c] : table->titles[c].text);
    }
    if (noted)
        print_markdown_cell(out, cells && cells[table->count] ? cells[table->count] : "");
    fputc('\n', out);
}

static void print_markdown(FILE *out, const struct columns *table)
{
    bool noted = false;
    for (size_t i = table->count; i < table->used; i += table->count + 1)
        noted |= table->cells[i] && *table->cells[i];
    fputc('\n', out);
    print_markdown_row(out, table, NULL, noted);
    fputc('|', out);
    for (size_t c = 0; c < table->count; c++)
        if (!table->titles[c].hidden)
            fputs(table->titles[c].side == COLUMNS_RIGHT ? " ---: |" : " --- |", out);
    fputs(noted ? " --- |\n" : "\n", out);
    for (size_t i = 0; i < table->used; i += table->count + 1)
        print_markdown_row(out, table, table->cells + i, noted);
    fputc('\n', out);
}

void columns_print(FILE *out, struct columns *table, int indent)
{
    if (table->failed)
        fputs("out of memory for this table\n", out);
    else if (as_markdown)
        print_markdown(out, table);
    else
        print_table(out, table, indent);
    for (size_t i = 0; i < table->used; i++)
        free(table->cells[i]);
    for (size_t c = 0; c < table->count; c++)
        free(table->titles[c].text);
    free(table->cells);
    free(table->titles);
    *table = (struct columns){0};
}

void print_wrapped(FILE *out, const char *label, size_t indent, const char *text)
{
    const size_t width = 100, begin = text_columns(label);
    size_t column = begin;
    fputs(label, out);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t bytes = strcspn(text, " "), columns = 0;
        for (size_t i = 0; i < bytes; i++)
            columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (column > begin && column + 1 + columns > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > begin) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, bytes, out);
        column += columns;
        text += bytes;
    }
    fputc('\n', out);
}

void csv_begin(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, out);
    fputc('"', out);
}

void csv_text(FILE *out, const char *text)
{
    fputc(',', out);
    csv_begin(out, text);
}

void csv_number(FILE *out, double value)
{
    fprintf(out, isfinite(value) ? ",%.6g" : ",", value);
}
