#include "common/shell_word.h"

#include <string.h>

void shell_word_quote(FILE *file, const char *text)
{
    fputc('\'', file);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", file);
        else
            fputc(*text, file);
    fputc('\'', file);
}

void shell_word_write(FILE *file, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*text && text[strspn(text, plain)] == '\0')
        fputs(text, file);
    else
        shell_word_quote(file, text);
}

const char *shell_word(const char *text, char *word, size_t size)
{
    FILE *file = fmemopen(word, size, "w");
    word[0] = '\0';
    if (file) {
        shell_word_quote(file, text);
        fclose(file);
    }
    word[size - 1] = '\0';
    return word;
}
