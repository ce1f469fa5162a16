#include "probes/experiments/staging.h"

enum status staging_open(struct probe_run *run, cuda_context from_context, cuda_context to_context,
                         size_t chunk_bytes, size_t most_bytes, struct staging *out)
{
    *out = (struct staging){.run = run,
                            .from_context = from_context,
                            .to_context = to_context,
                            .chunk_bytes = chunk_bytes,
                            .count = most_bytes > chunk_bytes ? STAGING_BUFFERS : 1};
    enum status status = probe_set_current(run, to_context);
    if (status == STATUS_OK)
        status = probe_new_stream(run, &out->in);
    for (unsigned i = 0; i < out->count && status == STATUS_OK; i++)
        status = PROBE_CALL(run, event_create, &out->in_done[i], CUDA_EVENT_DISABLE_TIMING);
    if (status == STATUS_OK)
        status = probe_set_current(run, from_context);
    for (unsigned i = 0; i < out->count && status == STATUS_OK; i++) {
        status = PROBE_CALL(run, event_create, &out->out_done[i], CUDA_EVENT_DISABLE_TIMING);
        if (status == STATUS_OK)
            status = PROBE_CALL(run, mem_host_alloc, &out->buffers[i], chunk_bytes,
                                CUDA_HOST_ALLOC_PORTABLE);
    }
    return status;
}

/* A chunk leaves the sending GPU, once its buffer is empty. */
static enum status send(struct staging *staging, unsigned buffer, bool again,
                        cuda_device_pointer from, size_t bytes, cuda_stream stream)
{
    struct probe_run *run = staging->run;
    enum status status = STATUS_OK;
    if (again)
        status = PROBE_CALL(run, stream_wait_event, stream, staging->in_done[buffer], 0);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, memcpy_dtoh_async, staging->buffers[buffer], from, bytes, stream);
    return status == STATUS_OK ? PROBE_CALL(run, event_record, staging->out_done[buffer], stream)
                               : status;
}

/* And gets to the receiving one, whose context becomes current. */
static enum status receive(struct staging *staging, unsigned buffer, cuda_device_pointer to,
                           size_t bytes)
{
    struct probe_run *run = staging->run;
    enum status status = probe_set_current(run, staging->to_context);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, stream_wait_event, staging->in, staging->out_done[buffer], 0);
    if (status == STATUS_OK)
        status =
            PROBE_CALL(run, memcpy_htod_async, to, staging->buffers[buffer], bytes, staging->in);
    return status == STATUS_OK
               ? PROBE_CALL(run, event_record, staging->in_done[buffer], staging->in)
               : status;
}

enum status staging_copy(struct staging *staging, cuda_device_pointer to, cuda_device_pointer from,
                         size_t bytes, cuda_stream stream)
{
    struct probe_run *run = staging->run;
    enum status status = STATUS_OK;
    unsigned buffer = 0;
    /* The first chunks of a copy find their buffers empty: its stream waits for the copy before. */
    for (size_t done = 0, chunks = 0; done < bytes && status == STATUS_OK; chunks++) {
        size_t part = bytes - done < staging->chunk_bytes ? bytes - done : staging->chunk_bytes;
        buffer = (unsigned)(chunks % staging->count);
        status = send(staging, buffer, chunks >= staging->count, from + done, part, stream);
        if (status == STATUS_OK)
            status = receive(staging, buffer, to + done, part);
        if (status == STATUS_OK)
            status = probe_set_current(run, staging->from_context);
        done += part;
    }
    return status == STATUS_OK
               ? PROBE_CALL(run, stream_wait_event, stream, staging->in_done[buffer], 0)
               : status;
}

void staging_close(struct staging *staging)
{
    if (!staging->run)
        return;
    const struct cuda_driver *driver = &staging->run->driver;
    /* The samples are given already: errors change nothing. */
    for (unsigned i = 0; i < staging->count; i++) {
        if (staging->out_done[i])
            driver->event_destroy(staging->out_done[i]);
        if (staging->buffers[i])
            driver->mem_free_host(staging->buffers[i]);
    }
    driver->ctx_set_current(staging->to_context);
    for (unsigned i = 0; i < staging->count; i++)
        if (staging->in_done[i])
            driver->event_destroy(staging->in_done[i]);
    probe_destroy_stream(staging->run, staging->in);
    driver->ctx_set_current(staging->from_context);
    *staging = (struct staging){0};
}
