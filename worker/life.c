#include "common/clock.h"
#include "worker/engines/engine.h"
#include "worker/engines/memory.h"
#include "worker/internal.h"
#include "worker/timeline.h"

/* Iterations before READY: the first loads and allocates lazily, the second shows that the first
 * left everything as it should be. */
#define REHEARSALS 2

static enum status rehearse(const struct worker_process *process, const struct engine *engine,
                            void *work)
{
    for (int i = 0; i < REHEARSALS; i++) {
        struct iteration_times times;
        enum status status = engine_run(engine, process, work, &times);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Once they exist and have been used, so that every page is there. */
static void find_buffers(const struct engine *engine, const void *work, struct shm_slot *slot)
{
    struct engine_buffer buffers[ENGINE_BUFFERS];
    if (!engine->buffers)
        return;
    engine->buffers(work, buffers);
    for (unsigned i = 0; i < ENGINE_BUFFERS; i++)
        worker_memory_find(buffers[i].memory, buffers[i].bytes, slot->nodes);
}

static enum status run_until_stopped(const struct worker_process *process, struct shm_slot *slot,
                                     const struct engine *engine, void *work, uint64_t release_ns)
{
    struct shm_header *header = process->shm.header;
    struct recorder recorder;
    struct pace pace;
    bool open = header->settings.rate_units != 0;
    recorder_init(&recorder, &process->shm, slot);
    recorder_release(&recorder, release_ns);
    if (open) {
        pace_begin(&pace, &process->shm, slot);
        recorder.pace = &pace;
    }
    while (!atomic_load_explicit(&header->stop, memory_order_relaxed) &&
           !recorder_has_finished(&recorder)) {
        struct iteration_times times;
        if (open && !pace_wait(&pace, &process->shm, slot))
            break;
        recorder_before(&recorder);
        enum status status = engine_run(engine, process, work, &times);
        if (status != STATUS_OK)
            return status;
        recorder_add(&recorder, &times);
        if (open)
            pace_next(&pace);
    }
    recorder_end(&recorder);
    if (open)
        slot->backlog = pace_backlog(&pace, atomic_load(&header->window_end_ns));
    return STATUS_OK;
}

/* The worker's own start: the agreed one, or so much later as it has workers before it. */
static uint64_t await_turn(const struct worker_process *process, struct shm_slot *slot)
{
    const struct shm_header *header = process->shm.header;
    uint64_t start_ns = atomic_load(&header->start_ns);
    uint64_t before = (uint64_t)process->index * header->threads;
    for (unsigned t = 0; shm_slot_at(&process->shm, process->index, t) != slot; t++)
        before++;
    start_ns += before * header->settings.stagger_us * NS_PER_US;
    if (header->settings.stagger_us) {
        atomic_store_explicit(&slot->idle_until_ns, start_ns, memory_order_relaxed);
        shm_sleep_until(&process->shm, start_ns);
        atomic_store_explicit(&slot->idle_until_ns, 0, memory_order_relaxed);
    }
    return start_ns;
}

void worker_live(const struct worker_process *process, struct shm_slot *slot)
{
    const struct engine *engine = engine_for(&process->shm.header->settings);
    void *work = NULL;
    slot->bind_errno = cpu_bind_thread(slot->cpus);
    enum status status = CUDA_CALL(&process->driver, ctx_set_current, process->context);
    if (status == STATUS_OK && !engine)
        status = status_set(STATUS_PROTOCOL, "an unknown workload");
    if (status == STATUS_OK)
        status = engine->open(process, slot, &work);
    if (status == STATUS_OK)
        status = rehearse(process, engine, work);
    if (status != STATUS_OK)
        goto failed;
    find_buffers(engine, work, slot);
    worker_set_state(process, slot, SHM_STATE_READY);
    if (shm_gate_wait(&process->shm)) {
        uint64_t start_ns = await_turn(process, slot);
        slot->skew_ns = (int64_t)(clock_now_ns() - start_ns);
        atomic_store_explicit(&slot->state, SHM_STATE_RUNNING, memory_order_release);
        status = run_until_stopped(process, slot, engine, work, start_ns);
        timeline_end_thread();
        if (status != STATUS_OK)
            goto failed;
        if (process->shm.header->settings.iterations) {
            worker_set_state(process, slot, SHM_STATE_FINISHED);
            shm_stop_wait(&process->shm);
        }
    }
    worker_set_state(process, slot, SHM_STATE_DRAINING);
    engine->close(work);
    worker_set_state(process, slot, SHM_STATE_DONE);
    return;
failed:
    shm_slot_fail(slot, status, cuda_last_error(), status_text());
    worker_set_state(process, slot, SHM_STATE_FAILED);
    if (work)
        engine->close(work);
}
