/*
 * Templates: data files that read as what is made of them, with names in double braces where values
 * stand. The syntax is that of mustache(5), with quoting for the kind of a place:
 *
 *   {{name}}               the value of a name: a text or an integer
 *   {{name|quoting}}       the same, quoted for its place
 *   {{#name}}...{{/name}}  for each item of a list, or once with what is true
 *   {{^name}}...{{/name}}  where that stands for nothing: false, null, "", 0, []
 *   {{.}}                  the item of the innermost list
 *   {{-first}}             whether it is the first of its list
 *   {{>FILE}}              another template
 *   {{! for the readers of the template }}
 *
 * A name is looked for in the innermost object first. A line that has nothing but one tag of the
 * last kinds, those with a sign, leaves no line behind.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "common/status.h"

/* Where names are looked for: in value, then in what is around it. Not owned. */
struct template_values {
    const json_t *value;
    size_t index; /* in its list */
    const struct template_values *outer;
};

/* A kind of place. Rows end with one without a name. */
struct template_quoting {
    const char *name;
    void (*write)(FILE *file, const char *text);
};

/* Fills in a text; name is what errors call it. *out is a text for free(). STATUS_UNSUPPORTED: the
 * text has a name, a quoting or a section that is not there. STATUS_MEMORY, and with other
 * templates in it what template_file() returns. */
enum status template_text(const char *text, const char *name, const struct template_values *values,
                          const struct template_quoting *quotings, char **out);

/* Fills in a data file, "emit/compose.yaml". Also STATUS_NOT_FOUND, STATUS_SYSTEM: it cannot be
 * read. */
enum status template_file(const char *file, const struct template_values *values,
                          const struct template_quoting *quotings, char **out);
