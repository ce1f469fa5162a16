#include "worker/engines/plugin.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

#include "common/clock.h"
#include "common/paths.h"
#include "common/text.h"
#include "worker/engines/plugin_load.h"
#include "worker/engines/plugin_memory.h"
#include "worker/engines/process.h"

#define REASON 160

/* Instances made only to look for a leak, one after the other: a library that keeps some for good
 * soon has enough. An init that takes longer is not worth the user's time; that it waits for a CPU
 * does not count. */
#define MORE_INSTANCES 3
#define SLOW_INIT_NS (2 * NS_PER_S)

struct plugin_work {
    struct mpsweep_worker worker; /* first: the plug-in hands it back */
    const struct worker_process *process;
    const struct plugin *plugin;
    struct shm_slot *slot;
    void *instance;
    bool made;    /* by an init that succeeded */
    bool at_work; /* an iteration has begun, and its output was not checked */
    bool failed;  /* some call: no leak is looked for after that */
    uint64_t init_ns;
    cuda_stream stream;
    struct worker_graph graph;
    pthread_mutex_t mutex; /* of what fail() records, maybe from a thread of the plug-in's */
    bool said;
    int cuda_error;
    char reason[REASON];
};

/* -- what the host offers ---------------------------------------------------------------------- */

static struct plugin_work *work_of(const struct mpsweep_worker *worker)
{
    /* The struct that it is the first member of was never const. */
    return (struct plugin_work *)(uintptr_t)worker;
}

__attribute__((format(printf, 1, 0))) static void format_line(const char *format, va_list arguments,
                                                              char *out, size_t size)
{
    char text[512];
    int length = vsnprintf(text, sizeof text, format, arguments);
    size_t count = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    text_printable(text, count, out, size);
}

__attribute__((format(printf, 2, 3))) static void host_log(const struct mpsweep_worker *worker,
                                                           const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    format_line(format, arguments, text, sizeof text);
    va_end(arguments);
    unsigned thread = worker->process * worker->threads + worker->thread;
    fprintf(stderr, "mpsweep: workload '%s', worker %u of %u: %s\n", work_of(worker)->plugin->name,
            thread * worker->streams + worker->index,
            worker->processes * worker->threads * worker->streams, text);
}

__attribute__((format(printf, 3, 4))) static int host_fail(const struct mpsweep_worker *worker,
                                                           int cuda_error, const char *format, ...)
{
    struct plugin_work *work = work_of(worker);
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&work->mutex);
    if (!work->said) {
        format_line(format, arguments, work->reason, sizeof work->reason);
        work->cuda_error = cuda_error;
        work->said = true;
    }
    pthread_mutex_unlock(&work->mutex);
    va_end(arguments);
    return 1;
}

static void *host_cuda_symbol(const struct mpsweep_worker *worker, const char *name)
{
    return dlsym(work_of(worker)->process->driver.library, name);
}

static const struct mpsweep_host host = {
    .size = sizeof host,
    .log = host_log,
    .fail = host_fail,
    .cuda_symbol = host_cuda_symbol,
};

/* -- the files of this process ----------------------------------------------------------------- */

