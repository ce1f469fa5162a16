/*
 * mpsweep tune: the best layout for one workload, under constraints and within a time.
 */
#ifndef MPSWEEP_ORCHESTRATOR_TUNE_H
#define MPSWEEP_ORCHESTRATOR_TUNE_H

#include "job/jobfile.h"

/* job_path: its file, or NULL. Returns the exit status. */
int tune_command(const struct job *job, const char *job_path);

#endif
