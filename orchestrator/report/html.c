#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/shell_word.h"
#include "common/text.h"
#include "orchestrator/report/internal.h"

void html_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *entity = *text == '&'    ? "&amp;"
                             : *text == '<'  ? "&lt;"
                             : *text == '>'  ? "&gt;"
                             : *text == '"'  ? "&quot;"
                             : *text == '\'' ? "&#39;"
                                             : NULL;
        if (entity)
            fputs(entity, out);
        else
            fputc(*text, out);
    }
}

void html_element(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    html_text(out, text);
    fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_number(FILE *out, const char *tag, double value)
{
    char text[32];
    bool known = isfinite(value);
    html_element(out, tag, !known ? "–" : value > 0 ? text_number(value, text, sizeof text) : "0");
}

void html_shell_word(FILE *out, const char *text)
{
    struct text_stream word;
    if (!text_stream_open(&word))
        return;
    shell_word_write(word.file, text);
    char *quoted = text_stream_close(&word);
    if (quoted)
        html_text(out, quoted);
    free(quoted);
}
