/*
 * The commands of 'mpsweep slurm'. They print what they find and their errors, and return the exit
 * status of the program.
 */
#pragma once

#include "job/options.h"

/* An option of the command line. */
struct slurm_given {
    const struct option_row *row;
    const char *text;
};

/* slurm submit. Options of given that the command does not take itself are those of the sweep, and
 * are handed on as they are. rest is what stands behind '--', NULL without it: options of sbatch,
 * and behind another '--' a program to measure. */
int slurm_submit_command(const struct slurm_given *given, size_t count, const char *job_path,
                         char **rest);

/* slurm status, collect and cancel of the run in directory. */
int slurm_status_command(const struct options *options, const char *directory);
int slurm_collect_command(const struct options *options, const char *directory);
int slurm_cancel_command(const char *directory);
