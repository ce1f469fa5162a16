/*
 * Simulated machines whose ceilings hold each other up: a layout does the soft minimum of all
 * rates that it cannot exceed. They have effects of which predictions know nothing (locks, cold
 * caches, interference, processes that differ from one start to the next).
 */
#pragma once

#include "orchestrator/tune/search/search.h"

struct tune_soft {
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

struct tune_family;
extern const struct tune_family tune_family_soft;
