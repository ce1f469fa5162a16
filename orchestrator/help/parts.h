/*
 * What help and manual pages are made of: the texts in docs/man, and what a page has of the tables
 * of commands and options.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/commands/commands.h"

#define HELP_FORM_BYTES 256

/*
 * The text of a page: sections, each with a heading in capitals in a line of its own, and before
 * the first one, for a page that is not a command's, a line with its title. In a section, a blank
 * line ends a paragraph, and lines that begin with a blank stand as they are. NULL: there is no
 * such page.
 */
const char *help_page_text(const char *name);

/* Finds a section of a page's text and its length, without the blank line at its end. "" without
 * one. Case does not matter: commands are in small letters. */
const char *help_section(const char *text, const char *heading, size_t *length);

/* The page of a command, and the section with its examples: a family's page has one for each. */
void help_page_of(const struct command *command, char page[16], const char **examples);

/* Whether a command is on a page: its own, or its family's. */
bool help_is_on_page(const struct command *command, const char *page);

/* What an option's value looks like; NULL: it takes none. form has room for it. */
const char *help_value_of(const struct option_row *row, char form[HELP_FORM_BYTES]);

/* The first choice that has a help of its own, or the next one; NULL: none. */
const struct option_choice *help_next_choice(const struct option_row *row,
                                             const struct option_choice *choice);

/* Which options count, of those of the commands of some bits. */
typedef bool help_chosen(unsigned bits, const struct option_row *row);
bool help_is_any(unsigned bits, const struct option_row *row);

/* Options of a group may stand apart in the table: on a page they stand together. The next group
 * that has an option that is chosen; *at is where to look on. NULL: no further. */
const char *help_next_group(unsigned bits, help_chosen *is_chosen, int *at);
