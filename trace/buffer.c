#include "trace/buffer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/memory_file.h"
#include "common/text.h"

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static uint64_t threads_at(void)
{
    return round_up(sizeof(struct trace_process));
}

static uint64_t records_at(const struct trace_header *header)
{
    return threads_at() + round_up(header->threads * sizeof(struct trace_thread));
}

enum status trace_buffer_create(unsigned processes, unsigned threads, uint64_t records_each,
                                struct trace_buffer *out)
{
    struct trace_header header = {
        .magic = TRACE_MAGIC,
        .version = TRACE_VERSION,
        .processes = processes,
        .threads = threads,
        .record_bytes = sizeof(struct trace_record),
        .records = records_each,
    };
    header.process_stride = records_at(&header) + round_up(records_each * header.record_bytes);
    header.length = round_up(sizeof header) + processes * header.process_stride;
    int fd;
    void *at;
    enum status status = memory_file_create("mpsweep-trace", header.length, &fd, &at);
    if (status != STATUS_OK)
        return status;
    memcpy(at, &header, sizeof header);
    *out = (struct trace_buffer){.fd = fd, .header = at};
    return STATUS_OK;
}

static enum status check(const struct trace_header *header, size_t bytes)
{
    if (header->magic != TRACE_MAGIC || header->version != TRACE_VERSION ||
        header->record_bytes != sizeof(struct trace_record))
        return status_set(STATUS_PROTOCOL, "the memory of the trace is of another build");
    if (header->length != bytes || header->processes == 0 ||
        header->process_stride < records_at(header) + header->records * header->record_bytes ||
        header->length < round_up(sizeof *header) + header->processes * header->process_stride)
        return status_set(STATUS_PROTOCOL, "the memory of the trace is %zu bytes long, not %llu",
                          bytes, (unsigned long long)header->length);
    return STATUS_OK;
}

enum status trace_buffer_attach(int fd, struct trace_buffer *out)
{
    void *at;
    size_t bytes;
    enum status status = memory_file_attach(fd, sizeof(struct trace_header), &at, &bytes);
    if (status != STATUS_OK)
        return status;
    status = check(at, bytes);
    if (status != STATUS_OK) {
        memory_file_release(-1, at, bytes);
        return status;
    }
    *out = (struct trace_buffer){.fd = fd, .header = at};
    return STATUS_OK;
}

void trace_buffer_release(struct trace_buffer *buffer)
{
    memory_file_release(buffer->fd, buffer->header, buffer->header ? buffer->header->length : 0);
    *buffer = (struct trace_buffer)TRACE_BUFFER_EMPTY;
}

static char *part(const struct trace_buffer *buffer, unsigned process)
{
    return (char *)buffer->header + round_up(sizeof *buffer->header) +
           process * buffer->header->process_stride;
}

struct trace_process *trace_buffer_process(const struct trace_buffer *buffer, unsigned process)
{
    return (struct trace_process *)(void *)part(buffer, process);
}

struct trace_thread *trace_buffer_threads(const struct trace_buffer *buffer, unsigned process)
{
    return (struct trace_thread *)(void *)(part(buffer, process) + threads_at());
}

struct trace_record *trace_buffer_records(const struct trace_buffer *buffer, unsigned process)
{
    return (struct trace_record *)(void *)(part(buffer, process) + records_at(buffer->header));
}

bool trace_buffer_claim(const struct trace_buffer *buffer, unsigned process)
{
    int32_t none = 0;
    return atomic_compare_exchange_strong(&trace_buffer_process(buffer, process)->pid, &none,
                                          (int32_t)getpid());
}

static void note_full(struct trace_process *own, uint64_t begin_ns)
{
    uint64_t from_ns = atomic_load(&own->full_from_ns);
    while ((from_ns == 0 || begin_ns < from_ns) &&
           !atomic_compare_exchange_weak(&own->full_from_ns, &from_ns, begin_ns))
        ;
}

void trace_buffer_add(const struct trace_buffer *buffer, unsigned process,
                      const struct trace_record *record)
{
    struct trace_process *own = trace_buffer_process(buffer, process);
    uint64_t place = atomic_fetch_add(&own->count, 1);
    if (place < buffer->header->records)
        trace_buffer_records(buffer, process)[place] = *record;
    else
        note_full(own, record->begin_ns);
}

void trace_buffer_mark(const struct trace_buffer *buffer, unsigned process, uint64_t begin_ns,
                       uint64_t end_ns)
{
    const struct trace_record record = {.kind = TRACE_ITERATION,
                                        .begin_ns = begin_ns,
                                        .end_ns = end_ns,
                                        .thread = (uint32_t)gettid()};
    trace_buffer_add(buffer, process, &record);
}

uint32_t trace_buffer_intern(const struct trace_buffer *buffer, unsigned process, const char *name)
{
    struct trace_process *own = trace_buffer_process(buffer, process);
    uint32_t i = 0;
    for (; i < own->name_count; i++)
        if (strncmp(own->names[i], name, TRACE_NAME_BYTES - 1) == 0)
            return i;
    if (i == TRACE_NAMES)
        return TRACE_NAMES - 1;
    if (i == TRACE_NAMES - 1)
        name = "(other)";
    snprintf(own->names[i], TRACE_NAME_BYTES, "%s", name);
    own->name_count = i + 1;
    return i;
}

static uint64_t count_of(const struct trace_buffer *buffer, unsigned process)
{
    return atomic_load(&trace_buffer_process(buffer, process)->count);
}

uint64_t trace_buffer_count(const struct trace_buffer *buffer, unsigned process)
{
    uint64_t count = count_of(buffer, process);
    return count < buffer->header->records ? count : buffer->header->records;
}

uint64_t trace_buffer_full(const struct trace_buffer *buffer, unsigned process)
{
    return count_of(buffer, process) - trace_buffer_count(buffer, process);
}

const char *trace_buffer_name(const struct trace_buffer *buffer, unsigned process, uint32_t name)
{
    struct trace_process *own = trace_buffer_process(buffer, process);
    if (name >= own->name_count || name >= TRACE_NAMES)
        return "?";
    char *text = own->names[name];
    text[TRACE_NAME_BYTES - 1] = '\0';
    if (!text_is_displayable(text))
        text_printable(text, strlen(text), text, TRACE_NAME_BYTES);
    return text;
}
