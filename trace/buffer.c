#include "trace/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    int fd = memfd_create("mpsweep-trace", MFD_CLOEXEC);
    if (fd < 0)
        return status_set(STATUS_SYSTEM, "cannot make memory for a trace: %s", strerror(errno));
    void *at = MAP_FAILED;
    if (ftruncate(fd, (off_t)header.length) == 0)
        at = mmap(NULL, header.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        int error = errno;
        close(fd);
        return status_set(STATUS_MEMORY, "cannot make memory for a trace: %s", strerror(error));
    }
    memcpy(at, &header, sizeof header);
    *out = (struct trace_buffer){.fd = fd, .header = at};
    return STATUS_OK;
}

enum status trace_buffer_attach(int fd, struct trace_buffer *out)
{
    struct stat info;
    struct trace_header header;
    if (fstat(fd, &info) != 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return status_set(STATUS_PROTOCOL, "descriptor %d is no memory of a trace", fd);
    if (header.magic != TRACE_MAGIC || header.version != TRACE_VERSION ||
        header.record_bytes != sizeof(struct trace_record))
        return status_set(STATUS_PROTOCOL, "the memory of the trace is of another build");
    if (header.length != (uint64_t)info.st_size || header.processes == 0 ||
        header.process_stride < records_at(&header) + header.records * header.record_bytes ||
        header.length < round_up(sizeof header) + header.processes * header.process_stride)
        return status_set(STATUS_PROTOCOL, "the memory of the trace is %lld bytes long, not %llu",
                          (long long)info.st_size, (unsigned long long)header.length);
    void *at = mmap(NULL, header.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return status_set(STATUS_MEMORY, "cannot map the memory of the trace: %s", strerror(errno));
    *out = (struct trace_buffer){.fd = fd, .header = at};
    return STATUS_OK;
}

void trace_buffer_release(struct trace_buffer *buffer)
{
    if (buffer->header)
        munmap(buffer->header, buffer->header->length);
    if (buffer->fd >= 0)
        close(buffer->fd);
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

void trace_buffer_add(const struct trace_buffer *buffer, unsigned process,
                      const struct trace_record *record)
{
    struct trace_process *own = trace_buffer_process(buffer, process);
    uint64_t count = atomic_load_explicit(&own->count, memory_order_relaxed);
    if (count >= buffer->header->records) {
        if (own->full == 0 || record->begin_ns < own->full_from_ns)
            own->full_from_ns = record->begin_ns;
        own->full++;
        return;
    }
    trace_buffer_records(buffer, process)[count] = *record;
    atomic_store_explicit(&own->count, count + 1, memory_order_release);
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

uint64_t trace_buffer_count(const struct trace_buffer *buffer, unsigned process)
{
    uint64_t count =
        atomic_load_explicit(&trace_buffer_process(buffer, process)->count, memory_order_acquire);
    return count < buffer->header->records ? count : buffer->header->records;
}

const char *trace_buffer_name(const struct trace_buffer *buffer, unsigned process, uint32_t name)
{
    struct trace_process *own = trace_buffer_process(buffer, process);
    if (name >= own->name_count || name >= TRACE_NAMES)
        return "?";
    own->names[name][TRACE_NAME_BYTES - 1] = '\0';
    return own->names[name];
}
