/*
 * Help and manual pages, made from the tables of commands, options and probes and from the texts in
 * docs/man: one for each command, or for the commands of one family, and one for the program.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "orchestrator/commands/commands.h"

/* The page of the program. The page of a command is the first word of its name. */
#define HELP_MAIN "mpsweep"

/* Help about the commands of a page, HELP_MAIN or a family. */
void help_print(FILE *out, const char *page);

/* Help about one command. So that it fits on a screen, that of a command with many options has the
 * usual ones in a line each and the names of the others, unless `all`. */
void help_print_command(FILE *out, const struct command *command, bool all);

/* Prints what the manual explains the word with, the probe of that name, and each option that it
 * names, with or without its dashes, or by its letter, or that has it among its values, with the
 * commands that take it; of "axes" all that are. Of a word that is not known, its plural or its
 * singular. False: there is none. */
bool help_print_word(FILE *out, const char *word);

/* Prints a manual page in roff (man 7 groff_man). False: there is no such page. */
bool help_print_manual(FILE *out, const char *page);
