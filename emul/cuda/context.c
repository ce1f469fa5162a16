/* Entry points for contexts: primary ones, those of the program's own, and what peers may do. */
#include "emul/cuda/process.h"

#include <stdlib.h>
#include <string.h>
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

static uint64_t first_ones(unsigned multiprocessors)
{
    return multiprocessors < 64 ? (UINT64_C(1) << multiprocessors) - 1 : UINT64_MAX;
}

/* Brings a context to life. A base gives its memory and its place on the GPU, and the context has
 * the slots of these multiprocessors. Process mutex held. */
static cuda_result context_open(cuda_context context, cuda_device device, cuda_context base,
                                uint64_t multiprocessors)
{
    const uint32_t slot_limit = (uint32_t)__builtin_popcountll(multiprocessors);
    cuda_result result = join_mps();
    if (result != CUDA_SUCCESS_)
        return result;
    int32_t self = getpid();
    uint32_t queues = process_queues(process.mps.fd >= 0);
    bool opened = true;
    context->device = device;
    context->multiprocessors = multiprocessors;
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

/* Waits for all work of a context, then gives everything back. Process mutex held. */
static void context_close(cuda_context context)
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

/* Adds a context that is not alive yet to the process's list; NULL: no memory. Process mutex held.
 */
static cuda_context context_new(void)
{
    cuda_context made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->next = process.contexts;
        process.contexts = made;
    }
    return made;
}

/* -- primary contexts -------------------------------------------------------------------------- */

/* Takes a reference to the device's primary context, which is made if there is none. */
static cuda_result context_retain_primary(cuda_device device, cuda_context *out)
{
    cuda_result result = CUDA_SUCCESS_;
    pthread_mutex_lock(&process.mutex);
    cuda_context context = process.primary[device];
    if (context == NULL)
        context = process.primary[device] = context_new();
    if (context == NULL)
        result = CUDA_OUT_OF_MEMORY;
    else if (context->retained == 0)
        result = context_open(context, device, NULL, first_ones(process_multiprocessors()));
    if (result == CUDA_SUCCESS_) {
        context->retained++;
        *out = context;
    }
    pthread_mutex_unlock(&process.mutex);
    return result;
}

static cuda_result context_release_primary(cuda_device device)
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
    ENTER_OR_RETURN(primary_ctx_set_flags, NEED_INIT);
    if (!process_is_device(device))
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
    ENTER_IF_VALID(primary_ctx_retain, NEED_INIT, context != NULL);
    return process_is_device(device) ? context_retain_primary(device, context)
                                     : CUDA_INVALID_DEVICE;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    ENTER_OR_RETURN(primary_ctx_release, NEED_INIT);
    return process_is_device(device) ? context_release_primary(device) : CUDA_INVALID_DEVICE;
}

/* -- contexts of the program's own ------------------------------------------------------------- */

cuda_result cuCtxCreate_v2(cuda_context *out, unsigned int flags, cuda_device device)
{
    ENTER_IF_VALID(ctx_create, NEED_INIT, out != NULL && flags <= CONTEXT_FLAGS);
    if (!process_is_device(device))
        return CUDA_INVALID_DEVICE;
    pthread_mutex_lock(&process.mutex);
    cuda_context context = context_new();
    result = context != NULL
                 ? context_open(context, device, NULL, first_ones(process_multiprocessors()))
                 : CUDA_OUT_OF_MEMORY;
    pthread_mutex_unlock(&process.mutex);
    if (result != CUDA_SUCCESS_)
        return result;
    atomic_store(&context->schedule, flags & SCHEDULE_FLAGS);
    process_current = context;
    *out = context;
    return CUDA_SUCCESS_;
}

/* One of the process's, alive or not; NULL: it is not. Process mutex held. */
static cuda_context find(cuda_context context)
{
    cuda_context known = process.contexts;
    while (known != NULL && known != context)
        known = known->next;
    return known;
}

