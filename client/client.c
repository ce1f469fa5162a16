#include "client/internal.h"
#include "client/requests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "recording/cpu.h"
#include "wire/program.h"

#define EXPORT __attribute__((visibility("default")))

/* CLIENT_NOTE: the lengths of its name and of nothing, its type, its name. */
__asm__(".pushsection .note.mpsweep, \"a\", %note\n"
        ".balign 4\n"
        ".long 8, 0, 1\n"
        ".asciz \"" CLIENT_NOTE_NAME "\"\n"
        ".popsection\n");
_Static_assert(sizeof CLIENT_NOTE_NAME == 8 && CLIENT_NOTE == 1, "as the note has them");

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
    client_wake_orchestrator();
    return true;
}

static void fail_slot(struct shm_slot *slot, const char *text)
{
    char error[sizeof slot->error];
    text_printable(text, strlen(text), error, sizeof error);
    shm_slot_fail(slot, STATUS_WORKER, 0, error);
    client_wake_orchestrator();
}

void client_fail_process(const char *text)
{
    client_complain(text);
    fail_slot(shm_slot_at(&client.shm, client.process, 0), text);
}

bool client_is_in_window(const struct mpsweep *handle)
{
    return handle->recorder.in_window;
}

static struct mpsweep *refuse(const char *text)
{
    client_fail_process(text);
    return NULL;
}

EXPORT unsigned mpsweep_client_abi(void)
{
    return MPSWEEP_CLIENT_ABI;
}

/* The handle of a slot, of the next one where number is MPSWEEP_NEXT_THREAD. *taken: the slot,
 * negative where that is not free. */
static struct mpsweep *open_slot(int number, int *taken)
{
    pthread_mutex_lock(&client.mutex);
    *taken = number < 0                           ? client_take_next_slot()
             : client_take_slot((unsigned)number) ? number
                                                  : -1;
    struct mpsweep *handle = *taken < 0 ? NULL : client_make_handle((unsigned)*taken);
    pthread_mutex_unlock(&client.mutex);
    return handle || *taken < 0 ? handle : refuse("has no memory for a handle");
}

struct mpsweep *client_open_next(void)
{
    int taken;
    return open_slot(MPSWEEP_NEXT_THREAD, &taken);
}

EXPORT struct mpsweep *mpsweep_open_abi(unsigned abi, int number)
{
    int taken;
    char text[160];
    if (!client_attach())
        return NULL;
    /* Which of them have a part in an assignment is another matter. */
    unsigned handles = client.shm.header->slots_most, streams = shm_streams(client.shm.header);
    unsigned threads = handles / streams;
    if (abi != MPSWEEP_CLIENT_ABI) {
        snprintf(text, sizeof text,
                 "was compiled for version %u of libmpsweep-client, and found version %u", abi,
                 MPSWEEP_CLIENT_ABI);
        return refuse(text);
    }
    if (number < MPSWEEP_NEXT_THREAD || number >= (int)handles) {
        snprintf(text, sizeof text,
                 "opened handle %d, and has handles 0 to %u in this layout (MPSWEEP_THREADS=%u, "
                 "MPSWEEP_STREAMS=%u)",
                 number, handles - 1, threads, streams);
        return refuse(text);
    }
    struct mpsweep *handle = open_slot(number, &taken);
    if (handle || taken >= 0)
        return handle;
    if (atomic_load(&shm_process_at(&client.shm, client.process)->observer.state) ==
        SHM_OBSERVED_ITERATION)
        snprintf(text, sizeof text,
                 "opened a handle when iterations had been found without: open it before the "
                 "first one, or give --tick none");
    else if (number < 0)
        snprintf(text, sizeof text,
                 "opened more than the %u handle%s of its threads (MPSWEEP_THREADS=%u, "
                 "MPSWEEP_STREAMS=%u)",
                 handles, handles == 1 ? "" : "s", threads, streams);
    else
        snprintf(text, sizeof text, "opened handle %d twice", number);
    return refuse(text);
}

