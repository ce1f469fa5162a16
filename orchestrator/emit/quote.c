#include "orchestrator/emit/quote.h"

#include <jansson.h>
#include <stdbool.h>
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

void emit_unit_word(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '%' || *text == '$')
            fprintf(file, "%c%c", *text, *text);
        else if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if (is_control(*text))
            fprintf(file, "\\x%02x", (unsigned)*text);
        else
            fputc(*text, file);
}

void emit_unit_path(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '%')
            fputs("%%", file);
        else
            fputc(*text, file);
}

static void write_yaml(FILE *file, const char *text, bool doubles_dollars)
{
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    size_t step;
    for (const char *at = quoted; at && *at; at += step) {
        unsigned high, low;
        step = *at == '\\' ? 2 : 1;
        if (sscanf(at, "\\u%4x\\u%4x", &high, &low) == 2 && (high & 0xfc00) == 0xd800) {
            /* YAML has no surrogates, and no byte 0x7f. */
            fprintf(file, "\\U%08X", 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff)));
            step = 12;
        } else if (*at == 0x7f) {
            fputs("\\x7f", file);
        } else {
            fprintf(file, "%.*s%s", (int)step, at, *at == '$' && doubles_dollars ? "$" : "");
        }
    }
    /* Without memory: no parser takes a file with this. */
    if (!quoted)
        fputs("\"\\out of memory\"", file);
    free(quoted);
    json_decref(string);
}

void emit_yaml(FILE *file, const char *text)
{
    write_yaml(file, text, false);
}

void emit_yaml_dollars(FILE *file, const char *text)
{
    write_yaml(file, text, true);
}

void emit_plain(FILE *file, const char *text)
{
    for (; *text; text++)
        fputc(*text >= ' ' && *text <= '~' && !strchr("`<>|", *text) ? *text : '?', file);
}
