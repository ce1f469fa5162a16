/*
 * The server that requests go to: a child of mpsweep-load, which ends it, and dies with it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/status.h"
#include "load/options.h"

struct server {
    pid_t pid;
    bool ended;
    int wait_status;              /* then, as from waitpid() */
    uint64_t cpu_read_ns, cpu_ns; /* the last reading, at a moment of the clock */
};

/* It inherits this process's CPUs and its output. STATUS_NOT_FOUND and others as child_spawn(). */
enum status server_start(const struct load_options *options, struct server *out);

/* STATUS_WORKER if it has ended. */
enum status server_check(struct server *server);

/* What the server, and all that it has started, have used of CPUs, and when that was: now, or a
 * moment ago. data is a struct server. Not in the timed path, but beside it. */
void server_read_cpu(void *data, uint64_t *wall_ns, uint64_t *used_ns);

/* Ends it: SIGTERM to it and to what it has started, time to clean up, SIGKILL. False: it took
 * SIGKILL, after which it may not have ended yet. The supervisor ends what it leaves behind. */
bool server_stop(struct server *server);

/* Ends this process as the server has ended: the supervisor reports that, with the last words. */
_Noreturn void server_exit_like(const struct server *server);
