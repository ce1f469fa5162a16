/*
 * Colours of status words, verdicts and errors on a terminal.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Takes a value of --color: auto, always or never. Until then, and for auto, colours are for
 * terminals, unless NO_COLOR is set and not empty (https://no-color.org) or TERM is dumb. */
void color_choose(const char *word);

/* Whether out is a terminal that takes control sequences: TERM is set, and not dumb. */
bool color_takes_sequences(FILE *out);

/* Whether what is printed to out has colours. */
bool color_is_on(FILE *out);

/* Prints text. A word that it begins with, or that stands behind its last comma, is coloured where
 * it is a status or a verdict: green if all is well, yellow if it is not certain, red if not. */
void color_print(FILE *out, const char *text);

/* Prints text in red. */
void color_print_error(FILE *out, const char *text);
