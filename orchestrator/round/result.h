/*
 * What a round gives: all that its record needs, and nothing of the machinery that made it. Each
 * feature has a struct of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "orchestrator/bind/bind.h"
#include "orchestrator/round/percentiles.h"
#include "orchestrator/round/window.h"
#include "orchestrator/session/telemetry_window.h"
#include "shm/shm.h"
#include "statistics/histogram.h"

/* Where the iterations' time goes, as the workers sampled it. */
struct round_phases {
    struct histogram h2d, launch, sync, d2h, launch_call;
};

/* The open loop: all zero bytes are those of a closed one. */
struct openloop_counts {
    struct histogram
        service;      /* from the actual start; the round's latency is from the planned one */
    uint64_t late;    /* of the iterations counted, begun after their planned start */
    uint64_t backlog; /* planned before the end of the window, and not begun */
    bool saturated;   /* any round was */
};

/* Requests to servers: all zero bytes are those of other workloads. */
struct round_requests {
    struct histogram first_byte; /* of good answers, from where latency is from */
    uint64_t errors, wrong_answers;
    char first[128]; /* of the bad ones */
};

static inline uint64_t round_failed_requests(const struct round_requests *requests)
{
    return requests->errors + requests->wrong_answers;
}

/* Fixed work, with the figures of the experiment in examples/forum.job; all zero without. */
struct round_fixed {
    double begin_s;   /* from the end of the warm-up to the first begin of all workers */
    double seconds;   /* from the first begin of all workers to the last end */
    double elapsed_s; /* of a worker for its iterations, mean */
    double throughput_ips;
};

/* The CPUs that a point's binding leaves its workers. */
struct cores {
    unsigned cpus; /* 0: of no concern */
    double quota;  /* CPUs' worth of time that the container grants; 0: no limit */
};

/* Where the workers' host buffers lie; all zero on a machine of one NUMA node. */
struct numa {
    unsigned workers;
    unsigned far;     /* with some of it on nodes that were not wished for */
    uint32_t policy;  /* enum shm_policy: the worst of all processes' */
    int policy_errno; /* why it was refused */
    char wanted[64];  /* by the first of the far ones */
    char found[64];   /* where theirs are, all together */
};

struct round_worker {
    unsigned process, thread, stream;
    unsigned program; /* of a mix: which of the point's */
    char cpus[1024];  /* a process of a program may have many, and not in a row */
    char numa[32];    /* nodes of its host buffers; empty: not known, or there is only one */
    /* Of its partition, that its kernels ran on, a bit each; all zero: it has none. */
    uint64_t multiprocessors[WORK_MULTIPROCESSORS / 64];
    double ips, p50_us, p99_us;
    double elapsed_s;                          /* with fixed work: for its iterations */
    double h2d_us, launch_us, sync_us, d2h_us; /* means; NAN where the launch style hides it */
    struct shm_cpu cpu;
};

/* What was taken for an iteration of a program that does not report them; of process 0. */
struct round_observed {
    char what[256]; /* "": the program has reported them */
    unsigned calls;
    unsigned least_calls, most_calls; /* of all processes */
    double match; /* share of the waits that are like those of the iteration before */
};

/* Whether processes take unlike things for an iteration. */
static inline bool round_observed_unlike(const struct round_observed *observed)
{
    return observed->least_calls > 0 && observed->most_calls >= 2 * observed->least_calls;
}

/* What a process's context was given. */
struct round_process {
    int sms;
    uint64_t memory_free;            /* bytes, before the workers' buffers */
    uint64_t kept_device, kept_host; /* as struct shm_process */
};

/* What the workers on one GPU did, where a point has several; of several rounds, all of them. */
struct round_gpu {
    char uuid[64];
    double throughput_ips; /* of the steady part of a window, mean of the rounds */
    struct histogram latency;
    uint64_t cpus[WORK_CPUS / 64]; /* of its workers; all zero: not bound */
    struct telemetry_window telemetry;
    struct numa numa; /* the last round's */
};

/* What the workers of one workload of a mix did; of several rounds, all of them. */
struct round_program {
    unsigned workers;
    double throughput_ips; /* of the steady part of a window, mean of the rounds */
    uint64_t iterations;
    struct histogram latency;
};

struct round_result {
    enum status status; /* OK, or why there is no measurement */
    char error[1024];
    int cuda_error;
    uint32_t failed_gpus;  /* of several: whose workers failed, by bit; 0: unknown */
    double throughput_ips; /* of the steady part of the window */
    double ci95_rel;
    double window_s;
    double steady_from_s; /* from the begin of the window */
    uint64_t
        lost_ns; /* how long after its first call a program repeated itself no longer, 0: it did */
    unsigned threads_at_work; /* of a process of a program, where those are too few; else 0 */
    /* From the first spawn, or the assignment, until all workers were ready, or, where threads are
     * lacking, those that there are; 0: never. */
    double ready_s;
    double stop_s;  /* from the end of the window until all had parked, or ended */
    double skew_us; /* of the latest start */
    double fairness;
    uint64_t iterations;
    bool reused; /* the workers had served another point before */
    unsigned idle_processes;
    unsigned attached_expected, attached_seen;
    unsigned other_clients; /* processes of other users that are clients of the same daemon */
    int sms;                /* multiprocessors of process 0's context */
    struct window window;
    struct histogram latency;
    struct percentiles percentiles; /* of it, in this round alone */
    struct round_phases phases;
    struct shm_cpu cpu; /* all workers together */
    struct openloop_counts open;
    struct round_requests requests;
    struct round_observed observed;
    struct round_fixed fixed;
    struct telemetry_window telemetry; /* of several GPUs: as if they were rounds of one */
    struct cores cores;
    struct numa numa;
    struct round_gpu *gpus; /* NULL with one GPU; owned */
    unsigned gpu_count;
    struct round_worker *workers;    /* processes of all GPUs x threads, owned */
    struct round_process *processes; /* owned */
    struct round_program *programs;  /* of each workload of a mix, owned; else NULL */
    unsigned program_count;
};

/* The latency of all requests: those without a good answer are later than any limit
 * (histogram_add_never()). Of other workloads it is that of the iterations. */
void round_latency_of_all(const struct round_result *result, struct histogram *out);

/* Host cost: CPUs that all worker processes together kept busy, with all of their threads, on the
 * mean of the windows of all rounds. Not in it are processes that they started, MPS's own and the
 * orchestrator. NAN where no worker began an iteration after the warm-up. */
double round_cpus_in_use(const struct point *point, const struct round_result *result);

void round_result_release(struct round_result *result);
