#include "probes/experiments/copier.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of one block that takes so long. */
static enum status work(struct copier *copier)
{
    unsigned long long bound_ns = copier->options.work_ns;
    cuda_device_pointer nothing = 0;
    void *parameters[] = {&copier->flag_device, &bound_ns, &nothing};
    return PROBE_CALL(copier->run, launch_kernel, copier->gpu->hold, 1, 1, 1, 1, 1, 1, 0,
                      copier->stream, parameters, NULL);
}

static enum status copy_once(struct copier *copier)
{
    struct probe_run *run = copier->run;
    enum status status = copier->options.work_ns ? work(copier) : STATUS_OK;
    if (status == STATUS_OK && copier->options.synced)
        status = probe_synchronize(run, copier->stream);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, memcpy_dtoh_async, copier->host, copier->device,
                            copier->options.bytes, copier->stream);
    if (status == STATUS_OK)
        status = probe_synchronize(run, copier->stream);
    return status;
}

static enum status open_flag(struct copier *copier)
{
    struct probe_run *run = copier->run;
    void *flag = NULL;
    enum status status =
        PROBE_CALL(run, mem_host_alloc, &flag, sizeof(unsigned), CUDA_HOST_ALLOC_MAPPED);
    if (status != STATUS_OK)
        return status;
    copier->flag = flag;
    *copier->flag = 0;
    return PROBE_CALL(run, mem_host_get_device_pointer, &copier->flag_device, flag, 0);
}

enum status copier_open(struct probe_run *run, const struct probe_gpu *gpu,
                        const struct copier_options *options, struct copier *out)
{
    *out = (struct copier){.run = run, .gpu = gpu, .options = *options};
    if (!out->options.pause) {
        out->options.pause = &out->own_pause;
        out->options.paused = &out->own_paused;
    }
    enum status status = probe_allocate(run, &out->device, options->bytes);
    if (status == STATUS_OK && options->pinned) {
        status = PROBE_CALL(run, mem_host_alloc, &out->host, options->bytes, 0);
    } else if (status == STATUS_OK) {
        out->host = malloc(options->bytes);
        if (!out->host)
            return status_set(STATUS_MEMORY, "out of memory for %zu bytes of a copy",
                              options->bytes);
        /* Page faults are no part of a copy. */
        memset(out->host, 1, options->bytes);
    }
    if (status == STATUS_OK)
        status = probe_new_stream(run, &out->stream);
    if (status == STATUS_OK && options->work_ns)
        status = open_flag(out);
    return status == STATUS_OK ? copy_once(out) : status;
}

/* Values of *paused. */
enum { RUNNING, PAUSED, GONE };

/* Awake, so that the CPUs have as much to do as while it copies. */
static void pause_copies(struct copier *copier)
{
    if (!atomic_load(copier->options.pause))
        return;
    atomic_store(copier->options.paused, PAUSED);
    while (atomic_load(copier->options.pause) && !atomic_load(&copier->stop) &&
           !probe_is_over(copier->run))
        sched_yield();
}

void copier_pause(const struct probe_run *run, _Atomic uint32_t *pause,
                  const _Atomic uint32_t *paused)
{
    atomic_store(pause, 1);
    while (atomic_load(paused) == RUNNING && !probe_is_over(run))
        sched_yield();
}

enum status copier_copy(struct copier *copier)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !atomic_load(&copier->stop) && !probe_is_over(copier->run)) {
        status = copy_once(copier);
        atomic_fetch_add(&copier->copies, 1);
        pause_copies(copier);
    }
    /* copier_pause() must not wait for ever. */
    atomic_store(copier->options.paused, GONE);
    return status;
}

static void *copy(void *argument)
{
    struct copier *copier = argument;
    enum status status = probe_set_current(copier->run, copier->gpu->context);
    if (status == STATUS_OK)
        status = copier_copy(copier);
    copier->status = status;
    if (status != STATUS_OK)
        snprintf(copier->error, sizeof copier->error, "%s", status_text());
    /* copier_start() and copier_pause() must not wait for ever. */
    atomic_fetch_add(&copier->copies, 1);
    atomic_store(copier->options.paused, GONE);
    return NULL;
}

bool copier_has_ended(const struct copier *copier)
{
    return atomic_load(copier->options.paused) == GONE;
}

enum status copier_start(struct copier *copier)
{
    int error = pthread_create(&copier->thread, NULL, copy, copier);
    if (error)
        return status_set(STATUS_SYSTEM, "cannot start a thread that copies: %s", strerror(error));
    copier->started = true;
    while (atomic_load(&copier->copies) == 0 && !probe_is_over(copier->run))
        sched_yield();
    return STATUS_OK;
}

enum status copier_stop(struct copier *copier)
{
    if (!copier->started)
        return STATUS_OK;
    atomic_store(&copier->stop, 1);
    pthread_join(copier->thread, NULL);
    copier->started = false;
    return copier->status == STATUS_OK ? STATUS_OK
                                       : status_set(copier->status, "%s", copier->error);
}

void copier_close(struct copier *copier)
{
    const struct cuda_driver *driver = copier->run ? &copier->run->driver : NULL;
    if (!driver)
        return;
    copier_stop(copier);
    probe_destroy_stream(copier->run, copier->stream);
    if (copier->host && copier->options.pinned)
        driver->mem_free_host(copier->host);
    else
        free(copier->host);
    if (copier->flag)
        driver->mem_free_host(copier->flag);
    probe_release(copier->run, copier->device);
    *copier = (struct copier){0};
}
