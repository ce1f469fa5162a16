#include "emul/cuda/callbacks.h"

#include <pthread.h>

#include "emul/cuda/activity.h"
#include "emul/cuda/handles.h"

#define ENTRY(field, symbol, version, need, parameters) .field = (symbol),
const struct callbacks_entries callbacks_entries = {CUDA_DRIVER_SYMBOLS(ENTRY)};

#define BITS 64

/* There is one; the function is NULL while nothing subscribes. */
struct cupti_subscriber_opaque {
    cupti_callback function;
    void *user;
};

static pthread_mutex_t mutex =
    PTHREAD_MUTEX_INITIALIZER; /* of all below; not while a callback runs */
static struct cupti_subscriber_opaque subscriber;
static _Atomic uint64_t enabled[ENTRY_COUNT / BITS + 1];
_Atomic uint32_t callbacks_enabled;

static _Thread_local bool is_inside;

static bool is_enabled(enum entry entry)
{
    return atomic_load_explicit(&enabled[entry / BITS], memory_order_relaxed) >> entry % BITS & 1;
}

/* -- around a call ----------------------------------------------------------------------------- */

bool callbacks_include(enum entry entry)
{
    return !is_inside && is_enabled(entry);
}

static const char *name_of(enum entry entry)
{
    const char *name = NULL;
    cuptiGetCallbackName(CUPTI_DOMAIN_DRIVER, (uint32_t)entry + 1, &name);
    return name;
}

/* The call may have been disabled since it began, or the subscriber may be another. */
static void make_callback(int site, struct callbacks_call *call, cuda_context context,
                          cuda_result *result)
{
    pthread_mutex_lock(&mutex);
    const struct cupti_subscriber_opaque to = subscriber;
    bool wanted = to.function != NULL && is_enabled(call->entry);
    pthread_mutex_unlock(&mutex);
    if (!wanted)
        return;
    const struct cupti_callback_data data = {
        .site = site,
        .function = name_of(call->entry),
        .parameters = call->parameters,
        .result = result,
        .symbol = call->symbol,
        .context = context,
        .context_number = context != NULL ? activity_context_number(context) : 0,
        .shared = &call->shared,
        .correlation = call->correlation,
    };
    to.function(to.user, CUPTI_DOMAIN_DRIVER, (uint32_t)call->entry + 1, &data);
}

void callbacks_enter(struct callbacks_call *call, cuda_context context)
{
    is_inside = true;
    call->correlation = activity_number_call();
    make_callback(CUPTI_SITE_ENTER, call, context, NULL);
}

cuda_result callbacks_exit(struct callbacks_call *call, cuda_context context, cuda_result result)
{
    make_callback(CUPTI_SITE_EXIT, call, context, &result);
    is_inside = false;
    return result;
}

/* -- CUPTI's entry points ---------------------------------------------------------------------- */

cupti_result cuptiGetCallbackName(cupti_callback_domain domain, uint32_t callback,
                                  const char **name)
{
#define ENTRY_NAME(field, symbol, version, need, parameters) #symbol,
    static const char *const names[] = {CUDA_DRIVER_SYMBOLS(ENTRY_NAME)};
    if (domain != CUPTI_DOMAIN_DRIVER || callback == 0 || callback > ENTRY_COUNT)
        return CUPTI_INVALID_PARAMETER;
    *name = names[callback - 1];
    return CUPTI_SUCCESS_;
}

cupti_result cuptiSubscribe(cupti_subscriber *out, cupti_callback callback, void *user)
{
    if (out == NULL || callback == NULL)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&mutex);
    bool is_free = subscriber.function == NULL;
    if (is_free)
        subscriber = (struct cupti_subscriber_opaque){callback, user};
    pthread_mutex_unlock(&mutex);
    if (!is_free)
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    *out = &subscriber;
    return CUPTI_SUCCESS_;
}

/* Mutex held. */
static bool subscribes(cupti_subscriber handle)
{
    return handle == &subscriber && subscriber.function != NULL;
}

/* The same. */
static void set_enabled(enum entry entry, bool on)
{
    uint64_t bit = UINT64_C(1) << entry % BITS;
    if (is_enabled(entry) == on)
        return;
    atomic_fetch_xor(&enabled[entry / BITS], bit);
    atomic_fetch_add(&callbacks_enabled, on ? 1 : UINT32_MAX);
}

cupti_result cuptiUnsubscribe(cupti_subscriber handle)
{
    pthread_mutex_lock(&mutex);
    bool is_ours = subscribes(handle);
    for (int entry = 0; is_ours && entry < ENTRY_COUNT; entry++)
        set_enabled((enum entry)entry, false);
    if (is_ours)
        subscriber = (struct cupti_subscriber_opaque){0};
    pthread_mutex_unlock(&mutex);
    return is_ours ? CUPTI_SUCCESS_ : CUPTI_INVALID_PARAMETER;
}

cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber handle,
                                 cupti_callback_domain domain, uint32_t callback)
{
    if (domain != CUPTI_DOMAIN_DRIVER || callback == 0 || callback > ENTRY_COUNT)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&mutex);
    bool is_ours = subscribes(handle);
    if (is_ours)
        set_enabled((enum entry)(callback - 1), enable != 0);
    pthread_mutex_unlock(&mutex);
    return is_ours ? CUPTI_SUCCESS_ : CUPTI_INVALID_PARAMETER;
}
