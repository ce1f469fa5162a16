/*
 * A machine that follows simple laws, the calibration that it would give, and points whose
 * predictions are compared with these laws.
 */
#pragma once

#include <stdbool.h>

#include "explain/calibration.h"
#include "explain/ceilings.h"

#define ALONE_S 1e-3
#define ASLEEP_S 1e-4  /* to wake up */
#define EACH_S 2e-5    /* that each further worker costs the others */
#define LAUNCHES 0.5e6 /* of a process; the GPU takes twice as many */
#define KERNELS 100
#define CPUS 16

/* What threads of one process take with a queue and a CPU each; processes over MPS share no launch
 * path. */
double truth_s(unsigned workers, bool mps, bool asleep);

/* Adds a run whose iterations take so long; streams 0: one. */
void add_run(struct calibration *calibration, struct calibration_run run, double seconds);

/* Runs of up to 16 threads of a process and of up to 24 processes over MPS, of one worker that
 * sleeps, of one with a graph, and of two processes in turns; and the figures that follow. */
struct calibration example(void);

/* With the work of these runs; all other settings are the defaults. */
struct explain_point point_of(bool mps, unsigned processes, unsigned threads);

/* Fails the test where the prediction is further off than the tolerance, a share of ips. */
void assert_near_by(const struct explain_point *point, const struct calibration *calibration,
                    double ips, double tolerance);
