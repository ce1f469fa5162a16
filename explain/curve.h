/*
 * What an iteration takes beside others of its kind, over their number. Alone it takes what the run
 * of one worker shows, and with very many of them what the machine can do limits it: between these
 * two the larger one, with a soft corner. What runs took beside that is a factor that changes
 * slowly with the number of workers.
 */
#pragma once

#include "explain/ceilings.h"

/* A kind of workers: everything but their number. */
struct curve_kind {
    bool mps;   /* each a process; else threads of one, with a hardware queue each */
    bool polls; /* streams that threads poll */
    bool awake; /* they spin */
    enum work_memory memory;
    enum work_sync sync;
    enum work_launch launch;
};

#define CURVE_KNOTS 16

struct curve {
    double alone_s;  /* an iteration of one worker; 0: not known, and nothing else is */
    double most_ips; /* that the machine can do; 0: not known */
    const struct calibration *staged; /* whose staging limits it, less with many threads; or NULL */
    double memory_s; /* of pageable copies over MPS: that an iteration takes of the host's memory */
    unsigned count;  /* of runs */
    double workers[CURVE_KNOTS], factor[CURVE_KNOTS]; /* in ascending order */
};

/* share: of the multiprocessors. */
void curve_make(const struct curve_kind *kind, const struct calibration *calibration, double share,
                struct curve *out);

/* Seconds of an iteration beside workers - 1 others, each of which has a CPU if it wants one. */
double curve_s(const struct curve *curve, double workers);

/* What an iteration over MPS takes longer because that many share the host's memory. */
double curve_memory_s(const struct curve *curve, double workers);

/* Seconds of an iteration with pageable memory, of workers whose copies do not hold each other up:
 * what it takes in pinned memory beside those that are at the rest of it, and what alone it takes
 * longer than that. */
double curve_longer_s(const struct curve *curve, const struct curve *pinned, double workers);

/* The most workers of which a run of the kind shows anything, at least 1. */
double curve_reach(const struct curve *curve);