/* Iterations of all handles of its thread: what its CPU time is for. */
static uint64_t iterations_of(const struct thread *thread)
{
    uint64_t iterations = 0;
    for (unsigned i = 0; i < thread->count; i++)
        iterations += recorder_iterations(&thread->handles[i].recorder);
    return iterations;
}

/* What a trace knows of the handle's thread; NULL: there is none. */
static struct trace_thread *traced(const struct mpsweep *handle)
{
    const struct trace_buffer *trace = &client.trace;
    if (!trace->header || client.process >= trace->header->processes ||
        handle->thread->number >= trace->header->threads)
        return NULL;
    return &trace_buffer_threads(trace, client.process)[handle->thread->number];
}

/* The thread is released. */
static void begin_trace(const struct mpsweep *handle)
{
    struct trace_thread *thread = traced(handle);
    if (!thread)
        return;
    thread->id = (uint32_t)gettid();
    /* Of the process: one of its threads writes it. */
    if (handle->thread->number == 0)
        trace_buffer_process(&client.trace, client.process)->from_ns =
            atomic_load(&handle->header->start_ns) + handle->header->settings.warmup_ns;
}

/* Iterations of the warm-up are not marked: the trace has room for a fixed number. */
static void mark(const struct mpsweep *handle, const struct iteration_times *times)
{
    if (traced(handle) && handle->recorder.in_window)
        trace_buffer_mark(&client.trace, client.process, times->begin_ns, times->end_ns);
}

static void end_recording(struct mpsweep *handle)
{
    struct thread *thread = handle->thread;
    if (traced(handle))
        traced(handle)->end_ns = clock_now_ns();
    /* Times of one thread do not go with those of another. */
    bool first = handle == thread->handles && handle->window_thread == gettid();
    uint64_t iterations = iterations_of(thread);
    recorder_end(&handle->recorder, handle->open_loop ? &thread->pace : NULL,
                 first ? &iterations : NULL);
}

/* The first handle that is over: then no other of its thread begins one either. */
static void count_backlog(struct mpsweep *handle)
{
    struct thread *thread = handle->thread;
    if (!handle->open_loop || thread->counted)
        return;
    thread->counted = true;
    handle->slot->backlog =
        pace_backlog(&thread->pace, atomic_load(&handle->header->window_end_ns));
}

/* The window is over. The program is held when it comes back for more, or else may go on without us
 * and be ended at any moment. */
static void publish(struct mpsweep *handle)
{
    if (handle->phase == PHASE_RUNNING) {
        end_recording(handle);
        count_backlog(handle);
    }
    handle->phase = client_is_kept(handle) ? PHASE_SERVED : PHASE_OVER;
    if (advance(handle, SHM_STATE_DRAINING))
        advance(handle, SHM_STATE_DONE);
}

static bool report_ready(struct mpsweep *handle)
{
    handle->phase = PHASE_READY;
    return advance(handle, SHM_STATE_READY);
}

/* How many handles of its thread have not come that far. */
static unsigned behind(const struct mpsweep *handle, enum shm_state state)
{
    const struct thread *thread = handle->thread;
    unsigned count = 0;
    for (unsigned i = 0; i < thread->count; i++) {
        unsigned number = thread->number * thread->count + i;
        const struct shm_slot *slot = shm_slot_at(&client.shm, client.process, number);
        count += atomic_load(&slot->state) < (uint32_t)state;
    }
    return count;
}

/* A wait for what only the caller itself could do. */
static int fail_for_ever(struct mpsweep *handle, const char *function, unsigned count,
                         const char *what)
{
    char text[160];
    snprintf(text, sizeof text,
             "%s would wait for ever: %u of the %u handles of its thread %s (MPSWEEP_STREAMS=%u)",
             function, count, handle->thread->count, what, handle->thread->count);
    mpsweep_fail(handle, text);
    return 0;
}

