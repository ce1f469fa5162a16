#include "include/mpsweep/client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "shm/shm.h"
#include "wire/program.h"
#include "recording/pace.h"
#include "recording/cpu.h"
#include "recording/record.h"

#define EXPORT __attribute__((visibility("default")))

enum phase {
    PHASE_OPEN,     /* not ready yet */
    PHASE_RUNNING,  /* released */
    PHASE_FINISHED, /* has done its fixed work */
    PHASE_OVER,     /* published, or failed */
};

struct mpsweep {
    enum phase phase;
    bool open_loop;
    bool begun;        /* the orchestrator knows that iterations begin */
    uint64_t begin_ns; /* of the iteration that runs, 0: none does */
    struct shm_slot *slot;
    struct shm_header *header;
    unsigned thread;
    pid_t window_thread; /* who read the CPU times at the window's begin */
    struct recorder recorder;
    struct pace pace;
};

/* This process's side of the shared memory; attached once, and never released: other threads may
 * use it to the very end. */
static struct {
    pthread_mutex_t mutex;
    bool tried, attached;
    struct shm shm;
    int event_fd;
    unsigned process;
} client = {.mutex = PTHREAD_MUTEX_INITIALIZER, .shm.fd = -1, .event_fd = -1};

/* Prints on standard error, which the supervisor reads, and people when there is none. */
static void complain(const char *text)
{
    fprintf(stderr, "mpsweep: %s\n", text);
}

/* Whether a descriptor is still what was handed on: /proc calls it by that name. */
static bool is_ours(int fd, const char *name)
{
    char path[40], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return strncmp(target, name, strlen(name)) == 0;
}

#define MEMORY_NAME "/memfd:mpsweep"

