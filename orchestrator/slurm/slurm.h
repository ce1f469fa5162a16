/*
 * The commands of 'mpsweep slurm'. They print what they find and their errors, and return an exit
 * status.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Options that 'slurm submit' does not take itself are those of the sweep, and are handed on as
 * they are. Behind '--' stand options of sbatch, and behind another '--' a program to measure. */
int slurm_submit_command(const struct invocation *invocation);

/* Of the run in the directory that the operand names. */
int slurm_status_command(const struct invocation *invocation);
int slurm_collect_command(const struct invocation *invocation);
int slurm_cancel_command(const struct invocation *invocation);
