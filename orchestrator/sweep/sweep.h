/*
 * The sweep command: every point of a plan, measured.
 */
#pragma once

#include "job/jobfile.h"

/* Runs the sweep that the job describes; job_path is the job file's name, or NULL. Prints progress
 * on standard error and the results on standard output. Returns the exit status of the program;
 * errors are printed. */
int sweep_command(const struct job *job, const char *job_path);
