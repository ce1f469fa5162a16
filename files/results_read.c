#include "files/results_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "files/results_lines.h"
#include "files/results_types.h"

/* A header is no longer. */
#define HEADER_MOST (1 << 20)

/* The parser quotes what it stumbled on; an error is one line of plain text all the same. */
static enum status not_json(const char *path, unsigned long number, const json_error_t *error)
{
    char text[sizeof error->text];
    text_printable(error->text, strlen(error->text), text, sizeof text);
    /* It takes the line for a file. */
    char *file_end = strstr(text, "near end of file");
    if (file_end != NULL)
        strcpy(file_end, "near its end");
    return status_set(STATUS_USAGE, "'%s' line %lu: not JSON: %s", path, number, text);
}

static enum status check_schema(const char *path, unsigned long number, const json_t *header)
{
    const json_t *schema = json_object_get(header, "schema");
    if (!json_is_integer(schema) && number == 1)
        return status_set(STATUS_USAGE, "'%s' is not an mpsweep results file", path);
    if (!json_is_integer(schema))
        return status_set(STATUS_USAGE, "'%s' line %lu: a header without a schema", path, number);
    if (json_integer_value(schema) == RESULTS_SCHEMA)
        return STATUS_OK;
    if (number > 1)
        return status_set(STATUS_USAGE,
                          "'%s' line %lu: has schema %" JSON_INTEGER_FORMAT
                          "; this program reads %d",
                          path, number, json_integer_value(schema), RESULTS_SCHEMA);
    return status_set(STATUS_USAGE,
                      "'%s' has schema %" JSON_INTEGER_FORMAT "; this program reads %d", path,
                      json_integer_value(schema), RESULTS_SCHEMA);
}

/* Puts a point in the array, in the place of an earlier record of its id. place_of maps an id as
 * text to its index. */
static enum status add_point(const char *path, unsigned long number, json_t *point,
                             json_t *place_of, struct results *results)
{
    const json_t *id = json_object_get(point, "id");
    char key[32];
    if (!json_is_integer(id) || json_integer_value(id) < 0)
        return status_set(STATUS_USAGE, "'%s' line %lu: a point without an id", path, number);
    enum status status = results_check_types(point);
    if (status != STATUS_OK)
        return status_prefix(status, "'%s' line %lu: ", path, number);
    snprintf(key, sizeof key, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    size_t count = json_array_size(results->points);
    json_int_t place = json_place(place_of, key, (json_int_t)count);
    int error = -1;
    if (place == (json_int_t)count)
        error = json_array_append(results->points, point);
    else if (place >= 0)
        error = json_array_set(results->points, (size_t)place, point);
    return error == 0 ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory reading '%s'", path);
}

static enum status add_header(const char *path, unsigned long number, json_t *header,
                              struct results *results)
{
    enum status status = check_schema(path, number, header);
    if (status != STATUS_OK)
        return status;
    if (results->header == NULL)
        results->header = json_incref(header);
    else if (!json_is_true(json_object_get(header, "resumed")))
        return status_set(STATUS_USAGE,
                          "'%s' line %lu: another file begins; 'mpsweep merge' joins files", path,
                          number);
    /* What holds for some of the points holds for the file. */
    json_t *other_machine = json_object_get(header, "other_machine");
    if (other_machine != NULL)
        json_object_set(results->header, "other_machine", other_machine);
    /* A footer before this header closed another run. */
    json_decref(results->footer);
    results->footer = NULL;
    return STATUS_OK;
}

static enum status add_record(const char *path, unsigned long number, json_t *record,
                              json_t *place_of, struct results *results)
{
    const struct {
        const char *type;
        json_t *all; /* an array that keeps each, or NULL */
        json_t **last;
    } kinds[] = {
        {"calibration", results->calibrations, NULL},
        {"probe", results->probes, NULL},
        {"tune", NULL, &results->tune},
        {"fleet", NULL, &results->fleet},
        {"footer", NULL, &results->footer},
    };
    const char *type = json_string_value(json_object_get(record, "type"));
    if (number == 1 && (type == NULL || strcmp(type, "header") != 0))
        return status_set(STATUS_USAGE, "'%s' is not an mpsweep results file", path);
    if (type == NULL)
        return status_set(STATUS_USAGE, "'%s' line %lu: a record without a type", path, number);
    if (strcmp(type, "header") == 0)
        return add_header(path, number, record, results);
    if (strcmp(type, "point") == 0)
        return add_point(path, number, record, place_of, results);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        if (kinds[i].all != NULL && json_array_append(kinds[i].all, record) != 0)
            return status_set(STATUS_MEMORY, "out of memory reading '%s'", path);
        if (kinds[i].last != NULL) {
            json_decref(*kinds[i].last);
            *kinds[i].last = json_incref(record);
        }
    }
    return STATUS_OK;
}

/* A merged fleet has hundreds of them for each point, which readers of points do not need. */
static bool is_of_a_node(const struct results_line *line)
{
    static const char begin[] = "{\"type\":\"node\"";
    return line->bytes > sizeof begin && memcmp(line->text, begin, sizeof begin - 1) == 0;
}

/* Whether the file, which has no whole line, may be one that was cut in its header. */
static bool is_cut_in_header(const struct results_lines *lines)
{
    static const char begin[] = "{\"type\":\"header\"";
    size_t bytes = lines->end - lines->begin;
    size_t same = bytes < sizeof begin - 1 ? bytes : sizeof begin - 1;
    return bytes < HEADER_MOST && (bytes == 0 || memcmp(lines->buffer, begin, same) == 0);
}

/* Whether a text in it may be one that a terminal does not only print: an escape sequence of JSON,
 * DEL, or a lead byte of such a character in UTF-8. */
