/*
 * Sets of numbers as text: "0-4,9,12-20".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Those of 0 to count - 1 whose flag is set, as text to be freed; "" for none. NULL: no memory. */
char *number_ranges_text(const bool *set, size_t count);

/* Sets the flag of each number of a text (set may be NULL), and *found to how many it names. False:
 * the text is not such a set, or a number is not below count; flags may have been set then. NULL is
 * an empty text. */
bool number_ranges_read(const char *text, size_t count, bool *set, size_t *found);
