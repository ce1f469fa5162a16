/*
 * Simulated machines that serve programs: PyTorch-like services that take seconds to start, have
 * threads that hinder each other in an interpreter or a driver's lock, and keep a CPU each busy.
 * Some have one thread only, whatever they are asked for. Nothing of it is a formula of the search.
 */
#pragma once

#include "orchestrator/tune/search/search.h"

struct tune_service {
    double cpus;
    double host_s, gpu_s; /* of an iteration alone: on a CPU, and the wait for the GPU beside it */
    double work_s;        /* were the iteration alone on all of the GPU */
    bool spins;           /* a thread that waits keeps its CPU busy */
    unsigned threads_most;
    double held;    /* share of the host's time in which a process has one thread at work */
    double hinder;  /* what each doubling of threads adds to the host's time */
    double waste;   /* what workers lose beyond the CPUs */
    double crowd;   /* what each client costs the others */
    double slice_s; /* of a switch between processes without MPS */
    double clients; /* that memory has room for */
    double unbound;
    double softness;
    double between, within; /* noise: of sets of processes, and of an iteration */
    double slow_sets, slow_by;
};

struct tune_family;
extern const struct tune_family tune_family_service;
