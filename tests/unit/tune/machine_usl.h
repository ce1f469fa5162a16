/*
 * Simulated machines of another kind. Each resource is a server with a capacity that contention and
 * coherency lower as more use it (N. Gunther's universal scalability law), and a worker waits there
 * the longer the nearer throughput comes to it. Throughput is what fits all of these waits. On top
 * lie effects that are there or are not: full queues, a number of graphs that get on at a time,
 * memory, nodes, sleep, spinning, slices of time.
 *
 * They are for judging: these machines may not be adapted to what the search reaches here, and what
 * the search was adapted to stands in docs/search.md, with the numbers of the machines.
 */
#pragma once

#include "orchestrator/tune/search/search.h"

/* Users lose a share to each other (contention), and more to keep up with all others (coherency).
 */
struct usl_law {
    double contention, coherency;
};

struct usl_work {
    double kernels, kernel_s, share; /* of the GPU that a kernel fills */
    double bytes;                    /* each way */
};

struct tune_usl {
    struct usl_work work;
    /* Calls of a thread, and what calls and copies from a far NUMA node take more. */
    double cpus, nodes, far;
    double call_s, graph_call_s, graph_kernel_call_s, query_s;
    struct usl_law calls, graph_calls, staging;
    double wake_s, wake_cpu_s;  /* of a sleeper: late by, and what it costs its process */
    double quantum_s, spinning; /* of the scheduler; what spinners take from each other */
    double looking;             /* what a thread that polls costs each other one of its process */
    double starving;            /* all, where no CPU is left for the driver's threads */
    /* The GPU: kernels taken from streams, by how many are active, and gaps between kernels. */
    double front_s, node_s, gap_s, graph_gap_s;
    double crowd_gap_s, sibling_gap_s; /* for each other stream at work, for each of the process */
    struct usl_law front;
    double width, thrash, isolation;
    bool whole;                 /* kernels that do not fit wholly wait */
    double queue_depth, convoy; /* streams of a queue that get on, and what the others cost */
    double graphs_most;         /* of a process that get on at the same time */
    double bus, staging_bus, host_bus; /* bytes/s */
    bool one_engine;
    double unsynced, pageable_graph; /* of an iteration: while it holds up others of its process */
    /* MPS, and slices of time without it. */
    double clients, queues_budget, memory_bytes, context_bytes, worker_bytes;
    double client_gap, server;
    double slice_s, switch_s;
    bool yields;
    double sharpness; /* of the knee in front of a full resource */
    /* Noise. */
    double between, slow_sets, slow_by, within, stalls;
};

/* What matters of a layout here. */
struct usl_layout {
    double processes, threads, streams, slots, queues, share;
    bool mps, graph, pageable, synced, asleep, polls, near;
};

/* Iterations/s, 0 where the driver refuses it; CPUs that it keeps busy with that many. */
double usl_layout_ips(const struct tune_usl *usl, const struct usl_layout *layout);
double usl_layout_cpus(const struct tune_usl *usl, const struct usl_layout *layout, double ips);

struct calibration;
struct point;
struct tune_truth;

/* Whether the driver has no room for that number of MPS clients, or for their queues. */
bool usl_is_crowded(const struct tune_usl *usl, const struct point *point);

/* Of the family, as tests/unit/tune/machine.h describes them. */
void usl_make(unsigned seed, unsigned workload, struct tune_truth *out);
void usl_calibrate(const struct tune_truth *truth, unsigned seed, const struct point *like,
                   struct calibration *out);
void usl_look(const struct tune_truth *truth, const struct point *point, double window_s,
              uint64_t set, uint64_t *random, struct tune_observation *out);

struct tune_family;
extern const struct tune_family tune_family_usl;