/* Waits for the common start. False: there is nothing to begin. */
static bool get_released(struct mpsweep *handle)
{
    struct thread *thread = handle->thread;
    struct shm_slot *slot = handle->slot;
    if (!shm_gate_wait(&client.shm)) {
        publish(handle);
        return false;
    }
    slot->skew_ns = (int64_t)(clock_now_ns() - atomic_load(&handle->header->start_ns));
    const struct recorder_options options = {
        .pace = handle->open_loop ? &handle->pace : NULL,
        .cpu_source = client.cpu_source,
        .progress_ns = handle->header->settings.server ? &client.progress_ns : NULL,
        .without_phases = true};
    recorder_init(&handle->recorder, &client.shm, slot, &options);
    if (handle->open_loop && !thread->paced) {
        pace_begin(&thread->pace, &client.shm, slot, &client.arrivals);
        thread->paced = true;
    }
    begin_trace(handle);
    handle->phase = PHASE_RUNNING;
    return advance(handle, SHM_STATE_RUNNING);
}

/* Fixed work is done: to end now would hold up the others. */
static int await_others(struct mpsweep *handle, const char *function)
{
    unsigned count = behind(handle, SHM_STATE_FINISHED);
    if (count && !shm_is_stopping(handle->header))
        return fail_for_ever(handle, function, count, "have work left");
    shm_stop_wait(&client.shm);
    publish(handle);
    return 0;
}

/* Whether it was asked to stop, and no further assignment may come. */
static bool stopped_for_good(const struct mpsweep *handle)
{
    return shm_is_stopping(handle->header) && !client_is_kept(handle);
}

/* Of the assignment that it has a part in. */
static int get_ready(struct mpsweep *handle)
{
    if (handle->phase == PHASE_OPEN && !report_ready(handle))
        return 0;
    if (handle->phase == PHASE_FINISHED)
        return await_others(handle, "mpsweep_ready()");
    if (handle->phase == PHASE_READY)
        return behind(handle, SHM_STATE_READY) ? !stopped_for_good(handle) : get_released(handle);
    return handle->phase == PHASE_RUNNING && !stopped_for_good(handle);
}

EXPORT int mpsweep_ready(struct mpsweep *handle)
{
    int ready;
    if (!handle)
        return 1;
    do
        ready = get_ready(handle);
    while (!ready && client_hold(handle));
    return ready;
}

static void tell_begun(struct mpsweep *handle)
{
    handle->begun = true;
    atomic_store(&handle->slot->opened, SHM_OPENED_BEGUN);
}

static int begin_at(struct mpsweep *handle)
{
    bool in_window = handle->recorder.in_window;
    if (handle->forks != client.forks) {
        mpsweep_fail(handle, "its handle was opened before fork(): each process opens its own");
        return 0;
    }
    if (!handle->begun)
        tell_begun(handle);
    recorder_before(&handle->recorder);
    if (handle->recorder.in_window != in_window)
        handle->window_thread = gettid();
    atomic_store_explicit(&handle->slot->at_work, 1, memory_order_relaxed);
    handle->begin_ns = clock_now_ns();
    return 1;
}

/* The thread's next planned start is the iteration's own. */
static void take_start(struct mpsweep *handle)
{
    handle->pace = handle->thread->pace;
    pace_next(&handle->thread->pace);
}

static bool wait_for_start(struct mpsweep *handle)
{
    if (!handle->begun)
        tell_begun(handle);
    if (!pace_wait(&handle->thread->pace, &client.shm, handle->slot))
        return false;
    take_start(handle);
    atomic_store_explicit(&handle->slot->idle_until_ns, 0, memory_order_relaxed);
    return true;
}

/* While it waits for a planned start, which another of its thread may take. */
static void set_idle(const struct mpsweep *handle)
{
    const struct pace *pace = &handle->thread->pace;
    uint64_t until_ns = handle->thread->count > 1 ? UINT64_MAX : pace->start_ns + pace->planned_ns;
    atomic_store_explicit(&handle->slot->idle_until_ns, until_ns, memory_order_relaxed);
}

/* The same without waiting. */
static bool start_has_come(struct mpsweep *handle)
{
    struct pace *pace = &handle->thread->pace;
    if (!handle->begun)
        tell_begun(handle);
    if (clock_now_ns() < pace->start_ns + pace->planned_ns) {
        set_idle(handle);
        return false;
    }
    pace->late = handle->recorder.last_end_ns > pace->planned_ns;
    take_start(handle);
    atomic_store_explicit(&handle->slot->idle_until_ns, 0, memory_order_relaxed);
    return true;
}

