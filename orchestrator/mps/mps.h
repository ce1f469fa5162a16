/*
 * mpsweep mps: an MPS daemon of one's own, as a command.
 */
#pragma once

#include "orchestrator/console/invocation.h"
#include "mps/settings.h"
#include "orchestrator/session/session.h"

/* Exit statuses of 'mps run' beside the command's own, as of env(1) and timeout(1). */
enum mps_run_exit {
    MPS_RUN_FAILED = 125,    /* the daemon could not be started or ended */
    MPS_RUN_NOT_RUN = 126,   /* the command was found, but cannot be run */
    MPS_RUN_NOT_FOUND = 127, /* there is no such command */
    MPS_RUN_SIGNALLED = 128, /* and the number of the signal that ended the command */
};

/* Each prints what it finds and its errors, and returns an exit status. */
int mps_start_command(const struct invocation *invocation);
int mps_stop_command(const struct invocation *invocation);
int mps_status_command(const struct invocation *invocation);
int mps_env_command(const struct invocation *invocation);
int mps_run_command(const struct invocation *invocation);

/* Opens a session whose private daemon runs with the settings that the options name, and is ready;
 * signals are watched. On failure nothing is left. */
enum status mps_open(const struct options *options, struct session *out);

/* The GPU that the daemon is limited to, for CUDA_VISIBLE_DEVICES: NULL for all. */
const char *mps_gpu(const struct options *options, const struct session *session);

/* What a client of a daemon needs in its environment, each "NAME=value". */
struct mps_client_environment {
    char pipe_directory[MPS_ENVIRONMENT_TEXT], log_directory[MPS_ENVIRONMENT_TEXT];
    char gpu[MPS_GPUS_TEXT];
    const char *set[4];    /* ended by NULL */
    const char *unset[64]; /* names of inherited CUDA_MPS_* variables that are not set here */
};

void mps_client_environment(const char *directory, const char *gpu,
                            struct mps_client_environment *out);
