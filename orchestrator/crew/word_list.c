#include "orchestrator/crew/word_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void word_list_release(struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->words[i]);
    free(list->words);
    *list = (struct word_list){0};
}

void word_list_take(struct word_list *list, char *text)
{
    if (list->count + 1 >= list->capacity) {
        size_t wanted = list->capacity ? 2 * list->capacity : 32;
        char **larger = realloc(list->words, wanted * sizeof *larger);
        if (larger) {
            list->words = larger;
            list->capacity = wanted;
        }
    }
    if (!text || list->count + 1 >= list->capacity) {
        free(text);
        list->failed = true;
        return;
    }
    list->words[list->count++] = text;
    list->words[list->count] = NULL;
}

void word_list_add(struct word_list *list, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    word_list_take(list, text);
}
