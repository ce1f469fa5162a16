/*
 * Shared by the files of the record command: running the program (capture.c), measuring what was
 * made of it (replay.c), and writing the job file (file.c).
 */
#pragma once

#include "orchestrator/capture/describe.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"

/* Calls, kernels and copies of all recorded iterations. */
#define CAPTURE_RECORDS 1000000

struct capture {
    const struct options *options;
    const struct job *job;
    char name[WORKLOAD_NAME_BYTES];
    struct plan plan;
    struct round_limits limits;
    struct session session;
    size_t iterations, alike; /* recorded, and those of them that do the same */
    double program_ns; /* of an iteration without tracing, to the begin of the next: median */
    double sleeps;     /* in it, of the threads that report iterations */
    double cpu_ns;     /* of it, used of a CPU by the threads that report iterations */
    struct trace_buffer buffer;
    struct timeline timeline; /* has the names of kernels */
    struct captured_iteration iteration;
    struct captured_workload workload;
    double replay_ns; /* of an iteration of the workload, median; 0: it was not measured */
};

/* Makes the workload of the iteration, and measures it. Kernels that are shorter than one of a
 * given duration can be here become as short ones as there are. Statuses as of trace_run();
 * STATUS_WORKER also where the iteration gives the GPU nothing. */
enum status capture_replay(struct capture *capture);

/* Writes the job file, which appears whole or not at all, and replaces none. */
enum status capture_write(const struct capture *capture, const char *path);

/* By how much the replay is longer than the program, as a share; NAN without a replay. */
double capture_difference(const struct capture *capture);
