/*
 * Words of a POSIX shell: each reads back as the very same bytes, whatever they are.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Writes text as a quoted word: 'it'\''s'. */
void shell_word_quote(FILE *file, const char *text);

/* Writes text for people to type: without quotes where it needs none. */
void shell_word_write(FILE *file, const char *text);

/* Quotes text in a buffer; cuts what exceeds size - 1 bytes. Returns word. */
const char *shell_word(const char *text, char *word, size_t size);
