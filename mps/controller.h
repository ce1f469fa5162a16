/*
 * The MPS controller: a private control daemon for the life of one run.
 *
 * Order of calls: mps_controller_new, then daemon_start and daemon_stop as often as needed, then
 * mps_controller_free. A guard process (mps/guard.h) does the work, so that nothing survives even
 * if the caller is killed: the daemon, its server and the private directory end with it.
 *
 * The daemon is the caller's own: it lives in a fresh directory of mode 0700 and nobody else's
 * daemon is ever looked for, asked, changed or ended. CUDA_MPS_* variables of the caller's
 * environment do not reach it. Every call has a deadline. For one thread.
 */
#ifndef MPSWEEP_MPS_CONTROLLER_H
#define MPSWEEP_MPS_CONTROLLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"

struct mps_controller;

struct mps_controller_options {
    const char *guard_program;   /* path of mpsweep-guard */
    const char *control_program; /* "nvidia-cuda-mps-control", or a stand-in's path */
};

/* Starts the guard, which makes the private directory. The strings must outlive the controller. */
enum status mps_controller_new(const struct mps_controller_options *options,
                               struct mps_controller **out);

/* Stops the daemon if it runs, removes the directory, ends the guard. NULL is fine. An error says
 * what stays behind; the controller is gone in any case. */
enum status mps_controller_free(struct mps_controller *controller);

/* Starts the daemon for one GPU (UUID, NULL: all) and waits until it answers; nothing to do if it
 * runs. STATUS_NOT_FOUND: no control program. */
enum status mps_controller_daemon_start(struct mps_controller *controller, const char *gpu);

/* Ends the daemon and its server; nothing to do if none runs. */
enum status mps_controller_daemon_stop(struct mps_controller *controller);

/* Process IDs of all clients of the running daemon. */
enum status mps_controller_clients(struct mps_controller *controller, uint64_t deadline_ns,
                                   pid_t *clients, size_t capacity, size_t *count);

/* Asks the server to end a client: the way to end a busy one. */
enum status mps_controller_terminate_client(struct mps_controller *controller, pid_t client);

/* What to put into CUDA_MPS_PIPE_DIRECTORY of a process: to be a client, and to be none. */
const char *mps_controller_pipe_directory(const struct mps_controller *controller);
const char *mps_controller_off_directory(const struct mps_controller *controller);

/* The private directory, and the daemon's process (0 when none runs). */
const char *mps_controller_directory(const struct mps_controller *controller);
pid_t mps_controller_daemon_pid(const struct mps_controller *controller);

#endif
