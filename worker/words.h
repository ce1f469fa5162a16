/*
 * The last line that a program printed, kept while it prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct words {
    char last[256]; /* last line that was not blank and is whole, as of text_printable() */
    char line[256]; /* the one that is being written, cut */
    size_t length;  /* of it */
};

/* Takes what was printed. True: last is another one. */
bool words_take(struct words *words, const char *bytes, size_t count);

/* Nothing more comes: an unfinished line counts. True as above. */
bool words_end(struct words *words);
