/*
 * Implements 'mpsweep mps': an MPS daemon of the user's own, as a command.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Exit statuses of 'mps run' beside the command's own, as of env(1) and timeout(1). */
enum mps_run_exit {
    MPS_RUN_FAILED = 125,    /* the daemon could not be started or ended */
    MPS_RUN_NOT_RUN = 126,   /* the command was found, but cannot be run */
    MPS_RUN_NOT_FOUND = 127, /* there is no such command */
    MPS_RUN_SIGNALLED = 128, /* plus the number of the signal that ended the command */
};

/* Each prints what it finds and its errors, and returns an exit status. */
int mps_command_start(const struct invocation *invocation);
int mps_command_stop(const struct invocation *invocation);
int mps_command_status(const struct invocation *invocation);
int mps_command_env(const struct invocation *invocation);
int mps_command_run(const struct invocation *invocation);
