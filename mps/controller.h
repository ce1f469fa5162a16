/*
 * The MPS controller: a private control daemon for the life of one run, one that goes on by itself,
 * or the use of a foreign one.
 *
 * Order of calls: mps_controller_new, then daemon_start and daemon_stop as often as needed, then
 * mps_controller_free. A guard process (mps/guard.h) does the work, so that nothing survives even
 * if the caller is killed: the daemon, its server and the private directory end with it, unless
 * mps_controller_detach() has been called.
 *
 * The daemon is the caller's own: it lives in a fresh directory of mode 0700 and no foreign
 * daemon is ever looked for, asked, changed or ended. CUDA_MPS_* variables of the caller's
 * environment do not reach it. With options.external, a foreign daemon is used: it is
 * asked, and of its clients those that the caller names may be terminated, nothing more.
 *
 * Every call has a deadline. For one thread. What holds these promises is listed in docs/mps.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"
#include "mps/control.h"
#include "mps/directory.h"
#include "mps/log.h"
#include "mps/reply.h"
#include "mps/settings.h"
#include "wire/probe.h"

struct mps_controller_options {
    const char *guard_program;   /* path of mpsweep-guard */
    const char *control_program; /* "nvidia-cuda-mps-control", or a stand-in's path */
    const char *probe_program;   /* path of mpsweep-worker */
    const char *probe_driver;    /* its --driver; NULL: the machine's */
    const char *directory;       /* where the private directory is to be; NULL: in a usual place */
    const char *external;        /* pipe directory of a daemon to use instead of an own one */
};

/* Callers may read the fields above `guard`; the others are private. */
struct mps_controller {
    struct mps_controller_options options;
    struct mps_control control;                 /* for mps_control_...() */
    char directory[MPS_DIRECTORY_MOST + 1];     /* the private one */
    char off_directory[MPS_DIRECTORY_MOST + 8]; /* for CUDA_MPS_PIPE_DIRECTORY of no client */
    pid_t daemon;                               /* 0 when none runs, or it is not ours */
    struct worker_probe probe;                  /* what the last one saw */

    pid_t guard;
    int guard_pidfd;
    int socket;
    int interrupt; /* readable: give up waiting; -1: none */
    uint32_t serial;
    bool external_ready, detached, directory_was_there;
    char death[256]; /* how a daemon ended by itself since the last start; "" */
    char own_pipe_directory[MPS_DIRECTORY_MOST + 8];
};

/* Starts the guard, which makes the private directory. The strings must outlive the controller. */
enum status mps_controller_new(const struct mps_controller_options *options,
                               struct mps_controller **out);

/* From now on waits end with STATUS_INTERRUPTED when this descriptor is readable; it is not read.
 * -1: none. */
void mps_controller_set_interrupt(struct mps_controller *controller, int fd);

/* Stops the daemon if it runs, removes the directory, ends the guard. NULL is fine. An error names
 * what stays behind; the controller is gone in any case. */
enum status mps_controller_free(struct mps_controller *controller);

/*
 * Starts the daemon for one GPU (UUID, NULL: all) with the settings (NULL: its own) and waits until
 * it is ready: it answers, it has the settings, and a probe has been its client. Nothing to do if
 * it runs. STATUS_NOT_FOUND: no control program. STATUS_WORKER: the probe failed, and why.
 *
 * With an external daemon: checks that it answers, that it is in no fault state, and that a probe
 * can be its client; settings are not ordered.
 */
enum status mps_controller_daemon_start(struct mps_controller *controller, const char *gpu,
                                        const struct mps_settings *settings);

/* STATUS_SYSTEM: the daemon has ended by itself, and how, or its guard has. Does not wait. */
enum status mps_controller_check(struct mps_controller *controller);

/* Ends the daemon and its server; nothing to do if none runs, or if it is not ours. */
enum status mps_controller_daemon_stop(struct mps_controller *controller);

/* The daemon, its guard and its directory go on without the caller, until they are stopped through
 * mps_kept_stop() or, with a process named, until that one has ended. Called again, for one more
 * process, they go on until all of these have. Where the system cannot watch a process that may
 * live, only mps_kept_stop() ends them. */
enum status mps_controller_detach(struct mps_controller *controller, pid_t until);

/* Asks the server to end a client: the way to end a busy one. */
enum status mps_controller_terminate_client(struct mps_controller *controller, pid_t client);

/* The last fatal GPU error in the daemon's log. STATUS_NOT_FOUND: none, or the log is not ours. */
enum status mps_controller_last_fault(struct mps_controller *controller, struct mps_fault *out);

/* All that have been clients since the daemon started, from its log. STATUS_NOT_FOUND: no log. */
enum status mps_controller_past_clients(struct mps_controller *controller, pid_t *clients,
                                        size_t capacity, size_t *count);
