/*
 * What the worker program does, one function for each of its modes. Each prints its answer or its
 * error, and gives the exit status: of a question 0, an enum status, or EXIT_BAD_CALL.
 */
#pragma once

#include "worker/engines/process.h"

/* Exit statuses, beside EXIT_SUCCESS and EXIT_FAILURE. */
enum { EXIT_BAD_CALL = 64, EXIT_ORPHANED = 65 };

/* The whole life of a thread and its workers, from binding to done or failed. */
void worker_live(const struct worker_process *process, unsigned thread);

/* wire/probe.h, wire/lengths.h and wire/plugin_answer.h. driver_path NULL: the machine's. */
int worker_probe_run(const char *driver_path);
int worker_lengths_run(const char *asked, const char *driver_path);
int plugin_answer_run(const char *path, const char *options);
