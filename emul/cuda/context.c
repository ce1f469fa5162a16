/* Entry points for contexts: primary ones, those of the program's own, and what peers may do. */
#include "emul/cuda/process.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/process.h"
#include "emul/cuda/deferred.h"

#define SCHEDULE_FLAGS (CUDA_SCHEDULE_SPIN | CUDA_SCHEDULE_YIELD)
#define CONTEXT_FLAGS 0xffU

/* As on current GPUs; they change nothing here. */
#define PRIORITY_LEAST 0
#define PRIORITY_GREATEST (-5)

static bool is_alive(int32_t pid, uint64_t start_time)
{
    return process_start_time(pid) == start_time;
}

static bool is_device(cuda_device device)
{
    return device >= 0 && (uint32_t)device < process.visible.count;
}

/* -- making and ending ------------------------------------------------------------------------- */

/* The first context of a process makes it a client of MPS in earnest. */
static cuda_result join_mps(void)
{
    cuda_result result = CUDA_SUCCESS_;
    if (process.contexts_open == 0)
        result = mps_client_open_context(&process.mps);
    if (result == CUDA_SUCCESS_)
        process.contexts_open++;
    return result;
}

static void leave_mps(void)
{
    if (--process.contexts_open > 0)
        return;
    memory_list_clear(&process.host_memory, NULL);
    mps_client_close_context(&process.mps);
    atomic_store(&process.broken, CUDA_SUCCESS_);
}

cuda_result context_open(cuda_context context, cuda_device device, cuda_context base,
                         uint32_t slot_limit)
{
    cuda_result result = join_mps();
    if (result != CUDA_SUCCESS_)
        return result;
    int32_t self = getpid();
    uint32_t queues = process_queues(process.mps.fd >= 0);
    bool opened = true;
    context->device = device;
    context->base = base != NULL ? base : context;
    struct model *model = process_lock_model(context);
    if (base != NULL)
        context->model = (struct model_process){
            .context = base->model.context,
            .group = base->model.group,
            .queue_count = queues,
            .slot_limit = slot_limit,
        };
    else
        opened = model_context_open(model, self, process_start_time(self), process.mps.server,
                                    queues, slot_limit, is_alive, &context->model);
    context->model.memory_limit = process.mps.memory_bytes;
    context->model.host_free_ns = &process.state->host_free_ns;
    context->opening++;
    context->blocking_end_ns = 0;
    context->legacy = (struct cuda_stream_opaque){.context = context};
    if (opened)
        model_stream_init(&context->model, &context->legacy.model);
    emul_state_unlock(process.state);
    if (!opened) {
        leave_mps();
        return CUDA_OUT_OF_MEMORY;
    }
    atomic_store(&context->peers, 0);
    atomic_store(&context->alive, true);
    return CUDA_SUCCESS_;
}

void context_close(cuda_context context)
{
    deferred_wait_context(context);
    atomic_store(&context->alive, false);
    deferred_free_streams(context);
    if (context->base == context) {
        struct model *model = process_lock_model(context);
        model_context_close(model, &context->model);
        emul_state_unlock(process.state);
        memory_list_clear(&process.device_memory, context);
    }
    leave_mps();
}

cuda_context context_new(void)
{
    cuda_context made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->next = process.contexts;
        process.contexts = made;
    }
    return made;
}

/* -- primary contexts -------------------------------------------------------------------------- */

cuda_result context_retain_primary(cuda_device device, cuda_context *out)
{
    cuda_result result = CUDA_SUCCESS_;
    pthread_mutex_lock(&process.mutex);
    cuda_context context = process.primary[device];
    if (context == NULL)
        context = process.primary[device] = context_new();
    if (context == NULL)
        result = CUDA_OUT_OF_MEMORY;
    else if (context->retained == 0)
        result = context_open(context, device, NULL, process_multiprocessors());
    if (result == CUDA_SUCCESS_) {
        context->retained++;
        *out = context;
    }
    pthread_mutex_unlock(&process.mutex);
    return result;
}

cuda_result context_release_primary(cuda_device device)
{
    cuda_result result = CUDA_SUCCESS_;
    pthread_mutex_lock(&process.mutex);
    cuda_context context = process.primary[device];
    if (context == NULL || context->retained == 0)
        result = CUDA_INVALID_CONTEXT;
    else if (--context->retained == 0)
        context_close(context);
    pthread_mutex_unlock(&process.mutex);
    return result;
}

