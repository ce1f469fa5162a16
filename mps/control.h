/*
 * Commands to an MPS control daemon, through the program nvidia-cuda-mps-control: each call runs
 * it once with one command on its standard input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/status.h"
#include "mps/reply.h"

struct mps_control {
    const char *program;        /* name on PATH, or a path */
    const char *pipe_directory; /* of the daemon */
    const int *interrupt;       /* as of struct child_options; NULL: none */
};

/* Room for "CUDA_MPS_PIPE_DIRECTORY=..." and the like. */
#define MPS_ENVIRONMENT_TEXT 128

/* CUDA_VISIBLE_DEVICES with the UUIDs of as many GPUs as are ever listed. */
#define MPS_GPUS_TEXT 768

/* Names of the variables in this process's environment that change how MPS behaves: those that
 * start with CUDA_MPS_. Ended by NULL; the strings are copies in storage, valid until the next
 * call. For use by one thread. */
#define MPS_INHERITED_MOST 64
void mps_environment_inherited(const char *names[MPS_INHERITED_MOST]);

/* What a process finds one daemon by, and no other: for child_environment_new(). It points into
 * itself, and to what mps_environment_inherited() stores. */
struct mps_environment {
    char texts[3][MPS_GPUS_TEXT];
    const char *set[4];                    /* "NAME=value", the pipe directory first */
    const char *unset[MPS_INHERITED_MOST]; /* names of inherited variables */
};

/* log_directory, and gpus (UUIDs with ',' between them), may be NULL or "": then they are not set.
 * False: one of them is too long. */
bool mps_environment_make(const char *pipe_directory, const char *log_directory, const char *gpus,
                          struct mps_environment *out);

/* Runs one command, written as by printf(). reply is the program's whole output; release it, also
 * after an error. STATUS_NOT_FOUND: no daemon there; STATUS_TIMEOUT: no answer by the deadline;
 * STATUS_INTERRUPTED: none before control->interrupt was readable; STATUS_PROTOCOL: more than a
 * reply can be. */
enum status mps_control_command(const struct mps_control *control, uint64_t deadline_ns,
                                struct child_result *reply, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The daemon's servers, and the clients of all servers. */
enum status mps_control_servers(const struct mps_control *control, uint64_t deadline_ns,
                                pid_t *servers, size_t capacity, size_t *count);
enum status mps_control_clients(const struct mps_control *control, uint64_t deadline_ns,
                                pid_t *clients, size_t capacity, size_t *count);

/* Asks the server to end one client the orderly way. STATUS_NOT_FOUND: not a client. */
enum status mps_control_terminate_client(const struct mps_control *control, uint64_t deadline_ns,
                                         pid_t client);

/* State of one server. STATUS_NOT_FOUND: no such server. */
enum status mps_control_server_state(const struct mps_control *control, pid_t server,
                                     uint64_t deadline_ns, enum mps_server_state *state);

/* All clients with their commands, and the GPUs that the daemon has. */
enum status mps_control_clients_table(const struct mps_control *control, uint64_t deadline_ns,
                                      struct mps_client_row *rows, size_t capacity, size_t *count);
enum status mps_control_devices(const struct mps_control *control, uint64_t deadline_ns,
                                struct mps_device_row *rows, size_t capacity, size_t *count);

/* The program's version, such as 13000: CUDA's major * 1000 + minor * 10. Needs no daemon; the pipe
 * directory is what it gets to see, should it look for one. */
enum status mps_control_version(const struct mps_control *control, uint64_t deadline_ns,
                                int *version);

/* Whether one of its servers is in the fault state. */
enum status mps_control_is_faulty(const struct mps_control *control, uint64_t deadline_ns,
                                  bool *faulty);

/*
 * Static partitions of a GPU's multiprocessors, of a daemon that was started with -S: each is some
 * chunks of them, which only its own clients use. A client names its partition in
 * CUDA_MPS_SM_PARTITION; without it, it gets no context. An active thread percentage has no effect.
 *
 * Source: docs.nvidia.com/deploy/mps/common-tasks.html, "Using Static SM Partitioning", and
 * mpsv2-interface.html there (release 615). Driver 580 does not have them: no GPU has run this.
 */
#define MPS_PARTITION_VARIABLE "CUDA_MPS_SM_PARTITION"
#define MPS_PARTITIONS_VERSION 13010 /* of the first control program with them */

/* Whether a control program of that version (mps_control_version()) has them. */
bool mps_control_has_partitions(int version);

/* STATUS_UNSUPPORTED names the program's version, and the one that it takes. */
enum status mps_control_need_partitions(const struct mps_control *control, uint64_t deadline_ns);

/* Makes a partition on the GPU with that UUID. STATUS_UNSUPPORTED: the daemon's complaint. */
enum status mps_control_add_partition(const struct mps_control *control, const char *uuid,
                                      unsigned chunks, uint64_t deadline_ns);

/* All partitions of the daemon. GPUs have their whole UUIDs where the daemon lists its devices. */
enum status mps_control_partitions(const struct mps_control *control, uint64_t deadline_ns,
                                   struct mps_partition_row *rows, size_t capacity, size_t *count);
