/*
 * The guard: a small process that owns the private directory and the private daemon of one run,
 * so that both are cleaned up even when the orchestrator is killed by SIGKILL.
 *
 * Orchestrator and guard hold the two ends of a SOCK_SEQPACKET socket pair. The guard greets with
 * the directory's path, then answers each request with one message. When the orchestrator's end
 * closes, for whatever reason, the guard ends the daemon, waits for its clients, removes the
 * directory, and goes. The daemon is the guard's child and gets SIGTERM if the guard dies first;
 * the orchestrator then removes the directory.
 *
 *   mpsweep-guard --socket FD --control PROGRAM
 */
#ifndef MPSWEEP_MPS_GUARD_H
#define MPSWEEP_MPS_GUARD_H

#include <stdint.h>

/* Exit status when a process could not be ended; the directory then stays. */
#define GUARD_EXIT_UNENDED 3

enum guard_kind {
    GUARD_HELLO = 1, /* to the orchestrator, first: text is the directory */
    GUARD_START,     /* start the daemon for the GPU named in text and wait until it answers; the
                      * answer's pid is the daemon's */
    GUARD_STOP,      /* stop it; its clients have ended */
    GUARD_DIED,      /* to the orchestrator, unasked: the daemon ended by itself */
};

struct guard_message {
    uint32_t kind;
    int32_t status; /* enum status of the answer */
    int32_t pid;
    uint32_t reserved;
    char text[1000]; /* directory or error, ended by NUL */
};

#endif
