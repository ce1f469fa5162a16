/*
 * Labels of a figure's rows, as long as half of the page allows.
 */
#include "orchestrator/plot/gnuplot.h"

#include <stdbool.h>
#include <string.h>

#include "common/text.h"

#define LABEL_COLUMNS 60
#define LABEL_BYTES 4096
#define SEPARATOR ", "
#define LEFT_OUT "…"

static size_t name_bytes(const char *label)
{
    const char *end = strstr(label, SEPARATOR);
    return end ? (size_t)(end - label) : strlen(label);
}

static bool has_part(const char *label, const char *part, size_t bytes)
{
    const char *at = label;
    while ((at = strstr(at, SEPARATOR)) != NULL) {
        at += strlen(SEPARATOR);
        if (strncmp(at, part, bytes) == 0 &&
            (at[bytes] == '\0' || strncmp(at + bytes, SEPARATOR, strlen(SEPARATOR)) == 0))
            return true;
    }
    return false;
}

/* Whether a label begins with the name of another text and has all its parts. */
static bool has_all(const char *label, const char *text)
{
    size_t bytes = name_bytes(text);
    if (name_bytes(label) != bytes || strncmp(label, text, bytes) != 0)
        return false;
    for (const char *part = text + bytes; *part != '\0'; part += bytes) {
        part += strlen(SEPARATOR);
        bytes = name_bytes(part);
        if (strncmp(part, LEFT_OUT, bytes) != 0 && !has_part(label, part, bytes))
            return false;
    }
    return true;
}

/* Whether a label that was shortened to a text still differs from all from which it did. */
static bool is_enough(const json_t *labels, const char *label, const char *text)
{
    size_t index;
    const json_t *other;
    json_array_foreach(labels, index, other)
    {
        if (has_all(json_string_value(other), text) && !has_all(json_string_value(other), label))
            return false;
    }
    return true;
}

/* The beginning of the separator before end; NULL: there is none. */
static char *separator_before(char *text, const char *end)
{
    char *found = NULL;
    for (char *at = text; (at = strstr(at, SEPARATOR)) != NULL && at < end; at++)
        found = at;
    return found;
}

/* Leaves out parts without which the label still differs from the others, the last first, until it
 * fits; what is still too long loses its end. */
static void shorten(const json_t *labels, const char *label, char text[LABEL_BYTES])
{
    snprintf(text, LABEL_BYTES - sizeof LEFT_OUT, "%s", label);
    char *begin, *end = text + strlen(text);
    while (text_columns(text) > LABEL_COLUMNS && (begin = separator_before(text, end)) != NULL) {
        char shorter[LABEL_BYTES];
        /* One sign stands for several parts that follow each other. */
        bool again = strncmp(end, SEPARATOR LEFT_OUT, strlen(SEPARATOR LEFT_OUT)) == 0;
        snprintf(shorter, sizeof shorter, "%.*s%s%s", (int)(begin - text), text,
                 again ? "" : SEPARATOR LEFT_OUT, end);
        if (is_enough(labels, label, shorter))
            strcpy(text, shorter);
        end = begin;
    }
    if (text_columns(text) > LABEL_COLUMNS) {
        text_cut(text, LABEL_COLUMNS - 1);
        strcat(text, LEFT_OUT);
    }
}

enum status plot_write_labels(FILE *file, json_t *labels, size_t count)
{
    size_t index;
    const json_t *label;
    enum status status = STATUS_OK;
    if (json_array_size(labels) != count)
        status = status_set(STATUS_MEMORY, "out of memory for %zu labels", count);
    fprintf(file, "n_rows = %zu\narray labels[n_rows]\n", count);
    json_array_foreach(labels, index, label)
    {
        char text[LABEL_BYTES];
        shorten(labels, json_string_value(label), text);
        plot_write_item(file, "labels", index + 1, text);
    }
    json_decref(labels);
    return status;
}
