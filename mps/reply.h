/*
 * Replies of nvidia-cuda-mps-control, protocol 2. Parsed strictly: what we do not understand is an
 * error, never a guess, and raw bytes are never echoed.
 *
 * reply is the program's whole output: any bytes, NUL among them. Blank lines and CR before LF are
 * passed over, and the last line may lack its end. Outputs are set on success only; the elements of
 * an array are undefined otherwise.
 *
 * All functions return STATUS_PROTOCOL for what they do not understand, and these for the
 * complaints that the daemon gives as an ordinary answer: STATUS_UNSUPPORTED when it does not know
 * the command, STATUS_NOT_FOUND when it has no such server or client or does not run, STATUS_USAGE
 * when it does not take the value.
 *
 * Source: driver 580 (CUDA 13.0); of partitions, what mps/control.h names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"

/* get_server_list, get_client_list: one decimal process ID a line; an empty reply is an empty list.
 * STATUS_PROTOCOL, too, for more than capacity IDs. */
enum status mps_reply_pids(const char *reply, size_t bytes, pid_t *pids, size_t capacity,
                           size_t *count);

/* get_ and set_[default_]active_thread_percentage: above 0, at most 100, a dot as decimal point in
 * every locale. The daemon answers a value that it refuses with the one that stays in force. */
enum status mps_reply_percentage(const char *reply, size_t bytes, double *percentage);

/* get_[default_]device_pinned_mem_limit; 0: no limit is set. The daemon shows whole units and drops
 * the rest: after 1536M it answers 1G. */
enum status mps_reply_memory(const char *reply, size_t bytes, uint64_t *limit_bytes);

/* get_default_client_priority: 0 (normal) or 1 (below normal). */
enum status mps_reply_priority(const char *reply, size_t bytes, int *priority);

enum mps_server_state {
    MPS_SERVER_INITIALIZING,
    MPS_SERVER_ACTIVE,
    MPS_SERVER_FAULT, /* a client had a fatal fault: no new client until all of them are gone */
};

/* "initializing", "active", "fault"; "unknown" for anything else. */
const char *mps_server_state_name(enum mps_server_state state);

/* get_server_status. */
enum status mps_reply_server_state(const char *reply, size_t bytes, enum mps_server_state *state);

/* terminate_client: its last line is 0 when the client's work was ended. STATUS_NOT_FOUND: there is
 * no such server, or it has no such client. */
enum status mps_reply_terminated(const char *reply, size_t bytes);

/* The program's -v: its number, such as 13000. */
enum status mps_reply_version(const char *reply, size_t bytes, int *version);

/* A line of ps. Text is printable ASCII, with '?' for what was not. */
struct mps_client_row {
    pid_t pid;
    unsigned id;
    pid_t server;
    char device[64]; /* a GPU's UUID, cut by the daemon */
    unsigned long pid_namespace;
    char command[128]; /* may hold blanks; cut where it is longer */
};

/* ps: all clients of the daemon; none where it has no server. The columns are found by the header's
 * names. STATUS_PROTOCOL, too, for more than capacity clients. */
enum status mps_reply_ps(const char *reply, size_t bytes, struct mps_client_row *rows,
                         size_t capacity, size_t *count);

struct mps_device_row {
    unsigned ordinal; /* the daemon's: what the commands about memory limits take */
    char uuid[64];
};

/* device_query: the devices that the daemon uses, each once, in the order of the reply.
 * STATUS_PROTOCOL, too, where two lines contradict each other, and for more than capacity devices.
 */
enum status mps_reply_devices(const char *reply, size_t bytes, struct mps_device_row *rows,
                              size_t capacity, size_t *count);

/* sm_partition add: the name of the new partition, by itself or in a sentence. STATUS_UNSUPPORTED:
 * there are not as many chunks. */
enum status mps_reply_partition(const char *reply, size_t bytes);

#define MPS_PARTITION_TEXT 128
struct mps_partition_row {
    char name[MPS_PARTITION_TEXT]; /* GPU/PARTITION, the GPU's UUID cut by the daemon */
    unsigned chunks, sms;
    bool used; /* it has clients */
};

/* lspart: the partitions; the lines of whole GPUs are passed over. */
enum status mps_reply_partitions(const char *reply, size_t bytes, struct mps_partition_row *rows,
                                 size_t capacity, size_t *count);
