#include "emul/cuda/process.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/memory_file.h"
#include "emul/model/lateness.h"

struct process process = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .mps = {.fd = -1},
    .device_memory = {.mutex = PTHREAD_MUTEX_INITIALIZER},
    .host_memory = {.mutex = PTHREAD_MUTEX_INITIALIZER},
};

_Thread_local uint64_t process_host_ns;
_Thread_local cuda_context process_current;
_Thread_local bool process_in_host_function;
_Thread_local bool process_corrupts;

static pthread_once_t faults_once = PTHREAD_ONCE_INIT;
static enum status faults_status;

static void read_faults(void)
{
    faults_status =
        fault_plan_parse(getenv(FAULT_VARIABLE), getenv(FAULT_PROCESS_VARIABLE), &process.faults);
    if (faults_status != STATUS_OK) {
        fprintf(stderr, "mpsweep emulated GPU: " FAULT_VARIABLE ": %s\n", status_text());
        process.faults.count = 0;
    }
}

bool process_is_breakage(cuda_result error)
{
    return error != CUDA_SUCCESS_ && error == atomic_load(&process.broken);
}

static cuda_result set_broken(cuda_result error)
{
    cuda_result before = CUDA_SUCCESS_;
    if (error == CUDA_SUCCESS_)
        return atomic_load(&process.broken);
    return atomic_compare_exchange_strong(&process.broken, &before, error) ? error : before;
}

cuda_result process_break(cuda_result error)
{
    cuda_result before = CUDA_SUCCESS_;
    if (!atomic_compare_exchange_strong(&process.broken, &before, error))
        return before;
    mps_client_report_fatal(&process.mps, error);
    return error;
}

/* What the context is broken with by now, maybe by the MPS server; CUDA_SUCCESS_ if it is not. */
static cuda_result check_broken(void)
{
    return set_broken(mps_client_error(&process.mps));
}

/* What is wrong with the server is looked for so often. */
#define AWAKE_LOOK_NS NS_PER_MS

static cuda_result wait_awake_until(uint64_t when_ns, bool yield)
{
    uint64_t now_ns = clock_now_ns(), look_ns = now_ns + AWAKE_LOOK_NS;
    for (; now_ns < when_ns; now_ns = clock_now_ns()) {
        if (yield)
            sched_yield();
        if (now_ns < look_ns)
            continue;
        cuda_result broken = check_broken();
        if (broken != CUDA_SUCCESS_)
            return broken;
        look_ns = now_ns + AWAKE_LOOK_NS;
    }
    return check_broken();
}

cuda_result process_sleep_until(uint64_t when_ns)
{
    unsigned schedule = process_current != NULL ? atomic_load(&process_current->schedule) : 0;
    uint64_t began_ns = clock_now_ns();
    cuda_result result = schedule == CUDA_SCHEDULE_SPIN || schedule == CUDA_SCHEDULE_YIELD
                             ? wait_awake_until(when_ns, schedule == CUDA_SCHEDULE_YIELD)
                             : set_broken(mps_client_sleep_until(&process.mps, when_ns));
    lateness_note(began_ns, when_ns);
    return result;
}

/* Launches and copies only queue work, as in the real driver; a caller that waits for them
 * gets the error of what went wrong elsewhere, and the timed path is spared a system call each. */
static bool only_queues(enum entry entry)
{
    switch (entry) {
    case ENTRY_launch_kernel:
    case ENTRY_graph_launch:
    case ENTRY_memcpy_htod_async:
    case ENTRY_memcpy_dtoh_async:
    case ENTRY_launch_host_func:
    case ENTRY_event_record:
    case ENTRY_event_query:
    case ENTRY_stream_query:
    case ENTRY_stream_synchronize: /* looks when it has waited */
    case ENTRY_ctx_synchronize:
        return true;
    default:
        return false;
    }
}

cuda_result process_enter(enum entry entry, enum process_need need)
{
    activity_begin_call(entry);
    pthread_once(&faults_once, read_faults);
    if (faults_status != STATUS_OK && entry == ENTRY_init)
        return CUDA_INVALID_VALUE;
    struct fault_effect effect = fault_plan_apply(&process.faults, entry);
    if (effect.slept_until_ns)
        lateness_note(effect.slept_from_ns, effect.slept_until_ns);
    process_corrupts = effect.corrupt;
    if (effect.error != CUDA_SUCCESS_ && !effect.fatal)
        return effect.error;
    if (need == NEED_NOTHING)
        return CUDA_SUCCESS_;
    if (!process.initialised)
        return CUDA_NOT_INITIALIZED;
    if (need != NEED_CONTEXT)
        return CUDA_SUCCESS_;
    if (process_in_host_function)
        return CUDA_NOT_PERMITTED;
    if (process_current == NULL)
        return CUDA_INVALID_CONTEXT;
    if (!atomic_load(&process_current->alive))
        return process_current == process.primary[process_current->device]
                   ? CUDA_INVALID_CONTEXT
                   : CUDA_CONTEXT_IS_DESTROYED;
    if (effect.fatal)
        return process_break(effect.error);
    return only_queues(entry) ? atomic_load(&process.broken) : check_broken();
}

