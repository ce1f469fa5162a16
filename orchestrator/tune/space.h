/*
 * The space of a tune: every layout that may be the best, as the points of a plan. An axis that the
 * job or the command line sets holds; all other axes get what the machine allows.
 *
 * Of several GPUs it is the space of what each has: limits of processes and threads are those of a
 * GPU, and the CPUs are shared out. Each layout is there on one GPU, for the search, and then on
 * all of them, for the finals.
 *
 * It is a plan like any other, made from a job with a section for each layout, so that points are
 * merged, described and recorded as those of a campaign.
 */
#pragma once

#include "job/jobfile.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/tune/search/search.h"

struct calibration;

struct tune_machine {
    unsigned cpus;    /* that workers may use, of all GPUs together */
    unsigned clients; /* MPS clients of a GPU that are known to fit; 0: not known */
    unsigned gpus;    /* of the run; 0: one */
};

/* The layouts that one would take without a search. */
#define TUNE_NAIVE 4
struct tune_naive {
    const char *name; /* "1×1", "N threads", "N processes", "N processes+MPS" */
    size_t point;     /* index in the plan */
};

struct tune_space {
    struct job job; /* points of the plan point into it */
    struct plan plan;
    unsigned gpus;     /* that are to be at work */
    unsigned cpus;     /* that workers of a GPU may use */
    unsigned clients;  /* that MPS may have on one */
    size_t candidates; /* the first points are searched, this many; others are there for comparison,
                          and with several GPUs: */
    size_t on_all, on_all_count;         /* the same layouts on all GPUs, from this point on */
    struct tune_naive naive[TUNE_NAIVE]; /* on all GPUs */
    size_t naive_count;
};

/*
 * STATUS_USAGE: the job is about more than one workload or number of GPUs, or has
 * fixed work; or nothing is left between what it asks for and its limits on processes and threads.
 * *out is set only on success.
 */
enum status tune_space_make(const struct job *job, const struct tune_machine *machine,
                            struct tune_space *out);
void tune_space_release(struct tune_space *space);

/* The next point on all GPUs, from `from` on, that has the layout of a candidate, with all other
 * settings but those that only several GPUs have; plan.count: there are no more. */
size_t tune_space_next_on_all(const struct tune_space *space, size_t candidate, size_t from);

enum tune_objective { TUNE_THROUGHPUT, TUNE_P99, TUNE_IPS_PER_WATT };

/* "throughput", "p99", "ips-per-watt". */
const char *tune_objective_name(enum tune_objective objective);

/* Whether calibrations predict these points: the built-in workloads in a closed loop.
 */
bool tune_space_can_calibrate(const struct tune_space *space);

/* The points as the search takes them, with predictions where there is a calibration (NULL: none);
 * the caller frees them; NULL without memory. *predicted: whether they have any. */
struct tune_candidate *tune_space_candidates(const struct tune_space *space,
                                             enum tune_objective objective,
                                             const struct calibration *calibration,
                                             bool *predicted);
