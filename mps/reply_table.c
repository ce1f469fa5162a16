/* The replies that are tables: ps, device_query and lspart. */
#include "mps/reply.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "common/text.h"
#include "mps/internal.h"

struct column {
    const char *name;
    size_t begin, end; /* end: where the next column begins */
};

/* Where a name stands in the header as a whole word, or as several. */
static bool find_column(struct mps_scan header, struct column *column)
{
    size_t length = strlen(column->name);
    for (size_t at = 0; at + length <= header.bytes; at++) {
        size_t end = at + length;
        if (memcmp(header.at + at, column->name, length) != 0 ||
            (at > 0 && !mps_scan_is_blank(header.at[at - 1])) ||
            (end < header.bytes && !mps_scan_is_blank(header.at[end])))
            continue;
        while (end < header.bytes && mps_scan_is_blank(header.at[end]))
            end++;
        column->begin = at;
        column->end = end < header.bytes ? end : SIZE_MAX;
        return true;
    }
    return false;
}

static bool find_columns(struct mps_scan header, struct column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!find_column(header, &columns[i]))
            return false;
    return true;
}

/* The text under a column's name, without the blanks behind it. false: it runs over the column's
 * edge, so that its end is unknown. */
static bool find_cell(struct mps_scan line, const struct column *column, struct mps_scan *cell)
{
    size_t begin = column->begin < line.bytes ? column->begin : line.bytes;
    size_t end = column->end < line.bytes ? column->end : line.bytes;
    if (column->begin < line.bytes && begin > 0 && !mps_scan_is_blank(line.at[begin - 1]))
        return false;
    if (end < line.bytes && !mps_scan_is_blank(line.at[end - 1]))
        return false;
    while (end > begin && mps_scan_is_blank(line.at[end - 1]))
        end--;
    *cell = (struct mps_scan){line.at + begin, end - begin};
    return true;
}

static bool read_number(struct mps_scan line, const struct column *column, uint64_t most,
                        uint64_t *number)
{
    struct mps_scan cell;
    return find_cell(line, column, &cell) && mps_scan_is_number(cell, most, number);
}

/* A name: printable, without blanks, and whole. */
static bool read_name(struct mps_scan line, const struct column *column, char *name, size_t size)
{
    struct mps_scan cell;
    if (!find_cell(line, column, &cell) || cell.bytes == 0 || cell.bytes >= size)
        return false;
    for (size_t i = 0; i < cell.bytes; i++)
        if (cell.at[i] <= ' ' || cell.at[i] > '~')
            return false;
    text_printable(cell.at, cell.bytes, name, size);
    return true;
}

enum { PS_PID, PS_ID, PS_SERVER, PS_DEVICE, PS_NAMESPACE, PS_COMMAND, PS_COLUMNS };

static bool read_client(struct mps_scan line, const struct column *columns,
                        struct mps_client_row *row)
{
    uint64_t pid, id, server, pid_namespace;
    struct mps_scan command;
    if (!read_number(line, &columns[PS_PID], INT_MAX, &pid) || pid == 0 ||
        !read_number(line, &columns[PS_ID], UINT_MAX, &id) ||
        !read_number(line, &columns[PS_SERVER], INT_MAX, &server) || server == 0 ||
        !read_name(line, &columns[PS_DEVICE], row->device, sizeof row->device) ||
        !read_number(line, &columns[PS_NAMESPACE], ULONG_MAX, &pid_namespace) ||
        !find_cell(line, &columns[PS_COMMAND], &command))
        return false;
    row->pid = (pid_t)pid;
    row->id = (unsigned)id;
    row->server = (pid_t)server;
    row->pid_namespace = (unsigned long)pid_namespace;
    text_printable(command.at, command.bytes, row->command, sizeof row->command);
    return true;
}

enum status mps_reply_ps(const char *reply, size_t bytes, struct mps_client_row *rows,
                         size_t capacity, size_t *count)
{
    static const char wanted[] = "a table of clients";
    struct column columns[PS_COLUMNS] = {
        [PS_PID] = {.name = "PID"},         [PS_ID] = {.name = "ID"},
        [PS_SERVER] = {.name = "SERVER"},   [PS_DEVICE] = {.name = "DEVICE"},
        [PS_COMMAND] = {.name = "COMMAND"}, [PS_NAMESPACE] = {.name = "NAMESPACE"},
    };
    struct mps_scan text = {reply, bytes}, line, more;
    size_t found = 0;
    bool any = mps_scan_line(&text, &line, NULL);
    /* Both are seen: the first before any client came, the other after the last one went. */
    if (!any || (mps_scan_is(line, "Server not found") && !mps_scan_line(&text, &more, NULL))) {
        *count = 0;
        return STATUS_OK;
    }
    if (!find_columns(line, columns, PS_COLUMNS))
        return mps_reply_refused(line, wanted);
    while (mps_scan_line(&text, &line, NULL)) {
        struct mps_client_row row;
        if (!read_client(line, columns, &row))
            return mps_reply_odd(line, wanted);
        if (found == capacity)
            return status_set(STATUS_PROTOCOL, "the MPS daemon named more than %zu clients",
                              capacity);
        rows[found++] = row;
    }
    *count = found;
    return STATUS_OK;
}

