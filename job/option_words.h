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

/* What an unknown option of the commands means, to be shown after "did you mean": by its meaning,
 * else the nearest name, as in "'--layout processes:N'". False: nothing is near, or an option that
 * only other commands have is nearer. */
bool option_meaning(const char *name, unsigned command, char *out, size_t size);
