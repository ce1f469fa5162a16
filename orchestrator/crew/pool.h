/*
 * A pool: processes of ours on the GPU, the descriptors that tie them to this process, and the one
 * way to end them: let them drain, then terminate_client where they are MPS clients, then SIGKILL.
 *
 * Life: POOL_EMPTY -> pool_make() -> pool_spawn() for each process -> pool_end() -> pool_release()
 * and empty again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/text.h"
#include "orchestrator/session/session.h"

struct gpu_child {
    pid_t pid; /* 0: not started */
    int pidfd; /* -1: not started */
    bool ended;
    bool forced; /* it did not end by itself when asked to, and was ended */
    int wait_status;
    unsigned gpu;    /* that it uses, as daemons_at() takes it */
    bool supervises; /* a program (wire/program.h), whose processes are the ones that use the GPU */
};

struct pool {
    unsigned count; /* of children; 0: empty */
    struct gpu_child *children;
    int event_fd;     /* processes add to it at each change of a state */
    int life_read_fd; /* for the processes: */
    int life_fd;      /* its end means to them that this process is gone */
};

#define POOL_EMPTY                                                                                 \
    {                                                                                              \
        .event_fd = -1, .life_read_fd = -1, .life_fd = -1                                          \
    }

/* Makes the descriptors and room for `count` processes; starts none. Release it even after a
 * failure. */
enum status pool_make(unsigned count, struct pool *out);

/* How a process is started. */
struct pool_start {
    const struct word_list *argv;
    const char *const *set; /* as child_environment_new() takes it, and the names: */
    const char *const *unset;
    int keep_fd, trace_fd; /* further descriptors that the process inherits; 0: none */
    bool supervises;       /* see struct gpu_child */
    int answer_fd; /* its standard output, and the pool's life is its standard input; 0: neither */
};

/* Appends --shm, --event, --life and --process, by which a worker finds the pool's descriptors. */
void pool_add_words(const struct pool *pool, int shm_fd, unsigned index, struct word_list *words);

/* Starts process number index. */
enum status pool_spawn(struct pool *pool, const struct session *session, unsigned index,
                       const struct pool_start *start);

/* Notices the processes that have ended. Returns the index of one that ended since, or -1. */
int pool_reap(struct pool *pool);

/* Informs supervisors that the stop flag is set and how long their programs may take. */
void pool_hurry(const struct pool *pool, uint64_t grace_ns);

/* Ends the pool's life: processes that read it then end by themselves. */
void pool_hang_up(struct pool *pool);

/* Waits up to grace_ns (less after an interrupt) for all processes to end, which the caller has
 * asked them to; then ends them the MPS way, then by SIGKILL. On success all are reaped. Sets
 * tainted when one had to be ended. STATUS_TIMEOUT names the processes that could not be. */
enum status pool_end(struct pool *pool, struct session *session, bool over_mps, uint64_t grace_ns,
                     bool *tainted);

/* After pool_end(): frees what the pool owns. It is empty then. */
void pool_release(struct pool *pool);
