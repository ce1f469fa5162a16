#include "client/internal.h"

#include "common/clock.h"
#include "recording/cpu.h"

/* A process that polls its handles while all of them are held looks so often. */
#define POLL_NS (10 * NS_PER_MS)

bool client_is_dismissed(const struct mpsweep *handle)
{
    return atomic_load(&handle->header->assignment) == SHM_DISMISSED;
}

bool client_is_kept(const struct mpsweep *handle)
{
    return handle->header->keeps && !client_is_dismissed(handle);
}

static bool has_part(const struct mpsweep *handle)
{
    return client.process < handle->header->processes && handle->number < shm_slots(handle->header);
}

/* Which assignment it is, its slot being fresh. */
static void take_on(struct mpsweep *handle, uint32_t assignment)
{
    struct thread *thread = handle->thread;
    if (thread->assignment != assignment)
        thread->paced = thread->counted = false;
    thread->assignment = assignment;
    handle->assignment = assignment;
    handle->phase = PHASE_OPEN;
    handle->open_loop = handle->header->settings.rate_units != 0;
    handle->begun = false;
    handle->begin_ns = 0;
    handle->recorder = (struct recorder){0};
    atomic_store(&handle->slot->opener, handle->opener);
    /* The orchestrator has bound the process as a whole before it handed the assignment out. */
    if (handle->bound)
        cpu_bind_thread(handle->slot->cpus);
}

void client_take_on_first(struct mpsweep *handle)
{
    uint32_t assignment = atomic_load(&handle->header->assignment);
    take_on(handle, assignment);
    if (!has_part(handle))
        handle->phase = PHASE_SERVED;
}

/* The last handle of a process parks it; a program may have fewer than it was asked for. */
static void note_held(struct mpsweep *handle, uint32_t assignment)
{
    struct shm_process *process = shm_process_at(&client.shm, client.process);
    handle->assignment = assignment;
    handle->phase = PHASE_HELD;
    atomic_store(&handle->slot->held, assignment);
    for (unsigned i = 0; i < atomic_load(&handle->header->slots_usable); i++)
        if (atomic_load(&shm_slot_at(&client.shm, client.process, i)->held) != assignment)
            return;
    atomic_store(&process->parked, assignment);
    client_wake_orchestrator();
}

/* As client_try_hold(), of a handle that is served or held. */
static int look(struct mpsweep *handle)
{
    uint32_t assignment = atomic_load(&handle->header->assignment);
    if (assignment == SHM_DISMISSED) {
        handle->phase = PHASE_OVER;
        return 0;
    }
    if (assignment != handle->assignment && has_part(handle)) {
        take_on(handle, assignment);
        return 1;
    }
    if (assignment != handle->assignment || handle->phase == PHASE_SERVED)
        note_held(handle, assignment);
    return -1;
}

static bool may_be_held(const struct mpsweep *handle)
{
    return handle->phase == PHASE_SERVED || handle->phase == PHASE_HELD;
}

bool client_hold(struct mpsweep *handle)
{
    if (!may_be_held(handle))
        return false;
    for (;;) {
        int found = look(handle);
        if (found >= 0)
            return found;
        shm_assignment_wait(&client.shm, handle->assignment);
    }
}

int client_try_hold(struct mpsweep *handle)
{
    const struct shm_process *process = shm_process_at(&client.shm, client.process);
    if (!may_be_held(handle))
        return 0;
    if (handle->phase == PHASE_HELD && atomic_load(&process->parked) == handle->assignment)
        shm_assignment_look(&client.shm, handle->assignment, POLL_NS);
    return look(handle);
}
