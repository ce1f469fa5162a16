#include "tracing/activities.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/process.h"
#include "device/cupti.h"
#include "trace/buffer.h"

/* CUPTI fills buffers and hands them back; up to BUFFERS_MOST exist, made as CUPTI asks for them.
 */
#define BUFFER_BYTES (1 << 20)
#define BUFFER_ALIGNMENT 64
#define BUFFERS_MOST 32

#define CALLBACKS_MOST 2048
#define KERNEL_NAMES 64
#define SHIFT_SAMPLES 64

static const int kinds[] = {CUPTI_KIND_DRIVER, CUPTI_KIND_RUNTIME,   CUPTI_KIND_KERNEL,
                            CUPTI_KIND_COPY,   CUPTI_KIND_PEER_COPY, CUPTI_KIND_SET};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct {
    bool open;
    struct cupti cupti;
    struct trace_buffer buffer;
    const struct shm *shm;
    unsigned process;
    int64_t shift_ns; /* from CUPTI's clock to ours */

    pthread_mutex_t closing;
    pthread_mutex_t mutex; /* of all below */
    uint8_t *spare[BUFFERS_MOST];
    unsigned spare_count, made;
    uint16_t call_names[2][CALLBACKS_MOST]; /* 1 + the name's number; 0: not known yet */
    struct {
        const char *text;
        uint32_t number;
    } kernel_names[KERNEL_NAMES];
} activities = {.closing = PTHREAD_MUTEX_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t our_clock(void)
{
    return clock_now_ns();
}

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *records)
{
    *buffer = NULL;
    *bytes = *records = 0;
    pthread_mutex_lock(&activities.mutex);
    if (activities.spare_count > 0) {
        *buffer = activities.spare[--activities.spare_count];
    } else if (activities.made < BUFFERS_MOST) {
        *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
        activities.made += *buffer != NULL;
    }
    pthread_mutex_unlock(&activities.mutex);
    if (*buffer)
        *bytes = BUFFER_BYTES;
}

/* The first moment that belongs to the trace, or UINT64_MAX while the point has not begun. */
static uint64_t first_moment(void)
{
    const struct shm_header *header = activities.shm->header;
    if (atomic_load(&header->gate) != SHM_GATE_OPEN)
        return UINT64_MAX;
    return atomic_load(&header->start_ns) + header->settings.warmup_ns;
}

/* Which version of a call it is, as in cuMemAlloc_v2 or cudaLaunchKernel_v7000, means nothing to a
 * reader. */
static void drop_version(char *name)
{
    char *version = strrchr(name, '_');
    if (version && version[1] == 'v' && version[2] &&
        version[2 + strspn(version + 2, "0123456789")] == '\0')
        *version = '\0';
}

static uint32_t call_name(int domain, uint32_t callback)
{
    char text[TRACE_NAME_BYTES];
    const char *name = NULL;
    bool kept = callback < CALLBACKS_MOST;
    uint16_t *cached = &activities.call_names[domain == CUPTI_DOMAIN_RUNTIME][kept ? callback : 0];
    if (kept && *cached)
        return *cached - 1u;
    if (activities.cupti.get_callback_name(domain, callback, &name) != CUPTI_SUCCESS_ || !name)
        snprintf(text, sizeof text, "call %u", callback);
    else
        snprintf(text, sizeof text, "%s", name);
    drop_version(text);
    uint32_t number = trace_buffer_intern(&activities.buffer, activities.process, text);
    if (kept)
        *cached = (uint16_t)(number + 1);
    return number;
}

/* CUPTI gives the same pointer for the same kernel. */
static uint32_t kernel_name(const char *text)
{
    size_t at = ((uintptr_t)text >> 4) % KERNEL_NAMES;
    if (!text)
        text = "(no name)";
    if (activities.kernel_names[at].text != text) {
        activities.kernel_names[at].text = text;
        activities.kernel_names[at].number =
            trace_buffer_intern(&activities.buffer, activities.process, text);
    }
    return activities.kernel_names[at].number;
}

/* All others are TRACE_MEMORY_UNKNOWN. */
static const uint8_t memories[] = {
    [CUPTI_MEMORY_PAGEABLE] = TRACE_MEMORY_PAGEABLE,
    [CUPTI_MEMORY_PINNED] = TRACE_MEMORY_PINNED,
    [CUPTI_MEMORY_DEVICE] = TRACE_MEMORY_DEVICE,
    [CUPTI_MEMORY_DEVICE_STATIC] = TRACE_MEMORY_DEVICE,
    [CUPTI_MEMORY_ARRAY] = TRACE_MEMORY_ARRAY,
    [CUPTI_MEMORY_MANAGED] = TRACE_MEMORY_MANAGED,
    [CUPTI_MEMORY_MANAGED_STATIC] = TRACE_MEMORY_MANAGED,
};

static uint8_t memory_of(unsigned kind)
{
    return kind < sizeof memories ? memories[kind] : TRACE_MEMORY_UNKNOWN;
}

