/*
 * Handing the shards of a run to Slurm: an array of those that are wanted, and a job after it that
 * merges. What was submitted stands in the manifest as soon as it is known.
 */
#pragma once

#include "orchestrator/slurm/internal.h"

/* Which shards, one flag each; NULL: all. */
typedef const bool *slurm_wanted;

/* Submits them, saves the manifest, and says on standard output what to do next. after: arrays of
 * the run that are still at work, as ":ID:ID", NULL for none: the merging waits for them, too. */
enum status slurm_submit_shards(struct slurm_run *run, slurm_wanted wanted, const char *after);

/* The command lines, on standard output; after as above. */
enum status slurm_submit_print(const struct slurm_run *run, slurm_wanted wanted, const char *after);

/* Whether sbatch may be given these words, NULL-ended, by a user: not what mpsweep gives it itself,
 * not in an abbreviation either. STATUS_USAGE. */
enum status slurm_check_words(char *const *words);

/* The shards of the run in directory that are not finished and for which no job runs or waits.
 * more, NULL-ended: options of sbatch, behind those of the manifest and kept there. */
enum status slurm_submit_again(const char *directory, char *const *more, bool dry_run);
