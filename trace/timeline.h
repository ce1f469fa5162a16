/*
 * A trace, put in order: the records of all processes on one clock, with each piece of GPU work
 * tied to the call that started it. Pure functions of what is in a trace's memory.
 */
#pragma once

#include <stddef.h>

#include "trace/buffer.h"

#define TIMELINE_NONE UINT32_MAX

struct timeline_event {
    struct trace_record record;
    const char *name; /* of a call or kernel, or what a copy does; the buffer's, the timeline's, or
                         static */
    const char *symbol; /* of a kernel that timeline_rename() gave another name: the one before */
    uint32_t process;   /* its place in processes */
    uint32_t worker;    /* thread of the process that called; TIMELINE_NONE: none of the workers */
    uint32_t call;      /* of GPU work: the event that started it; of a call TIMELINE_NONE */
    uint32_t work;      /* of a call: the first event that it started, or TIMELINE_NONE */
    uint32_t next;      /* of GPU work: the next of the same call, or TIMELINE_NONE */
    uint32_t lane;      /* of GPU work: 0, or more where it runs beside other work of its stream */
    bool tidies;        /* of a call, while merging: made when all is over, and left out */
};

struct timeline_iteration {
    uint64_t begin_ns, end_ns;
    uint32_t process, thread; /* the operating system's number */
    uint32_t worker;          /* as of an event */
};

struct timeline_process {
    int32_t pid;
    uint32_t cupti_version;
    bool own_clock;
    uint64_t shift_error_ns;
    bool complete;
};

struct timeline {
    struct timeline_process *processes;
    uint32_t process_count;
    struct timeline_event *events; /* by their begin; of equal ones the longer first */
    uint32_t count;
    struct timeline_iteration *iterations; /* of programs, by their begin */
    uint32_t iteration_count;
    uint64_t begin_ns; /* that of the trace */
    uint64_t end_ns;   /* of the last event that is in it */
    /* Left out: */
    uint64_t after_full; /* from the moment on from which not all fitted, of any process */
    uint64_t full_at_ns; /* that moment; 0: all fitted */
    uint64_t dropped;    /* by CUPTI, for want of a buffer */
    uint64_t timeless;   /* without times */
    uint64_t orphans;    /* GPU work whose call is not in the trace: it began before */
    char **names;        /* that timeline_rename() gave; owned */
};

/* Merges; what began before the counted part of the point is left out. The buffer must outlive the
 * timeline. STATUS_MEMORY only; *out is set only on success. */
enum status timeline_merge(const struct trace_buffer *buffer, struct timeline *out);
void timeline_release(struct timeline *timeline);

/* Gives kernels the names that name_of() makes of theirs: allocated ones, which the timeline then
 * owns, or NULL to leave them. It is asked once for each name of a process. Without memory they
 * keep their names. Once. */
void timeline_rename(struct timeline *timeline, char *(*name_of)(const char *symbol));

bool timeline_is_call(const struct timeline_event *event);

/* Nanoseconds that an event took. */
uint64_t timeline_duration_ns(const struct timeline_event *event);

/* "pinned", "device", ...; "-" for unknown ones. */
const char *timeline_memory_name(uint8_t memory);
