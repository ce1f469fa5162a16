#include "orchestrator/console/closing.h"

#include <stdlib.h>
#include <string.h>

#include "common/shell_word.h"
#include "common/text.h"

/* In place of a title. */
#define INDENT "       "

void closing_take(struct closing *closing, char *words)
{
    if (words && closing->next_count < CLOSING_NEXT)
        closing->next[closing->next_count++] = words;
    else
        free(words);
}

void closing_add(struct closing *closing, const char *command, const char *file, const char *after)
{
    struct text_stream out;
    if (!text_stream_open(&out))
        return;
    fprintf(out.file, "%s ", command);
    shell_word_write(out.file, file);
    fputs(after, out.file);
    closing_take(closing, text_stream_close(&out));
}

void closing_print_resume(const char *program, char *words)
{
    if (words)
        fprintf(stderr, "mpsweep: to continue: %s %s\n", program, words);
    free(words);
}

void closing_print(FILE *out, struct closing *closing)
{
    const char *begin = closing->best;
    for (const char *title = "\nBest   "; *begin; title = INDENT) {
        size_t length = strcspn(begin, "\n");
        fprintf(out, "%s%.*s\n", title, (int)length, begin);
        begin += length + (begin[length] == '\n');
    }
    if (closing->saved)
        fprintf(out, "Saved  %s\n", closing->saved);
    else
        fputs("Saved  nowhere: --output FILE keeps the results\n", out);
    for (size_t i = 0; i < closing->next_count; i++) {
        fputs(i == 0 ? "Next   " : INDENT, out);
        shell_word_write(out, closing->program);
        fprintf(out, " %s\n", closing->next[i]);
        free(closing->next[i]);
    }
    closing->next_count = 0;
}
