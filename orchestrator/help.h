/*
 * Help and manual pages, made from the tables of commands and options and from the texts in
 * docs/man: one for each command, or for the commands of one family, and one for the program.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "orchestrator/commands.h"

/* The page of the program. The page of a command is the first word of its name. */
#define HELP_MAIN "mpsweep"

/* Help about the commands of a page, HELP_MAIN or a family, and about one command. */
void help_print(FILE *out, const char *page);
void help_print_command(FILE *out, const struct command *command);

/* Prints each option that the word names, with or without its dashes, or that has it among its
 * values, and the commands that take it. False: there is none. */
bool help_print_word(FILE *out, const char *word);

/* Prints a manual page in roff (man 7 groff_man). False: there is no such page. */
bool help_print_manual(FILE *out, const char *page);
