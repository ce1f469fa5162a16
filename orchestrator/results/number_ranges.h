/*
 * Sets of numbers as text: "0-4,9,12-20".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Those of 0 to count - 1 for which has is true, as text to be freed; "" for none. NULL: no memory.
 */
char *shard_ranges_text(bool (*has)(const void *set, size_t number), const void *set, size_t count);

/* Calls take for each number of a text, in its order. False: the text is not such a set, or a
 * number is not below count; take may have been called then. NULL is an empty text. */
bool shard_ranges_read(const char *text, size_t count, void (*take)(void *set, size_t number),
                       void *set);
