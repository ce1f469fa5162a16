#include "emul/cuda/deferred.h"

#include <stdlib.h>

#include "common/clock.h"
#include "emul/cuda/issue.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void deferred_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void deferred_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void deferred_sleep(void)
{
    pthread_cond_wait(&changed, &mutex);
}

void deferred_notify(void)
{
    pthread_cond_broadcast(&changed);
}

/* -- the stream's thread ----------------------------------------------------------------------- */

static void operation_release(const struct operation *operation)
{
    if (operation->release != NULL)
        operation->release(operation);
}

/* Mutex held. */
static void unlink_and_free(cuda_stream stream)
{
    cuda_stream *link = &stream->context->streams;
    while (*link != NULL && *link != stream)
        link = &(*link)->next;
    if (*link != NULL)
        *link = stream->next;
    free(stream);
}

/* An operation counts as pending until it has been performed, so that nothing overtakes it. */
static void *run_stream(void *argument)
{
    cuda_stream stream = argument;
    struct deferred_queue *queue = &stream->deferred;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (queue->first == NULL && !queue->dying)
            pthread_cond_wait(&changed, &mutex);
        struct operation *operation = queue->first;
        if (operation == NULL)
            break;
        queue->first = operation->next;
        if (queue->first == NULL)
            queue->last = NULL;
        pthread_mutex_unlock(&mutex);
        activity_resume_call(operation->correlation);
        cuda_result result = operation->perform(stream, operation, NULL);
        if (result != CUDA_SUCCESS_)
            process_break(result);
        operation_release(operation);
        free(operation);
        pthread_mutex_lock(&mutex);
        atomic_fetch_sub(&queue->pending, 1);
        if (stream->blocking)
            atomic_fetch_sub(&stream->context->blocking_pending, 1);
        pthread_cond_broadcast(&changed);
    }
    queue->has_runner = queue->dying = false;
    if (!stream_is_legacy(stream))
        unlink_and_free(stream);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Mutex held. */
static bool start_runner(cuda_stream stream)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (stream->deferred.has_runner)
        return true;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    stream->deferred.has_runner = pthread_create(&thread, &attributes, run_stream, stream) == 0;
    pthread_attr_destroy(&attributes);
    return stream->deferred.has_runner;
}

/* Mutex held. */
static cuda_result put(cuda_stream stream, const struct operation *operation)
{
    struct deferred_queue *queue = &stream->deferred;
    struct operation *copy = malloc(sizeof *copy);
    if (copy == NULL || !start_runner(stream)) {
        free(copy);
        operation_release(operation);
        return CUDA_OUT_OF_MEMORY;
    }
    *copy = *operation;
    copy->next = NULL;
    copy->correlation = activity_current_call().correlation;
    if (queue->last != NULL)
        queue->last->next = copy;
    else
        queue->first = copy;
    queue->last = copy;
    atomic_fetch_add(&queue->pending, 1);
    if (stream->blocking)
        atomic_fetch_add(&stream->context->blocking_pending, 1);
    pthread_cond_broadcast(&changed);
    return CUDA_SUCCESS_;
}

cuda_result deferred_put(cuda_stream stream, const struct operation *operation)
{
    pthread_mutex_lock(&mutex);
    cuda_result result = put(stream, operation);
    pthread_mutex_unlock(&mutex);
    return result;
}

cuda_result deferred_put_launch(cuda_stream stream, const struct operation *operation,
                                uint64_t cost_ns)
{
    uint64_t now = issue_pay_launch(stream, cost_ns);
    cuda_result result = deferred_put(stream, operation);
    process_end_launch(now);
    return result;
}

static cuda_result perform_now(cuda_stream stream, const struct operation *operation)
{
    cuda_result result = operation->perform(stream, operation, &process_host_ns);
    operation_release(operation);
    return result;
}

cuda_result operation_issue(cuda_stream stream, const struct operation *operation)
{
    return deferred_is_needed(stream) ? deferred_put(stream, operation)
                                      : perform_now(stream, operation);
}

cuda_result operation_issue_launch(cuda_stream stream, const struct operation *operation,
                                   uint64_t cost_ns)
{
    return deferred_is_needed(stream) ? deferred_put_launch(stream, operation, cost_ns)
                                      : perform_now(stream, operation);
}

