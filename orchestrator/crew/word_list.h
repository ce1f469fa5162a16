/*
 * Texts, ended by NULL, that the list owns: arguments, or an environment. Zero bytes are an empty
 * list. Without memory it only becomes `failed`, which the caller checks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct word_list {
    char **words;
    size_t count, capacity;
    bool failed;
};

void word_list_add(struct word_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes over a text from malloc(); NULL stands for no memory. */
void word_list_take(struct word_list *list, char *text);

/* Frees all. The list is empty then. */
void word_list_release(struct word_list *list);
