#include <stdlib.h>

#include "recording/cpu.h"
#include "tracing/activities.h"
#include "worker/engines/partition.h"
#include "worker/internal.h"
#include "worker/streams.h"

/* The workers of a thread. */
struct life {
    const struct worker_process *process;
    const struct engine *engine;
    struct worker_context own; /* all zero where it shares the process's */
    struct stream *streams;
    unsigned thread, count;
};

static enum status enter(struct life *life, const struct worker_context **out)
{
    if (!life->streams[0].slot->partition)
        return worker_process_enter(life->process, &life->own, out);
    *out = &life->own;
    return partition_open(life->process, life->thread, &life->own);
}

static enum status open_all(struct life *life, unsigned *failed)
{
    const struct worker_context *context;
    enum status status = enter(life, &context);
    if (status == STATUS_OK && !life->engine)
        status = status_set(STATUS_PROTOCOL, "an unknown workload");
    return status == STATUS_OK ? streams_open(life->streams, life->count, life->process, context,
                                              life->engine, failed)
                               : status;
}

static void set_state(const struct life *life, enum shm_state state)
{
    for (unsigned i = 0; i < life->count; i++)
        worker_set_state(life->process, life->streams[i].slot, state);
}

static void close_all(struct life *life)
{
    for (unsigned i = 0; i < life->count; i++)
        stream_close(&life->streams[i], life->engine);
    worker_context_close(&life->process->driver, &life->own);
}

static enum status live(struct life *life, unsigned *failed)
{
    const struct shm *shm = &life->process->shm;
    enum status status = open_all(life, failed);
    if (status != STATUS_OK)
        return status;
    set_state(life, SHM_STATE_READY);
    if (shm_gate_wait(shm)) {
        status = streams_run(life->streams, life->count, life->process, life->engine, failed);
        activities_end_thread();
        if (status != STATUS_OK)
            return status;
        if (shm->header->settings.iterations) {
            if (life->count == 1)
                set_state(life, SHM_STATE_FINISHED);
            shm_stop_wait(shm);
        }
    }
    set_state(life, SHM_STATE_DRAINING);
    close_all(life);
    set_state(life, SHM_STATE_DONE);
    return STATUS_OK;
}

void worker_live(const struct worker_process *process, unsigned thread)
{
    const struct shm *shm = &process->shm;
    struct life life = {.process = process,
                        .engine = engine_for(&shm->header->settings),
                        .thread = thread,
                        .count = shm_streams(shm->header)};
    struct shm_slot *first = shm_slot_at(shm, process->index, thread * life.count);
    unsigned failed = 0;
    int bind_errno = cpu_bind_thread(first->cpus);
    life.streams = calloc(life.count, sizeof *life.streams);
    for (unsigned i = 0; i < life.count && life.streams; i++) {
        life.streams[i].slot = first + i;
        life.streams[i].slot->bind_errno = bind_errno;
    }
    enum status status =
        life.streams ? live(&life, &failed) : status_set(STATUS_MEMORY, "out of host memory");
    if (status != STATUS_OK) {
        shm_slot_fail(first + failed, status, cuda_last_error(), status_text());
        worker_set_state(process, first + failed, SHM_STATE_FAILED);
        if (life.streams)
            close_all(&life);
    }
    free(life.streams);
}
