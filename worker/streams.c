#include "worker/streams.h"

#include <sched.h>

#include "common/clock.h"
#include "worker/engines/memory.h"
#include "worker/engines/partition.h"

/* Iterations before READY: the first loads and allocates lazily, the second shows that the first
 * left everything as it should be. */
#define REHEARSALS 2

struct polling {
    const struct worker_process *process;
    const struct engine *engine;
    struct stream *streams;
    unsigned count, next; /* is looked at first */
    bool open;
    struct pace pace; /* of an open loop */
};

/* Once they exist and have been used, so that every page is there. */
static void find_buffers(const struct stream *stream, const struct engine *engine)
{
    struct engine_buffer buffers[ENGINE_BUFFERS];
    if (!engine->buffers)
        return;
    engine->buffers(stream->work, buffers);
    for (unsigned i = 0; i < ENGINE_BUFFERS; i++)
        worker_memory_find(buffers[i].memory, buffers[i].bytes, stream->slot->nodes);
}

/* All begin before the first is waited for: one after the other they would take as many times as
 * long as there are streams. */
static enum status rehearse(struct stream *streams, unsigned count,
                            const struct worker_process *process, const struct engine *engine,
                            unsigned *failed)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < count && status == STATUS_OK; i++) {
        struct stream *stream = &streams[i];
        *failed = i;
        stream->wait = (struct engine_wait){.what = ENGINE_DONE};
        status = engine->advance(stream->work, &stream->times, &stream->wait);
    }
    for (unsigned i = 0; i < count && status == STATUS_OK; i++) {
        struct stream *stream = &streams[i];
        *failed = i;
        status = engine_finish(engine, process, stream->work, &stream->times, stream->wait);
    }
    return status;
}

enum status streams_open(struct stream *streams, unsigned count,
                         const struct worker_process *process, const struct worker_context *context,
                         const struct engine *engine, unsigned *failed)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < count && status == STATUS_OK; i++) {
        *failed = i;
        status = engine->open(process, context, streams[i].slot, &streams[i].work);
    }
    for (int i = 0; i < REHEARSALS && status == STATUS_OK; i++)
        status = rehearse(streams, count, process, engine, failed);
    for (unsigned i = 0; i < count && status == STATUS_OK; i++) {
        struct stream *stream = &streams[i];
        *failed = i;
        if (engine->stream)
            status = partition_locate(process, context, engine->stream(stream->work), stream->slot);
        if (status == STATUS_OK)
            find_buffers(stream, engine);
    }
    return status;
}

void stream_close(struct stream *stream, const struct engine *engine)
{
    if (stream->work)
        engine->close(stream->work);
    stream->work = NULL;
}

static void set_idle_until(const struct stream *stream, uint64_t when_ns)
{
    atomic_store_explicit(&stream->slot->idle_until_ns, when_ns, memory_order_relaxed);
}

static enum status run_alone(struct polling *polling)
{
    struct stream *stream = polling->streams;
    struct recorder *recorder = &stream->recorder;
    while (!shm_is_stopping(polling->process->shm.header) && !recorder_has_finished(recorder)) {
        if (polling->open && !pace_wait(&polling->pace, &polling->process->shm, stream->slot))
            break;
        recorder_before(recorder);
        enum status status =
            engine_run(polling->engine, polling->process, stream->work, &stream->times);
        if (status != STATUS_OK)
            return status;
        recorder_add(recorder, &stream->times);
        if (polling->open)
            pace_next(&polling->pace);
    }
    return STATUS_OK;
}

/* When the next iteration of a stream that is free may begin. */
static uint64_t begins_ns(const struct polling *polling, const struct stream *stream)
{
    uint64_t planned_ns = polling->open ? polling->pace.start_ns + polling->pace.planned_ns : 0;
    return planned_ns > stream->begins_ns ? planned_ns : stream->begins_ns;
}

/* Whether it begins an iteration now. */
static bool may_begin(const struct polling *polling, const struct stream *stream, uint64_t now_ns)
{
    return !stream->at_work && !stream->finished && begins_ns(polling, stream) <= now_ns;
}

