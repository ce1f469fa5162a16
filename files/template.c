#include "files/template.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/paths.h"
#include "common/text.h"

#define SIGNS "#^/>!" /* of the tags that may have a line of their own */

struct rendering {
    FILE *out;
    const struct template_quoting *quotings;
    const char *name, *text; /* of the template */
    enum status status;
};

struct tag {
    char sign; /* 0: a value */
    char name[64];
    const char *quoting;     /* behind the name's end; NULL: none */
    const char *begin, *end; /* with its line, if it has one of its own */
};

static void fail(struct rendering *rendering, const char *what, const char *name)
{
    rendering->status =
        status_set(STATUS_UNSUPPORTED, "template '%s' %s '%s'", rendering->name, what, name);
}

/* Finds the next tag from a place on. False: there is none. */
static bool find_tag(struct rendering *rendering, const char *at, struct tag *tag)
{
    const char *open = strstr(at, "{{"), *close = open ? strstr(open, "}}") : NULL;
    if (!close)
        return false;
    while (open[2] == '{') /* the first of "${{{name}}}" is text */
        open++;
    const char *name = open + 2;
    *tag = (struct tag){.begin = open, .end = close + 2};
    if (name < close && strchr(SIGNS, *name)) {
        tag->sign = *name++;
        while (tag->begin > rendering->text && tag->begin[-1] == ' ')
            tag->begin--;
        bool is_line =
            (tag->begin == rendering->text || tag->begin[-1] == '\n') && *tag->end == '\n';
        tag->begin = is_line ? tag->begin : open;
        tag->end += is_line;
    }
    if (tag->sign == '!')
        return true;
    snprintf(tag->name, sizeof tag->name, "%.*s", (int)(close - name), name);
    char *bar = strchr(tag->name, '|');
    if (bar) {
        *bar = '\0';
        tag->quoting = bar + 1;
    }
    return true;
}

static const json_t *find_value(struct rendering *rendering, const struct template_values *values,
                                const char *name)
{
    const json_t *value = NULL;
    if (strcmp(name, ".") == 0)
        return values->value;
    if (strcmp(name, "-first") == 0)
        return json_boolean(values->index == 0);
    for (; values && !value; values = values->outer)
        value = json_object_get(values->value, name);
    if (!value)
        fail(rendering, "has no value for", name);
    return value;
}

static void write_value(struct rendering *rendering, const struct template_values *values,
                        const struct tag *tag)
{
    const struct template_quoting *quoting = rendering->quotings;
    const json_t *value = find_value(rendering, values, tag->name);
    const char *text = json_string_value(value);
    char number[32];
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = number;
    }
    if (tag->quoting)
        while (quoting->name && strcmp(quoting->name, tag->quoting) != 0)
            quoting++;
    if (value && !text)
        fail(rendering, "writes what is not a text,", tag->name);
    else if (tag->quoting && !quoting->name)
        fail(rendering, "has an unknown quoting", tag->quoting);
    else if (text && tag->quoting)
        quoting->write(rendering->out, text);
    else if (text)
        fputs(text, rendering->out);
}

/* How often a section is written. */
static size_t count_of(const json_t *value)
{
    if (json_is_array(value))
        return json_array_size(value);
    if (json_is_string(value))
        return json_string_length(value) > 0;
    if (json_is_integer(value))
        return json_integer_value(value) != 0;
    return json_is_true(value) || json_is_object(value);
}

static void render(struct rendering *rendering, const char **at,
                   const struct template_values *values, const char *section);

/* Writes a section once for each of its items, and moves *at behind it. Without values it writes
 * nothing. */
static void render_section(struct rendering *rendering, const char **at,
                           const struct template_values *values, const struct tag *tag)
{
    const json_t *value = values ? find_value(rendering, values, tag->name) : NULL;
    size_t count = count_of(value);
    const char *begin = *at;
    if (!value || (tag->sign == '^' && count > 0) || (tag->sign == '#' && count == 0)) {
        render(rendering, at, NULL, tag->name);
        return;
    }
    if (tag->sign == '^' || (!json_is_array(value) && !json_is_object(value))) {
        render(rendering, at, values, tag->name);
        return;
    }
    for (size_t i = 0; i < count && rendering->status == STATUS_OK; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        const struct template_values inner = {item, i, values};
        *at = begin;
        render(rendering, at, &inner, tag->name);
    }
}

static void render_file(struct rendering *rendering, const struct template_values *values,
                        const char *file)
{
    char *text = NULL;
    rendering->status = template_file(file, values, rendering->quotings, &text);
    if (rendering->status == STATUS_OK)
        fputs(text, rendering->out);
    free(text);
}

/* Writes the text from *at to the end of a section, of the file if section is NULL; moves *at
 * behind that. Without values it writes nothing. */
static void render(struct rendering *rendering, const char **at,
                   const struct template_values *values, const char *section)
{
    struct tag tag;
    while (rendering->status == STATUS_OK && find_tag(rendering, *at, &tag)) {
        if (values)
            fwrite(*at, 1, (size_t)(tag.begin - *at), rendering->out);
        *at = tag.end;
        if (tag.sign == '/') {
            if (!section || strcmp(section, tag.name) != 0)
                fail(rendering, "ends what it has not begun,", tag.name);
            return;
        }
        if (tag.sign == '#' || tag.sign == '^')
            render_section(rendering, at, values, &tag);
        else if (tag.sign == '>' && values)
            render_file(rendering, values, tag.name);
        else if (tag.sign == '\0' && values)
            write_value(rendering, values, &tag);
    }
    if (rendering->status == STATUS_OK && section)
        fail(rendering, "does not end", section);
    if (values)
        fputs(*at, rendering->out);
}

enum status template_text(const char *text, const char *name, const struct template_values *values,
                          const struct template_quoting *quotings, char **out)
{
    struct text_stream stream;
    if (!text_stream_open(&stream))
        return status_set(STATUS_MEMORY, "out of memory");
    struct rendering rendering = {
        .out = stream.file, .quotings = quotings, .name = name, .text = text};
    render(&rendering, &text, values, NULL);
    char *result = text_stream_close(&stream);
    if (!result && rendering.status == STATUS_OK)
        rendering.status = status_set(STATUS_MEMORY, "out of memory");
    if (rendering.status == STATUS_OK)
        *out = result;
    else
        free(result);
    return rendering.status;
}

enum status template_file(const char *file, const struct template_values *values,
                          const struct template_quoting *quotings, char **out)
{
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    enum status status = path_find(PATH_DATA, file, path, sizeof path);
    if (status != STATUS_OK)
        return status;
    FILE *from = fopen(path, "re");
    /* No text has a NUL byte: this reads all. */
    ssize_t bytes = from ? getdelim(&text, &size, '\0', from) : -1;
    if (!from || ferror(from))
        status = status_set(STATUS_SYSTEM, "cannot read '%s': %s", path, strerror(errno));
    else
        status = template_text(bytes > 0 ? text : "", file, values, quotings, out);
    free(text);
    if (from)
        fclose(from);
    return status;
}