static uint8_t direction_of(unsigned kind)
{
    return kind == CUPTI_COPY_TO_DEVICE ? TRACE_TO_DEVICE
           : kind == CUPTI_COPY_TO_HOST ? TRACE_TO_HOST
           : kind == CUPTI_COPY_WITHIN  ? TRACE_WITHIN_DEVICE
                                        : TRACE_TO_OTHER;
}

static void take_call(const struct cupti_call_record *call, struct trace_record *out)
{
    bool runtime = call->kind == CUPTI_KIND_RUNTIME;
    *out = (struct trace_record){
        .kind = runtime ? TRACE_RUNTIME_CALL : TRACE_DRIVER_CALL,
        .begin_ns = call->start,
        .end_ns = call->end,
        .correlation = call->correlation,
        .thread = call->thread,
        .result = call->result,
        .name = call_name(runtime ? CUPTI_DOMAIN_RUNTIME : CUPTI_DOMAIN_DRIVER, call->callback),
    };
}

/* What all records of work have, under the same names. */
#define WORK(work)                                                                                 \
    .begin_ns = (work)->start, .end_ns = (work)->end, .correlation = (work)->correlation,          \
    .device = (work)->device, .context = (work)->context, .stream = (work)->stream

static void take_kernel(const struct cupti_kernel_record *kernel, struct trace_record *out)
{
    *out = (struct trace_record){
        .kind = TRACE_KERNEL,
        WORK(kernel),
        .registers = kernel->registers,
        .static_shared = (uint32_t)kernel->static_shared,
        .dynamic_shared = (uint32_t)kernel->dynamic_shared,
        .name = kernel_name(kernel->name),
    };
    for (int i = 0; i < 3; i++) {
        out->grid[i] = (uint32_t)kernel->grid[i];
        out->block[i] = (uint32_t)kernel->block[i];
    }
}

static void take_copy(const struct cupti_copy_record *copy, struct trace_record *out)
{
    *out = (struct trace_record){
        .kind = TRACE_COPY,
        WORK(copy),
        .bytes = copy->bytes,
        .direction = direction_of(copy->direction),
        .source = memory_of(copy->source),
        .sink = memory_of(copy->sink),
    };
}

static void take_peer_copy(const struct cupti_peer_copy_record *copy, struct trace_record *out)
{
    *out = (struct trace_record){
        .kind = TRACE_COPY,
        WORK(copy),
        .bytes = copy->bytes,
        .direction = TRACE_BETWEEN_DEVICES,
        .source = memory_of(copy->source),
        .sink = memory_of(copy->sink),
        .source_device = copy->source_device,
        .sink_device = copy->sink_device,
    };
}

static void take_set(const struct cupti_set_record *set, struct trace_record *out)
{
    *out = (struct trace_record){
        .kind = TRACE_SET,
        WORK(set),
        .bytes = set->bytes,
        .sink = memory_of(set->memory),
    };
}

#undef WORK

static void take(const cupti_activity *activity, uint64_t from_ns)
{
    struct trace_record record;
    const void *at = activity;
    switch (activity->kind) {
    case CUPTI_KIND_DRIVER:
    case CUPTI_KIND_RUNTIME:
        take_call(at, &record);
        break;
    case CUPTI_KIND_KERNEL:
        take_kernel(at, &record);
        break;
    case CUPTI_KIND_COPY:
        take_copy(at, &record);
        break;
    case CUPTI_KIND_PEER_COPY:
        take_peer_copy(at, &record);
        break;
    case CUPTI_KIND_SET:
        take_set(at, &record);
        break;
    default:
        return;
    }
    if (record.begin_ns == 0 || record.end_ns < record.begin_ns) {
        trace_buffer_process(&activities.buffer, activities.process)->timeless +=
            from_ns != UINT64_MAX;
        return;
    }
    record.begin_ns += (uint64_t)activities.shift_ns;
    record.end_ns += (uint64_t)activities.shift_ns;
    if (record.begin_ns >= from_ns)
        trace_buffer_add(&activities.buffer, activities.process, &record);
}

/* CUPTI counts from one time it is asked to the next. Mutex held. */
static void add_dropped(cuda_context context, uint32_t stream)
{
    size_t dropped = 0;
    if (activities.cupti.get_dropped(context, stream, &dropped) == CUPTI_SUCCESS_)
        trace_buffer_process(&activities.buffer, activities.process)->dropped += dropped;
}

/* The trace's begin, once the point has begun. */
static uint64_t note_begin(struct trace_process *own)
{
    uint64_t from_ns = first_moment();
    own->from_ns = from_ns == UINT64_MAX ? 0 : from_ns;
    return from_ns;
}

static void take_buffer(cuda_context context, uint32_t stream, uint8_t *buffer, size_t bytes,
                        size_t valid_bytes)
{
    cupti_activity *record = NULL;
    (void)bytes;
    pthread_mutex_lock(&activities.mutex);
    uint64_t from_ns = note_begin(trace_buffer_process(&activities.buffer, activities.process));
    while (valid_bytes > 0 &&
           activities.cupti.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS_)
        take(record, from_ns);
    add_dropped(context, stream);
    activities.spare[activities.spare_count++] = buffer;
    pthread_mutex_unlock(&activities.mutex);
}

