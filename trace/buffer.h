/*
 * What worker processes recorded of a trace, on its way to the orchestrator.
 *
 * One anonymous mapping (memfd) beside that of shm/shm.h, made by the orchestrator for each trace
 * and handed to the workers as a descriptor. It holds a fixed number of records of each process:
 * those beyond are counted and not kept. Magic, version and length are checked on
 * attach.
 *
 * Each process writes its own part only: records from any thread, names from one at a time. It sets
 * at the end that it is complete. The orchestrator reads when the processes have ended, and
 * believes nothing: counts and indices are brought within their bounds by trace_buffer_count() and
 * trace_buffer_name().
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

#define TRACE_MAGIC UINT64_C(0x3165636172747370) /* "pstrace1" */
#define TRACE_VERSION 4

#define TRACE_NAMES 256
#define TRACE_NAME_BYTES 512
#define TRACE_WORDS_BYTES 1024

enum trace_kind {
    TRACE_DRIVER_CALL,
    TRACE_RUNTIME_CALL,
    TRACE_KERNEL,
    TRACE_COPY,
    TRACE_SET,
    TRACE_ITERATION, /* of a program: what a thread did between begin and end of its tick */
};

enum trace_memory {
    TRACE_MEMORY_UNKNOWN,
    TRACE_MEMORY_PAGEABLE,
    TRACE_MEMORY_PINNED,
    TRACE_MEMORY_DEVICE,
    TRACE_MEMORY_ARRAY,
    TRACE_MEMORY_MANAGED,
    TRACE_MEMORIES
};

enum trace_direction {
    TRACE_TO_OTHER,
    TRACE_TO_DEVICE,
    TRACE_TO_HOST,
    TRACE_WITHIN_DEVICE,
    TRACE_BETWEEN_DEVICES,
};

struct trace_record {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t bytes;            /* of a copy, or set */
    uint32_t correlation;      /* of a call and of what it started on the GPU */
    uint32_t name;             /* of a call or kernel, in the process's table */
    uint8_t kind;              /* enum trace_kind */
    uint8_t direction;         /* of a copy: enum trace_direction */
    uint8_t source, sink;      /* of a copy, sink of a set: enum trace_memory */
    uint32_t thread;           /* of a call or iteration: the operating system's number */
    uint32_t result;           /* of a call */
    uint32_t device, context, stream;
    uint32_t source_device, sink_device; /* of a copy between devices */
    uint32_t grid[3], block[3];
    uint32_t registers;                     /* of each GPU thread */
    uint32_t static_shared, dynamic_shared; /* bytes */
};

struct trace_process {
    _Atomic uint32_t complete; /* 1: all that there was has been delivered */
    _Atomic int32_t pid;
    uint32_t cupti_version;
    uint32_t
        own_clock; /* 1: CUPTI took our clock; 0: its times were shifted by what was measured */
    uint64_t shift_error_ns;       /* of that measurement */
    _Atomic uint64_t count;        /* records, with those that did not fit */
    _Atomic uint64_t full_from_ns; /* the earliest begin of those that did not; 0: all did */
    uint64_t dropped;              /* by CUPTI, for want of a buffer */
    uint64_t timeless;             /* that CUPTI had no times of */
    uint64_t from_ns; /* where the trace begins; 0: the point never did, or it used no GPU */
    uint32_t name_count;
    char names[TRACE_NAMES][TRACE_NAME_BYTES];
    char words[TRACE_WORDS_BYTES]; /* of its command line, see process_words() */
};

struct trace_thread {
    uint32_t id; /* the operating system's number; 0: not known */
    uint32_t reserved;
    uint64_t end_ns; /* of its last iteration; 0: not known. What it calls then only tidies up. */
};

struct trace_header {
    uint64_t magic;
    uint32_t version;
    uint32_t processes, threads;
    uint32_t record_bytes;
    uint64_t length;         /* of the whole mapping, bytes */
    uint64_t records;        /* of each process, at most */
    uint64_t process_stride; /* from one process's part to the next: itself, threads, records */
};

struct trace_buffer {
    int fd;
    struct trace_header *header;
};

#define TRACE_BUFFER_EMPTY                                                                         \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Orchestrator: makes the mapping, all empty. The descriptor is close-on-exec. */
enum status trace_buffer_create(unsigned processes, unsigned threads, uint64_t records_each,
                                struct trace_buffer *out);

/* Worker: maps the descriptor after checking it. STATUS_PROTOCOL: it does not fit. The descriptor
 * is the buffer's then. */
enum status trace_buffer_attach(int fd, struct trace_buffer *out);

/* Unmaps, and closes the descriptor. Fine on TRACE_BUFFER_EMPTY. */
void trace_buffer_release(struct trace_buffer *buffer);

struct trace_process *trace_buffer_process(const struct trace_buffer *buffer, unsigned process);

/* Of its worker threads, by their number. */
struct trace_thread *trace_buffer_threads(const struct trace_buffer *buffer, unsigned process);

struct trace_record *trace_buffer_records(const struct trace_buffer *buffer, unsigned process);

/* Worker: takes the process's part for the calling process. False: another one has it, since of
 * the processes that a program consists of one is traced. */
bool trace_buffer_claim(const struct trace_buffer *buffer, unsigned process);

/* Worker: keeps a record, or counts it as one that did not fit. Any thread. */
void trace_buffer_add(const struct trace_buffer *buffer, unsigned process,
                      const struct trace_record *record);

/* Worker: the calling thread's iteration. */
void trace_buffer_mark(const struct trace_buffer *buffer, unsigned process, uint64_t begin_ns,
                       uint64_t end_ns);

/* Worker: the number of a name in the process's table, where it is put if it is new. Names are cut
 * at TRACE_NAME_BYTES - 1; those beyond TRACE_NAMES are all called "(other)". */
uint32_t trace_buffer_intern(const struct trace_buffer *buffer, unsigned process, const char *name);

/* Orchestrator: how many records there are, how many did not fit, and a name, which a terminal only
 * prints; "?" for a number that has none. */
uint64_t trace_buffer_count(const struct trace_buffer *buffer, unsigned process);
uint64_t trace_buffer_full(const struct trace_buffer *buffer, unsigned process);
const char *trace_buffer_name(const struct trace_buffer *buffer, unsigned process, uint32_t name);
