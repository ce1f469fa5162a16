#include "emul/cuda/activity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define VERSION 130000
/* The numbers that the driver's own libraries begin with. */
#define DEFAULT_STREAM_NUMBER 7
#define FIRST_STREAM_NUMBER 13
#define REGISTERS 16
#define SAME_CLOCK_NS 1000000

/* Records are as long as in that version, whatever of them is used. */
union activity_record {
    cupti_activity head;
    struct cupti_call_record call;
    struct cupti_kernel_record kernel;
    struct cupti_copy_record copy;
    struct cupti_peer_copy_record peer_copy;
    char longest[216];
};

#define CALL_BYTES 40
#define KERNEL_BYTES 216
#define COPY_BYTES 96
#define PEER_COPY_BYTES 112

static struct {
    pthread_mutex_t mutex;
    cupti_buffer_requested requested;
    cupti_buffer_completed completed;
    _Atomic(cupti_clock) clock;
    _Atomic int64_t shift_ns; /* from the one clock to that */
    uint8_t *buffer;          /* being filled, or NULL */
    size_t room, used;
    size_t dropped;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint32_t enabled; /* bits by kind */
static _Atomic uint32_t correlations, streams, contexts;
static _Thread_local struct activity_call current;

static bool wants(int kind)
{
    return atomic_load_explicit(&enabled, memory_order_relaxed) & 1u << kind;
}

static uint64_t now_ns(void)
{
    cupti_clock clock = atomic_load(&queue.clock);
    return clock ? clock() : clock_now_ns();
}

static size_t length_of(int kind)
{
    return kind == CUPTI_KIND_KERNEL      ? KERNEL_BYTES
           : kind == CUPTI_KIND_COPY      ? COPY_BYTES
           : kind == CUPTI_KIND_PEER_COPY ? PEER_COPY_BYTES
                                          : CALL_BYTES;
}

/* Mutex held. */
static void hand_back(void)
{
    uint8_t *buffer = queue.buffer;
    queue.buffer = NULL;
    if (buffer)
        queue.completed(NULL, 0, buffer, queue.room, queue.used);
}

static void put(const union activity_record *record)
{
    size_t bytes = length_of(record->head.kind), records = 0;
    pthread_mutex_lock(&queue.mutex);
    if (queue.buffer && queue.used + bytes > queue.room)
        hand_back();
    if (!queue.buffer && queue.requested) {
        queue.used = queue.room = 0;
        queue.requested(&queue.buffer, &queue.room, &records);
    }
    if (queue.buffer && queue.used + bytes <= queue.room) {
        memcpy(queue.buffer + queue.used, record, bytes);
        queue.used += bytes;
    } else {
        queue.dropped++;
    }
    pthread_mutex_unlock(&queue.mutex);
}

/* -- calls and work ---------------------------------------------------------------------------- */

void activity_begin_call(enum entry entry)
{
    current = (struct activity_call){.entry = entry};
    if (atomic_load_explicit(&enabled, memory_order_relaxed) == 0)
        return;
    current.correlation = atomic_fetch_add(&correlations, 1) + 1;
    current.begin_ns = now_ns();
}

struct activity_call activity_current_call(void)
{
    return current;
}

void activity_resume_call(uint32_t correlation)
{
    current.correlation = correlation;
}

void activity_end_call(const struct activity_call *call)
{
    if (call->correlation == 0 || !wants(CUPTI_KIND_DRIVER))
        return;
    union activity_record record = {.call = {
                                        .kind = CUPTI_KIND_DRIVER,
                                        .callback = (uint32_t)call->entry + 1,
                                        .start = call->begin_ns,
                                        .end = now_ns(),
                                        .process = (uint32_t)getpid(),
                                        .thread = (uint32_t)gettid(),
                                        .correlation = call->correlation,
                                    }};
    put(&record);
}

bool activity_wants_work(void)
{
    return current.correlation != 0 &&
           (wants(CUPTI_KIND_KERNEL) || wants(CUPTI_KIND_COPY) || wants(CUPTI_KIND_PEER_COPY));
}

void activity_watch(struct model_process *model, struct model_place *places, uint32_t room)
{
    if (room > 0 && !activity_wants_work())
        return;
    model->places = places;
    model->places_room = room;
    model->places_count = 0;
}

/* Modelled times are those of the one clock; a tracer's may be another. */
static uint64_t as_traced(uint64_t when_ns)
{
    return when_ns + (uint64_t)atomic_load(&queue.shift_ns);
}

/* Several threads may be the first that ask, of a stream as of a context: one of their numbers
 * counts. */
static uint32_t number_of(_Atomic uint32_t *number, _Atomic uint32_t *last, uint32_t first)
{
    uint32_t none = 0, known = atomic_load(number);
    if (known != 0)
        return known;
    known = atomic_fetch_add(last, 1) + first;
    return atomic_compare_exchange_strong(number, &none, known) ? known : none;
}

static uint32_t stream_number(cuda_stream stream)
{
    return stream == &stream->context->legacy
               ? DEFAULT_STREAM_NUMBER
               : number_of(&stream->number, &streams, FIRST_STREAM_NUMBER);
}

static uint32_t context_number(cuda_context context)
{
    return number_of(&context->number, &contexts, 1);
}

/* What all records of work have, under the same names. */
#define WORK(number, place, on)                                                                    \
    .kind = (number), .start = as_traced((place)->begin_ns), .end = as_traced((place)->end_ns),    \
    .device = (uint32_t)(on)->context->device, .context = context_number((on)->context),           \
    .stream = stream_number(on), .correlation = current.correlation

/* Whether a tracer wants this piece of the current call's work. */
static bool is_wanted(int kind, const struct model_place *place)
{
    return place->end_ns != 0 && activity_wants_work() && wants(kind);
}

static void put_copy(uint8_t direction, uint8_t source, uint8_t sink, uint64_t bytes,
                     cuda_stream stream, const struct model_place *place)
{
    if (!is_wanted(CUPTI_KIND_COPY, place))
        return;
    union activity_record record = {.copy = {
                                        WORK(CUPTI_KIND_COPY, place, stream),
                                        .direction = direction,
                                        .source = source,
                                        .sink = sink,
                                        .bytes = bytes,
                                    }};
    put(&record);
}

void activity_kernel(const struct kernel_call *kernel, cuda_stream stream,
                     const struct model_place *place)
{
    if (kernel->kernel == KERNEL_COPY) {
        put_copy(CUPTI_COPY_WITHIN, CUPTI_MEMORY_DEVICE, CUPTI_MEMORY_DEVICE,
                 kernel->arguments.copy.bytes, stream, place);
        return;
    }
    if (!is_wanted(CUPTI_KIND_KERNEL, place))
        return;
    union activity_record record = {.kernel = {
                                        WORK(CUPTI_KIND_KERNEL, place, stream),
                                        .registers = REGISTERS,
                                        .completed = as_traced(place->end_ns),
                                        .grid = {(int32_t)kernel->blocks, 1, 1},
                                        .block = {(int32_t)kernel->threads, 1, 1},
                                        .name = kernel_name(kernel->kernel),
                                    }};
    put(&record);
}

void activity_copy(const struct copy_call *copy, bool pageable, cuda_stream stream,
                   const struct model_place *place)
{
    uint8_t host = pageable ? CUPTI_MEMORY_PAGEABLE : CUPTI_MEMORY_PINNED;
    if (copy->direction == MODEL_TO_DEVICE)
        put_copy(CUPTI_COPY_TO_DEVICE, host, CUPTI_MEMORY_DEVICE, copy->bytes, stream, place);
    else
        put_copy(CUPTI_COPY_TO_HOST, CUPTI_MEMORY_DEVICE, host, copy->bytes, stream, place);
}

void activity_peer_copy(cuda_context to, cuda_context from, uint64_t bytes, cuda_stream stream,
                        const struct model_place *place)
{
    if (!is_wanted(CUPTI_KIND_PEER_COPY, place))
        return;
    union activity_record record = {.peer_copy = {
                                        WORK(CUPTI_KIND_PEER_COPY, place, stream),
                                        .direction = CUPTI_COPY_BETWEEN,
                                        .source = CUPTI_MEMORY_DEVICE,
                                        .sink = CUPTI_MEMORY_DEVICE,
                                        .bytes = bytes,
                                        .source_device = (uint32_t)from->device,
                                        .source_context = context_number(from),
                                        .sink_device = (uint32_t)to->device,
                                        .sink_context = context_number(to),
                                    }};
    put(&record);
}

#undef WORK

/* -- CUPTI's entry points ---------------------------------------------------------------------- */

cupti_result cuptiGetVersion(uint32_t *version)
{
    *version = VERSION;
    return CUPTI_SUCCESS_;
}

cupti_result cuptiGetResultString(cupti_result result, const char **text)
{
    *text = result == CUPTI_SUCCESS_            ? "CUPTI_SUCCESS"
            : result == CUPTI_INVALID_PARAMETER ? "CUPTI_ERROR_INVALID_PARAMETER"
            : result == CUPTI_INVALID_OPERATION ? "CUPTI_ERROR_INVALID_OPERATION"
            : result == CUPTI_MAX_LIMIT_REACHED ? "CUPTI_ERROR_MAX_LIMIT_REACHED"
                                                : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS_;
}

cupti_result cuptiGetCallbackName(cupti_callback_domain domain, uint32_t callback,
                                  const char **name)
{
#define ENTRY_NAME(field, symbol, version, need, parameters) #symbol,
    static const char *const names[] = {CUDA_DRIVER_SYMBOLS(ENTRY_NAME)};
    if (domain != CUPTI_DOMAIN_DRIVER || callback == 0 || callback > ENTRY_COUNT)
        return CUPTI_INVALID_PARAMETER;
    *name = names[callback - 1];
    return CUPTI_SUCCESS_;
}

cupti_result cuptiGetTimestamp(uint64_t *nanoseconds)
{
    *nanoseconds = now_ns();
    return CUPTI_SUCCESS_;
}

cupti_result cuptiSetThreadIdType(cupti_thread_id_type type)
{
    return type == CUPTI_THREAD_ID_SYSTEM ? CUPTI_SUCCESS_ : CUPTI_INVALID_PARAMETER;
}

cupti_result cuptiActivityRegisterTimestampCallback(cupti_clock clock)
{
    if (clock == NULL)
        return CUPTI_INVALID_PARAMETER;
    int64_t shift_ns = (int64_t)(clock() - clock_now_ns());
    /* Two readings of the same clock differ by what they take. */
    atomic_store(&queue.shift_ns, llabs(shift_ns) < SAME_CLOCK_NS ? 0 : shift_ns);
    atomic_store(&queue.clock, clock);
    return CUPTI_SUCCESS_;
}

cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested requested,
                                            cupti_buffer_completed completed)
{
    if (requested == NULL || completed == NULL)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&queue.mutex);
    queue.requested = requested;
    queue.completed = completed;
    pthread_mutex_unlock(&queue.mutex);
    return CUPTI_SUCCESS_;
}

