/*
 * What lifts the binding ceiling of a point: the changed point, the options that make it, and the
 * throughput that is to be expected. Pure, no input or output.
 */
#pragma once

#include "explain/ceilings.h"
#include "job/options.h"

/* How many MPS clients a GPU allows, and how many hardware queues it has for them and the server;
 * 0: not known, and then no more are proposed than an H200 allows. */
struct remedy_limits {
    unsigned clients, queues;
};

enum remedy_kind {
    REMEDY_NONE,
    REMEDY_WORKERS,     /* more of them */
    REMEDY_STREAMS,     /* more of them as streams of threads that poll */
    REMEDY_THREADS,     /* more threads that poll, each with fewer streams */
    REMEDY_CONNECTIONS, /* more hardware queues for each process */
    REMEDY_MPS,         /* the same processes over MPS */
    REMEDY_PROCESSES,   /* threads become processes over MPS */
    REMEDY_HYBRID,      /* and these with two threads each, or more where fewer processes fit */
    REMEDY_GRAPH,       /* the iteration as one graph */
    REMEDY_PINNED,      /* host memory */
    REMEDY_SYNC,        /* before the copy out */
    REMEDY_BLOCK,       /* wait asleep */
    REMEDY_PERCENTAGE,  /* no active thread percentage */
    REMEDY_KINDS
};

#define REMEDY_OPTIONS 160
#define REMEDY_ADVICE 320

struct remedy {
    enum remedy_kind kind; /* REMEDY_NONE: the other fields but tried and advice are not set */
    bool tried;            /* something could be changed, whether it gives enough or not */
    bool nearer; /* it leaves the ceiling where it is, and brings the point nearer to it; of
                    REMEDY_NONE: such were tried, too */
    struct explain_point point; /* the point with the remedy applied */
    double predicted_ips;       /* of that point */
    double gain; /* against what is predicted of the point as it is, or what it has passed */
    enum ceiling_kind then;       /* what binds after it */
    char options[REMEDY_OPTIONS]; /* of mpsweep sweep: "--connections 32" */
    char advice[REMEDY_ADVICE];   /* what to do, in words; why nothing helps where nothing does */
};

/* Tries what could lift the binding ceiling and takes what is predicted to give most; of two that
 * give about the same, the one that changes less; a graph, which changes the program and not only
 * how it is started, where nothing else helps or threads poll. None is predicted to give less than
 * was measured of the point. Where nothing lifts the ceiling and the point is far below it, tries
 * what could bring it nearer, and takes that if it is predicted to give clearly more. Where a
 * remedy would have more threads than CPUs, few of them poll the streams of all, if the iterations
 * are graphs. */
void remedy_find(const struct explain_point *point, const struct calibration *calibration,
                 const struct remedy_limits *limits, struct remedy *out);

/* "connections", as in JSON; "none". */
const char *remedy_name(enum remedy_kind kind);
