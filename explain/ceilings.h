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

/* "copies to the GPU": what workers wait for at this ceiling; NULL: there is no line. */
const char *ceiling_line(enum ceiling_kind kind);

/* -- for explain/predict.c -- */

/* Iterations/s of one worker alone with this launch style and memory; 0: not known. Where the
 * figure of pageable memory is missing it is that of pinned memory, which is never below. */
double ceiling_single_ips(const struct explain_point *point, const struct calibration *calibration);

/* Bytes/s of pageable copies of a process of the point, each way; 0: not known. */
double ceiling_pageable_bytes(const struct explain_point *point,
                              const struct calibration *calibration);

/* Launches/s that the GPU takes; 0: not known. What one process reached it takes in any case. */
double ceiling_gpu_launches(const struct calibration *calibration);

/* What the host computes and sleeps in an iteration of a described workload while the GPU has
 * nothing of it to do; and with its copies all that is neither kernels nor launches, of one worker
 * alone. */
double ceiling_host_steps_s(const struct work *work, const struct calibration *calibration);
double ceiling_beside_kernels_s(const struct work *work, const struct calibration *calibration);

/* Whether threads of a process have to share hardware queues, in which rows of kernels hold each
 * other up: those of a graph do not, nor does one kernel, which leaves its queue as it starts. */
bool ceiling_shares_queues(const struct explain_point *point);

/* Of an iteration, that its row of kernels holds its queue at least. */
#define CEILING_HELD_LEAST 0.1

/* Of a GPU, iterations/s of threads of which `active` of each process have a queue, which they hold
 * for all of an iteration but the host's steps; 0: not known. */
double ceiling_rows_ips(const struct explain_point *point, const struct calibration *calibration,
                        unsigned active);

/* A process's turn for one iteration where processes take turns, without what pageable copies add;
 * 0: not known. */
double ceiling_turn_s(const struct explain_point *point, const struct calibration *calibration);

/* Whether its threads have several streams each. */
bool ceiling_polls(const struct explain_point *point);

/* Seconds of an iteration for which a thread that polls serves no other stream; 0: not known. */
double ceiling_polling_s(const struct explain_point *point, const struct calibration *calibration);

/* Streams of a process, each with an iteration in flight. */
unsigned ceiling_streams(const struct explain_point *point);

/* GPUs of a point; threads, and workers, which are streams, on all of them. */
unsigned ceiling_gpus(const struct explain_point *point);
unsigned ceiling_threads(const struct explain_point *point);
unsigned ceiling_workers(const struct explain_point *point);

/* Seconds of an iteration in what the GPUs share, its copies and its launches; 0: they share
 * nothing, or it is not known. A calibration of fewer GPUs than the point has does not contain it.
 */
double ceiling_host_copies_s(const struct explain_point *point,
                             const struct calibration *calibration);
double ceiling_host_launch_s(const struct explain_point *point,
                             const struct calibration *calibration);

/* Launches/s of the threads of a process that share hardware queues and launch in turns. */
double ceiling_turn_launches(const struct explain_point *point,
                             const struct calibration *calibration);

/* The chance that threads that share hardware queues launch in turns, so that the queues do not
 * delay them: measured (1), or expected. 0 where no threads share one. */
double ceiling_turns_chance(const struct explain_point *point,
                            const struct calibration *calibration);

/* Whether turns are at least as likely as rows; and whether neither is nearly sure. */
bool ceiling_takes_turns(const struct explain_point *point, const struct calibration *calibration);
bool ceiling_may_do_either(const struct explain_point *point,
                           const struct calibration *calibration);

/* Workers of a process that get on at the same time. */
unsigned ceiling_active_threads(const struct explain_point *point,
                                const struct calibration *calibration);

/* Share of the GPU's multiprocessors that all processes together may use, at most 1. */
double ceiling_thread_share(const struct explain_point *point);
