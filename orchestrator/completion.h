/*
 * Completion of command lines, from the tables of commands, options and probes. A shell's script
 * asks the program for the candidates each time, so that a script never lags behind the program.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* What a script is to complete as the shell does, in place of candidates. */
#define COMPLETION_FILES ":files"
#define COMPLETION_DIRECTORIES ":directories"
#define COMPLETION_COMMANDS ":commands"

/* Prints the script of a shell: bash, zsh or fish. False: there is none. */
bool completion_print_script(FILE *out, const char *shell);

/* Prints the candidates for the last word, which may be "" or begun, one a line, each with a tab
 * and what it means where that is known; or one of the words above. Of --NAME=VALUE they are those
 * for VALUE alone. words: those behind the program's name. */
void completion_print(FILE *out, int count, char *const *words);