void deferred_free_stream(cuda_stream stream)
{
    pthread_mutex_lock(&mutex);
    if (stream->deferred.has_runner)
        stream->deferred.dying = true;
    else
        unlink_and_free(stream);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void deferred_free_streams(cuda_context context)
{
    pthread_mutex_lock(&mutex);
    for (cuda_stream stream = context->streams, next; stream != NULL; stream = next) {
        next = stream->next;
        if (stream->deferred.has_runner)
            stream->deferred.dying = true;
        else
            unlink_and_free(stream);
    }
    context->legacy.deferred.dying = context->legacy.deferred.has_runner;
    pthread_cond_broadcast(&changed);
    while (context->streams != NULL || context->legacy.deferred.has_runner)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

void deferred_link_stream(cuda_stream stream)
{
    pthread_mutex_lock(&mutex);
    stream->next = stream->context->streams;
    stream->context->streams = stream;
    pthread_mutex_unlock(&mutex);
}

void deferred_wait(cuda_stream stream)
{
    if (atomic_load(&stream->deferred.pending) == 0)
        return;
    pthread_mutex_lock(&mutex);
    while (atomic_load(&stream->deferred.pending) > 0)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static bool is_pending(cuda_context context)
{
    if (atomic_load(&context->legacy.deferred.pending) > 0)
        return true;
    for (cuda_stream stream = context->streams; stream != NULL; stream = stream->next)
        if (atomic_load(&stream->deferred.pending) > 0)
            return true;
    return false;
}

void deferred_wait_context(cuda_context context)
{
    pthread_mutex_lock(&mutex);
    while (is_pending(context))
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* -- moments ----------------------------------------------------------------------------------- */

void moment_hold(struct moment *moment)
{
    atomic_fetch_add(&moment->references, 1);
}

void moment_drop(struct moment *moment)
{
    if (moment != NULL && atomic_fetch_sub(&moment->references, 1) == 1)
        free(moment);
}

static void drop_of(const struct operation *operation)
{
    moment_drop(operation->call.moment);
}

/* The moment is now, or when the stream's work is done. */
static cuda_result perform_record(cuda_stream stream, const struct operation *operation,
                                  uint64_t *host_ns)
{
    struct moment *moment = operation->call.moment;
    uint64_t end = issue_ordered_end(stream), now = clock_now_ns();
    (void)host_ns;
    moment->when_ns = end > now ? end : now;
    atomic_store(&moment->known, true);
    return CUDA_SUCCESS_;
}

void moment_wait_known(struct moment *moment)
{
    if (atomic_load(&moment->known))
        return;
    pthread_mutex_lock(&mutex);
    while (!atomic_load(&moment->known))
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static cuda_result perform_await(cuda_stream stream, const struct operation *operation,
                                 uint64_t *host_ns)
{
    (void)host_ns;
    moment_wait_known(operation->call.moment);
    issue_raise_end(stream, operation->call.moment->when_ns);
    return CUDA_SUCCESS_;
}

static struct moment *moment_new(void)
{
    struct moment *moment = calloc(1, sizeof *moment);
    if (moment != NULL)
        atomic_store(&moment->references, 1);
    return moment;
}

/* Mutex held. */
static cuda_result put_moment(cuda_stream stream, struct moment *moment, operation_perform *perform)
{
    moment_hold(moment);
    return put(stream,
               &(struct operation){.perform = perform, .release = drop_of, .call.moment = moment});
}

/* Has one stream wait for what is in another's queue. Mutex held. */
static void follow(cuda_stream stream, cuda_stream other)
{
    struct moment *moment = moment_new();
    if (moment == NULL)
        return;
    if (put_moment(other, moment, perform_record) == CUDA_SUCCESS_)
        put_moment(stream, moment, perform_await);
    moment_drop(moment);
}

bool deferred_is_needed(cuda_stream stream)
{
    cuda_context context = stream->context;
    bool behind = stream_is_legacy(stream)
                      ? atomic_load(&context->blocking_pending) > 0
                      : stream->blocking && atomic_load(&context->legacy.deferred.pending) > 0;
    if (behind) {
        pthread_mutex_lock(&mutex);
        if (!stream_is_legacy(stream) && atomic_load(&context->legacy.deferred.pending) > 0)
            follow(stream, &context->legacy);
        for (cuda_stream other = context->streams; stream_is_legacy(stream) && other != NULL;
             other = other->next)
            if (other->blocking && atomic_load(&other->deferred.pending) > 0)
                follow(stream, other);
        pthread_mutex_unlock(&mutex);
    }
    return atomic_load(&stream->deferred.pending) > 0;
}

struct moment *moment_record(cuda_stream stream)
{
    struct moment *moment = moment_new();
    if (moment == NULL)
        return NULL;
    moment_hold(moment);
    const struct operation record = {
        .perform = perform_record, .release = drop_of, .call.moment = moment};
    if (operation_issue(stream, &record) == CUDA_SUCCESS_)
        return moment;
    moment_drop(moment);
    return NULL;
}

cuda_result moment_await(cuda_stream stream, struct moment *moment)
{
    if (!deferred_is_needed(stream) && atomic_load(&moment->known)) {
        issue_raise_end(stream, moment->when_ns);
        return CUDA_SUCCESS_;
    }
    pthread_mutex_lock(&mutex);
    cuda_result result = put_moment(stream, moment, perform_await);
    pthread_mutex_unlock(&mutex);
    return result;
}