/* One that was loaded, with options that it was asked about. */
struct loaded {
    struct work_plugin key;
    struct plugin plugin;
    struct loaded *next;
    /* Under the lock, with those of the cycle that goes on. */
    unsigned live, instances;
    bool spoilt;
    struct plugin_reading before;
    struct plugin_kept earlier; /* of the first cycle that kept something */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded *all_loaded;

static enum status load(const struct work_plugin *wanted, struct loaded **out)
{
    for (struct loaded *at = all_loaded; at; at = at->next)
        if (strcmp(at->key.path, wanted->path) == 0 &&
            strcmp(at->key.options, wanted->options) == 0) {
            *out = at;
            return STATUS_OK;
        }
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return status_set(STATUS_MEMORY, "out of host memory");
    loaded->key = *wanted;
    enum status status = plugin_load(loaded->key.path, loaded->key.options, &loaded->plugin);
    if (status != STATUS_OK) {
        free(loaded);
        return status_prefix(status, "workload '%s': ", path_file_name(wanted->path));
    }
    loaded->next = all_loaded;
    all_loaded = *out = loaded;
    return STATUS_OK;
}

static struct loaded *loaded_of(const struct plugin_work *work)
{
    /* The plug-in is a member of it. */
    return (struct loaded *)(uintptr_t)((const char *)work->plugin -
                                        offsetof(struct loaded, plugin));
}

/* -- an instance ------------------------------------------------------------------------------- */

/* A callback gave something else than 0. */
static enum status failure(struct plugin_work *work, const char *what, int result)
{
    enum status status;
    char text[REASON + 128];
    work->failed = true;
    pthread_mutex_lock(&work->mutex);
    if (work->said)
        snprintf(text, sizeof text, "workload '%s': %s: %s", work->plugin->name, what,
                 work->reason);
    else
        snprintf(text, sizeof text, "workload '%s': %s: it fails with %d and without a reason",
                 work->plugin->name, what, result);
    if (work->said && work->cuda_error)
        status = cuda_check(&work->process->driver, work->cuda_error, text);
    else
        status = status_set(STATUS_WORKER, "%s", text);
    pthread_mutex_unlock(&work->mutex);
    return status;
}

static enum status check_call(struct plugin_work *work, cuda_result result, const char *call)
{
    if (result != CUDA_SUCCESS_)
        work->failed = true;
    return cuda_check(&work->process->driver, result, call);
}

static void set_inside(const struct plugin_work *work, enum shm_inside inside)
{
    atomic_store_explicit(&work->slot->inside, (uint32_t)inside, memory_order_relaxed);
}

static enum status check_output(struct plugin_work *work)
{
    if (!(work->plugin->capabilities & MPSWEEP_WORKLOAD_CHECKS))
        return STATUS_OK;
    int result = work->plugin->calls->check(work->instance);
    return result == 0 ? STATUS_OK : failure(work, "wrong result", result);
}

/* What it has enqueued has ended. */
static enum status complete(struct plugin_work *work, struct iteration_times *times, int *more)
{
    if (!work->plugin->completed)
        return STATUS_OK;
    int result = work->plugin->completed(work->instance, more);
    times->launch_ns += engine_lap(times);
    return result == 0 ? STATUS_OK : failure(work, "completed", result);
}

static enum status continue_iteration(struct plugin_work *work, struct iteration_times *times,
                                      struct engine_wait *wait)
{
    int more = 0;
    enum status status = complete(work, times, &more);
    if (status == STATUS_OK && more) {
        *wait = (struct engine_wait){.what = ENGINE_STREAM, .stream = work->stream};
        return STATUS_OK;
    }
    work->at_work = false;
    return status == STATUS_OK ? check_output(work) : status;
}

static enum status begin_iteration(struct plugin_work *work, struct iteration_times *times,
                                   struct engine_wait *wait)
{
    work->at_work = true;
    uint64_t now_ns = clock_now_ns();
    *times = (struct iteration_times){.begin_ns = now_ns, .end_ns = now_ns};
    *wait = (struct engine_wait){.what = ENGINE_STREAM, .stream = work->stream};
    if (work->graph.exec) {
        cuda_result result = work->process->driver.graph_launch(work->graph.exec, work->stream);
        if (result != CUDA_SUCCESS_)
            return check_call(work, result, "cuGraphLaunch");
    } else {
        int result = work->plugin->calls->iterate(work->instance);
        if (result != 0)
            return failure(work, "iterate", result);
    }
    times->launch_ns = engine_lap(times);
    return STATUS_OK;
}

static enum status advance(void *data, struct iteration_times *times, struct engine_wait *wait)
{
    struct plugin_work *work = data;
    bool several = work->worker.streams > 1;
    if (several)
        set_inside(work, SHM_INSIDE_ITERATE);
    enum status status =
        work->at_work ? continue_iteration(work, times, wait) : begin_iteration(work, times, wait);
    if (several)
        set_inside(work, SHM_INSIDE_NOTHING);
    return status;
}

static enum status run_once(struct plugin_work *work)
{
    struct iteration_times times;
    return engine_run(&plugin_engine, work->process, work, &times);
}

static enum status capture(struct plugin_work *work)
{
    enum status status = worker_graph_begin(work->process, work->stream);
    if (status != STATUS_OK)
        return status;
    int result = work->plugin->calls->iterate(work->instance);
    /* In any case: a stream that stays in capture cannot be synchronised. */
    cuda_result ended = work->process->driver.stream_end_capture(work->stream, &work->graph.graph);
    if (result != 0)
        return failure(work, "iterate, captured for a graph", result);
    status = check_call(work, ended, "cuStreamEndCapture");
    if (status != STATUS_OK)
        return status_prefix(
            status, "workload '%s': it claims to be graph-safe, but: ", work->plugin->name);
    return worker_graph_instantiate(work->process, work->stream, &work->graph);
}

static enum status make_instance(struct plugin_work *work)
{
    const struct cuda_driver *driver = &work->process->driver;
    enum status status = check_call(
        work, driver->stream_create(&work->stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    if (status != STATUS_OK)
        return status;
    work->worker.stream = work->stream;
    set_inside(work, SHM_INSIDE_INIT);
    struct thread_time begin, end;
    thread_time_read(&begin);
    int result = work->plugin->calls->init(&work->worker, &work->instance);
    thread_time_read(&end);
    work->init_ns = thread_time_undelayed_ns(&begin, &end);
    set_inside(work, SHM_INSIDE_ITERATE);
    if (result != 0)
        return failure(work, "init", result);
    work->made = true;
    /* A reason from a way that it did not need does not explain a later failure. */
    pthread_mutex_lock(&work->mutex);
    work->said = false;
    work->cuda_error = 0;
    pthread_mutex_unlock(&work->mutex);
    status =
        check_call(work, driver->ctx_set_current(work->process->context.handle), "cuCtxSetCurrent");
    if (status != STATUS_OK || !work->worker.graph)
        return status;
    status = run_once(work);
    if (status == STATUS_OK)
        status = capture(work);
    work->failed |= status != STATUS_OK;
    return status;
}

/* As far as there is one. Errors change nothing any more. */
static void end_instance(struct plugin_work *work)
{
    const struct cuda_driver *driver = &work->process->driver;
    if (work->stream)
        driver->stream_synchronize(work->stream);
    worker_graph_free(work->process, &work->graph);
    set_inside(work, SHM_INSIDE_FINI);
    if (work->made)
        work->plugin->calls->fini(work->instance);
    set_inside(work, SHM_INSIDE_NOTHING);
    if (work->stream)
        driver->stream_destroy(work->stream);
    work->failed |= work->at_work;
    work->made = work->at_work = false;
    work->instance = NULL;
    work->stream = NULL;
}

/* -- memory that is kept ----------------------------------------------------------------------- */

static struct plugin_reading read_memory(const struct worker_process *process)
{
    struct plugin_reading reading = {.host_used = plugin_memory_host_used()};
    size_t free_bytes, total_bytes;
    if (process->shm.header->processes == 1 &&
        process->driver.mem_get_info(&free_bytes, &total_bytes) == CUDA_SUCCESS_)
        reading.device_free = free_bytes;
    return reading;
}

/* Before an instance is made. Others wait until the first one has read. */
static void cycle_enter(struct loaded *loaded, const struct worker_process *process)
{
    pthread_mutex_lock(&lock);
    if (loaded->live++ == 0) {
        loaded->instances = 0;
        loaded->spoilt = false;
        loaded->before = read_memory(process);
    }
    loaded->instances++;
    pthread_mutex_unlock(&lock);
}

/* One more instance, from init to fini; what it keeps. */
static struct plugin_kept try_again(struct plugin_work *work)
{
    struct plugin_kept none = {0};
    struct plugin_reading before = read_memory(work->process);
    enum status status = make_instance(work);
    if (status == STATUS_OK)
        status = run_once(work);
    end_instance(work);
    if (status != STATUS_OK)
        return none;
    struct plugin_reading after = read_memory(work->process);
    return plugin_memory_kept(&before, &after, 1);
}

/* What each of several more instances keeps. */
static struct plugin_kept try_more(struct plugin_work *work)
{
    struct plugin_kept kept = try_again(work);
    for (int i = 1; i < MORE_INSTANCES && plugin_memory_any(&kept); i++) {
        struct plugin_kept more = try_again(work);
        kept = plugin_memory_both(&kept, &more);
    }
    return kept;
}

/* After an instance has been ended. */
static void cycle_leave(struct loaded *loaded, struct plugin_work *work)
{
    struct shm_process *record = shm_process_at(&work->process->shm, work->process->index);
    struct plugin_kept kept, earlier;
    pthread_mutex_lock(&lock);
    bool last = --loaded->live == 0;
    loaded->spoilt |= work->failed;
    struct plugin_reading after = {0};
    if (last && !loaded->spoilt)
        after = read_memory(work->process);
    kept = plugin_memory_kept(&loaded->before, &after, loaded->instances);
    earlier = loaded->earlier;
    if (plugin_memory_any(&kept) && !plugin_memory_any(&earlier))
        loaded->earlier = kept;
    pthread_mutex_unlock(&lock);
    if (!plugin_memory_any(&kept))
        return;
    /* The others have ended theirs: no other thread is in the plug-in. */
    if (work->init_ns < SLOW_INIT_NS)
        earlier = try_more(work);
    kept = plugin_memory_both(&kept, &earlier);
    atomic_store(&record->kept_device, kept.device);
    atomic_store(&record->kept_host, kept.host);
}

/* -- the engine -------------------------------------------------------------------------------- */

static enum status check_capabilities(const struct plugin *plugin, const struct shm_header *header)
{
    if (header->settings.launch == LAUNCH_GRAPH &&
        !(plugin->capabilities & MPSWEEP_WORKLOAD_GRAPH_SAFE))
        return status_set(STATUS_INFEASIBLE, "workload '%s': it is not graph-safe", plugin->name);
    if (shm_streams(header) > 1 && !(plugin->capabilities & MPSWEEP_WORKLOAD_STREAM_SAFE))
        return status_set(STATUS_INFEASIBLE, "workload '%s': it is not stream-safe", plugin->name);
    if (header->threads > 1 && !(plugin->capabilities & MPSWEEP_WORKLOAD_THREAD_SAFE))
        return status_set(STATUS_INFEASIBLE, "workload '%s': it is not thread-safe", plugin->name);
    return STATUS_OK;
}

static struct plugin_work *work_new(const struct worker_process *process, unsigned number,
                                    const struct loaded *loaded)
{
    const struct shm_header *header = process->shm.header;
    struct plugin_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->worker = (struct mpsweep_worker){
        .size = sizeof work->worker,
        .process = process->index,
        .processes = header->processes,
        .thread = number / shm_streams(header),
        .threads = header->threads,
        .graph = header->settings.launch == LAUNCH_GRAPH,
        .host = &host,
        .options = loaded->key.options,
        .context = process->context.handle,
        .index = number % shm_streams(header),
        .streams = shm_streams(header),
    };
    work->process = process;
    work->plugin = &loaded->plugin;
    work->slot = shm_slot_at(&process->shm, process->index, number);
    pthread_mutex_init(&work->mutex, NULL);
    return work;
}

static void close_work(void *data)
{
    struct plugin_work *work = data;
    end_instance(work);
    cycle_leave(loaded_of(work), work);
    pthread_mutex_destroy(&work->mutex);
    free(work);
}

static enum status open_work(const struct worker_process *process,
                             const struct worker_context *context, const struct shm_slot *slot,
                             void **out)
{
    (void)context;
    struct loaded *loaded;
    unsigned number = (unsigned)(slot - shm_slot_at(&process->shm, process->index, 0));
    struct shm_slot *own = shm_slot_at(&process->shm, process->index, number);
    pthread_mutex_lock(&lock);
    atomic_store(&own->inside, SHM_INSIDE_LOADING);
    enum status status = load(&process->shm.header->plugin, &loaded);
    atomic_store(&own->inside, SHM_INSIDE_NOTHING);
    pthread_mutex_unlock(&lock);
    if (status == STATUS_OK)
        status = check_capabilities(&loaded->plugin, process->shm.header);
    if (status != STATUS_OK)
        return status;
    struct plugin_work *work = work_new(process, number, loaded);
    if (!work)
        return status_set(STATUS_MEMORY, "out of host memory");
    cycle_enter(loaded, process);
    status = make_instance(work);
    if (status != STATUS_OK) {
        struct status_saved saved;
        status_save(status, &saved);
        close_work(work);
        return status_restore(&saved);
    }
    *out = work;
    return STATUS_OK;
}

const struct engine plugin_engine = {.open = open_work, .advance = advance, .close = close_work};