static bool may_be_odd(const struct results_line *line)
{
    static const unsigned char bytes[] = {'\\', 0x7f, 0xc2, 0xd8, 0xe2};
    for (size_t i = 0; i < sizeof bytes; i++)
        if (memchr(line->text, bytes[i], line->bytes) != NULL)
            return true;
    return false;
}

/* Keys of ours are displayable: others are dropped. */
static void make_displayable(json_t *value)
{
    const char *key;
    void *next;
    json_t *child;
    size_t index;
    if (json_is_string(value) && !text_is_displayable(json_string_value(value))) {
        size_t size = 3 * json_string_length(value) + 1;
        char *text = malloc(size);
        if (text == NULL ||
            json_string_set(value, text_displayed(json_string_value(value), text, size)) != 0)
            json_string_set(value, "");
        free(text);
    }
    json_object_foreach_safe(value, next, key, child)
    {
        if (text_is_displayable(key))
            make_displayable(child);
        else
            json_object_del(value, key);
    }
    json_array_foreach(value, index, child)
    {
        make_displayable(child);
    }
}

void results_make_displayable(struct results *results)
{
    json_t *const all[] = {results->header, results->points, results->calibrations, results->probes,
                           results->tune,   results->fleet,  results->footer};
    for (size_t i = 0; i < sizeof all / sizeof *all && results->odd; i++)
        make_displayable(all[i]);
    results->odd = false;
}

/* The other types are of no use to readers. */
static const char *const known[] = {"calibration", "probe", "tune", "fleet", "footer", NULL};

static enum status load_lines(struct results_lines *lines, results_field *needed, bool begun,
                              json_t *place_of, struct results *results)
{
    const char *path = lines->path;
    for (unsigned long number = 1;; number++) {
        struct results_line line = {0};
        enum results_line_kind kind = RESULTS_LINE_NONE;
        enum status status = results_lines_next(lines, &line, &kind);
        if (status == STATUS_USAGE)
            return number == 1 ? status_set(status, "'%s' is not an mpsweep results file", path)
                               : status_prefix(status, "'%s' line %lu: ", path, number);
        if (status != STATUS_OK)
            return status;
        if (kind == RESULTS_LINE_WHOLE) {
            results->whole_bytes += line.bytes + 1;
            if (is_of_a_node(&line))
                continue;
            json_error_t error;
            json_t *record = results_record(&line, needed, known, &error);
            results->odd |= may_be_odd(&line);
            if (record == NULL)
                return number == 1
                           ? status_set(STATUS_USAGE, "'%s' is not an mpsweep results file", path)
                           : not_json(path, number, &error);
            status = add_record(path, number, record, place_of, results);
            json_decref(record);
            if (status != STATUS_OK)
                return status;
            continue;
        }
        results->torn = kind == RESULTS_LINE_UNFINISHED;
        if (number > 1 || (begun && is_cut_in_header(lines)))
            return STATUS_OK;
        return status_set(STATUS_USAGE, results->torn ? "'%s' has no whole line" : "'%s' is empty",
                          path);
    }
}

/* Closes the lines. */
static enum status load(struct results_lines *lines, results_field *needed, bool begun,
                        struct results *out)
{
    struct results results = {
        .points = json_array(), .calibrations = json_array(), .probes = json_array()};
    json_t *place_of = json_object();
    enum status status = STATUS_OK;
    if (place_of == NULL || results.points == NULL || results.calibrations == NULL ||
        results.probes == NULL)
        status = status_set(STATUS_MEMORY, "out of memory reading '%s'", lines->path);
    if (status == STATUS_OK)
        status = load_lines(lines, needed, begun, place_of, &results);
    if (status == STATUS_OK)
        *out = results;
    else
        results_release(&results);
    json_decref(place_of);
    results_lines_close(lines);
    return status;
}

enum status results_load(const char *path, results_field *needed, struct results *out)
{
    struct results_lines lines;
    enum status status = results_lines_open(path, &lines);
    return status == STATUS_OK ? load(&lines, needed, false, out) : status;
}

enum status results_load_begun(int fd, const char *path, results_field *needed, struct results *out)
{
    struct results_lines lines;
    enum status status = results_lines_of(fd, path, &lines);
    return status == STATUS_OK ? load(&lines, needed, true, out) : status;
}

bool results_are_of_cut_tune(const struct results *results)
{
    return !results->tune && json_object_get(json_array_get(results->points, 0), "tune");
}

bool results_are_of_tune(const struct results *results)
{
    return results->tune || results_are_of_cut_tune(results);
}

size_t results_missing_points(const struct results *results)
{
    json_int_t planned = integer_at(results->header, "plan");
    size_t count = json_array_size(results->points);
    bool part = results_are_of_tune(results) || json_object_get(results->header, "shard");
    return !part && planned > (json_int_t)count ? (size_t)planned - count : 0;
}

size_t results_lacking_points(const struct results *results)
{
    size_t index, count = 0;
    const json_t *point;
    json_array_foreach(results->points, index, point)
    {
        count += json_object_get(point, "rounds_left") ||
                 strcmp(text_at(point, "status"), "interrupted") == 0;
    }
    return count;
}

enum status results_refuse_probes(const struct results *results, const char *path)
{
    if (json_array_size(results->points) > 0 || json_array_size(results->probes) == 0)
        return STATUS_OK;
    return status_set(
        STATUS_USAGE,
        "'%s' holds probes, and no points: 'mpsweep export FILE' prints them, 'mpsweep "
        "plot FILE -o IMAGE' draws them",
        path);
}

void results_release(struct results *results)
{
    json_decref(results->header);
    json_decref(results->points);
    json_decref(results->calibrations);
    json_decref(results->probes);
    json_decref(results->tune);
    json_decref(results->fleet);
    json_decref(results->footer);
    *results = (struct results){0};
}
