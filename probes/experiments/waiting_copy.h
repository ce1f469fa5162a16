/*
 * A copy to the host that waits, by way of an event, for a host function that another thread has to
 * let go: the copy's thread is in the call, or out of it already, meanwhile.
 *
 * Order of calls: open; then begin, release and end as often as wanted; close.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "probes/probe.h"

enum waiting_copy_stream { WAITING_COPY_LEGACY, WAITING_COPY_PER_THREAD, WAITING_COPY_OWN };

struct waiting_copy {
    struct probe_run *run;
    const struct probe_gpu *gpu;
    size_t bytes;
    bool pinned;
    enum waiting_copy_stream kind;
    cuda_stream waits;  /* of the host function */
    cuda_stream stream; /* of the copy, where it is an own one */
    cuda_event event;   /* after the host function */
    cuda_device_pointer device;
    void *host;
    pthread_t thread;
    bool started;
    _Atomic uint32_t released; /* futex */
    _Atomic uint32_t entered;  /* the thread is about to copy */
    enum status status;        /* of the thread */
    char error[256];
};

/* In the current context. To be closed in every case. */
enum status waiting_copy_open(struct probe_run *run, const struct probe_gpu *gpu, size_t bytes,
                              bool pinned, enum waiting_copy_stream kind, struct waiting_copy *out);

/* Enqueues the host function and starts the thread that copies; returns when that has had time to
 * be in the call. */
enum status waiting_copy_begin(struct waiting_copy *copy);

/* Lets the host function end: any thread, any number of times; as a watchdog's release, too. */
void waiting_copy_release(void *copy);

/* Releases, and waits for the thread and all that it has enqueued. */
enum status waiting_copy_end(struct waiting_copy *copy);

void waiting_copy_close(struct waiting_copy *copy);
