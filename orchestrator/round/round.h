/*
 * One round of one point: one window, on fresh worker processes or on those of the point before.
 *
 * States of a round, each with a deadline: spawning, getting ready, proving attachment, running,
 * draining. Whatever goes wrong, every worker process has ended when the round is over; the one
 * exception (a process that even SIGKILL does not end) is an error that names it. If all goes well,
 * workers that are to serve the next point are parked.
 */
#pragma once

#include "orchestrator/round/placement.h"
#include "orchestrator/crew/crew.h"
#include "orchestrator/round/numa.h"
#include "orchestrator/round/openloop.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"
#include "orchestrator/plan/turns.h"
#include "orchestrator/round/window.h"

/* How long and how well to measure. */
struct round_limits {
    uint64_t duration_ns;     /* of the window */
    uint64_t max_duration_ns; /* of a window that does not converge */
    double precision_rel;     /* 95% interval to reach, as a share */
    uint64_t timeout_ns;      /* without progress: hung */
    unsigned samples;         /* open loop: iterations to offer in a window */
    /* A window in which there was nothing to count is no failure; it has no throughput. */
    bool needs_no_window;
    uint64_t ready_by_ns; /* workers that take longer end with STATUS_TIMEOUT; 0: no such time */
};

struct round_worker {
    unsigned process, thread;
    unsigned program; /* described workloads: which of the point's */
    char cpus[64];
    char numa[32]; /* nodes of its host buffers; empty: not known, or there is only one */
    double ips, p50_us, p99_us;
    double elapsed_s;                          /* with fixed work: for its iterations */
    double h2d_us, launch_us, sync_us, d2h_us; /* means; NAN where the launch style hides it */
    struct shm_cpu cpu;
};

/* What the workers on one GPU did, where a point has several; of several rounds, all of them. */
struct round_gpu {
    char uuid[64];
    double throughput_ips; /* of the steady part of a window, mean of the rounds */
    struct histogram latency;
    uint64_t cpus[SHM_CPUS / 64]; /* of its workers; all zero: not bound */
    struct telemetry_window telemetry;
    struct numa numa; /* the last round's */
};

/* What a process's context was given. */
struct round_process {
    int sms;
    uint64_t memory_free;            /* bytes, before the workers' buffers */
    uint64_t kept_device, kept_host; /* as struct shm_process */
};

/* With fixed work: what the forum's experiment would say of the round. */
struct round_fixed {
    double seconds;   /* from the first begin of all workers to the last end */
    double elapsed_s; /* of a worker for its iterations, mean */
    double throughput_ips;
};

/* What the workers of one described workload did; of several rounds, all of them. */
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
    uint32_t failed_gpus;  /* of several: whose workers failed, by bit; 0: it cannot be told */
    double throughput_ips; /* of the steady part of the window */
    double ci95_rel;
    double window_s;
    double steady_from_s; /* from the begin of the window */
    struct window window;
    bool reused; /* the workers had served another point before */
    unsigned idle_processes;
    double ready_s; /* from the first spawn, or the assignment, until all workers were ready */
    double skew_us; /* of the latest start */
    double fairness;
    uint64_t iterations;
    unsigned attached_expected, attached_seen;
    unsigned other_clients; /* processes of somebody else's that are clients of the same daemon */
    int sms;                /* multiprocessors of process 0's context */
    struct histogram latency, h2d, launch, sync, d2h, launch_call;
    struct openloop_counts open;
    struct shm_cpu cpu;                /* all workers together */
    struct round_fixed fixed;          /* all zero without fixed work */
    struct telemetry_window telemetry; /* of several GPUs: as if they were rounds of one */
    struct cores cores;
    struct numa numa;
    struct round_gpu *gpus; /* NULL with one GPU; owned */
    unsigned gpu_count;
    struct round_worker *workers;   /* processes of all GPUs x threads, owned */
    struct round_program *programs; /* described workloads: of each of the point's, owned */
    unsigned program_count;
    struct round_process *processes; /* owned */
};

/* The MPS daemons that a point needs, or none. */
enum status round_set_daemons(struct session *session, const struct point *point);

/*
 * Measures one round on fresh processes. The return value is about the sweep: OK if it can go on,
 * also when this point failed (see out->status); STATUS_INTERRUPTED after a signal; any other code
 * means that something could not be cleaned up or that the machine is out of resources. out must be
 * released in every case.
 */
enum status round_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *out);

/*
 * The same on a crew, which may be empty: its workers serve the point if they can, else they are
 * ended and fresh ones are started. They are kept, parked, if the turn says so and nothing went
 * wrong; otherwise the crew is empty afterwards. What is infeasible on used workers is tried again
 * on fresh ones. What is kept is the caller's to end, with crew_dismiss().
 */
enum status round_run_on(struct session *session, const struct point *point,
                         const struct round_limits *limits, struct crew *crew,
                         const struct turn *turn, struct round_result *out);

void round_result_release(struct round_result *result);