/* Where CUPTI does not take our clock: the shift is taken where the three readings lie closest. */
static enum status measure_shift(uint64_t *error_ns)
{
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < SHIFT_SAMPLES; i++) {
        uint64_t theirs, before = clock_now_ns();
        enum status status = cupti_check(&activities.cupti, activities.cupti.get_timestamp(&theirs),
                                         "cuptiGetTimestamp");
        uint64_t after = clock_now_ns();
        if (status != STATUS_OK)
            return status;
        if (after - before >= best_ns)
            continue;
        best_ns = after - before;
        activities.shift_ns = (int64_t)(before + (after - before) / 2 - theirs);
    }
    *error_ns = best_ns / 2;
    return STATUS_OK;
}

#define CALL(call, name)                                                                           \
    do {                                                                                           \
        status = cupti_check(cupti, (call), name);                                                 \
        if (status != STATUS_OK)                                                                   \
            return status;                                                                         \
    } while (0)

/* In the order that CUPTI asks for: the clock before any kind. */
static enum status start_recording(struct trace_process *own)
{
    const struct cupti *cupti = &activities.cupti;
    enum status status = STATUS_OK;
    CALL(cupti->set_thread_id_type(CUPTI_THREAD_ID_SYSTEM), "cuptiSetThreadIdType");
    own->own_clock = cupti->register_clock && cupti->register_clock(our_clock) == CUPTI_SUCCESS_;
    CALL(cupti->register_buffers(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
    for (size_t i = 0; i < KINDS; i++)
        CALL(cupti->enable(kinds[i]), "cuptiActivityEnable");
    return own->own_clock ? STATUS_OK : measure_shift(&own->shift_error_ns);
}

#undef CALL

enum status activities_open(const char *path, const struct trace_buffer *buffer, unsigned process,
                            const struct shm *shm)
{
    if (process >= buffer->header->processes)
        return status_set(STATUS_PROTOCOL, "the memory of the trace has no process %u", process);
    if (!trace_buffer_claim(buffer, process))
        return status_set(STATUS_PROTOCOL, "uses the GPU in several processes of its own, and only "
                                           "one of them can be traced: have it start one");
    enum status status = cupti_load(path, &activities.cupti);
    if (status != STATUS_OK)
        return status;
    activities.buffer = *buffer;
    struct trace_process *own = trace_buffer_process(&activities.buffer, process);
    own->cupti_version = activities.cupti.version;
    process_words(getpid(), own->words, sizeof own->words);
    activities.process = process;
    activities.shm = shm;
    status = start_recording(own);
    activities.open = status == STATUS_OK;
    return status == STATUS_OK ? status
                               : status_prefix(status, "CUPTI %u ('%s') does not record: ",
                                               activities.cupti.version, activities.cupti.name);
}

static _Thread_local struct trace_thread *own_thread;

void activities_name_thread(unsigned thread)
{
    if (!activities.open || thread >= activities.buffer.header->threads)
        return;
    own_thread = &trace_buffer_threads(&activities.buffer, activities.process)[thread];
    own_thread->id = (uint32_t)gettid();
}

void activities_end_thread(void)
{
    if (own_thread)
        own_thread->end_ns = clock_now_ns();
}

static void deliver(struct trace_process *own)
{
    for (size_t i = 0; i < KINDS; i++)
        activities.cupti.disable(kinds[i]);
    bool flushed = activities.cupti.flush_all(CUPTI_FLUSH_FORCED) == CUPTI_SUCCESS_;
    /* What was dropped after the last buffer, or instead of one, came back with none. */
    pthread_mutex_lock(&activities.mutex);
    add_dropped(NULL, 0);
    pthread_mutex_unlock(&activities.mutex);
    note_begin(own);
    atomic_store(&own->complete, flushed);
}

void activities_close(void)
{
    /* Who comes second waits until all is delivered, since the process may end then. */
    pthread_mutex_lock(&activities.closing);
    struct trace_process *own =
        activities.open ? trace_buffer_process(&activities.buffer, activities.process) : NULL;
    /* A process that was forked off has no part in it. */
    if (own && atomic_load(&own->pid) == (int32_t)getpid())
        deliver(own);
    activities.open = false;
    pthread_mutex_unlock(&activities.closing);
}

int activities_check_run(const char *path)
{
    struct cupti cupti;
    enum status status = cupti_load(path, &cupti);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", status_text());
        return (int)status;
    }
    Dl_info file;
    const void *symbol;
    memcpy(&symbol, &cupti.get_version, sizeof symbol);
    printf("%s, version %u\n", dladdr(symbol, &file) ? file.dli_fname : cupti.name, cupti.version);
    return EXIT_SUCCESS;
}
