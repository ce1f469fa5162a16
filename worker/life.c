#include <string.h>

#include "common/clock.h"
#include "worker/process.h"
#include "worker/iteration.h"
#include "worker/record.h"

/* Iterations before READY: the first loads and allocates lazily, the second shows that the first
 * left everything as it should be. */
#define REHEARSALS 2

static enum status rehearse(struct iteration *iteration)
{
    for (int i = 0; i < REHEARSALS; i++) {
        struct iteration_times times;
        enum status status = iteration_run(iteration, &times);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status run_until_stopped(const struct worker_process *process, struct shm_slot *slot,
                                     struct iteration *iteration)
{
    struct shm_header *header = process->shm.header;
    struct recorder recorder;
    recorder_init(&recorder, &process->shm, slot);
    while (!atomic_load_explicit(&header->stop, memory_order_relaxed) &&
           !recorder_has_finished(&recorder)) {
        struct iteration_times times;
        recorder_before(&recorder);
        enum status status = iteration_run(iteration, &times);
        if (status != STATUS_OK)
            return status;
        recorder_add(&recorder, &times);
    }
    recorder_end(&recorder);
    return STATUS_OK;
}

void worker_live(const struct worker_process *process, struct shm_slot *slot)
{
    struct iteration iteration = {.process = process};
    slot->bind_errno = worker_bind(slot->cpus);
    enum status status = cuda_check(
        &process->driver, process->driver.ctx_set_current(process->context), "cuCtxSetCurrent");
    if (status == STATUS_OK)
        status = iteration_open(process, &iteration);
    if (status == STATUS_OK)
        status = rehearse(&iteration);
    if (status != STATUS_OK)
        goto failed;
    worker_set_state(process, slot, SHM_STATE_READY);
    if (shm_gate_wait(&process->shm)) {
        slot->skew_ns = (int64_t)(clock_now_ns() - atomic_load(&process->shm.header->start_ns));
        atomic_store_explicit(&slot->state, SHM_STATE_RUNNING, memory_order_release);
        status = run_until_stopped(process, slot, &iteration);
        if (status != STATUS_OK)
            goto failed;
        if (process->shm.header->settings.iterations) {
            worker_set_state(process, slot, SHM_STATE_FINISHED);
            shm_stop_wait(&process->shm);
        }
    }
    worker_set_state(process, slot, SHM_STATE_DRAINING);
    iteration_close(&iteration);
    worker_set_state(process, slot, SHM_STATE_DONE);
    return;
failed:
    shm_slot_fail(slot, status, cuda_last_error(), status_text());
    worker_set_state(process, slot, SHM_STATE_FAILED);
    iteration_close(&iteration);
}
