#include "probes/experiments/launchers.h"

#include <stdio.h>
#include <string.h>

#include "kernels/image.h"

#define BLOCK_THREADS 32

static cuda_result launch_kernel(const struct launcher *launcher)
{
    const struct launchers *all = launcher->all;
    return all->run->driver.launch_kernel(launcher->kernel, 1, 1, 1, BLOCK_THREADS, 1, 1, 0,
                                          launcher->stream, all->options->parameters, NULL);
}

cuda_result launcher_launch(const struct launcher *launcher)
{
    return launcher->exec
               ? launcher->all->run->driver.graph_launch(launcher->exec, launcher->stream)
               : launch_kernel(launcher);
}

static enum status make_graph(struct launcher *launcher)
{
    struct probe_run *run = launcher->all->run;
    enum status status =
        PROBE_CALL(run, stream_begin_capture, launcher->stream, CUDA_CAPTURE_MODE_THREAD_LOCAL);
    for (unsigned i = 0; i < launcher->all->options->graph_kernels && status == STATUS_OK; i++)
        status = cuda_check(&run->driver, launch_kernel(launcher), "cuLaunchKernel");
    if (status == STATUS_OK)
        status = PROBE_CALL(run, stream_end_capture, launcher->stream, &launcher->graph);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, graph_instantiate, &launcher->exec, launcher->graph, 0);
    return status;
}

/* In the thread that opens them all. */
static enum status open_launcher(struct launchers *all, struct launcher *launcher)
{
    struct probe_run *run = all->run;
    enum status status = STATUS_OK;
    launcher->all = all;
    launcher->index = (unsigned)(launcher - all->each);
    if (all->options->kind == LAUNCHERS_CONTEXTS) {
        status = PROBE_CALL(run, ctx_create, &launcher->context, 0, all->gpu.device);
        if (status == STATUS_OK)
            status = probe_module_load(run, &launcher->module);
    }
    if (status == STATUS_OK)
        status = PROBE_CALL(run, module_get_function, &launcher->kernel,
                            launcher->context ? launcher->module : all->gpu.module,
                            all->options->kernel);
    if (status == STATUS_OK)
        status = probe_new_stream(run, &launcher->stream);
    if (status == STATUS_OK && all->options->kind == LAUNCHERS_GRAPHS)
        status = make_graph(launcher);
    return status;
}

static void close_launcher(struct launchers *all, struct launcher *launcher)
{
    const struct cuda_driver *driver = &all->run->driver;
    if (!launcher->all)
        return;
    /* The samples are given already: errors change nothing. */
    driver->ctx_set_current(launcher->context ? launcher->context : all->gpu.context);
    if (all->options->close)
        all->options->close(launcher);
    if (launcher->exec)
        driver->graph_exec_destroy(launcher->exec);
    if (launcher->graph)
        driver->graph_destroy(launcher->graph);
    probe_destroy_stream(all->run, launcher->stream);
    if (launcher->module)
        driver->module_unload(launcher->module);
    if (launcher->context)
        driver->ctx_destroy(launcher->context);
}

/* Reports that this worker is ready, and waits until it may begin. False: it must end. */
static bool await_start(struct launchers *all)
{
    pthread_mutex_lock(&all->lock);
    all->ready++;
    pthread_cond_broadcast(&all->changed);
    while (all->start == START_WAIT)
        pthread_cond_wait(&all->changed, &all->lock);
    bool go = all->start == START_GO;
    pthread_mutex_unlock(&all->lock);
    return go;
}

static void *work(void *argument)
{
    struct launcher *launcher = argument;
    struct launchers *all = launcher->all;
    enum status status =
        probe_set_current(all->run, launcher->context ? launcher->context : all->gpu.context);
    if (status == STATUS_OK)
        status = all->options->prepare(launcher);
    if (await_start(all) && status == STATUS_OK)
        status = all->options->measure(launcher);
    launcher->status = status;
    if (status == STATUS_OK)
        return NULL;
    snprintf(launcher->error, sizeof launcher->error, "%s", status_text());
    /* Others may wait for this worker. */
    probe_shm_end(&all->run->shm);
    return NULL;
}

static enum status start_threads(struct launchers *all)
{
    const unsigned count = all->options->count;
    for (unsigned i = 0; i < count; i++) {
        struct launcher *launcher = &all->each[i];
        int error = pthread_create(&launcher->thread, NULL, work, launcher);
        if (error)
            return status_set(STATUS_SYSTEM, "cannot start thread %u of %u: %s", i, count,
                              strerror(error));
        launcher->started = true;
    }
    pthread_mutex_lock(&all->lock);
    while (all->ready < count)
        pthread_cond_wait(&all->changed, &all->lock);
    pthread_mutex_unlock(&all->lock);
    return STATUS_OK;
}

/* Lets the threads begin, or end, and waits for them. */
static enum status finish_threads(struct launchers *all, enum status status)
{
    pthread_mutex_lock(&all->lock);
    all->start = status == STATUS_OK ? START_GO : START_QUIT;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    for (unsigned i = 0; i < all->options->count; i++) {
        struct launcher *launcher = &all->each[i];
        if (launcher->started)
            pthread_join(launcher->thread, NULL);
        if (status == STATUS_OK && launcher->status != STATUS_OK)
            status = status_set(launcher->status, "%s", launcher->error);
    }
    return status;
}

enum status launchers_run(struct probe_run *run, const struct launchers_options *options)
{
    struct launchers all = {
        .run = run,
        .options = options,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    enum status status = probe_gpu_open(run, 0, true, &all.gpu);
    for (unsigned i = 0; i < options->count && status == STATUS_OK; i++)
        status = open_launcher(&all, &all.each[i]);
    if (status == STATUS_OK) {
        status = start_threads(&all);
        if (status == STATUS_OK)
            status = probe_begin(run);
        status = finish_threads(&all, status);
    }
    for (unsigned i = 0; i < options->count; i++)
        close_launcher(&all, &all.each[i]);
    if (all.gpu.context)
        run->driver.ctx_set_current(all.gpu.context);
    probe_gpu_close(run, &all.gpu);
    return status;
}
