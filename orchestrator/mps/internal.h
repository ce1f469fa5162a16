/*
 * What the files of this room share.
 */
#pragma once

#include "common/clock.h"
#include "mps/settings.h"
#include "orchestrator/mps/mps.h"
#include "orchestrator/session/session.h"

/* How long a command waits for an answer of the daemon, and how many clients it takes. */
#define ASK_NS (5 * NS_PER_S)
#define ASK_CLIENTS 256

/* Opens a session whose private daemon runs with the settings that the options name, and is ready;
 * signals are watched. On failure nothing is left. */
enum status mps_command_open(const struct options *options, struct session *out);

/* Returns the GPU that the daemon is limited to, for CUDA_VISIBLE_DEVICES: NULL for all. */
const char *mps_command_gpu(const struct options *options, const struct session *session);

/* Makes what a client of the daemon in a private directory needs; gpu as above. */
enum status mps_command_environment(const char *directory, const char *gpu,
                                    struct mps_environment *out);

/* The controller of the session's only daemon. */
struct mps_controller *mps_command_daemon(const struct session *session);

/* Prints a line for each partition, with the variable that its clients need. */
void mps_command_print_partitions(const char *indent, const struct mps_partition_row *rows,
                                  size_t count);
