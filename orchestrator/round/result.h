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
#include "wire/tick.h"

/* Where the iterations' time goes, as the workers have sampled it. */
struct round_phases {
    struct histogram h2d, launch, sync, d2h, launch_call;
};

/* What an open loop counts. A closed one has all zero bytes. */
struct openloop_counts {
    /* Latency from the actual start; the round's own is from the planned one. */
    struct histogram service;
    uint64_t late;    /* iterations counted that began after their planned start */
    uint64_t backlog; /* iterations planned before the end of the window that did not begin */
    struct shm_part parts[SHM_PARTS]; /* of the window of the last round */
    bool saturated;                   /* in a round more was offered than was served */
};

/* What requests to servers count. Other workloads have all zero bytes. */
struct round_requests {
    struct histogram first_byte; /* time to the first byte of good answers, counted as latency is */
    uint64_t errors;             /* requests without an answer */
    uint64_t wrong_answers;      /* requests with a wrong one */
    char first[128];             /* why the first of both failed; "": none did */
};

/* The requests without a good answer. */
static inline uint64_t round_failed_requests(const struct round_requests *requests)
{
    return requests->errors + requests->wrong_answers;
}

/* What fixed work took, in the figures of the experiment in examples/forum.job. All are zero
 * without fixed work. */
struct round_fixed {
    double begin_s;   /* from the end of the warm-up to the first begin of all workers */
    double seconds;   /* from the first begin of all workers to the last end */
    double elapsed_s; /* mean of what a worker takes for its iterations */
    double throughput_ips;
};

/* The CPUs that a point's binding leaves its workers. */
struct cores {
    unsigned cpus; /* 0: their number does not matter */
    double quota;  /* CPUs' worth of time that the container grants; 0: no limit */
};

/* Where the workers' host buffers lie. All are zero on a machine of one NUMA node. */
struct numa {
    unsigned workers; /* whose buffers were looked at */
    unsigned far;     /* of these, with some of it on nodes that were not wished for */
    uint32_t policy;  /* enum shm_policy: the worst of all processes */
    int policy_errno; /* why the kernel refused it; 0: it did not */
    char wanted[64];  /* nodes that the first of the far ones wished for */
    char found[64];   /* nodes where the buffers of all far ones are */
};

/* What one worker did. */

struct round_worker {
    unsigned process, thread, stream;
    unsigned workload; /* of a mix: the index of its workload in the point's */
    char cpus[1024];   /* a process of a program may have many, and not in a row */
    char numa[32];     /* nodes of its host buffers; empty: not known, or there is only one */
    /* Multiprocessors of its partition that its kernels ran on, a bit each; all zero: it has none.
     */
    uint64_t multiprocessors[WORK_MULTIPROCESSORS / 64];
    double ips, p50_us, p99_us;
    double elapsed_s;                          /* that its iterations took, with fixed work */
    double h2d_us, launch_us, sync_us, d2h_us; /* means; NAN where the launch style hides it */
    struct shm_cpu cpu;
};

/* What was taken for an iteration of a program that does not report them, in its process 0. */
struct round_observed {
    char what[256];                   /* "": the program has reported them */
    unsigned calls;                   /* of an iteration */
    unsigned least_calls, most_calls; /* the same in the process with the fewest, and the most */
    double match; /* share of the waits that are like those of the iteration before */
    enum tick_doubt doubt;
};

/* Reports whether processes take unlike things for an iteration. */
static inline bool round_observed_unlike(const struct round_observed *observed)
{
    return observed->least_calls > 0 && observed->most_calls >= 2 * observed->least_calls;
}

/* What a process's context was given. */
struct round_process {
    int sms;                         /* multiprocessors */
    uint64_t memory_free;            /* bytes of the GPU, before the workers' buffers */
    uint64_t kept_device, kept_host; /* bytes that a plug-in kept of each instance */
};

/* What the workers on one GPU did in all rounds, where a point has several GPUs. */
struct round_gpu {
    char uuid[64];
    double throughput_ips; /* of the steady part of a window, mean of the rounds */
    struct histogram latency;
    uint64_t cpus[WORK_CPUS / 64]; /* that its workers are bound to; all zero: they are not */
    struct telemetry_window telemetry;
    struct numa numa; /* of the last round */
};

/* What the workers of one workload of a mix did in all rounds. */
struct round_workload {
    unsigned workers;
    double throughput_ips; /* of the steady part of a window, mean of the rounds */
    uint64_t iterations;
    struct histogram latency;
};

/* What one round gives. A measurement adds those of several rounds up in one. */
struct round_result {
    enum status status; /* STATUS_OK, or why there is no measurement */
    char error[1024];   /* its text */
    int cuda_error;     /* CUresult, 0: the failure is not CUDA's */
    /* A bit for each GPU of several whose workers have failed; 0: it is not known. */
    uint32_t failed_gpus;
    double throughput_ips; /* of the steady part of the window */
    double ci95_rel;       /* half of its 95% interval, as a share */
    double window_s;       /* length of the window */
    double steady_from_s;  /* where the steady part begins in the window */
    /* How long after its first call a program ceased to repeat itself; 0: it did not cease. */
    uint64_t lost_ns;
    unsigned threads_at_work; /* of a process of a program, where those are too few; else 0 */
    bool unattached; /* a process of a program is not an MPS client as its layout demands */
    /* From the first spawn, or the assignment, until all workers were ready, or, where threads are
     * lacking, those that there are; 0: never. */
    double ready_s;
    double ready_cpu_s;      /* of CPUs, that a program's processes took for that; 0: not known */
    double stop_s;           /* from the window until all had parked, or ended; 0: it had none */
    double skew_us;          /* between the common start and the latest actual one */
    double fairness;         /* Jain's index of the workers' rates */
    uint64_t iterations;     /* in the window */
    bool reused;             /* the workers had served another point before */
    unsigned openmp_threads; /* of a program's pools, as the crew's */
    unsigned idle_processes; /* of the same start, without a part in this point */
    /* Processes that were to be clients of the MPS daemon, and those that it has listed. */
    unsigned attached_expected, attached_seen;
    unsigned other_clients; /* processes of other users that are clients of the same daemon */
    int sms;                /* multiprocessors of process 0's context */
    struct window window;
    struct histogram latency;
    struct percentiles percentiles; /* of the latency, in this round alone */
    struct round_phases phases;
    struct shm_cpu cpu; /* of all workers together */
    struct openloop_counts open;
    struct round_requests requests;
    struct round_observed observed;
    struct round_fixed fixed;
    struct telemetry_window telemetry; /* that of several GPUs is as if they were rounds of one */
    struct cores cores;
    struct numa numa;
    struct round_gpu *gpus; /* owned, gpu_count of them; NULL with one GPU */
    unsigned gpu_count;
    struct round_worker *workers;     /* owned, point_workers() of them */
    struct round_process *processes;  /* owned, point_processes() of them */
    struct round_workload *workloads; /* owned, one for each workload of a mix; else NULL */
    unsigned workload_count;
};

/* Sets *out to the latency of all requests: those without a good answer are later than any limit
 * (histogram_add_never()). Of other workloads it is that of the iterations. */
void round_latency_of_all(const struct round_result *result, struct histogram *out);

/* Returns the host cost: CPUs that all worker processes together kept busy, with all of their
 * threads, on the mean of the windows of all rounds. Not in it are processes that they started,
 * MPS's own and the orchestrator. NAN where no worker began an iteration after the warm-up. */
double round_cpus_in_use(const struct point *point, const struct round_result *result);

/* Frees what the result owns. */
void round_result_release(struct round_result *result);
