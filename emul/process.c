#include "emul/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/process.h"

struct process process = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .mps = {.fd = -1},
    .device_memory = {.mutex = PTHREAD_MUTEX_INITIALIZER},
    .host_memory = {.mutex = PTHREAD_MUTEX_INITIALIZER},
};

_Thread_local uint64_t process_host_ns;

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

cuda_result process_check(void)
{
    return set_broken(mps_client_error(&process.mps));
}

cuda_result process_sleep_until(uint64_t when_ns)
{
    return set_broken(mps_client_sleep_until(&process.mps, when_ns));
}

/* Launches and copies only queue work, as far as the real driver tells; what went wrong elsewhere
 * is seen by whoever waits for them, and the timed path is spared a system call each. */
static bool only_queues(enum entry entry)
{
    switch (entry) {
    case ENTRY_launch_kernel:
    case ENTRY_graph_launch:
    case ENTRY_memcpy_htod_async:
    case ENTRY_memcpy_dtoh_async:
    case ENTRY_stream_synchronize: /* looks when it has waited */
    case ENTRY_ctx_synchronize:
        return true;
    default:
        return false;
    }
}

cuda_result process_enter(enum entry entry, enum process_need need, bool *corrupt)
{
    pthread_once(&faults_once, read_faults);
    if (faults_status != STATUS_OK && entry == ENTRY_init)
        return CUDA_INVALID_VALUE;
    struct fault_effect effect = fault_plan_apply(&process.faults, entry);
    if (corrupt != NULL)
        *corrupt = effect.corrupt;
    if (effect.error != CUDA_SUCCESS_ && !effect.fatal)
        return effect.error;
    if (need == NEED_NOTHING)
        return CUDA_SUCCESS_;
    if (!process.initialised)
        return CUDA_NOT_INITIALIZED;
    if (need != NEED_CONTEXT)
        return CUDA_SUCCESS_;
    if (process.retained == 0)
        return CUDA_INVALID_CONTEXT;
    if (effect.fatal)
        return process_break(effect.error);
    return only_queues(entry) ? atomic_load(&process.broken) : process_check();
}

uint32_t process_queues(bool as_mps_client)
{
    const struct model_machine *machine = &process.state->model.machine;
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
    uint32_t slots = (uint32_t)process.state->model.machine.slots;
    double share = slots * process.mps.percentage / 100.0;
    if (process.mps.fd < 0 || share >= slots)
        return slots;
    return share >= 1.0 ? (uint32_t)share : 1;
}

/* -- initialisation and contexts --------------------------------------------------------------- */

static cuda_result attach_state(void)
{
    const char *text = getenv(EMUL_STATE_VARIABLE);
    enum status status;
    int fd;
    if (text != NULL) {
        char *end;
        long number = strtol(text, &end, 10);
        status = *text != '\0' && *end == '\0' && number >= 0 && number <= 1 << 20
                     ? emul_state_attach((int)number, &process.state)
                     : status_set(STATUS_USAGE, "'%s' is not a descriptor", text);
    } else {
        status = emul_state_create(&fd);
        if (status == STATUS_OK) {
            status = emul_state_attach(fd, &process.state);
            close(fd);
        }
    }
    if (status == STATUS_OK)
        return CUDA_SUCCESS_;
    fprintf(stderr, "mpsweep emulated GPU: " EMUL_STATE_VARIABLE ": %s\n", status_text());
    return CUDA_INVALID_VALUE;
}

cuda_result cuInit(unsigned int flags)
{
    cuda_result result = process_enter(ENTRY_init, NEED_NOTHING, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (flags != 0)
        return CUDA_INVALID_VALUE;

    pthread_mutex_lock(&process.mutex);
    if (!process.initialised) {
        if (process.state == NULL)
            result = attach_state();
        if (result == CUDA_SUCCESS_ && !fault_plan_skips_attach(&process.faults))
            result = mps_client_attach(&process.mps, process_queues(true));
        process.initialised = result == CUDA_SUCCESS_;
    }
    pthread_mutex_unlock(&process.mutex);
    return result;
}

static bool is_alive(int32_t pid, uint64_t start_time)
{
    return process_start_time(pid) == start_time;
}

/* Process mutex held. */
static cuda_result open_context(void)
{
    bool over_mps = process.mps.fd >= 0;
    cuda_result result = mps_client_open_context(&process.mps);
    if (result != CUDA_SUCCESS_)
        return result;
    int32_t self = getpid();
    struct model *model = emul_state_lock(process.state);
    bool opened = model_context_open(model, self, process_start_time(self), process.mps.server,
                                     process_queues(over_mps), process_multiprocessors(), is_alive,
                                     &process.model);
    process.model.memory_limit = process.mps.memory_bytes;
    if (opened)
        model_stream_init(&process.model, &process.default_stream.model);
    emul_state_unlock(process.state);
    if (opened)
        return CUDA_SUCCESS_;
    mps_client_close_context(&process.mps);
    return CUDA_OUT_OF_MEMORY;
}

static void close_context(void)
{
    struct model *model = emul_state_lock(process.state);
    model_context_close(model, &process.model);
    emul_state_unlock(process.state);
    memory_list_clear(&process.device_memory);
    memory_list_clear(&process.host_memory);
    mps_client_close_context(&process.mps);
    atomic_store(&process.broken, CUDA_SUCCESS_);
}

cuda_result cuDevicePrimaryCtxSetFlags_v2(cuda_device device, unsigned int flags)
{
    cuda_result result = process_enter(ENTRY_primary_ctx_set_flags, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (device != 0)
        return CUDA_INVALID_DEVICE;
    /* Waiting is always asleep here, so that few cores can emulate many workers. */
    return flags <= 0xff ? CUDA_SUCCESS_ : CUDA_INVALID_VALUE;
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
    cuda_result result = process_enter(ENTRY_primary_ctx_retain, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (context == NULL)
        return CUDA_INVALID_VALUE;
    if (device != 0)
        return CUDA_INVALID_DEVICE;

    pthread_mutex_lock(&process.mutex);
    if (process.retained == 0)
        result = open_context();
    if (result == CUDA_SUCCESS_) {
        process.retained++;
        *context = (cuda_context)(void *)&process;
    }
    pthread_mutex_unlock(&process.mutex);
    return result;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    cuda_result result = process_enter(ENTRY_primary_ctx_release, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (device != 0)
        return CUDA_INVALID_DEVICE;

    pthread_mutex_lock(&process.mutex);
    if (process.retained == 0)
        result = CUDA_INVALID_CONTEXT;
    else if (--process.retained == 0)
        close_context();
    pthread_mutex_unlock(&process.mutex);
    return result;
}

cuda_result cuCtxSetCurrent(cuda_context context)
{
    cuda_result result = process_enter(ENTRY_ctx_set_current, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    /* There is only one, so that nothing depends on which is current. */
    return context == NULL || (void *)context == &process ? CUDA_SUCCESS_ : CUDA_INVALID_CONTEXT;
}
