/*
 * Small helpers for text that people read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A buffer that is appended to; text beyond its size is dropped, and it always ends with NUL. */
struct text {
    char *at;
    size_t size;
    size_t length;
};

void text_append(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text of any length: open, output to the file, close. It must stay where it is meanwhile. */
struct text_stream {
    FILE *file;
    char *text;
    size_t bytes;
};

/* False: no memory; then close must not be called. */
bool text_stream_open(struct text_stream *out);

/* Returns the text, which the caller frees; NULL: no memory. */
char *text_stream_close(struct text_stream *stream);

/* Texts, ended by NULL, that the list owns: arguments, or an environment. Zero bytes are an empty
 * list. Without memory it only becomes `failed`, which the caller checks once, at the end. */
struct word_list {
    char **words;
    size_t count, capacity;
    bool failed;
};

void word_list_add(struct word_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes over a text from malloc(); NULL stands for no memory. */
void word_list_take(struct word_list *list, char *text);

/* Frees all. The list is empty then. */
void word_list_release(struct word_list *list);

/* Columns that UTF-8 text takes on a terminal, for the letters that we print. */
size_t text_columns(const char *text);

/* Cuts text behind the last whole character that ends within `columns`, and takes away bytes
 * of a character that an earlier cut has left incomplete. */
void text_cut(char *text, size_t columns);

/* A time with its unit, as "1.5ms": decimal digits, then ns, us, ms, s, m or h. False: the text is
 * not one; *ns is left alone. */
bool text_time_ns(const char *text, double *ns);

/* "45 s", "3 min 20 s", "2 h 5 min". Returns out. */
const char *text_duration(double seconds, char *out, size_t size);

/* The shift of a unit of sizes: 0 of "", 10 of K and KiB, then M, G and T, in any case. False:
 * it is not one. KB is not, which may mean 1000. */
bool text_size_shift(const char *unit, unsigned *shift);

/* What is wrong with the form of a size with K, M or G, and how it is written: "a size has no
 * decimals: write 2560K", of "2.5M". Empty: it has a form that is right, or none. Returns out. */
const char *text_size_fault(const char *text, char *out, size_t size);

/* A positive number with at least four significant digits and no exponent: "286.4", "19058".
 * Returns out. */
const char *text_number(double value, char *out, size_t size);

/* Copies bytes from outside as text for people: UTF-8 stays, but each byte of what is not, of a
 * control character, or of one that turns the direction of writing becomes '?'. A character that
 * ends beyond size - 1 is dropped with all behind it. out may be bytes itself. Returns out. */
const char *text_printable(const char *bytes, size_t count, char *out, size_t size);

/* The same, of which what exceeds size - 1 is left out in the middle, "..." in its place: names
 * that begin alike differ at their ends. size is 8 at least, and out is not the text. Returns out.
 */
const char *text_shortened(const char *text, char *out, size_t size);

/* Copies text from a file, for people: what is not UTF-8, and control characters with those that
 * turn the direction of writing, become U+FFFD, so that a terminal only prints it. A character
 * that does not fit is dropped with all behind it; three times the length always suffice. Returns
 * out. */
char *text_displayed(const char *text, char *out, size_t size);

/* Whether that changes nothing. */
bool text_is_displayable(const char *text);

/* The bytes of the UTF-8 character that the first `size` bytes of text begin with, and its code; 0
 * for invalid bytes and at the end of the text. */
size_t text_character(const char *text, size_t size, uint32_t *code);

/* Ends a text of that many bytes, which was cut there, before a character that is not whole.
 * Returns how many are left. */
size_t text_end_whole(char *text, size_t length);

/* Whether text can be a JSON string. */
bool text_is_utf8(const char *text);

/* How many letters must be put in, taken out, changed or swapped with the next one to make one name
 * of the other; UINT_MAX if b has 64 letters or more. */
unsigned text_distance(const char *a, const char *b);

/* Whether a mistyped name means a word rather than those that were tried before. It has at most
 * three slips, and one in three of its letters; or the word begins with it, which counts as half a
 * slip. *half_slips, UINT_MAX before the first try, becomes those of the nearest word so far. */
bool text_is_meant(const char *name, const char *word, unsigned *half_slips);