/* Before the start. False: there is nothing to begin. */
static bool begin_first(struct mpsweep *handle)
{
    if (handle->phase == PHASE_OPEN && !report_ready(handle))
        return false;
    unsigned count = behind(handle, SHM_STATE_READY);
    if (count && !shm_is_stopping(handle->header))
        return fail_for_ever(handle, "mpsweep_begin()", count, "are not ready");
    return get_released(handle);
}

/* 0: nothing more in the assignment that it has a part in. */
static int begin(struct mpsweep *handle)
{
    if (handle->phase < PHASE_RUNNING && !begin_first(handle))
        return 0;
    if (handle->phase == PHASE_FINISHED)
        return await_others(handle, "mpsweep_begin()");
    if (handle->phase > PHASE_FINISHED)
        return 0;
    if (shm_is_stopping(handle->header) || (handle->open_loop && !wait_for_start(handle))) {
        publish(handle);
        return 0;
    }
    return begin_at(handle);
}

EXPORT int mpsweep_begin(struct mpsweep *handle)
{
    int begun;
    if (!handle)
        return 1;
    do
        begun = begin(handle);
    while (!begun && client_hold(handle));
    return begun;
}

static bool has_started(const struct mpsweep *handle)
{
    return atomic_load(&handle->header->gate) == SHM_GATE_OPEN &&
           clock_now_ns() >= atomic_load(&handle->header->start_ns);
}

/* At the stop, once it has published. */
static int try_no_more(struct mpsweep *handle)
{
    return client_try_hold(handle) ? MPSWEEP_NOT_YET : MPSWEEP_OVER;
}

/* Not while it runs: what there is to do without waiting. */
static int try_other(struct mpsweep *handle)
{
    if (handle->phase > PHASE_FINISHED) {
        int held = client_try_hold(handle);
        if (held <= 0)
            return held;
    }
    if (handle->phase == PHASE_OPEN && !report_ready(handle))
        return MPSWEEP_OVER;
    if (shm_is_stopping(handle->header)) {
        publish(handle);
        return try_no_more(handle);
    }
    if (handle->phase == PHASE_FINISHED || !has_started(handle))
        return MPSWEEP_NOT_YET;
    return get_released(handle) ? mpsweep_try_begin(handle) : try_no_more(handle);
}

EXPORT int mpsweep_try_begin(struct mpsweep *handle)
{
    if (!handle)
        return MPSWEEP_GO_ON;
    if (handle->phase != PHASE_RUNNING)
        return try_other(handle);
    if (shm_is_stopping(handle->header)) {
        publish(handle);
        return try_no_more(handle);
    }
    if (handle->open_loop && !start_has_come(handle))
        return MPSWEEP_NOT_YET;
    return begin_at(handle);
}

int client_end_answered(struct mpsweep *handle, uint64_t first_byte_ns, uint64_t last_byte_ns)
{
    if (!handle)
        return MPSWEEP_GO_ON;
    if (handle->phase != PHASE_RUNNING)
        return handle->phase == PHASE_OVER ? MPSWEEP_OVER : MPSWEEP_GO_ON;
    if (handle->begin_ns) {
        const struct iteration_times times = {
            .begin_ns = handle->begin_ns, .first_byte_ns = first_byte_ns, .end_ns = last_byte_ns};
        recorder_add(&handle->recorder, &times);
        mark(handle, &times);
        mpsweep_cancel(handle);
    }
    if (shm_is_stopping(handle->header)) {
        publish(handle);
        return handle->phase == PHASE_SERVED ? MPSWEEP_LAYOUT_OVER : MPSWEEP_OVER;
    }
    if (recorder_has_finished(&handle->recorder)) {
        end_recording(handle);
        handle->phase = PHASE_FINISHED;
        return advance(handle, SHM_STATE_FINISHED) ? MPSWEEP_LAYOUT_OVER : MPSWEEP_OVER;
    }
    return MPSWEEP_GO_ON;
}

