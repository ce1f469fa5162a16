#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/atomic_file.h"
#include "files/ending_signals.h"
#include "files/file_name.h"
#include "orchestrator/merge/internal.h"

struct copy {
    struct merge_reader reader;
    struct atomic_file *out;
};

static enum status write_record(struct atomic_file *out, json_t *record)
{
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(record);
    if (!text)
        return status_set(STATUS_MEMORY, "out of memory for a record");
    enum status status = atomic_file_write(out, text, strlen(text));
    if (status == STATUS_OK)
        status = atomic_file_write(out, "\n", 1);
    free(text);
    return status;
}

/* Copies a line as it is, with its source at the end. The measurement of one node of many becomes a
 * record of type node: readers would take the last one for the point. */
static enum status copy_line(struct copy *copy, size_t source, uint64_t offset, size_t bytes,
                             bool as_node)
{
    static const char point[] = "{\"type\":\"point\"", node[] = "{\"type\":\"node\"";
    enum status status = merge_reader_line(&copy->reader, source, offset, bytes);
    if (status != STATUS_OK)
        return status;
    const char *line = copy->reader.line;
    while (bytes > 0 && strchr(" \t\r", line[bytes - 1]))
        bytes--;
    bool usual = bytes > sizeof point && line[bytes - 1] == '}' &&
                 memcmp(line, point, sizeof point - 1) == 0;
    if (!usual) {
        /* Another program wrote it, or it is not a point. */
        json_t *record = json_loadb(line, bytes, 0, NULL);
        if (!record)
            return status_set(STATUS_SYSTEM, "'%s' has changed while it was read",
                              copy->reader.merge->files[copy->reader.file].path);
        if (as_node)
            json_object_set_new(record, "type", json_string("node"));
        json_object_set_new(record, "source", json_integer((json_int_t)source));
        return write_record(copy->out, record);
    }
    char end[40];
    size_t skipped = as_node ? sizeof point - 1 : 0;
    int length = snprintf(end, sizeof end, ",\"source\":%zu}\n", source);
    if (as_node)
        status = atomic_file_write(copy->out, node, sizeof node - 1);
    if (status == STATUS_OK)
        status = atomic_file_write(copy->out, line + skipped, bytes - 1 - skipped);
    if (status == STATUS_OK)
        status = atomic_file_write(copy->out, end, (size_t)length);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct merge_entry *x = *(const struct merge_entry *const *)a;
    const struct merge_entry *y = *(const struct merge_entry *const *)b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* In the order of the inputs, so that each is read once from its begin to its end. */
static enum status copy_points(struct copy *copy)
{
    const struct merge *merge = copy->reader.merge;
    size_t count = 0;
    const struct merge_entry **places = calloc(merge->entry_count + 1, sizeof *places);
    if (!places)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < merge->entry_count; i++)
        if (!merge->entries[i].dropped)
            places[count++] = &merge->entries[i];
    qsort(places, count, sizeof *places, by_place);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = ending_signals_pend()
                     ? status_set(STATUS_INTERRUPTED, "interrupted: nothing was written")
                     : copy_line(copy, places[i]->source, places[i]->offset, places[i]->bytes,
                                 !places[i]->kept);
    free(places);
    return status;
}

static enum status write_finding(void *out, json_t *record)
{
    return write_record(out, record);
}

static enum status write_all(struct copy *copy)
{
    const struct merge *merge = copy->reader.merge;
    enum status status = write_record(copy->out, merge_header(merge));
    for (size_t i = 0; i < merge->other_count && status == STATUS_OK; i++)
        status = copy_line(copy, merge->others[i].source, merge->others[i].offset,
                           merge->others[i].bytes, false);
    if (status == STATUS_OK)
        status = copy_points(copy);
    if (status == STATUS_OK)
        status = merge_each_finding(merge, write_finding, copy->out);
    if (status == STATUS_OK)
        status = write_record(copy->out, merge_footer(merge));
    return status;
}

/* Even --force does not write over what is read. */
static enum status check_inputs(const struct merge *merge, const char *output)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < merge->file_count && status == STATUS_OK; i++)
        status = file_name_refuse_input(output, merge->files[i].path);
    return status;
}

enum status merge_write(const struct merge *merge, const char *output, bool force)
{
    struct atomic_file file;
    struct copy copy = {.reader = MERGE_READER(merge), .out = &file};
    enum status status = check_inputs(merge, output);
    if (status == STATUS_OK)
        status =
            atomic_file_open(output, ATOMIC_FILE_VERIFY | (force ? ATOMIC_FILE_REPLACE : 0), &file);
    if (status != STATUS_OK)
        return status;
    status = write_all(&copy);
    merge_reader_close(&copy.reader);
    return atomic_file_end(&file, status);
}
