/*
 * Other words for options: those of earlier versions, which still work, and those that users of
 * other tools try, for which the error names what is meant.
 */
#pragma once

#include "job/options.h"

/* A former or further name of an option, or its letter. */
struct option_alias {
    const char *name; /* NULL: none */
    char letter;      /* 0: none */
    enum option_id id;
    const char *value; /* where it takes none itself; NULL: it takes the option's */
};

/* The alias of a name, or of a letter where name is NULL, of the commands; NULL: there is none. */
const struct option_alias *option_alias_find(const char *name, char letter, unsigned command);

/* The option that an unknown one of the commands means, and its value; NULL: such as it is. It is
 * the nearest of the names and of the words that users try. False: none is near, or an option that
 * only other commands have is nearer. */
bool option_meaning(const char *name, unsigned command, const char **option, const char **value);