enum { DEVICE_ORDINAL, DEVICE_UUID, DEVICE_COLUMNS };

/* Adds what is not there yet. */
static enum status add_device(const struct mps_device_row *row, struct mps_device_row *rows,
                              size_t capacity, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        bool same_uuid = strcmp(rows[i].uuid, row->uuid) == 0;
        if (rows[i].ordinal == row->ordinal && same_uuid)
            return STATUS_OK;
        if (rows[i].ordinal == row->ordinal || same_uuid)
            return status_set(STATUS_PROTOCOL,
                              "the MPS daemon contradicts itself about device %u ('%s')",
                              row->ordinal, row->uuid);
    }
    if (*count == capacity)
        return status_set(STATUS_PROTOCOL, "the MPS daemon named more than %zu devices", capacity);
    rows[(*count)++] = *row;
    return STATUS_OK;
}

enum status mps_reply_devices(const char *reply, size_t bytes, struct mps_device_row *rows,
                              size_t capacity, size_t *count)
{
    static const char wanted[] = "a table of devices";
    struct column columns[DEVICE_COLUMNS] = {
        [DEVICE_ORDINAL] = {.name = "Device Ordinal"},
        [DEVICE_UUID] = {.name = "UUID"},
    };
    struct mps_scan text = {reply, bytes}, line;
    bool in_table = false;
    size_t found = 0;
    while (mps_scan_line(&text, &line, NULL)) {
        struct mps_device_row row;
        uint64_t ordinal;
        if (in_table && read_number(line, &columns[DEVICE_ORDINAL], INT_MAX, &ordinal) &&
            read_name(line, &columns[DEVICE_UUID], row.uuid, sizeof row.uuid)) {
            row.ordinal = (unsigned)ordinal;
            enum status status = add_device(&row, rows, capacity, &found);
            if (status != STATUS_OK)
                return status;
            continue;
        }
        /* Anything else is a header, or the title in front of one, such as "Default". */
        struct mps_scan title = line;
        if (!find_columns(line, columns, DEVICE_COLUMNS) &&
            ((*title.at >= '0' && *title.at <= '9') || !mps_scan_line(&text, &line, NULL) ||
             !find_columns(line, columns, DEVICE_COLUMNS)))
            return in_table ? mps_reply_odd(title, wanted) : mps_reply_refused(title, wanted);
        in_table = true;
    }
    if (!in_table)
        return status_set(STATUS_PROTOCOL, "the MPS daemon answered nothing, which is not %s",
                          wanted);
    *count = found;
    return STATUS_OK;
}

enum { PART_GPU, PART_NAME, PART_FREE, PART_CHUNKS, PART_FREE_SMS, PART_SMS, PART_USED, PARTS };

static bool split(struct mps_scan line, struct mps_scan *words)
{
    struct mps_scan more;
    for (size_t i = 0; i < PARTS; i++)
        if (!mps_scan_word(&line, &words[i]))
            return false;
    return !mps_scan_word(&line, &more);
}

static bool read_partition(const struct mps_scan *words, struct mps_partition_row *row)
{
    uint64_t chunks, sms;
    size_t length = words[PART_GPU].bytes;
    if (!mps_scan_is_number(words[PART_CHUNKS], UINT_MAX, &chunks) ||
        !mps_scan_is_number(words[PART_SMS], UINT_MAX, &sms) ||
        length + words[PART_NAME].bytes + 2 > sizeof row->name)
        return false;
    text_printable(words[PART_GPU].at, length, row->name, sizeof row->name);
    row->name[length++] = '/';
    text_printable(words[PART_NAME].at, words[PART_NAME].bytes, row->name + length,
                   sizeof row->name - length);
    row->chunks = (unsigned)chunks;
    row->sms = (unsigned)sms;
    row->used = mps_scan_is(words[PART_USED], "Yes");
    return true;
}

/* A header of two lines; then of each GPU a line with '-' for a name, and one for each partition.
 */
enum status mps_reply_partitions(const char *reply, size_t bytes, struct mps_partition_row *rows,
                                 size_t capacity, size_t *count)
{
    static const char wanted[] = "a table of partitions";
    struct mps_scan text = {reply, bytes}, line, words[PARTS];
    size_t found = 0;
    if (!mps_scan_line(&text, &line, NULL))
        return status_set(STATUS_PROTOCOL, "the MPS daemon answered nothing, which is not %s",
                          wanted);
    if (!split(line, words) || !mps_scan_is(words[PART_NAME], "Partition"))
        return mps_reply_refused(line, wanted);
    while (mps_scan_line(&text, &line, NULL)) {
        struct mps_scan rest = line;
        if (mps_scan_word(&rest, &words[0]) && mps_scan_is(words[0], "chunk"))
            continue;
        if (!split(line, words))
            return mps_reply_odd(line, wanted);
        if (mps_scan_is(words[PART_NAME], "-"))
            continue;
        if (found == capacity)
            return status_set(STATUS_PROTOCOL, "the MPS daemon named more than %zu partitions",
                              capacity);
        if (!read_partition(words, &rows[found++]))
            return mps_reply_odd(line, wanted);
    }
    *count = found;
    return STATUS_OK;
}
