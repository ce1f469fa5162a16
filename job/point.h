/*
 * A point: one layout with every other setting fixed. Data only. The option table lists for each
 * setting which field it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/options.h"
#include "job/rate.h"
#include "job/work.h"
#include "job/workload_mix.h"

/* A setting that each process may have its own of, or each thread of it. Number p has values[p %
 * count]; OPTION_SHARE_DEFAULT there leaves the setting alone. All zero bytes: it is left alone
 * everywhere. The values belong to the maker of the point: those of a plan to its job. */
struct point_shares {
    const int64_t *values;
    unsigned count;
};

enum bind_policy {
    BIND_NEAR,    /* its GPU's own package or NUMA node, one core a worker */
    BIND_SCATTER, /* all packages in turn, one core a worker */
    BIND_NONE,    /* wherever the scheduler likes */
    BIND_POLICIES
};

/* Over MPS on several GPUs. */
enum mps_daemons { MPS_DAEMONS_SHARED, MPS_DAEMONS_PER_GPU };

/* What is sent to a program that is a server. Texts are NULL where they are not given; URLs have
 * placeholders. */
struct point_requests {
    const char *request; /* NULL: it is not a server */
    const char *ready, *body, *bodies, *expect, *arrivals;
    const char *header; /* one line, or several */
    uint64_t timeout_ns;
};

/* A program of the user's in the place of our workers; command NULL: none. What it points to
 * belongs to the job. */
struct point_program {
    char *const *command; /* with placeholders, NULL-ended */
    struct point_requests requests;
    const char *tick; /* what ends an iteration (wire/tick.h) */
    int64_t seed;
    unsigned port;   /* the lowest to give to a process */
    const char *log; /* directory for what they print, NULL: none */
};

/* The variable of OpenMP by which a program is given the threads of each of its pools. */
#define POINT_OPENMP_VARIABLE "OMP_NUM_THREADS"

struct point {
    unsigned id;         /* place in the plan */
    const char *section; /* the job's, or NULL; owned by the job */
    enum layout_kind layout;
    unsigned processes, threads;      /* of each GPU */
    unsigned streams;                 /* of each thread; 0 counts as 1 */
    struct point_shares sm_partition; /* multiprocessors of each thread of a process */
    enum work_contexts contexts;      /* of the threads of a process */
    unsigned gpus;                    /* the first ones of the session; 0 counts as 1 */
    enum mps_daemons mps_daemons;
    unsigned connections; /* hardware queues a process; 0: the driver's default */
    struct point_shares active_thread_percentage, priority, memory_limit; /* bytes */
    enum bind_policy bind;
    const char *workload;  /* as it was named; owned by the job; NULL: see point_workload() */
    struct rate_goal goal; /* or a rate in work, or neither: a closed loop */
    struct work work;
    struct mix_work *mix;         /* of described workloads; owned by the plan; NULL: others */
    const char *workload_options; /* of a plug-in; owned by the job; NULL: none */
    struct point_program program;
    /* What a plug-in reported that it is not: false until it is asked
     * (orchestrator/campaign/plugin.h).
     */
    bool not_graph_safe, not_thread_safe, not_stream_safe;
};
