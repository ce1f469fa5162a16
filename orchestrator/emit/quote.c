#include "orchestrator/emit/quote.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void emit_environment_value(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (strchr("\"\\$`", *text))
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static bool is_control(char byte)
{
    return (unsigned char)byte < ' ' || byte == 0x7f;
}

void emit_unit_bytes(FILE *file, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] == '%' || text[i] == '$')
            fprintf(file, "%c%c", text[i], text[i]);
        else if (text[i] == '"' || text[i] == '\\')
            fprintf(file, "\\%c", text[i]);
        else if (is_control(text[i]))
            fprintf(file, "\\x%02x", (unsigned)text[i]);
        else
            fputc(text[i], file);
}

void emit_unit_path(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '%')
            fputs("%%", file);
        else
            fputc(*text, file);
}

void emit_yaml_bytes(FILE *file, const char *text, size_t bytes, bool dollars)
{
    json_t *string = json_stringn(text, bytes);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    size_t end = quoted ? strlen(quoted) - 1 : 0, step;
    for (size_t i = 1; i < end; i += step) {
        unsigned high, low;
        step = quoted[i] == '\\' ? 2 : 1;
        if (sscanf(quoted + i, "\\u%4x\\u%4x", &high, &low) == 2 && (high & 0xfc00) == 0xd800) {
            /* YAML has no surrogates, and no byte 0x7f. */
            fprintf(file, "\\U%08X", 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff)));
            step = 12;
        } else if (quoted[i] == 0x7f) {
            fputs("\\x7f", file);
        } else {
            fprintf(file, "%.*s%s", (int)step, quoted + i, quoted[i] == '$' && dollars ? "$" : "");
        }
    }
    /* Without memory: no parser takes a file with this. */
    if (!quoted)
        fputs("\\out of memory", file);
    free(quoted);
    json_decref(string);
}

void emit_yaml(FILE *file, const char *text, bool dollars)
{
    fputc('"', file);
    emit_yaml_bytes(file, text, strlen(text), dollars);
    fputc('"', file);
}

void emit_plain(FILE *file, const char *text)
{
    for (; *text; text++)
        fputc(*text >= ' ' && *text <= '~' && !strchr("`<>|", *text) ? *text : '?', file);
}
