/*
 * The plan: every point that a sweep will measure, made from the sections of a job.
 */
#pragma once

#include <stddef.h>

#include "job/jobfile.h"
#include "job/point.h"
#include "orchestrator/plan/shares.h"

struct plan {
    struct point *points;
    size_t count;
    struct mix_work **mixes; /* of its points; owned */
    size_t mix_count;
    char id[17]; /* digest of all points and of how they are measured, hexadecimal */
};

/*
 * Crosses the axes of every section, the layout being the slowest. Combinations that cannot differ
 * are one point: sync none makes no difference with pinned memory or in a graph, shares of MPS
 * clients none without MPS, arrivals none in a closed loop, the numbers of the built-in workloads
 * none for others, daemons none but over MPS on several GPUs, and a list of shares says no more
 * than its processes take from it. The job must outlive the plan.
 *
 * gpus: how many the run has, for those points that are to have all of them; plan_make() takes what
 * --device names without asking a driver, where "all" is an error. STATUS_USAGE also where a point
 * is to have more GPUs than there are, or more workers than are allowed.
 */
enum status plan_make_for(const struct job *job, unsigned gpus, struct plan *out);
enum status plan_make(const struct job *job, struct plan *out);
void plan_release(struct plan *plan);

/* Finds out what a point's word for the workload stands for, and sets point->work.workload. An
 * error lists what there is. */
enum status plan_workload(const struct job *job, struct plan *plan, struct point *point);

/* Whether a word for a workload is the path of a plug-in: it has a '/' or ends in ".so". */
bool plan_word_is_path(const char *word);

/* The same for workloads of the job file and mixes of them, with all that workers need to know.
 * STATUS_NOT_FOUND: it is none; *bad is the part of the word that is no workload then. */
enum status plan_described(const struct job *job, struct plan *plan, struct point *point,
                           const char **bad, size_t *bad_length);

/* plan_workload() of a job with a program: checks its words, and that no setting of the point is
 * one that it would not heed. STATUS_USAGE, STATUS_NOT_FOUND, STATUS_SYSTEM: it cannot be run. */
enum status plan_program(const struct job *job, struct point *point);

/* What the options of a section say of it. */
struct point_program plan_program_options(const struct job *job, const struct options *options);

/* Whether it is a program of the user's. */
bool point_is_program(const struct point *point);

/* Whether it is one of the program's own, which the options of the workload describe. */
bool point_is_builtin(const struct point *point);

/* Whether they are the same but for their place in a plan. */
bool point_equal(const struct point *a, const struct point *b);

/* GPUs of a point, and processes and workers on all of them. Process number p is on GPU number p %
 * point_gpus(), and there it is number p / point_gpus(): so the first processes of a point that has
 * more of them are a point of fewer on the same GPUs. Shares of clients go by the latter number. */
unsigned point_gpus(const struct point *point);
unsigned point_processes(const struct point *point);
unsigned point_workers(const struct point *point);
unsigned point_gpu_of(const struct point *point, unsigned process);
unsigned point_number_on_gpu(const struct point *point, unsigned process);

/* MPS daemons that it needs: 0 without MPS. */
unsigned point_daemons(const struct point *point);

/* Whether the last worker of a point begins, with --stagger, before its warm-up and a window of
 * that length are over; 0: before the window begins, in which every worker is to be counted. With
 * fixed work it always does. In an open loop requests would wait for a worker that has yet to
 * begin. STATUS_USAGE says what is wrong. */
enum status point_check_stagger(const struct point *point, uint64_t window_ns);

/* The same for every point of a plan. */
enum status plan_check_stagger(const struct plan *plan, uint64_t window_ns);
bool point_over_mps(const struct point *point);

/* Whether iterations have planned starts, at a rate that is given or to be found. */
bool point_is_open(const struct point *point);

/* Whether any share of a client is set. */
bool point_has_shares(const struct point *point);

/* Queues that a process has: the setting, or the driver's default (CUDA programming guide, and
 * the MPS guide for clients). */
unsigned point_connections(const struct point *point);

/* "hybrid 8×2, pageable, no sync, graph" with only what differs from the defaults, and room for it
 * at its longest. */
#define POINT_DESCRIPTION 2048
void point_describe(const struct point *point, char *text, size_t size);

/* The words of the settings, as in the option table. */
const char *point_workload(const struct point *point);
const char *point_memory(const struct point *point);
const char *point_sync(const struct point *point);
const char *point_launch(const struct point *point);
const char *point_schedule(const struct point *point);
const char *point_bind(const struct point *point);
const char *point_arrival(const struct point *point);
const char *point_mps_daemons(const struct point *point);

/* Fills order with 0..count-1, shuffled by seed and round; seed 0 leaves the plan's order. */
void plan_order(size_t count, unsigned seed, unsigned round, size_t *order);
