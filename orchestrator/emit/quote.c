#include "orchestrator/emit/quote.h"

#include <stdint.h>
#include <string.h>

bool emit_next_piece(const char **at, struct emit_piece *piece)
{
    static const struct {
        const char *text;
        enum emit_placeholder placeholder;
    } known[] = {
        {"{process}", EMIT_PROCESS}, {"{processes}", EMIT_PROCESSES}, {"{threads}", EMIT_THREADS},
        {"{port}", EMIT_PORT},       {"{seed}", EMIT_SEED},           {"{gpu}", EMIT_GPU},
    };
    const char *begin = *at;
    if (begin[0] != '{' || begin[1] == '{') {
        size_t bytes = begin[0] == '{' ? 1 : strcspn(begin, "{");
        *piece = (struct emit_piece){EMIT_LITERAL, begin, bytes};
        *at = begin + (begin[0] == '{' ? 2 : bytes);
        return bytes > 0;
    }
    size_t bytes = 1 + strcspn(begin + 1, "{}");
    bytes += begin[bytes] == '}';
    *piece = (struct emit_piece){EMIT_UNKNOWN, begin, bytes};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].text) == bytes && strncmp(known[i].text, begin, bytes) == 0)
            piece->placeholder = known[i].placeholder;
    *at = begin + bytes;
    return true;
}

/* The code point at text, and its length; 0 bytes where it is not UTF-8. */
static size_t decode(const unsigned char *text, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = text[0] < 0x80             ? 1
                   : (text[0] & 0xe0) == 0xc0 ? 2
                   : (text[0] & 0xf0) == 0xe0 ? 3
                   : (text[0] & 0xf8) == 0xf0 ? 4
                                              : 0;
    uint32_t code = bytes == 1 ? text[0] : bytes ? text[0] & (0x7fU >> bytes) : 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fU);
    }
    if (!bytes || code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *out = code;
    return bytes;
}

bool emit_is_utf8(const char *text)
{
    uint32_t code;
    for (size_t bytes; *text; text += bytes)
        if ((bytes = decode((const unsigned char *)text, &code)) == 0)
            return false;
    return true;
}

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

/* What YAML does not take as it is, or takes for the end of a line. */
static bool needs_escape(uint32_t code)
{
    return code < ' ' || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
           code == 0xfeff || (code & 0xfffe) == 0xfffe;
}

void emit_yaml_bytes(FILE *file, const char *text, size_t bytes, bool dollars)
{
    uint32_t code = 0;
    for (size_t i = 0, length; i < bytes; i += length) {
        length = decode((const unsigned char *)text + i, &code);
        if (length == 0) { /* emit_is_utf8() was to see to it */
            length = 1;
            fputc('?', file);
        } else if (code == '"' || code == '\\') {
            fprintf(file, "\\%c", (char)code);
        } else if (code == '$' && dollars) {
            fputs("$$", file);
        } else if (needs_escape(code)) {
            fprintf(file, code > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)code);
        } else {
            fwrite(text + i, 1, length, file);
        }
    }
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
