/*
 * Shared by the files of the record command: running the program (capture.c), making a workload of
 * it that does as much alone (replay.c) and with others (crowd.c), measuring one process (alone.c)
 * and two crowds beside each other (beside.c), what all need before (prepare.c), and writing the
 * job file (file.c). How replay.c and crowd.c change the workload is in fit.c and share.c.
 */
#pragma once

#include <limits.h>

#include <jansson.h>

#include "orchestrator/capture/describe.h"
#include "orchestrator/capture/share.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"

/* Calls, kernels and copies of all recorded iterations. */
#define CAPTURE_RECORDS 1000000

struct capture {
    const struct options *options;
    const struct job *job;
    char name[WORKLOAD_NAME_BYTES]; /* of the workload; "" until it is known */
    char file[NAME_MAX + 1];        /* what runs, without its folder */
    struct plan plan;               /* the program alone, and with a crowd the crowd */
    unsigned crowd; /* processes over MPS of the second measurement; 0: there is none */
    struct round_limits limits;
    struct session session;
    size_t iterations, alike; /* recorded, and those of them that do the same */
    double program_ns;   /* of an iteration without tracing, to the begin of the next: median */
    double fastest_ns;   /* the same in the fastest window */
    double turns_per_ns; /* of host work, on a CPU with nothing beside it: the most that was seen */
    double sleeps;       /* in it, of the threads that report iterations */
    double cpu_share;    /* of the time, in which these used a CPU, or could have */
    bool host_bound;     /* the program's host keeps the GPU waiting */
    bool busy;           /* in its own time the program's host computes; it sleeps otherwise */
    json_t *lengths;     /* of the kernels of all workloads so far, see lengths_find() */
    struct trace_buffer buffer;
    struct timeline timeline; /* has the names of kernels */
    struct captured_iteration iteration;
    struct captured_workload workload;
    double replay_ns;   /* of an iteration of the workload: see capture_measure_alone() */
    struct crew beside; /* the program's crowd, parked between its windows */
    double program_crowd_ips, replay_crowd_ips; /* of all processes; 0: not measured */
    double crowd_error;                         /* of their ratio, as a share: the standard error */
    struct share share; /* what its kernels leave of the GPU to those of other processes */
    bool tried_blocks;  /* other numbers of them than the program's */
    bool tried_cache;   /* kernels that wait for the cache */
};

/* What is measured, as --layout: a process alone, and a crowd where there is one. Returns out. */
#define CAPTURE_LAYOUTS_TEXT 48
const char *capture_layouts(unsigned crowd, char out[CAPTURE_LAYOUTS_TEXT]);

/* Reports what comes next, unless --quiet: "measuring the program in 8 processes over MPS". */
void capture_announce(const struct capture *capture, const char *what, unsigned processes);

/* Limits for the first window of processes: several iterations of a workload, which is about as
 * long as the program, fit in, up to the longest window. */
struct round_limits capture_first_limits(const struct capture *capture, const struct point *point);

/* Sets limits for a short window of processes that are at work already, and shortens the point's
 * warm-up: a virtual CPU has the same level in short windows, one behind the other. `iteration_ns`:
 * what one takes, since several must fit in. */
void capture_shorten(const struct capture *capture, double iteration_ns, struct point *point,
                     struct round_limits *limits);

/* A job of the workload as it is now, alone and with the crowd, with the work of its kernels. */
struct replay {
    struct job job;
    struct plan plan;
};
/* To be released in every case. STATUS_UNSUPPORTED: kernels cannot have these durations. */
enum status replay_prepare(struct capture *capture, struct replay *out);
void replay_release(struct replay *replay);

/*
 * A process alone, on all CPUs and then on some parts of them, one after the other: virtual CPUs
 * are at a slower level for seconds, and nothing makes an iteration faster than it is on a CPU with
 * nothing beside it. *fastest_ns: of an iteration, the least of the windows' medians; of the
 * workload's without what its work on the host took longer than on such a CPU. *out, which the
 * caller releases in every case, is of the first window. Statuses as of trace_run().
 */
enum status capture_measure_alone(struct capture *capture, const struct point *point,
                                  struct round_result *out, double *fastest_ns);

/* The program in a crowd, whose processes stay, parked, for capture_compare_crowd(). Sets
 * program_crowd_ips. Statuses as of trace_run(). */
enum status capture_start_crowd(struct capture *capture);

/* Ends them, after a step that ended with `status`, as crew_dismiss_after(). In every case. */
enum status capture_end_crowd(struct capture *capture, enum status status);

/*
 * The workload's point in a crowd, by turns with the program in its own: virtual CPUs change their
 * level for seconds, and both are to have the same. `pairs` windows of each at most, fewer if they
 * agree. Sets replay_crowd_ips, by how much more it does on average, and program_crowd_ips of
 * the same windows; of what was measured before, where the program's processes have ended. Statuses
 * as of trace_run().
 */
#define CAPTURE_PAIRS_MOST 8
enum status capture_compare_crowd(struct capture *capture, const struct point *workload,
                                  unsigned pairs);

/* Finds the number of blocks with which the workload, as it is now, does as much with the crowd as
 * the program does, and what kernels must be bound by. Sets share, and the workload's kernels. */
enum status capture_fit_crowd(struct capture *capture);

/* Makes the workload of the iteration, and measures it. Kernels that are shorter than one of a
 * given duration can be here become as short ones as there are. Statuses as of trace_run();
 * STATUS_WORKER also where the iteration gives the GPU nothing. */
enum status capture_replay(struct capture *capture);

/* Sets file, that of the program, or of the script that an interpreter runs, by the command line
 * or, where that does not show it, by that of the traced process. Makes the name of it, unless one
 * was given: of a script's without its suffix, of the characters that names have. */
void capture_name(struct capture *capture);

/* Whether the workload has any: a program may only copy. */
bool capture_has_kernels(const struct capture *capture);

/* "3.25 times the program's blocks". Returns out. */
#define CAPTURE_BLOCKS_TEXT 48
const char *capture_blocks(const struct capture *capture, char out[CAPTURE_BLOCKS_TEXT]);

/* "5 alike", or "no two alike": of the recorded iterations. Returns out. */
#define CAPTURE_ALIKE_TEXT 32
const char *capture_alike(const struct capture *capture, char out[CAPTURE_ALIKE_TEXT]);

/* Writes the job file, which appears whole or not at all, and replaces none. */
enum status capture_write(const struct capture *capture, const char *path);

/* A replay that is further off than this is not what the program does. */
#define CAPTURE_ALIKE_REL 0.05

/* By how much the replay is longer than the program, as a share; NAN without a replay. */
double capture_difference(const struct capture *capture);

/* By how much the replay's throughput with the crowd is more than the program's; NAN without. */
double capture_crowd_difference(const struct capture *capture);

/* Whether that is within CAPTURE_ALIKE_REL and its error, which counts up to as much. */
bool capture_crowd_is_alike(const struct capture *capture);
