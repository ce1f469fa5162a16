/*
 * What a command that measures ends with, for people: the best, the file, and what to type next.
 */
#pragma once

#include <stdio.h>

/* Most commands that are shown. */
#define CLOSING_NEXT 4

struct closing {
    const char *best;  /* lines without the last one's end */
    const char *saved; /* the results file; NULL: there is none */
    const char *program; /* as it was called */
    char *next[CLOSING_NEXT]; /* the words behind the program's name; owned */
    size_t next_count;
};

/* Adds a command to paste: "explain", a file's name, quoted where a shell needs that, and what comes
 * after it, as " --figure search". Without memory it is left out. */
void closing_add(struct closing *closing, const char *command, const char *file,
                 const char *after);

/* The same of words that are complete; takes over the text, NULL: none. */
void closing_take(struct closing *closing, char *words);

/* Where no table follows that may have it: prints how to continue on standard error. Takes over the
 * words, NULL: none. */
void closing_print_resume(const char *program, char *words);

/* Prints "Best", "Saved" and "Next", and releases the commands. */
void closing_print(FILE *out, struct closing *closing);
