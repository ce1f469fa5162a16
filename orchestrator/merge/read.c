#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "files/results_lines.h"
#include "files/results_read.h"
#include "files/results_types.h"
#include "common/text.h"
#include "orchestrator/merge/internal.h"
#include "orchestrator/results/point.h"

/* Room for one more. */
static enum status grow(void **array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return STATUS_OK;
    size_t wanted = *capacity ? 2 * *capacity : 256;
    void *grown = realloc(*array, wanted * size);
    if (!grown)
        return status_set(STATUS_MEMORY, "out of memory");
    *array = grown;
    *capacity = wanted;
    return STATUS_OK;
}

#define GROW(array, capacity, count) grow((void **)&(array), &(capacity), count, sizeof *(array))

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    return strcmp(text_at(a, key), text_at(b, key)) == 0;
}

void merge_gpus_text(const json_t *header, char text[MERGE_GPUS_TEXT])
{
    struct text out = {.at = text, .size = MERGE_GPUS_TEXT};
    const json_t *gpus = json_object_get(header, "gpus");
    text_append(&out, "%.100s", text_at(json_object_get(header, "gpu"), "uuid"));
    for (size_t i = 1; i < json_array_size(gpus); i++)
        text_append(&out, " %.100s", text_at(json_array_get(gpus, i), "uuid"));
}

/* A resumed run is the same source, unless it came to another machine. */
static bool same_machine(const json_t *a, const json_t *b)
{
    char of_a[MERGE_GPUS_TEXT], of_b[MERGE_GPUS_TEXT];
    const json_t *forced_a = json_object_get(a, "other_machine");
    const json_t *forced_b = json_object_get(b, "other_machine");
    if (forced_a != forced_b && !json_equal(forced_a, forced_b))
        return false;
    merge_gpus_text(a, of_a);
    merge_gpus_text(b, of_b);
    return strcmp(of_a, of_b) == 0 && same_text(a, b, "host") && same_text(a, b, "slurm_node") &&
           same_text(a, b, "driver") && same_text(a, b, "mpsweep");
}

static enum status begin_source(struct merge *merge, size_t file, json_t *header)
{
    for (size_t i = merge->source_count; i-- > 0 && merge->sources[i].file == file;)
        if (same_machine(merge->sources[i].header, header)) {
            merge->current = i;
            return STATUS_OK;
        }
    if (merge->source_count == MERGE_MOST_SOURCES)
        return status_set(STATUS_USAGE, "more than %d files to merge", MERGE_MOST_SOURCES);
    enum status status = GROW(merge->sources, merge->source_capacity, merge->source_count);
    if (status != STATUS_OK)
        return status;
    if (json_array_append(merge->headers, header) != 0)
        return status_set(STATUS_MEMORY, "out of memory");
    merge->current = merge->source_count;
    merge->sources[merge->source_count++] = (struct merge_source){.file = file, .header = header};
    return STATUS_OK;
}

static enum merge_rank rank_of(const json_t *record)
{
    const char *status = text_at(record, "status");
    for (int i = 0; i < MERGE_RANKS; i++)
        if (strcmp(merge_rank_words[i], status) == 0)
            return (enum merge_rank)i;
    return MERGE_INTERRUPTED;
}

static void add_reasons(struct merge_telemetry *telemetry, const json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        json_t *reason = json_array_get(reasons, i);
        bool known = !json_is_string(reason);
        if (!telemetry->throttle)
            telemetry->throttle = json_array();
        for (size_t j = 0; j < json_array_size(telemetry->throttle) && !known; j++)
            known = json_equal(json_array_get(telemetry->throttle, j), reason);
        /* There are a dozen in all; a file of others must not fill the memory. */
        if (!known && json_array_size(telemetry->throttle) < 32)
            json_array_append(telemetry->throttle, reason);
    }
}

