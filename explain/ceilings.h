/*
 * The ceilings of a point: iterations/s that it cannot exceed, one for each thing that could be the
 * limit, from its settings and a calibration. Pure arithmetic, no input or output. Of a point of
 * several GPUs they are those of all of them: what each GPU has counts once for each, what the
 * host has once.
 *
 * A ceiling is an upper bound, reached only where nothing else is near (explain/predict.h
 * predicts the throughput). That of the queues is one of threads that launch long rows: those that
 * launch in turns pass it. docs/explain.md describes each one and how its figures are measured.
 */
#pragma once

#include <stdbool.h>

#include "explain/calibration.h"
#include "job/options.h"
#include "job/work.h"

#define EXPLAIN_MOST_PERCENTAGES 64

/* What a point's throughput depends on. */
struct explain_point {
    bool mps;
    unsigned gpus;               /* 0: one */
    unsigned processes, threads; /* of a GPU */
    unsigned streams;            /* that each thread polls; 0 and 1: it has one, and waits for it */
    unsigned connections;        /* hardware queues of a process, the default filled in */
    enum work_memory memory;
    enum work_sync sync;
    enum work_launch launch;
    enum work_schedule schedule;
    /* Active thread percentages: process i has the one at i % count; count 0: none is set. One of 0
     * is the default, all of the GPU. */
    unsigned percentage_count;
    unsigned percentages[EXPLAIN_MOST_PERCENTAGES];
    struct work work; /* the iteration */
    /* What it was measured to do, where that is more than its queues allow threads that launch long
     * rows: then they launch in turns. 0: nothing of the kind is known. */
    double passed_ips;
    /* What it was measured to do, and the lower end of its interval; 0: it was not, as of a point
     * that a remedy would make. */
    double measured_ips, measured_low_ips;
};

enum ceiling_kind {
    CEILING_WORKERS,        /* too few of them: each does what one alone does */
    CEILING_TIME_SLICING,   /* processes without MPS take turns */
    CEILING_QUEUES,         /* rows of kernels in a hardware queue come one after the other */
    CEILING_POLLING,        /* what a thread does for one of its streams after the other */
    CEILING_PROCESS_LAUNCH, /* kernels/s that a process launches */
    CEILING_GPU_LAUNCH,     /* kernels/s that the GPU takes, by stream or out of graphs */
    CEILING_COPY_IN,        /* copy engine to the GPU */
    CEILING_COPY_OUT,       /* and back */
    CEILING_COPY_BOTH,      /* each way while both go on */
    CEILING_STAGING,        /* pageable copies of a process */
    CEILING_BLOCKED_COPIES, /* pageable copies of a process that wait for their streams */
    CEILING_ARITHMETIC,     /* the kernels' own work */
    CEILING_CPUS,           /* CPU time */
    CEILING_THREAD_CAP,     /* active thread percentages */
    CEILING_HOST_COPIES,    /* copies of several GPUs, which share the host's memory and links */
    CEILING_HOST_LAUNCH,    /* launches to several GPUs, which share the host's CPUs and driver */
    CEILING_KINDS
};

struct ceilings {
    double ips[CEILING_KINDS]; /* 0: there is none, or its figure is not known */
};

void ceilings_compute(const struct explain_point *point, const struct calibration *calibration,
                      struct ceilings *out);

/* The lowest ceiling; CEILING_KINDS where none is known. */
enum ceiling_kind ceilings_lowest(const struct ceilings *ceilings);

/* The lowest of another kind than that one; CEILING_KINDS where there is none. */
enum ceiling_kind ceilings_next(const struct ceilings *ceilings, enum ceiling_kind binding);

/* "queues", as in tables and JSON: lower case, words joined by '-'. */
const char *ceiling_name(enum ceiling_kind kind);

/* "hardware queues": the ceiling of a point as a heading or in a sentence. */
const char *ceiling_title(enum ceiling_kind kind, const struct explain_point *point);

/* The layout that a point's processes and threads of a GPU make. */
enum layout_kind explain_layout(const struct explain_point *point);

/* GPUs of a point, at least one. */
unsigned ceiling_gpus(const struct explain_point *point);

/* Whether its threads have several streams each. */
bool ceiling_polls(const struct explain_point *point);

/* The chance that threads that share hardware queues launch in turns, so that the queues do not
 * delay them: measured (1), or expected. 0 where no threads share one. */
double ceiling_turns_chance(const struct explain_point *point,
                            const struct calibration *calibration);

/* Whether neither turns nor rows are nearly sure. */
bool ceiling_may_do_either(const struct explain_point *point,
                           const struct calibration *calibration);