EXPORT int mpsweep_end(struct mpsweep *handle)
{
    return mpsweep_end_or_hold(handle) == MPSWEEP_OVER ? MPSWEEP_OVER : MPSWEEP_GO_ON;
}

EXPORT int mpsweep_end_or_hold(struct mpsweep *handle)
{
    return client_end_answered(handle, 0, clock_now_ns());
}

void client_end_bad(struct mpsweep *handle, enum client_bad bad, const char *text)
{
    if (!handle || !handle->begin_ns)
        return;
    if (handle->phase == PHASE_RUNNING)
        recorder_add_bad(&handle->recorder, handle->begin_ns, bad == CLIENT_BAD_ANSWER, text);
    mpsweep_cancel(handle);
}

void client_note_unready(const char *text)
{
    shm_text_publish(&shm_process_at(&client.shm, client.process)->observer.words, text);
}

void client_set_asking(bool asking)
{
    atomic_store(&shm_process_at(&client.shm, client.process)->asking, asking);
}

unsigned client_number(unsigned *processes)
{
    *processes = client.shm.header->processes;
    return client.process;
}

void client_note_cut_off(void)
{
    if (client.attached)
        atomic_store(&shm_process_at(&client.shm, client.process)->cut_off, 1);
}

void client_use_arrivals(const struct arrivals *arrivals)
{
    client.arrivals = *arrivals;
}

void client_use_cpu(void (*read)(void *data, uint64_t *wall_ns, uint64_t *used_ns), void *data)
{
    client.cpu_source =
        (struct cpu_source){.read = read, .data = data, .threads = &client.shm.header->threads};
}

uint64_t client_next_start_ns(const struct mpsweep *handle)
{
    const struct pace *pace = &handle->thread->pace;
    return handle->open_loop && handle->phase == PHASE_RUNNING ? pace->start_ns + pace->planned_ns
                                                               : UINT64_MAX;
}

EXPORT void mpsweep_cancel(struct mpsweep *handle)
{
    if (!handle || !handle->begin_ns)
        return;
    handle->begin_ns = 0;
    atomic_store_explicit(&handle->slot->at_work, 0, memory_order_release);
    if (handle->open_loop && handle->thread->count > 1)
        set_idle(handle);
}

EXPORT int mpsweep_stop_requested(const struct mpsweep *handle)
{
    if (!handle)
        return 0;
    if (handle->phase < PHASE_SERVED && handle->begin_ns && shm_is_stopping(handle->header))
        return stopped_for_good(handle) ? 1 : MPSWEEP_LAYOUT_OVER;
    if (handle->phase < PHASE_SERVED)
        return stopped_for_good(handle);
    return handle->phase == PHASE_OVER || client_is_dismissed(handle);
}

EXPORT void mpsweep_fail(struct mpsweep *handle, const char *text)
{
    char error[sizeof handle->slot->error], stream[32] = "";
    if (!handle)
        return;
    const struct thread *thread = handle->thread;
    if (thread->count > 1)
        snprintf(stream, sizeof stream, ", stream %u", (unsigned)(handle - thread->handles));
    snprintf(error, sizeof error, "failed in thread %u%s: %s", thread->number, stream,
             text ? text : "");
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
    if (!handle)
        return 0;
    handle->bound = true;
    return cpu_bind_thread(handle->slot->cpus);
}

EXPORT void mpsweep_close(struct mpsweep *handle)
{
    if (!handle)
        return;
    if (handle->phase < PHASE_FINISHED && !shm_is_stopping(handle->header))
        mpsweep_fail(handle, handle->phase == PHASE_OPEN
                                 ? "its handle was closed before it was ready"
                                 : "its handle was closed before mpsweep asked to stop");
    else if (handle->phase == PHASE_FINISHED)
        await_others(handle, "mpsweep_close()");
    else if (handle->phase < PHASE_FINISHED)
        publish(handle);
    client_free_handle(handle);
}
