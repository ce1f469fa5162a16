/*
 * mpsweep trace: one point of a plan, run for a moment, with what its threads called and what the
 * GPU did for them.
 */
#pragma once

#include "job/jobfile.h"

/* Prints, writes what was asked for, and returns an exit status. */
int trace_command(const struct job *job, const char *job_path);