static void add_telemetry(struct merge_telemetry *sums, const json_t *telemetry)
{
    if (!json_is_object(telemetry))
        return;
    sums->points++;
    for (size_t i = 0; i < MERGE_READINGS; i++) {
        const json_t *value = json_object_get(telemetry, merge_readings[i].key);
        double number = json_is_object(value) ? number_at(value, "mean") : number_of(value);
        if (!isfinite(number))
            continue;
        sums->sums[i] += number;
        sums->counts[i]++;
    }
    add_reasons(sums, json_object_get(telemetry, "throttle"));
}

static enum status take_point(struct merge *merge, const json_t *record, uint64_t offset,
                              size_t bytes)
{
    const json_t *id = json_object_get(record, "id");
    if (!json_is_integer(id) || json_integer_value(id) < 0)
        return status_set(STATUS_USAGE, "a point without an id");
    if (json_integer_value(id) >= (json_int_t)merge->plan)
        return status_set(STATUS_USAGE, "point %" JSON_INTEGER_FORMAT " of a plan of %zu points",
                          json_integer_value(id), merge->plan);
    enum status status = results_check_types(record);
    if (status == STATUS_OK)
        status = GROW(merge->entries, merge->entry_capacity, merge->entry_count);
    if (status != STATUS_OK)
        return status;
    struct merge_source *source = &merge->sources[merge->current];
    struct merge_entry *entry = &merge->entries[merge->entry_count++];
    /* A rate that is given is served by any GPU that can. */
    const json_t *rate = json_object_get(record, "rate");
    bool given = json_is_object(rate) && !json_is_object(json_object_get(rate, "goal"));
    double ips = number_at(record, "throughput_ips");
    *entry = (struct merge_entry){
        .offset = offset,
        .bytes = (uint32_t)bytes,
        .source = (uint32_t)merge->current,
        .id = (uint32_t)json_integer_value(id),
        .rank = (uint8_t)rank_of(record),
        .half_rel = (float)number_at(record, "ci95_rel"),
        .one_round = json_array_size(json_object_get(record, "rounds")) < 2,
        .early = json_object_get(record, "rounds_left") != NULL,
        .log_ips = point_is_measured(record) && ips > 0 && !given ? log(ips) : NAN,
    };
    source->points++;
    /* A later record has the readings of all rounds. */
    if (!entry->early)
        add_telemetry(&source->telemetry, json_object_get(record, "telemetry"));
    return STATUS_OK;
}

static enum status take_header(struct merge *merge, size_t file, json_t *record)
{
    const json_t *schema = json_object_get(record, "schema");
    const json_t *plan = json_object_get(record, "plan");
    if (!json_is_integer(schema) || json_integer_value(schema) != RESULTS_SCHEMA)
        return status_set(STATUS_USAGE, "a header of another schema than %d", RESULTS_SCHEMA);
    if (json_object_get(record, "merged"))
        return status_set(STATUS_USAGE, "merged already: give the files that it was made of");
    if (!*text_at(record, "plan_id") || !json_is_integer(plan) || json_integer_value(plan) < 1)
        return status_set(STATUS_USAGE, "a header without a plan: merge is for results of sweeps");
    if (json_integer_value(plan) > MERGE_MOST_POINTS)
        return status_set(STATUS_USAGE, "a plan of more than %d points", MERGE_MOST_POINTS);
    /* Whether all are of the same plan is looked at when all are known. */
    if ((size_t)json_integer_value(plan) > merge->plan)
        merge->plan = (size_t)json_integer_value(plan);
    merge->files[file].finished = false;
    return begin_source(merge, file, record);
}