cuda_result cuDevicePrimaryCtxSetFlags_v2(cuda_device device, unsigned int flags)
{
    cuda_result result = process_enter(ENTRY_primary_ctx_set_flags, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    if (flags > CONTEXT_FLAGS)
        return CUDA_INVALID_VALUE;
    pthread_mutex_lock(&process.mutex);
    cuda_context context = process.primary[device];
    if (context == NULL) {
        context = process.primary[device] = context_new();
        if (context != NULL)
            context->device = device;
    }
    /* Who leaves it to the driver waits asleep here, so that few cores can emulate many workers. */
    if (context != NULL)
        atomic_store(&context->schedule, flags & SCHEDULE_FLAGS);
    pthread_mutex_unlock(&process.mutex);
    return context != NULL ? CUDA_SUCCESS_ : CUDA_OUT_OF_MEMORY;
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
    cuda_result result = process_enter(ENTRY_primary_ctx_retain, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (context == NULL)
        return CUDA_INVALID_VALUE;
    return is_device(device) ? context_retain_primary(device, context) : CUDA_INVALID_DEVICE;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    cuda_result result = process_enter(ENTRY_primary_ctx_release, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    return is_device(device) ? context_release_primary(device) : CUDA_INVALID_DEVICE;
}

/* -- contexts of the program's own ------------------------------------------------------------- */

cuda_result cuCtxCreate_v2(cuda_context *out, unsigned int flags, cuda_device device)
{
    cuda_result result = process_enter(ENTRY_ctx_create, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (out == NULL || flags > CONTEXT_FLAGS)
        return CUDA_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    pthread_mutex_lock(&process.mutex);
    cuda_context context = context_new();
    result = context != NULL ? context_open(context, device, NULL, process_multiprocessors())
                             : CUDA_OUT_OF_MEMORY;
    pthread_mutex_unlock(&process.mutex);
    if (result != CUDA_SUCCESS_)
        return result;
    atomic_store(&context->schedule, flags & SCHEDULE_FLAGS);
    process_current = context;
    *out = context;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxDestroy_v2(cuda_context context)
{
    cuda_result result = process_enter(ENTRY_ctx_destroy, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    pthread_mutex_lock(&process.mutex);
    cuda_context known = process.contexts;
    while (known != NULL && known != context)
        known = known->next;
    if (known == NULL || !atomic_load(&known->alive) || known->is_green ||
        known == process.primary[known->device])
        result = CUDA_INVALID_CONTEXT;
    else
        context_close(known);
    pthread_mutex_unlock(&process.mutex);
    if (result == CUDA_SUCCESS_ && process_current == context)
        process_current = NULL;
    return result;
}

static bool is_known(cuda_context context)
{
    pthread_mutex_lock(&process.mutex);
    cuda_context known = process.contexts;
    while (known != NULL && known != context)
        known = known->next;
    pthread_mutex_unlock(&process.mutex);
    return known != NULL;
}

cuda_result cuCtxSetCurrent(cuda_context context)
{
    cuda_result result = process_enter(ENTRY_ctx_set_current, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (context != NULL && (!is_known(context) || !atomic_load(&context->alive)))
        return CUDA_INVALID_CONTEXT;
    process_current = context;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxGetCurrent(cuda_context *context)
{
    cuda_result result = process_enter(ENTRY_ctx_get_current, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (context == NULL)
        return CUDA_INVALID_VALUE;
    *context = process_current;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    cuda_result result = process_enter(ENTRY_ctx_get_stream_priority_range, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (least != NULL)
        *least = PRIORITY_LEAST;
    if (greatest != NULL)
        *greatest = PRIORITY_GREATEST;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxSynchronize(void)
{
    cuda_result result = process_enter(ENTRY_ctx_synchronize, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    deferred_wait_context(process_current);
    emul_state_lock(process.state);
    uint64_t end = process_current->model.end_ns;
    emul_state_unlock(process.state);
    return process_sleep_until(end > process_host_ns ? end : process_host_ns);
}

/* -- peers ------------------------------------------------------------------------------------- */

cuda_result cuDeviceCanAccessPeer(int *can, cuda_device device, cuda_device peer)
{
    cuda_result result = process_enter(ENTRY_device_can_access_peer, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (can == NULL)
        return CUDA_INVALID_VALUE;
    if (!is_device(device) || !is_device(peer))
        return CUDA_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS_;
}

/* Checks what both calls have in common; *bit is the peer's device. */
static cuda_result check_peer(cuda_context peer, uint32_t *bit)
{
    if (peer == NULL || !is_known(peer) || !atomic_load(&peer->alive) || peer == process_current)
        return CUDA_INVALID_CONTEXT;
    if (peer->device == process_current->device)
        return CUDA_PEER_ACCESS_UNSUPPORTED;
    *bit = 1U << peer->device;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxEnablePeerAccess(cuda_context peer, unsigned int flags)
{
    uint32_t bit;
    cuda_result result = process_enter(ENTRY_ctx_enable_peer_access, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (flags != 0)
        return CUDA_INVALID_VALUE;
    result = check_peer(peer, &bit);
    if (result != CUDA_SUCCESS_)
        return result;
    return atomic_fetch_or(&process_current->peers, bit) & bit ? CUDA_PEER_ACCESS_ALREADY_ENABLED
                                                               : CUDA_SUCCESS_;
}

cuda_result cuCtxDisablePeerAccess(cuda_context peer)
{
    uint32_t bit;
    cuda_result result = process_enter(ENTRY_ctx_disable_peer_access, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    result = check_peer(peer, &bit);
    if (result != CUDA_SUCCESS_)
        return result;
    return atomic_fetch_and(&process_current->peers, ~bit) & bit ? CUDA_SUCCESS_
                                                                 : CUDA_PEER_ACCESS_NOT_ENABLED;
}