/* There are no memsets and no calls of the runtime. */
cupti_result cuptiActivityEnable(cupti_activity_kind kind)
{
    if (kind < 1 || kind > 31)
        return CUPTI_INVALID_PARAMETER;
    atomic_fetch_or(&enabled, 1u << kind);
    return CUPTI_SUCCESS_;
}

cupti_result cuptiActivityDisable(cupti_activity_kind kind)
{
    if (kind < 1 || kind > 31)
        return CUPTI_INVALID_PARAMETER;
    atomic_fetch_and(&enabled, ~(1u << kind));
    return CUPTI_SUCCESS_;
}

/* Called while a buffer is handed back, and so without the mutex. */
cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
                                        cupti_activity **record)
{
    uint8_t *at = buffer;
    if (buffer == NULL || record == NULL)
        return CUPTI_INVALID_PARAMETER;
    if (*record != NULL)
        at = (uint8_t *)*record + length_of((*record)->kind);
    if (at >= buffer + valid_bytes)
        return CUPTI_MAX_LIMIT_REACHED;
    *record = (cupti_activity *)(void *)at;
    return CUPTI_SUCCESS_;
}

cupti_result cuptiActivityGetNumDroppedRecords(cuda_context context, uint32_t stream,
                                               size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = queue.dropped;
    queue.dropped = 0;
    return CUPTI_SUCCESS_;
}

cupti_result cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    pthread_mutex_lock(&queue.mutex);
    if (!queue.completed) {
        pthread_mutex_unlock(&queue.mutex);
        return CUPTI_INVALID_OPERATION;
    }
    hand_back();
    pthread_mutex_unlock(&queue.mutex);
    return CUPTI_SUCCESS_;
}
