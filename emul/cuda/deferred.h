/*
 * Work whose time cannot be reserved when it is issued, since it comes after something that ends
 * when a program ends it: a host function, or a kernel that waits for a flag. Such work is put in
 * its stream's queue, and a thread of the stream's issues it in order once it may. A stream without
 * any goes on as ever.
 *
 * One mutex and one condition serve all queues and moments of the process; the state's lock may be
 * taken while it is held, not the other way about.
 */
#pragma once

#include "emul/cuda/process.h"

/* The time when a stream reached a point of its work, once it is known. Counted references, so that
 * an event can be recorded anew or destroyed while others wait. */
struct moment {
    _Atomic unsigned references;
    _Atomic bool known;
    uint64_t when_ns; /* written before `known` is set */
};

/* One piece of work. perform() does and places it: in the caller's thread, or, when all before it
 * has been issued, in the stream's, where host_ns is NULL (struct model_issue) and an error breaks
 * the context. release(), where there is one, gives back what the operation holds. */
typedef cuda_result operation_perform(cuda_stream stream, const struct operation *operation,
                                      uint64_t *host_ns);
struct operation {
    struct operation *next;
    uint32_t correlation; /* of the call that put it here, for a tracer */
    operation_perform *perform;
    void (*release)(const struct operation *operation);
    union {
        struct kernel_call kernel;
        struct {
            struct copy_call call;
            bool corrupt;
        } copy;
        struct {
            cuda_graph_exec exec;
            bool corrupt;
        } graph;
        struct {
            cuda_host_function function;
            void *argument;
        } host;
        struct {
            void *to;
            const void *from;
            uint64_t bytes;
            cuda_context to_context, from_context;
        } peer;
        struct moment *moment;
    } call;
};

/* Whether work for this stream must be deferred. It puts into the queue what keeps the order with
 * the legacy default stream, so what is deferred must follow at once. */
bool deferred_is_needed(cuda_stream stream);

/* Puts a copy of the operation into the stream's queue. CUDA_OUT_OF_MEMORY: it is not there, and
 * has been released. */
cuda_result deferred_put(cuda_stream stream, const struct operation *operation);

/* The same of a launch, whose host's side costs so much. */
cuda_result deferred_put_launch(cuda_stream stream, const struct operation *operation,
                                uint64_t cost_ns);

/* Performs and releases the operation now, or puts it into the queue if it must be deferred. */
cuda_result operation_issue(cuda_stream stream, const struct operation *operation);
cuda_result operation_issue_launch(cuda_stream stream, const struct operation *operation,
                                   uint64_t cost_ns);

/* Waits until all deferred work of the stream, or of the context's streams, has been issued. */
void deferred_wait(cuda_stream stream);
void deferred_wait_context(cuda_context context);

/* Frees the stream, or has its thread do so once that has nothing left to do. */
void deferred_free_stream(cuda_stream stream);

/* Frees all streams of the context but the legacy one, and ends the threads of all. */
void deferred_free_streams(cuda_context context);

/* The moment when all work of the stream so far is done; a reference for the caller. NULL: no
 * memory. */
struct moment *moment_record(cuda_stream stream);

/* Lets the stream's later work wait for the moment. */
cuda_result moment_await(cuda_stream stream, struct moment *moment);

/* Sleeps until the moment is known, not until it has come. */
void moment_wait_known(struct moment *moment);

void moment_hold(struct moment *moment);
void moment_drop(struct moment *moment);

/* For those who wait for other things that change with deferred work. */
void deferred_lock(void);
void deferred_unlock(void);
void deferred_sleep(void);  /* locked; until something changes */
void deferred_notify(void); /* locked; something has changed */

/* Adds the stream to its context's list. */
void deferred_link_stream(cuda_stream stream);