uint32_t process_queues(bool as_mps_client)
{
    const struct model_machine *machine = process_machine();
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    char *end;
    if (text != NULL && *text != '\0') {
        long value = strtol(text, &end, 10);
        if (*end == '\0' && value >= 1 && (uint64_t)value <= machine->queues_most)
            return (uint32_t)value;
    }
    return (uint32_t)(as_mps_client ? machine->queues_mps : machine->queues);
}

uint32_t process_multiprocessors(void)
{
    uint32_t slots = (uint32_t)process_machine()->slots;
    double share = slots * process.mps.percentage / 100.0;
    if (process.mps.fd < 0 || share >= slots)
        return slots;
    return share >= 1.0 ? (uint32_t)share : 1;
}

/* -- what launches share ----------------------------------------------------------------------- */

void process_burn(void)
{
    if (process_machine()->cpu_ns > 0)
        clock_burn(process_machine()->cpu_ns);
}

void process_end_launch(uint64_t now_ns)
{
    if (process_host_ns > now_ns + MODEL_AHEAD_NS)
        clock_sleep_until(process_host_ns);
}

void process_run_kernel(const struct kernel_call *kernel)
{
    if (!kernel_run(kernel, &process.device_memory))
        process_break(CUDA_ILLEGAL_ADDRESS);
}

/* -- initialisation ---------------------------------------------------------------------------- */

static enum status attach_named(const char *text)
{
    int number, owner, used = 0;
    if (sscanf(text, "%d %d%n", &number, &owner, &used) != 2 || text[used] != '\0' || number < 0)
        return status_set(STATUS_USAGE, "'%s' is not a descriptor and a process", text);
    /* There need not be a /proc for what was handed on. */
    enum status status = emul_state_attach(number, &process.state);
    if (status == STATUS_OK)
        return status;
    int fd = memory_file_find(number, "/memfd:" EMUL_STATE_NAME, owner);
    if (fd < 0)
        return status;
    status = emul_state_attach(fd, &process.state);
    close(fd);
    return status;
}

static enum status attach_new(void)
{
    int fd;
    enum status status = emul_state_create(&fd);
    if (status != STATUS_OK)
        return status;
    status = emul_state_attach(fd, &process.state);
    close(fd);
    return status;
}

static cuda_result attach_state(void)
{
    const char *text = getenv(EMUL_STATE_VARIABLE);
    if ((text ? attach_named(text) : attach_new()) == STATUS_OK) {
        process.visible = visible_parse(getenv("CUDA_VISIBLE_DEVICES"), process.state->devices);
        return CUDA_SUCCESS_;
    }
    fprintf(stderr, "mpsweep emulated GPU: " EMUL_STATE_VARIABLE ": %s\n", status_text());
    return CUDA_INVALID_VALUE;
}

/* As the driver does: it loads what the variable names and calls this, and goes on without a
 * library that cannot be loaded. */
#define INJECTION_VARIABLE "CUDA_INJECTION64_PATH"
#define INJECTION_FUNCTION "InitializeInjection"

static pthread_once_t injection_once = PTHREAD_ONCE_INIT;
static _Thread_local bool is_injecting;

static void inject(void)
{
    const char *path = getenv(INJECTION_VARIABLE);
    void *library = path != NULL && *path != '\0' ? dlopen(path, RTLD_NOW) : NULL;
    void *symbol = library != NULL ? dlsym(library, INJECTION_FUNCTION) : NULL;
    int (*initialize)(void);
    if (symbol == NULL)
        return;
    memcpy(&initialize, &symbol, sizeof initialize);
    is_injecting = true;
    initialize();
    is_injecting = false;
}

cuda_result cuInit(unsigned int flags)
{
    ENTER_IF_VALID(init, NEED_NOTHING, flags == 0);

    /* No lock of ours is held: the library may call the driver. */
    if (!is_injecting)
        pthread_once(&injection_once, inject);

    pthread_mutex_lock(&process.mutex);
    if (!process.initialised) {
        if (process.state == NULL)
            result = attach_state();
        if (result == CUDA_SUCCESS_ && !fault_plan_skips_attach(&process.faults))
            result =
                mps_client_attach(&process.mps, process_queues(true), process.visible.devices[0]);
        process.initialised = result == CUDA_SUCCESS_;
    }
    pthread_mutex_unlock(&process.mutex);
    return result;
}