/* Takes in the record of one line. Any record is safe. STATUS_USAGE does not name file and line. */
static enum status take_record(struct merge *merge, size_t file, json_t *record, uint64_t offset,
                               size_t bytes)
{
    const char *type = text_at(record, "type");
    bool began = merge->source_count > 0 && merge->sources[merge->current].file == file;
    if (strcmp(type, "header") == 0)
        return take_header(merge, file, record);
    if (!began)
        return status_set(STATUS_USAGE, "a record before the header");
    if (strcmp(type, "point") == 0)
        return take_point(merge, record, offset, bytes);
    if (strcmp(type, "footer") == 0) {
        double seconds = number_at(record, "seconds");
        merge->files[file].seconds += isfinite(seconds) ? seconds : 0.0;
        merge->files[file].finished = true;
        return STATUS_OK;
    }
    if (!*type)
        return status_set(STATUS_USAGE, "a record without a type");
    enum status status = GROW(merge->others, merge->other_capacity, merge->other_count);
    if (status == STATUS_OK)
        merge->others[merge->other_count++] =
            (struct merge_other){offset, (uint32_t)bytes, (uint32_t)merge->current};
    return status;
}

/* What take_point() looks at. */
static bool is_needed(const char *key)
{
    static const char *const keys[] = {"status",      "throughput_ips", "ci95_rel", "rounds",
                                       "rounds_left", "rate",           "telemetry"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static enum status parse(const struct results_line *line, json_t **out)
{
    static const char *const known[] = {"footer", NULL};
    json_error_t error;
    char text[sizeof error.text];
    *out = results_record(line, is_needed, known, &error);
    if (*out)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "not JSON: %s",
                      text_printable(error.text, strlen(error.text), text, sizeof text));
}

/* The header, for the order of the files. A file that a killed run left without a whole line is
 * none to refuse: what it lacks is missing. */
static enum status read_first_line(struct merge_file *file)
{
    static const char begin[] = "{\"type\":\"header\"";
    struct results_lines lines = RESULTS_LINES_NONE;
    struct results_line line = {0};
    enum results_line_kind kind = RESULTS_LINE_NONE;
    struct stat info = {0};
    json_t *record = NULL;
    /* A pipe would be waited for, and cannot be read twice. */
    if (stat(file->path, &info) == 0 && !S_ISREG(info.st_mode))
        return status_set(STATUS_USAGE, "'%s' is not a regular file", file->path);
    enum status status = results_lines_open(file->path, &lines);
    if (status != STATUS_OK)
        return status;
    if (fstat(lines.fd, &info) != 0)
        status = status_set(STATUS_SYSTEM, "cannot look at '%s': %s", file->path, strerror(errno));
    file->device = info.st_dev;
    file->inode = info.st_ino;
    if (status == STATUS_OK)
        status = results_lines_next(&lines, &line, &kind);
    if (status == STATUS_OK && kind == RESULTS_LINE_WHOLE)
        status = parse(&line, &record);
    else if (status == STATUS_OK) {
        size_t got = lines.end - lines.begin, most = sizeof begin - 1;
        file->torn = true;
        if (memcmp(lines.buffer + lines.begin, begin, got < most ? got : most) != 0)
            status = STATUS_USAGE;
    }
    if (status == STATUS_OK && record && strcmp(text_at(record, "type"), "header") != 0)
        status = STATUS_USAGE;
    if (status == STATUS_OK)
        file->header = json_incref(record);
    else if (status == STATUS_USAGE && S_ISREG(info.st_mode))
        status = status_set(status, "'%s' is not an mpsweep results file", file->path);
    json_decref(record);
    results_lines_close(&lines);
    return status;
}

static enum status read_lines(struct merge *merge, size_t number)
{
    struct merge_file *file = &merge->files[number];
    struct results_lines lines = RESULTS_LINES_NONE;
    enum results_line_kind kind = RESULTS_LINE_WHOLE;
    enum status status = results_lines_open(file->path, &lines);
    while (status == STATUS_OK) {
        struct results_line line = {0};
        json_t *record = NULL;
        status = results_lines_next(&lines, &line, &kind);
        if (status != STATUS_OK || kind != RESULTS_LINE_WHOLE)
            break;
        file->lines++;
        status = parse(&line, &record);
        if (status == STATUS_OK)
            status = take_record(merge, number, record, line.offset, line.bytes);
        json_decref(record);
    }
    file->torn = kind == RESULTS_LINE_UNFINISHED;
    results_lines_close(&lines);
    if (status == STATUS_USAGE)
        status = status_prefix(status, "'%s' line %zu: ", file->path,
                               file->lines + (kind != RESULTS_LINE_WHOLE));
    return status;
}

json_int_t merge_shard_index(const json_t *header)
{
    const json_t *shard = json_object_get(header, "shard");
    return shard ? integer_at(shard, "index") : -1;
}

/* The output does not depend on the order in which a shell lists the files. */
static int by_shard(const void *a, const void *b)
{
    const struct merge_file *x = a, *y = b;
    json_int_t of_x = merge_shard_index(x->header), of_y = merge_shard_index(y->header);
    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int by_inode(const void *a, const void *b)
{
    const struct merge_file *x = *(struct merge_file *const *)a;
    const struct merge_file *y = *(struct merge_file *const *)b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

static enum status check_twice(const struct merge *merge)
{
    const struct merge_file **files = calloc(merge->file_count + 1, sizeof *files);
    enum status status = STATUS_OK;
    if (!files)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < merge->file_count; i++)
        files[i] = &merge->files[i];
    qsort(files, merge->file_count, sizeof *files, by_inode);
    for (size_t i = 1; i < merge->file_count && status == STATUS_OK; i++)
        if (by_inode(&files[i - 1], &files[i]) == 0)
            status = status_set(STATUS_USAGE, "'%s' and '%s' are one file", files[i - 1]->path,
                                files[i]->path);
    free(files);
    return status;
}

enum status merge_read(struct merge *merge, const char *const *paths, size_t count)
{
    merge->files = calloc(count + 1, sizeof *merge->files);
    merge->headers = json_array();
    if (!merge->files || !merge->headers)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        merge->files[i].path = paths[i];
        merge->file_count = i + 1;
        status = read_first_line(&merge->files[i]);
    }
    if (status == STATUS_OK)
        status = check_twice(merge);
    if (status != STATUS_OK)
        return status;
    qsort(merge->files, merge->file_count, sizeof *merge->files, by_shard);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if (merge->files[i].header)
            status = read_lines(merge, i);
    return status;
}

enum status merge_reader_line(struct merge_reader *reader, size_t source, uint64_t offset,
                              size_t bytes)
{
    size_t file = reader->merge->sources[source].file;
    const char *path = reader->merge->files[file].path;
    if (reader->fd < 0 || reader->file != file) {
        if (reader->fd >= 0)
            close(reader->fd);
        reader->fd = open(path, O_RDONLY | O_CLOEXEC);
        reader->file = file;
        if (reader->fd < 0)
            return status_set(STATUS_SYSTEM, "cannot open '%s' again: %s", path, strerror(errno));
    }
    if (bytes > reader->capacity) {
        char *grown = realloc(reader->line, bytes);
        if (!grown)
            return status_set(STATUS_MEMORY, "out of memory for a line of '%s'", path);
        reader->line = grown;
        reader->capacity = bytes;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(reader->fd, reader->line + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return status_set(STATUS_SYSTEM, "cannot read '%s' again: %s", path,
                              got < 0 ? strerror(errno) : "it has become shorter");
        done += (size_t)got;
    }
    return STATUS_OK;
}

void merge_reader_close(struct merge_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->line);
}

void merge_release(struct merge *merge)
{
    for (size_t i = 0; i < merge->file_count; i++)
        json_decref(merge->files[i].header);
    for (size_t i = 0; i < merge->source_count; i++)
        json_decref(merge->sources[i].telemetry.throttle);
    free(merge->files);
    free(merge->sources);
    free(merge->entries);
    free(merge->others);
    json_decref(merge->headers);
    json_decref(merge->differs);
    json_decref(merge->same_node);
    free(merge->duplicates);
    json_decref(merge->missing);
    gpus_model_release(&merge->gpus);
    fleet_release(&merge->nodes);
}
