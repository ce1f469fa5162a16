/*
 * The points of a calibration: each puts its load on one resource and next to none on the others.
 * Pure functions; the caller sets how many processes and threads there are.
 */
#pragma once

#include "explain/calibration.h"
#include "job/workload_mix.h"
#include "orchestrator/plan/plan.h"

/* Of all points. */
#define CALIBRATE_WARMUP_NS UINT64_C(25000000)

/* Workers whose kernels of different kinds go on beside each other. */
#define CALIBRATE_MIXED_WORKERS 16

/* Threads of a point, at most. */
#define CALIBRATE_MOST_THREADS 64

/* The work of a point's iteration as explain/ knows it: of a built-in workload, or a described one.
 * False: there is no calibration for it, as it is a plug-in, a program, or a mix of several, and
 * *out is the point's own. */
bool calibrate_work(const struct point *point, struct work *out);

/* The iteration itself: one worker, no MPS, the driver's way of waiting. With as many connections
 * as any point without MPS has, so that they can share a worker process. */
struct point calibrate_single(const struct point *like);

/* Kernels that do next to nothing, and no copies. */
struct point calibrate_launches(const struct point *like, enum work_launch launch);

/* No kernels. Of a described workload the copies are its own, and room holds them for the point. */
struct point calibrate_copies(const struct point *like, enum work_copies copies,
                              enum work_memory memory, struct mix_work *room);

/* Nothing but the kernels of a described workload, and its copies on the GPU. room: as above. */
struct point calibrate_kernels(const struct point *like, struct mix_work *room);

/* Kernels of the same work a block, in grids that fill the GPU, and no copies. *share is how many
 * of the point's iterations one of these is. The delay workload has no such thing: its kernels
 * compute nothing. room: as above; a described workload takes CALIBRATE_MIXED_WORKERS of them.
 * known: the multiprocessors, and what one worker alone does, where it was measured. */
struct point calibrate_arithmetic(const struct point *like, const struct calibration *known,
                                  double *share, struct mix_work *room);

/* Turns a point into one of N processes, over MPS or in turns, which need one queue each: a context
 * with 32 takes four times as long to make and to end as one with 8. Many over MPS wait asleep:
 * those that spin would keep the others from running. */
void calibrate_set_processes(struct point *point, enum layout_kind layout, unsigned processes);
