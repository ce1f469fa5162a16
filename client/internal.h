/*
 * Shared by the files of the client library: the attachment to the shared memory (attachment.h),
 * the handles and the threads that have them (handles.c), how they are held between two assignments
 * (hold.c), and what programs call (client.c).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/attachment.h"
#include "include/mpsweep/client.h"
#include "recording/pace.h"
#include "recording/recorder.h"
#include "shm/shm.h"
#include "trace/buffer.h"

enum phase {
    PHASE_OPEN,     /* not ready yet */
    PHASE_READY,    /* not released yet: others of its thread were not ready */
    PHASE_RUNNING,  /* released */
    PHASE_FINISHED, /* has done its fixed work */
    PHASE_SERVED,   /* published, or without a part: another assignment may follow */
    PHASE_HELD,     /* waits for that: the orchestrator knows */
    PHASE_OVER,     /* published for good, or failed */
};

struct mpsweep {
    enum phase phase;
    bool open_loop;
    bool begun;          /* the orchestrator knows that iterations begin */
    bool bound;          /* a thread of its own is bound with it */
    unsigned number;     /* of its slot in the process */
    unsigned forks;      /* of the client, when it was opened */
    pid_t opener;        /* for the orchestrator; 0: in another PID namespace */
    uint32_t assignment; /* that it has a part in, or is held after */
    uint64_t begin_ns;   /* of the iteration that runs, 0: none does */
    struct shm_slot *slot;
    struct shm_header *header;
    struct thread *thread;
    pid_t window_thread; /* who read the CPU times at the window's begin */
    struct recorder recorder;
    struct pace pace; /* of an open loop: of the start that the iteration was planned for */
};

/* A thread of the layout, with its handles: one, or one for each of its streams. */
struct thread {
    struct thread *next;
    unsigned number;
    unsigned open;       /* handles: without any it is freed */
    pid_t owner;         /* who opened the first of them */
    uint32_t assignment; /* that the next two belong to */
    bool paced;          /* pace has begun */
    bool counted;        /* the starts that are left over */
    unsigned count;      /* of handles */
    struct pace pace;
    struct mpsweep handles[];
};

/* This process's side of the shared memory; attached once, and never released: other threads may
 * use it to the very end. */
struct client {
    pthread_mutex_t mutex;
    bool tried, attached;
    struct shm shm;
    int event_fd;
    struct trace_buffer trace; /* header NULL: it is not traced */
    unsigned process;
    bool same_pid_namespace; /* as the supervisor */
    unsigned forks;          /* between the process that attached and this one */
    struct thread *threads;  /* under the mutex */
    /* Before any handle is ready, or as they were: none, and the calling thread. */
    struct arrivals arrivals;
    struct cpu_source cpu_source;
    uint64_t progress_ns; /* of a server's connections: see struct recorder_options */
};

extern struct client client;

/* Prints on standard error, which the supervisor reads, and people when there is none. */
void client_complain(const char *text);

/*
 * hold.c: what comes between two assignments of a handle.
 */

/* Whether no further assignment comes. */
bool client_is_dismissed(const struct mpsweep *handle);

/* Whether another assignment may follow the one that the handle has a part in. */
bool client_is_kept(const struct mpsweep *handle);

/* Gives a new handle its first assignment: it is open, or has no part in it. */
void client_take_on_first(struct mpsweep *handle);

/* Holds a handle that is served until an assignment has a part for it: it is open then. False: it
 * was dismissed, or is neither served nor held. */
bool client_hold(struct mpsweep *handle);

/* The same without waiting: 1: it is open, 0: it is over, -1: it is held. Where its whole process
 * is, a short sleep comes first. */
int client_try_hold(struct mpsweep *handle);

/* The rest is called under the mutex, but for client_free_handle(). */

/* False: it is taken. Another process of the program may take it as well. */
bool client_take_slot(unsigned number);

/* Takes a free slot: the next one of the caller's thread, else the first one of a thread that has
 * opened none. Gives its number, or -1. */
int client_take_next_slot(void);

/* The handle of a slot that was taken; NULL: no memory. */
struct mpsweep *client_make_handle(unsigned number);

void client_free_handle(const struct mpsweep *handle);
