/*
 * Random machines for tests of the search: what each layout really does there, what a window of a
 * given length shows of it, and what a calibration would have found.
 *
 * The truth is not a function of explain/: machines have effects of which predictions know nothing
 * (locks, cold caches, interference, processes that differ from one start to the next), and
 * the lines are soft minima and no queueing network.
 */
#pragma once

#include "explain/calibration.h"
#include "orchestrator/tune/space.h"

struct tune_truth {
    unsigned cpus, sms, queues_budget, clients;
    double alone_s,
        graph_alone_s;        /* one worker, one iteration: what does not depend on the others */
    double launch_s, front_s; /* of a kernel: in a process, and on the GPU */
    double graph_launch_s, graph_node_s; /* of a graph, and of a kernel in one */
    double work_s;                       /* GPU time of an iteration, were it alone on all of it */
    double copy_s, staging_s;            /* each way; of a pageable one in a process */
    double cpu_s, graph_cpu_s;           /* that an iteration costs asleep */
    /* What no prediction knows. */
    double lock, convoy, spin_waste, interference, many_processes, block_wake_s, unbound, capped;
    double polling, query_s; /* CPU time of a thread that polls, as a share of one that does not,
                                and of a look at a stream */
    double softness, between, within;
    double memory_bytes; /* a process */
};

/* kernels, blocks, spin and bytes of the iteration: three of them, of different kinds. */
#define TUNE_WORKLOADS 3
void tune_truth_make(unsigned seed, unsigned workload, struct tune_truth *out);

/* Iterations/s that the point does there, without noise; 0: the driver refuses it. */
double tune_truth_ips(const struct tune_truth *truth, const struct point *point);

/* Its 99th percentile, microseconds. */
double tune_truth_p99_us(const struct tune_truth *truth, const struct point *point);

/* CPUs that its threads keep busy. */
double tune_truth_cpus(const struct tune_truth *truth, const struct point *point);

/* What a calibration of that machine would hold, a few percent off. */
void tune_truth_calibrate(const struct tune_truth *truth, unsigned seed, const struct point *like,
                          struct calibration *out);

/* A window of it, with fresh processes; *random is the state of the noise. */
void tune_truth_look(const struct tune_truth *truth, const struct point *point, double window_s,
                     uint64_t *random, struct tune_observation *out);

/* The whole: a tune with that many seconds on that machine, in time that is only counted. */
struct tune_trial {
    bool guided;
    double budget_s, max_p99_us, max_cpus;
    /* What came of it. */
    struct tune_judgement judgement;
    double best_ips,
        won_ips; /* true values: of the best that meets the constraints, of the winner */
    size_t space, measured;
    double seconds;
};
enum status tune_trial_run(const struct tune_truth *truth, const struct tune_space *space,
                           unsigned seed, struct tune_trial *trial);

/* The space of its machine for the default job. */
enum status tune_trial_space(const struct tune_truth *truth, struct tune_space *out);
