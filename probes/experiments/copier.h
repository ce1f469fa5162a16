/*
 * The other party of many arms: a thread, or a whole process, that copies from the GPU to the host
 * again and again on a stream of its own.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "probes/probe.h"

struct copier_options {
    size_t bytes;
    bool pinned;
    uint64_t work_ns; /* of a kernel before each copy in its stream; 0: none */
    bool synced;      /* the stream is synchronised between that kernel and the copy */
    /* Words by which another process makes it pause, and sees that it does; NULL: the copier's
     * own. */
    _Atomic uint32_t *pause, *paused;
};

struct copier {
    struct probe_run *run;
    const struct probe_gpu *gpu;
    struct copier_options options;
    cuda_device_pointer device;
    void *host;
    unsigned *flag; /* of the kernel, never set, as the GPU sees it at */
    cuda_device_pointer flag_device;
    cuda_stream stream;
    pthread_t thread;
    bool started;
    _Atomic uint32_t stop;
    _Atomic uint64_t copies; /* finished */
    _Atomic uint32_t own_pause, own_paused;
    enum status status; /* of the thread, once it has ended, with */
    char error[256];
};

/* Allocates what it needs in the current context, and makes one copy; nothing runs yet. To be
 * closed in every case. */
enum status copier_open(struct probe_run *run, const struct probe_gpu *gpu,
                        const struct copier_options *options, struct copier *out);

/* Copies in the calling thread until the arm is over, or copier_stop() is called. */
enum status copier_copy(struct copier *copier);

/* The same in a thread of its own; returns when its first copy has been made, so that the second
 * runs. */
enum status copier_start(struct copier *copier);

/* From another thread or process, once: returns when no copy runs and none will, or the arm is
 * over. */
void copier_pause(const struct probe_run *run, _Atomic uint32_t *pause,
                  const _Atomic uint32_t *paused);

/* Whether there will be no copy any more, for one that failed. Any thread. */
bool copier_has_ended(const struct copier *copier);

/* Ends the thread after its copy, and gives its error. */
enum status copier_stop(struct copier *copier);

void copier_close(struct copier *copier);