cuda_result cuCtxDestroy_v2(cuda_context context)
{
    ENTER_OR_RETURN(ctx_destroy, NEED_INIT);
    pthread_mutex_lock(&process.mutex);
    cuda_context known = find(context);
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

static bool is_alive_here(cuda_context context)
{
    pthread_mutex_lock(&process.mutex);
    cuda_context known = find(context);
    pthread_mutex_unlock(&process.mutex);
    return known != NULL && atomic_load(&known->alive);
}

cuda_result cuCtxSetCurrent(cuda_context context)
{
    ENTER_OR_RETURN(ctx_set_current, NEED_INIT);
    if (context != NULL && !is_alive_here(context))
        return CUDA_INVALID_CONTEXT;
    process_current = context;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxGetCurrent(cuda_context *context)
{
    ENTER_IF_VALID(ctx_get_current, NEED_INIT, context != NULL);
    *context = process_current;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER_OR_RETURN(ctx_get_stream_priority_range, NEED_CONTEXT);
    if (least != NULL)
        *least = PRIORITY_LEAST;
    if (greatest != NULL)
        *greatest = PRIORITY_GREATEST;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxSynchronize(void)
{
    ENTER_OR_RETURN(ctx_synchronize, NEED_CONTEXT);
    deferred_wait_context(process_current);
    emul_state_lock(process.state);
    uint64_t end = process_current->model.end_ns;
    emul_state_unlock(process.state);
    return process_sleep_own(end);
}

/* -- peers ------------------------------------------------------------------------------------- */

cuda_result cuDeviceCanAccessPeer(int *can, cuda_device device, cuda_device peer)
{
    ENTER_IF_VALID(device_can_access_peer, NEED_INIT, can != NULL);
    if (!process_is_device(device) || !process_is_device(peer))
        return CUDA_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS_;
}

/* Checks what both calls have in common; *bit is the peer's device. */
static cuda_result check_peer(cuda_context peer, uint32_t *bit)
{
    if (peer == NULL || !is_alive_here(peer) || peer == process_current)
        return CUDA_INVALID_CONTEXT;
    if (peer->device == process_current->device)
        return CUDA_PEER_ACCESS_UNSUPPORTED;
    *bit = 1U << peer->device;
    return CUDA_SUCCESS_;
}

cuda_result cuCtxEnablePeerAccess(cuda_context peer, unsigned int flags)
{
    uint32_t bit;
    ENTER_IF_VALID(ctx_enable_peer_access, NEED_CONTEXT, flags == 0);
    result = check_peer(peer, &bit);
    if (result != CUDA_SUCCESS_)
        return result;
    return atomic_fetch_or(&process_current->peers, bit) & bit ? CUDA_PEER_ACCESS_ALREADY_ENABLED
                                                               : CUDA_SUCCESS_;
}

cuda_result cuCtxDisablePeerAccess(cuda_context peer)
{
    uint32_t bit;
    ENTER_OR_RETURN(ctx_disable_peer_access, NEED_CONTEXT);
    result = check_peer(peer, &bit);
    if (result != CUDA_SUCCESS_)
        return result;
    return atomic_fetch_and(&process_current->peers, ~bit) & bit ? CUDA_SUCCESS_
                                                                 : CUDA_PEER_ACCESS_NOT_ENABLED;
}

/* -- green contexts: a part of the multiprocessors, at the primary context's side -------------- */

/* Multiprocessors of a part, as on GPUs of compute capability 9. */
#define PART 8

/* There is no call that frees one, so there is one of each set. */
struct cuda_resource_descriptor_opaque {
    uint64_t multiprocessors;
    cuda_resource_descriptor next;
};

/* The driver's part of a resource has the set, a bit each. */
static cuda_resource resource_of(uint64_t multiprocessors)
{
    cuda_resource resource = {0};
    if (multiprocessors != 0) {
        resource.type = CUDA_RESOURCE_SM;
        resource.sm.smCount = (unsigned)__builtin_popcountll(multiprocessors);
        memcpy(resource.internal, &multiprocessors, sizeof multiprocessors);
    }
    return resource;
}

static uint64_t set_of(const cuda_resource *resource)
{
    uint64_t multiprocessors;
    memcpy(&multiprocessors, resource->internal, sizeof multiprocessors);
    return multiprocessors;
}

/* Takes the first ones out of a set. */
static uint64_t take_out(uint64_t *set, unsigned count)
{
    uint64_t before = *set;
    for (unsigned i = 0; i < count; i++)
        *set &= *set - 1;
    return before & ~*set;
}

cuda_result cuDeviceGetDevResource(cuda_device device, cuda_resource *resource,
                                   cuda_resource_type type)
{
    ENTER_OR_RETURN(device_get_resource, NEED_INIT);
    if (!process_is_device(device))
        return CUDA_INVALID_DEVICE;
    if (resource == NULL || type != CUDA_RESOURCE_SM)
        return CUDA_INVALID_VALUE;
    *resource = resource_of(first_ones(process_multiprocessors()));
    return CUDA_SUCCESS_;
}

cuda_result cuDevSmResourceSplitByCount(cuda_resource *parts, unsigned int *groups,
                                        const cuda_resource *input, cuda_resource *remaining,
                                        unsigned int flags, unsigned int least)
{
    (void)flags;
    ENTER_IF_VALID(resource_split, NEED_INIT,
                   groups != NULL && input != NULL && input->type == CUDA_RESOURCE_SM);
    unsigned all = input->sm.smCount;
    unsigned part = least > PART ? (least + PART - 1) / PART * PART : PART;
    unsigned most = all / part;
    if (parts == NULL) {
        *groups = most;
        return CUDA_SUCCESS_;
    }
    if (most == 0)
        return CUDA_INVALID_VALUE; /* fewer are left */
    if (*groups > most)
        *groups = most;
    uint64_t left = set_of(input);
    for (unsigned i = 0; i < *groups; i++) {
        parts[i] = resource_of(take_out(&left, part));
        if (process_corrupts)
            parts[i] = parts[0];
    }
    if (remaining != NULL)
        *remaining = resource_of(left);
    return CUDA_SUCCESS_;
}

static cuda_resource_descriptor descriptor_of(uint64_t multiprocessors)
{
    static cuda_resource_descriptor all;
    pthread_mutex_lock(&process.mutex);
    cuda_resource_descriptor found = all;
    while (found != NULL && found->multiprocessors != multiprocessors)
        found = found->next;
    if (found == NULL && (found = calloc(1, sizeof *found)) != NULL) {
        *found = (struct cuda_resource_descriptor_opaque){multiprocessors, all};
        all = found;
    }
    pthread_mutex_unlock(&process.mutex);
    return found;
}

cuda_result cuDevResourceGenerateDesc(cuda_resource_descriptor *descriptor,
                                      cuda_resource *resources, unsigned int count)
{
    ENTER_IF_VALID(resource_describe, NEED_INIT,
                   descriptor != NULL && resources != NULL && count != 0);
    uint64_t set = 0;
    for (unsigned i = 0; i < count; i++) {
        if (resources[i].type != CUDA_RESOURCE_SM)
            return CUDA_INVALID_VALUE;
        set |= set_of(&resources[i]);
    }
    *descriptor = descriptor_of(set);
    return *descriptor != NULL ? CUDA_SUCCESS_ : CUDA_OUT_OF_MEMORY;
}

cuda_result cuGreenCtxCreate(cuda_green_context *green, cuda_resource_descriptor descriptor,
                             cuda_device device, unsigned int flags)
{
    cuda_context primary;
    ENTER_IF_VALID(green_ctx_create, NEED_INIT,
                   green != NULL && descriptor != NULL &&
                       flags == CUDA_GREEN_CONTEXT_DEFAULT_STREAM);
    if (!process_is_device(device))
        return CUDA_INVALID_DEVICE;
    result = context_retain_primary(device, &primary);
    if (result != CUDA_SUCCESS_)
        return result;

    pthread_mutex_lock(&process.mutex);
    cuda_context made = context_new();
    result = made != NULL ? context_open(made, device, primary, descriptor->multiprocessors)
                          : CUDA_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS_)
        made->is_green = true;
    pthread_mutex_unlock(&process.mutex);
    if (result != CUDA_SUCCESS_) {
        context_release_primary(device);
        return result;
    }
    *green = (cuda_green_context)(void *)made;
    return CUDA_SUCCESS_;
}

/* The handle is the context. */
static cuda_context context_of(cuda_green_context green)
{
    cuda_context context = (cuda_context)(void *)green;
    return context != NULL && context->is_green && atomic_load(&context->alive) ? context : NULL;
}

cuda_result cuGreenCtxDestroy(cuda_green_context green)
{
    ENTER_OR_RETURN(green_ctx_destroy, NEED_INIT);
    cuda_context context = context_of(green);
    if (context == NULL)
        return CUDA_INVALID_CONTEXT;
    pthread_mutex_lock(&process.mutex);
    context_close(context);
    pthread_mutex_unlock(&process.mutex);
    if (process_current == context)
        process_current = NULL;
    return context_release_primary(context->device);
}

cuda_result cuCtxFromGreenCtx(cuda_context *out, cuda_green_context green)
{
    ENTER_OR_RETURN(ctx_from_green_ctx, NEED_INIT);
    cuda_context context = context_of(green);
    if (out == NULL || context == NULL)
        return context == NULL ? CUDA_INVALID_CONTEXT : CUDA_INVALID_VALUE;
    *out = context;
    return CUDA_SUCCESS_;
}
