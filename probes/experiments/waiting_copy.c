#include "probes/experiments/waiting_copy.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"

/* What a thread gets from the last line before the call to where it waits in it. */
#define SETTLE_NS (2 * NS_PER_MS)

/* No host function waits longer, whatever happens to those who should let it go. */
#define LONGEST_NS (5 * NS_PER_S)

/* On a thread of the driver's. */
static void wait_released(void *argument)
{
    struct waiting_copy *copy = argument;
    const struct timespec recheck = {.tv_nsec = (long)(100 * NS_PER_MS)};
    uint64_t until_ns = clock_now_ns() + LONGEST_NS;
    while (!atomic_load(&copy->released) && clock_now_ns() < until_ns)
        syscall(SYS_futex, &copy->released, FUTEX_WAIT_PRIVATE, 0, &recheck, NULL, 0);
}

static cuda_stream stream_of(const struct waiting_copy *copy)
{
    return copy->kind == WAITING_COPY_LEGACY       ? CUDA_STREAM_LEGACY
           : copy->kind == WAITING_COPY_PER_THREAD ? CUDA_STREAM_PER_THREAD
                                                   : copy->stream;
}

enum status waiting_copy_open(struct probe_run *run, const struct probe_gpu *gpu, size_t bytes,
                              bool pinned, enum waiting_copy_stream kind, struct waiting_copy *out)
{
    *out = (struct waiting_copy){
        .run = run, .gpu = gpu, .bytes = bytes, .pinned = pinned, .kind = kind};
    enum status status = probe_new_stream(run, &out->waits);
    if (status == STATUS_OK)
        status = probe_new_stream(run, &out->stream);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, event_create, &out->event, CUDA_EVENT_DISABLE_TIMING);
    if (status == STATUS_OK)
        status = probe_allocate(run, &out->device, bytes);
    if (status == STATUS_OK && pinned)
        status = PROBE_CALL(run, mem_host_alloc, &out->host, bytes, 0);
    if (status == STATUS_OK && !pinned) {
        out->host = calloc(1, bytes);
        if (!out->host)
            status = status_set(STATUS_MEMORY, "out of memory for %zu bytes of a copy", bytes);
    }
    return status;
}

static void *copy_in_thread(void *argument)
{
    struct waiting_copy *copy = argument;
    struct probe_run *run = copy->run;
    cuda_stream stream = stream_of(copy);
    enum status status = probe_set_current(run, copy->gpu->context);
    /* Here, since a thread's own default stream is another one elsewhere. */
    if (status == STATUS_OK)
        status = PROBE_CALL(run, stream_wait_event, stream, copy->event, 0);
    atomic_store(&copy->entered, 1);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, memcpy_dtoh_async, copy->host, copy->device, copy->bytes, stream);
    if (status == STATUS_OK)
        status = probe_synchronize(run, stream);
    copy->status = status;
    if (status != STATUS_OK)
        snprintf(copy->error, sizeof copy->error, "%s", status_text());
    return NULL;
}

enum status waiting_copy_begin(struct waiting_copy *copy)
{
    struct probe_run *run = copy->run;
    atomic_store(&copy->released, 0);
    atomic_store(&copy->entered, 0);
    enum status status = PROBE_CALL(run, launch_host_func, copy->waits, wait_released, copy);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, event_record, copy->event, copy->waits);
    if (status != STATUS_OK)
        return status;
    int error = pthread_create(&copy->thread, NULL, copy_in_thread, copy);
    if (error)
        return status_set(STATUS_SYSTEM, "cannot start a thread that copies: %s", strerror(error));
    copy->started = true;
    while (!atomic_load(&copy->entered))
        sched_yield();
    clock_sleep_until(clock_now_ns() + SETTLE_NS);
    return STATUS_OK;
}

void waiting_copy_release(void *argument)
{
    struct waiting_copy *copy = argument;
    atomic_store(&copy->released, 1);
    syscall(SYS_futex, &copy->released, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

enum status waiting_copy_end(struct waiting_copy *copy)
{
    bool started = copy->started;
    waiting_copy_release(copy);
    if (started)
        pthread_join(copy->thread, NULL);
    copy->started = false;
    /* Whatever has failed: the host function reads *copy until it has ended. */
    enum status status = copy->waits ? probe_synchronize(copy->run, copy->waits) : STATUS_OK;
    return started && copy->status != STATUS_OK ? status_set(copy->status, "%s", copy->error)
                                                : status;
}

void waiting_copy_close(struct waiting_copy *copy)
{
    const struct cuda_driver *driver = copy->run ? &copy->run->driver : NULL;
    if (!driver)
        return;
    waiting_copy_end(copy);
    if (copy->event)
        driver->event_destroy(copy->event);
    probe_destroy_stream(copy->run, copy->waits);
    probe_destroy_stream(copy->run, copy->stream);
    if (copy->host && copy->pinned)
        driver->mem_free_host(copy->host);
    else
        free(copy->host);
    probe_release(copy->run, copy->device);
    *copy = (struct waiting_copy){0};
}