/* The stream after it is the first that the next pass looks at. */
static void begin(struct polling *polling, struct stream *stream)
{
    polling->next = (unsigned)(stream - polling->streams + 1) % polling->count;
    if (polling->open) {
        stream->pace = polling->pace;
        stream->pace.late = stream->recorder.last_end_ns > polling->pace.planned_ns;
        pace_next(&polling->pace);
    }
    set_idle_until(stream, 0);
    recorder_before(&stream->recorder);
    stream->at_work = true;
}

static enum status go_on(struct polling *polling, struct stream *stream)
{
    stream->wait = (struct engine_wait){.what = ENGINE_DONE};
    enum status status = polling->engine->advance(stream->work, &stream->times, &stream->wait);
    if (status != STATUS_OK || stream->wait.what != ENGINE_DONE)
        return status;
    recorder_add(&stream->recorder, &stream->times);
    stream->at_work = false;
    if (polling->open)
        set_idle_until(stream, UINT64_MAX);
    return STATUS_OK;
}

static void finish(const struct polling *polling, struct stream *stream)
{
    stream->finished = true;
    worker_set_state(polling->process, stream->slot, SHM_STATE_FINISHED);
}

/* Whether what a stream at work waits for has come. */
static enum status look(const struct polling *polling, struct stream *stream, uint64_t now_ns,
                        bool *has_come)
{
    *has_come = true;
    if (stream->wait.what == ENGINE_CLOCK) {
        *has_come = now_ns >= stream->wait.until_ns;
        if (*has_come)
            engine_lap(&stream->times);
        return STATUS_OK;
    }
    const struct cuda_driver *driver = &polling->process->driver;
    cuda_result result = driver->stream_query(stream->wait.stream);
    if (result == CUDA_NOT_READY) {
        *has_come = false;
        return STATUS_OK;
    }
    stream->times.sync_ns += engine_lap(&stream->times);
    return cuda_check(driver, result, "cuStreamQuery");
}

/* Continues a stream if what it waits for has come, and begins its next iteration, also at once
 * after the one before. */
static enum status serve(struct polling *polling, struct stream *stream, uint64_t now_ns,
                         bool stopping, bool *moved)
{
    if (stream->at_work) {
        bool has_come;
        enum status status = look(polling, stream, now_ns, &has_come);
        if (status != STATUS_OK || !has_come)
            return status;
        *moved = true;
        status = go_on(polling, stream);
        if (status != STATUS_OK)
            return status;
    }
    if (!stream->at_work && !stream->finished &&
        (stopping || recorder_has_finished(&stream->recorder)))
        finish(polling, stream);
    if (!may_begin(polling, stream, now_ns))
        return STATUS_OK;
    *moved = true;
    begin(polling, stream);
    return go_on(polling, stream);
}

/* One pass over the streams: whether one could go on, and how many have something left to do. */
static enum status poll_all(struct polling *polling, bool *moved, unsigned *left,
                            struct stream **failed)
{
    bool stopping = shm_is_stopping(polling->process->shm.header);
    uint64_t now_ns = clock_now_ns();
    unsigned first = polling->next;
    *moved = false;
    *left = 0;
    for (unsigned i = 0; i < polling->count; i++) {
        struct stream *stream = *failed = &polling->streams[(first + i) % polling->count];
        enum status status = serve(polling, stream, now_ns, stopping, moved);
        if (status != STATUS_OK)
            return status;
        *left += !stream->finished;
    }
    return STATUS_OK;
}

/* No stream could go on. */
static enum status rest(struct polling *polling, struct stream **failed)
{
    const struct shm *shm = &polling->process->shm;
    uint32_t schedule = shm->header->settings.schedule;
    struct stream *oldest = NULL;
    uint64_t next_ns = UINT64_MAX;
    for (unsigned i = 0; i < polling->count; i++) {
        struct stream *stream = &polling->streams[i];
        uint64_t when_ns = UINT64_MAX;
        if (stream->at_work && stream->wait.what == ENGINE_CLOCK)
            when_ns = stream->wait.until_ns;
        else if (!stream->at_work && !stream->finished)
            when_ns = begins_ns(polling, stream);
        else if (stream->at_work && (!oldest || stream->times.begin_ns < oldest->times.begin_ns))
            oldest = stream;
        next_ns = when_ns < next_ns ? when_ns : next_ns;
    }
    if (!oldest && shm_is_stopping(polling->process->shm.header)) {
        /* The last iterations end as they would have. */
        uint64_t soon_ns = clock_now_ns() + NS_PER_MS;
        clock_sleep_until(next_ns < soon_ns ? next_ns : soon_ns);
        return STATUS_OK;
    }
    if (!oldest) {
        shm_sleep_until(shm, schedule == SCHEDULE_BLOCK ? next_ns : next_ns - PACE_AWAKE_NS);
        return STATUS_OK;
    }
    *failed = oldest;
    if (schedule == SCHEDULE_BLOCK)
        return worker_synchronize(polling->process, oldest->wait.stream);
    if (schedule != SCHEDULE_SPIN)
        sched_yield();
    return STATUS_OK;
}

