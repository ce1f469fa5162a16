/*
 * mpsweep tune: the best layout for one workload, under constraints and within a time.
 */
#pragma once

#include "job/jobfile.h"

/* job_path: its file, or NULL. Returns the exit status. */
int tune_command(const struct job *job, const char *job_path);