static int find_memory(int fd, int supervisor)
{
    char path[48];
    if (is_ours(fd, MEMORY_NAME))
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
    /* Something between closed it, as Python's subprocess does. */
    snprintf(path, sizeof path, "/proc/%d/fd/%d", supervisor, fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

static enum status attach(void)
{
    int version = 0, memory_fd, event_fd, supervisor, process;
    const char *text = getenv(CLIENT_VARIABLE);
    int fields =
        sscanf(text, "%d %d %d %d %d", &version, &memory_fd, &event_fd, &supervisor, &process);
    if (fields < 1 || version != CLIENT_PROTOCOL)
        return status_set(STATUS_PROTOCOL,
                          "this program's libmpsweep-client speaks version %d of the protocol, and "
                          "mpsweep version %d: use both from the same release",
                          CLIENT_PROTOCOL, version);
    if (fields != 5 || process < 0)
        return status_set(STATUS_PROTOCOL, CLIENT_VARIABLE " is '%.64s', which mpsweep did not set",
                          text);
    int fd = find_memory(memory_fd, supervisor);
    if (fd < 0)
        return status_set(STATUS_SYSTEM,
                          "the shared memory of mpsweep cannot be reached: %s; hand on descriptor "
                          "%d to the process that opens the handle",
                          strerror(errno), memory_fd);
    struct shm shm;
    enum status status = shm_attach(fd, &shm);
    if (status != STATUS_OK) {
        close(fd);
        return status;
    }
    if ((unsigned)process >= shm.header->processes) {
        shm_release(&shm);
        return status_set(STATUS_PROTOCOL, "there is no process %d in the shared memory", process);
    }
    client.shm = shm;
    client.process = (unsigned)process;
    /* Where the memory was not handed on, that number is another file's by now. */
    if (is_ours(memory_fd, MEMORY_NAME) && is_ours(event_fd, "anon_inode:[eventfd]"))
        client.event_fd = fcntl(event_fd, F_DUPFD_CLOEXEC, 3);
    return STATUS_OK;
}

/* Once a process. False: there is nothing to attach to, or the error is printed. */
static bool attach_once(void)
{
    pthread_mutex_lock(&client.mutex);
    if (!client.tried && getenv(CLIENT_VARIABLE)) {
        client.tried = true;
        client.attached = attach() == STATUS_OK;
        if (!client.attached)
            complain(status_text());
    }
    bool attached = client.attached;
    pthread_mutex_unlock(&client.mutex);
    return attached;
}

static void tell_orchestrator(void)
{
    const uint64_t one = 1;
    /* Without the descriptor mpsweep sees it when it looks. */
    if (client.event_fd >= 0 && write(client.event_fd, &one, sizeof one) < 0)
        return;
}

/* False if the slot was failed meanwhile: that stays. */
static bool advance(struct mpsweep *handle, enum shm_state state)
{
    uint32_t now = atomic_load(&handle->slot->state);
    do {
        if (now == SHM_STATE_FAILED) {
            handle->phase = PHASE_OVER;
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&handle->slot->state, &now, (uint32_t)state,
                                                    memory_order_release, memory_order_relaxed));
    tell_orchestrator();
    return true;
}

static void fail_slot(struct shm_slot *slot, const char *text)
{
    char error[sizeof slot->error];
    text_printable(text, strlen(text), error, sizeof error);
    shm_slot_fail(slot, STATUS_WORKER, 0, error);
    tell_orchestrator();
}

/* What the process as a whole did wrong stands in its first slot. */
static struct mpsweep *refuse(const char *text)
{
    complain(text);
    fail_slot(shm_slot_at(&client.shm, client.process, 0), text);
    return NULL;
}

/* Takes a free slot; gives the thread's number, or -1. */
static int take_slot(int wanted)
{
    int threads = (int)client.shm.header->threads;
    int first = wanted < 0 ? 0 : wanted, last = wanted < 0 ? threads - 1 : wanted;
    for (int t = first; t <= last && t < threads; t++) {
        uint32_t free_slot = SHM_OPENED_NOT;
        struct shm_slot *slot = shm_slot_at(&client.shm, client.process, (unsigned)t);
        if (atomic_compare_exchange_strong(&slot->opened, &free_slot, SHM_OPENED_TAKEN))
            return t;
    }
    return -1;
}

EXPORT unsigned mpsweep_client_abi(void)
{
    return MPSWEEP_CLIENT_ABI;
}

EXPORT struct mpsweep *mpsweep_open_abi(unsigned abi, int thread)
{
    char text[160];
    if (!attach_once())
        return NULL;
    unsigned threads = client.shm.header->threads;
    if (abi != MPSWEEP_CLIENT_ABI) {
        snprintf(text, sizeof text,
                 "was compiled for version %u of libmpsweep-client, and found version %u", abi,
                 MPSWEEP_CLIENT_ABI);
        return refuse(text);
    }
    if (thread < MPSWEEP_NEXT_THREAD || thread >= (int)threads) {
        snprintf(text, sizeof text,
                 "opened a handle for thread %d, and has threads 0 to %u in this layout "
                 "(MPSWEEP_THREADS=%u)",
                 thread, threads - 1, threads);
        return refuse(text);
    }
    int taken = take_slot(thread);
    if (taken < 0) {
        if (thread < 0)
            snprintf(text, sizeof text,
                     "opened more than the %u handle%s of its threads (MPSWEEP_THREADS=%u)",
                     threads, threads == 1 ? "" : "s", threads);
        else
            snprintf(text, sizeof text, "opened the handle of thread %d twice", thread);
        return refuse(text);
    }
    struct mpsweep *handle = calloc(1, sizeof *handle);
    if (!handle)
        return refuse("has no memory for a handle");
    handle->slot = shm_slot_at(&client.shm, client.process, (unsigned)taken);
    handle->header = client.shm.header;
    handle->thread = (unsigned)taken;
    handle->open_loop = client.shm.header->settings.rate_units != 0;
    return handle;
}

static bool stopped(const struct mpsweep *handle)
{
    return atomic_load_explicit(&handle->header->stop, memory_order_relaxed);
}

static void end_recording(struct mpsweep *handle)
{
    recorder_end(&handle->recorder);
    struct shm_cpu *cpu = &handle->slot->cpu;
    /* Times of one thread do not go with those of another. */
    if (handle->window_thread != gettid())
        *cpu = (struct shm_cpu){.process_wall_ns = cpu->process_wall_ns,
                                .process_cpu_ns = cpu->process_cpu_ns};
}

/* The window is over. The program may go on without us, or be ended at any moment. */
static void publish(struct mpsweep *handle)
{
    struct shm_slot *slot = handle->slot;
    if (handle->phase == PHASE_RUNNING) {
        end_recording(handle);
        if (handle->open_loop)
            slot->backlog =
                pace_backlog(&handle->pace, atomic_load(&handle->header->window_end_ns));
    }
    handle->phase = PHASE_OVER;
    if (advance(handle, SHM_STATE_DRAINING))
        advance(handle, SHM_STATE_DONE);
}

/* False: there is nothing to begin. */
static bool get_released(struct mpsweep *handle)
{
    struct shm_slot *slot = handle->slot;
    if (!advance(handle, SHM_STATE_READY))
        return false;
    if (!shm_gate_wait(&client.shm)) {
        publish(handle);
        return false;
    }
    slot->skew_ns = (int64_t)(clock_now_ns() - atomic_load(&handle->header->start_ns));
    recorder_init(&handle->recorder, &client.shm, slot);
    handle->recorder.without_phases = true;
    if (handle->open_loop) {
        pace_begin(&handle->pace, &client.shm, slot);
        handle->recorder.pace = &handle->pace;
    }
    handle->phase = PHASE_RUNNING;
    return advance(handle, SHM_STATE_RUNNING);
}

/* Fixed work is done: to end now would hold up the others. */
static int await_others(struct mpsweep *handle)
{
    shm_stop_wait(&client.shm);
    publish(handle);
    return 0;
}

EXPORT int mpsweep_ready(struct mpsweep *handle)
{
    if (!handle)
        return 1;
    if (handle->phase == PHASE_OPEN)
        return get_released(handle);
    return handle->phase == PHASE_RUNNING && !stopped(handle);
}

static void tell_begun(struct mpsweep *handle)
{
    handle->begun = true;
    atomic_store(&handle->slot->opened, SHM_OPENED_BEGUN);
}

static void begin_at(struct mpsweep *handle)
{
    bool in_window = handle->recorder.in_window;
    if (!handle->begun)
        tell_begun(handle);
    recorder_before(&handle->recorder);
    if (handle->recorder.in_window != in_window)
        handle->window_thread = gettid();
    atomic_store_explicit(&handle->slot->at_work, 1, memory_order_relaxed);
    handle->begin_ns = clock_now_ns();
}

EXPORT int mpsweep_begin(struct mpsweep *handle)
{
    if (!handle)
        return 1;
    if (handle->phase == PHASE_OPEN && !get_released(handle))
        return 0;
    if (handle->phase == PHASE_FINISHED)
        return await_others(handle);
    if (handle->phase == PHASE_OVER)
        return 0;
    if (handle->open_loop && !handle->begun)
        tell_begun(handle);
    if (stopped(handle) ||
        (handle->open_loop && !pace_wait(&handle->pace, &client.shm, handle->slot))) {
        publish(handle);
        return 0;
    }
    begin_at(handle);
    return 1;
}

EXPORT int mpsweep_try_begin(struct mpsweep *handle)
{
    if (!handle)
        return 1;
    if (handle->phase == PHASE_OVER)
        return 0;
    if (handle->phase != PHASE_RUNNING || handle->open_loop)
        return -1;
    if (stopped(handle)) {
        publish(handle);
        return 0;
    }
    begin_at(handle);
    return 1;
}

EXPORT int mpsweep_end(struct mpsweep *handle)
{
    if (!handle)
        return 1;
    if (handle->phase != PHASE_RUNNING)
        return handle->phase == PHASE_OPEN || handle->phase == PHASE_FINISHED;
    if (handle->begin_ns) {
        const struct iteration_times times = {.begin_ns = handle->begin_ns,
                                              .end_ns = clock_now_ns()};
        recorder_add(&handle->recorder, &times);
        if (handle->open_loop)
            pace_next(&handle->pace);
        handle->begin_ns = 0;
        atomic_store_explicit(&handle->slot->at_work, 0, memory_order_release);
    }
    if (stopped(handle)) {
        publish(handle);
        return 0;
    }
    if (recorder_has_finished(&handle->recorder)) {
        end_recording(handle);
        handle->phase = PHASE_FINISHED;
        advance(handle, SHM_STATE_FINISHED);
    }
    return 1;
}

EXPORT void mpsweep_cancel(struct mpsweep *handle)
{
    if (!handle || !handle->begin_ns)
        return;
    handle->begin_ns = 0;
    if (handle->open_loop)
        pace_next(&handle->pace);
    atomic_store_explicit(&handle->slot->at_work, 0, memory_order_release);
}

EXPORT int mpsweep_stop_requested(const struct mpsweep *handle)
{
    return handle && (handle->phase == PHASE_OVER || stopped(handle));
}

EXPORT void mpsweep_fail(struct mpsweep *handle, const char *text)
{
    char error[sizeof handle->slot->error];
    if (!handle)
        return;
    snprintf(error, sizeof error, "failed in thread %u: %s", handle->thread, text ? text : "");
    handle->phase = PHASE_OVER;
    atomic_store(&handle->slot->at_work, 0);
    fail_slot(handle->slot, error);
}

EXPORT int mpsweep_check(struct mpsweep *handle, int good, const char *text)
{
    if (!good)
        mpsweep_fail(handle, text);
    return good;
}

EXPORT int mpsweep_bind(struct mpsweep *handle)
{
    return handle ? cpu_bind_thread(handle->slot->cpus) : 0;
}

EXPORT void mpsweep_close(struct mpsweep *handle)
{
    if (!handle)
        return;
    if (handle->phase != PHASE_OVER && !stopped(handle) && handle->phase != PHASE_FINISHED)
        mpsweep_fail(handle, handle->phase == PHASE_OPEN
                                 ? "its handle was closed before it was ready"
                                 : "its handle was closed before mpsweep asked to stop");
    else if (handle->phase == PHASE_FINISHED)
        await_others(handle);
    else if (handle->phase != PHASE_OVER)
        publish(handle);
    free(handle);
}