static enum status run_together(struct polling *polling, struct stream **failed)
{
    for (;;) {
        bool moved;
        unsigned left;
        enum status status = poll_all(polling, &moved, &left, failed);
        if (status == STATUS_OK && left == 0)
            return STATUS_OK;
        if (status == STATUS_OK && !moved)
            status = rest(polling, failed);
        if (status != STATUS_OK)
            return status;
    }
}

/* Each stream starts at the agreed time, plus `stagger` for each worker before it. */
static void release_all(struct polling *polling)
{
    const struct shm *shm = &polling->process->shm;
    uint64_t start_ns = atomic_load(&shm->header->start_ns);
    uint64_t stagger_ns = shm->header->settings.stagger_us * (uint64_t)NS_PER_US;
    unsigned slots = shm_slots(shm->header), process = polling->process->index;
    uint64_t before = (uint64_t)process * slots;
    before += (uint64_t)(polling->streams->slot - shm_slot_at(shm, process, 0));
    for (unsigned i = 0; i < polling->count; i++) {
        struct stream *stream = &polling->streams[i];
        stream->begins_ns = start_ns + (before + i) * stagger_ns;
        if (polling->open && polling->count > 1)
            set_idle_until(stream, UINT64_MAX);
        else if (stagger_ns)
            set_idle_until(stream, stream->begins_ns);
    }
    if (stagger_ns)
        shm_sleep_until(shm, polling->streams->begins_ns);
    for (unsigned i = 0; i < polling->count; i++) {
        struct stream *stream = &polling->streams[i];
        uint64_t now_ns = clock_now_ns();
        stream->slot->skew_ns =
            now_ns < stream->begins_ns ? 0 : (int64_t)(now_ns - stream->begins_ns);
        const struct recorder_options options = {.pace = !polling->open        ? NULL
                                                         : polling->count == 1 ? &polling->pace
                                                                               : &stream->pace};
        recorder_init(&stream->recorder, shm, stream->slot, &options);
        recorder_release(&stream->recorder, stream->begins_ns);
        atomic_store_explicit(&stream->slot->state, SHM_STATE_RUNNING, memory_order_release);
    }
    if (polling->count == 1)
        set_idle_until(polling->streams, 0);
}

static void end_all(struct polling *polling)
{
    uint64_t iterations = 0;
    for (unsigned i = 0; i < polling->count; i++)
        iterations += recorder_iterations(&polling->streams[i].recorder);
    for (unsigned i = 0; i < polling->count; i++)
        recorder_end(&polling->streams[i].recorder, polling->open ? &polling->pace : NULL,
                     i == 0 ? &iterations : NULL);
    if (polling->open)
        polling->streams->slot->backlog =
            pace_backlog(&polling->pace, atomic_load(&polling->process->shm.header->window_end_ns));
}

enum status streams_run(struct stream *streams, unsigned count,
                        const struct worker_process *process, const struct engine *engine,
                        unsigned *failed)
{
    struct stream *which = streams;
    struct polling polling = {.process = process,
                              .engine = engine,
                              .streams = streams,
                              .count = count,
                              .open = process->shm.header->settings.rate_units != 0};
    release_all(&polling);
    if (polling.open)
        pace_begin(&polling.pace, &process->shm, streams->slot, NULL);
    enum status status = count == 1 ? run_alone(&polling) : run_together(&polling, &which);
    if (status == STATUS_OK)
        end_all(&polling);
    *failed = (unsigned)(which - streams);
    return status;
}
