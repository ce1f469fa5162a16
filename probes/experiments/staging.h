/*
 * A copy from one GPU to another through pinned host memory, in chunks: while one chunk is on its
 * way in, the next is on its way out. Everything is enqueued at once and tied together by events,
 * so that no host thread waits for anything, whatever is in the stream before it.
 */
#pragma once

#include "probes/probe.h"

enum { STAGING_BUFFERS = 2 };

struct staging {
    struct probe_run *run;
    cuda_context from_context, to_context;
    cuda_stream in; /* on the receiving GPU */
    size_t chunk_bytes;
    unsigned count; /* of buffers */
    void *buffers[STAGING_BUFFERS];
    cuda_event out_done[STAGING_BUFFERS]; /* the buffer is full */
    cuda_event in_done[STAGING_BUFFERS];  /* and empty again */
};

/* Allocates all that copies of up to most_bytes will need; what is not larger than a chunk is
 * not split. Leaves from_context current. To be closed in every case. */
enum status staging_open(struct probe_run *run, cuda_context from_context, cuda_context to_context,
                         size_t chunk_bytes, size_t most_bytes, struct staging *out);

/* Enqueues a copy after all that is in the stream, which is the sending GPU's; what comes into the
 * stream later waits for it. from_context must be current, and is again. Copies by the same struct
 * must be in the same stream. */
enum status staging_copy(struct staging *staging, cuda_device_pointer to, cuda_device_pointer from,
                         size_t bytes, cuda_stream stream);

void staging_close(struct staging *staging);
