/*
 * The guard: a small process that owns the private directory and the private daemon of one run,
 * so that both are cleaned up even when the orchestrator is killed by SIGKILL.
 *
 * Orchestrator and guard hold the two ends of a SOCK_SEQPACKET socket pair. The guard greets with
 * the directory's path, then answers each request with one message of the same kind and serial.
 * When the orchestrator's end closes, for whatever reason, the guard waits for the clients, ends
 * the daemon, removes the directory, and goes; also in the middle of a request. The daemon is the
 * guard's child and gets SIGTERM if the guard dies first; the orchestrator then removes the
 * directory.
 *
 * A guard that goes on by itself (GUARD_DETACH) writes DIR/state, listens on the socket
 * DIR/guard and serves requests of its own user there, one a connection, until a request to stop
 * or until the processes that it waits for have ended.
 *
 *   mpsweep-guard --socket FD --control PROGRAM [--directory DIR]
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mps/settings.h"

#define GUARD_MAGIC 0x6d706775u
#define GUARD_SOCKET "guard" /* in the directory */

/* Processes that a guard waits for. */
#define GUARD_AWAITED_MOST 64

/* Exit status when a process could not be ended; the directory then stays. */
#define GUARD_EXIT_UNENDED 3

enum guard_kind {
    GUARD_HELLO = 1, /* to the orchestrator, first: text is the directory */
    GUARD_START,     /* start the daemon for the GPU named in text with the settings, and wait until
                      * it answers and has them; the answer's pid is the daemon's */
    GUARD_STOP,      /* stop it. Its clients have ended, or with force are terminated. On DIR/guard:
                      * without force, STATUS_BUSY while there are clients; else the guard cleans up
                      * and goes */
    GUARD_DETACH,    /* go on without the orchestrator; pid, if not 0: until that process has ended,
                      * and those of earlier requests. STATUS_USAGE: too many of them */
    GUARD_ASK,       /* on DIR/guard: the answer's pid is the daemon's, or 0, and text is how it
                      * ended */
    GUARD_DIED,      /* to the orchestrator, unasked: the daemon ended by itself */
};

struct guard_message {
    uint32_t magic;
    uint32_t kind;
    uint32_t serial; /* of the request, and of its answer; 0 in what was not asked for */
    int32_t status;  /* enum status of the answer */
    int32_t pid;
    uint32_t force;
    struct mps_settings settings;
    char text[1000]; /* directory, GPU, or error; ended by NUL */
};

/* guard_message.c: whether what came, of `received` bytes, is a whole message; its texts end then,
 * and its settings are within their bounds. */
bool guard_message_check(struct guard_message *message, ssize_t received);

/* guard_daemon.c: the daemon's life. */
struct guard_daemon {
    struct mps_control control;
    const char *directory;   /* the private one; outlives the daemon */
    int peer;                /* a start is given up when this socket's other end closes */
    char pipe_directory[88]; /* what control has */
    int pid;                 /* 0: none */
    int pidfd;
    char ending[80]; /* how the last one ended by itself, "" if it did not */
};

/* Starts it for one GPU (UUID, "": all); nothing to do if it runs. What it prints goes to
 * DIR/log/output. On failure nothing of it is left running. */
enum status guard_daemon_start(struct guard_daemon *daemon, const char *gpu,
                               const struct mps_settings *settings);

/* Ends it, its server, and whatever it left. Clients may take patience_ns to end by themselves;
 * those that remain are terminated first. A daemon that does not answer is ended without being
 * asked. */
enum status guard_daemon_end(struct guard_daemon *daemon, uint64_t patience_ns);

/* Whether it has ended by itself; reaps it then. */
bool guard_daemon_has_ended(struct guard_daemon *daemon);

/* How many clients it has; none if it does not run. An error: it cannot be asked, or has not
 * answered by the deadline. */
enum status guard_daemon_count_clients(const struct guard_daemon *daemon, uint64_t deadline_ns,
                                       size_t *count);
