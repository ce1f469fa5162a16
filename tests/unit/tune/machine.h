/*
 * Random machines for tests of the search: what each layout really does there, what a window of a
 * given length shows of it, and what a calibration would have found.
 *
 * The truth is not a function of explain/, and there are two families with formulas of their own:
 * a search that was developed on one is judged by the other. A third one is of programs, which no
 * calibration predicts.
 */
#pragma once

#include "explain/calibration.h"
#include "orchestrator/tune/search/costs.h"
#include "orchestrator/tune/space.h"
#include "tests/unit/tune/machine_service.h"
#include "tests/unit/tune/machine_soft.h"
#include "tests/unit/tune/machine_usl.h"

/* kernels, blocks, spin and bytes of the iteration: three of them, of different kinds. */
#define TUNE_WORKLOADS 3

struct tune_recorded;

struct tune_truth {
    const struct tune_family *family;
    unsigned cpus;
    struct tune_costs costs;
    bool may_ignore_threads; /* as in struct tune_rules */
    double calibration_s;
    double cold; /* how often longer the first start of a program takes than a later one */
    unsigned
        kernels; /* of an iteration, and what it copies each way; 0: those of the default job */
    size_t bytes;
    union {
        struct tune_soft soft;
        struct tune_usl usl;
        struct tune_service service;
        const struct tune_recorded *recorded; /* tests/bench/recorded.h */
    };
};

/* Machines of one kind: how they are drawn, and what they do. */
struct tune_family {
    const char *name;
    bool program; /* the layouts are of one: there is no calibrate() */
    void (*make)(unsigned seed, unsigned workload, struct tune_truth *out);
    double (*ips)(const struct tune_truth *truth, const struct point *point);
    double (*p99_us)(const struct tune_truth *truth, const struct point *point);
    double (*cpus)(const struct tune_truth *truth, const struct point *point);
    void (*calibrate)(const struct tune_truth *truth, unsigned seed, const struct point *like,
                      struct calibration *out);
    void (*look)(const struct tune_truth *truth, const struct point *point, double window_s,
                 uint64_t set, uint64_t *random, struct tune_observation *out);
};

/* The same machine and workload for the same numbers, on any computer. */
void tune_truth_make(const struct tune_family *family, unsigned seed, unsigned workload,
                     struct tune_truth *out);

/* Iterations/s that the point does there, without noise; 0: the driver refuses it. */
double tune_truth_ips(const struct tune_truth *truth, const struct point *point);

/* Its 99th percentile, microseconds. */
double tune_truth_p99_us(const struct tune_truth *truth, const struct point *point);

/* CPUs that its threads keep busy. */
double tune_truth_cpus(const struct tune_truth *truth, const struct point *point);

/* What a calibration of that machine would hold, as far off as measurements are. */
void tune_truth_calibrate(const struct tune_truth *truth, unsigned seed, const struct point *like,
                          struct calibration *out);

/* A window of it, on the processes that have the number `set`: what is special about them is the
 * same each time. *random is the state of the noise. */
void tune_truth_look(const struct tune_truth *truth, const struct point *point, double window_s,
                     uint64_t set, uint64_t *random, struct tune_observation *out);

/* About the error that predictions are expected to have. */
#define TUNE_FOREKNOWN_REL 0.15

/* The whole: a tune with that many seconds on that machine, in time that is only counted. */
struct tune_trial {
    bool guided, trusted;
    bool foreknown; /* guided by what is true, each layout off by TUNE_FOREKNOWN_REL by itself */
    const struct tune_search *search; /* while it runs; or NULL, and no layout is left out */
    double budget_s, max_p99_us, max_cpus;
    /* What came of it. */
    struct tune_judgement judgement;
    double best_ips,
        won_ips; /* true values: of the best that meets the constraints, of the winner */
    /* True values, too: of the best that was measured; of the best and the worst of those that are
     * reported as equal, 0 without any. */
    double best_measured_ips, equal_most_ips, equal_least_ips;
    size_t space, measured;
    unsigned sets;             /* of processes that were started */
    struct start_costs starts; /* of a program, as far as they have shown what they cost */
    struct tune_costs costs;
    const struct point *crew; /* that wait for the next look; NULL: none do */
    double seconds;
};
enum status tune_trial_run(const struct tune_truth *truth, const struct tune_space *space,
                           unsigned seed, struct tune_trial *trial);

/* True iterations/s of the best that meets the constraints. */
double tune_trial_best_ips(const struct tune_truth *truth, const struct tune_space *space,
                           const struct tune_trial *trial);

/* Measures what the budget allows of a batch: adds to the trial's seconds and sets, and hands on
 * what each window shows. */
typedef void tune_trial_note(void *context, const struct tune_batch *batch,
                             const struct tune_item *item, struct tune_observation *seen);
void tune_trial_measure(const struct tune_truth *truth, const struct tune_space *space,
                        const struct tune_batch *batch, uint64_t *random, struct tune_trial *trial,
                        tune_trial_note *note, void *context);

/* The space of its machine for the default job. */
enum status tune_trial_space(const struct tune_truth *truth, struct tune_space *out);
