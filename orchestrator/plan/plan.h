/*
 * The plan: every point that a sweep will measure, made from the sections of a job.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "job/jobfile.h"
#include "job/point.h"
#include "orchestrator/plan/point.h"

/* What the id of a plan begins with. Ids of earlier versions, digests of memory, do not. */
#define PLAN_ID_FORM "2:"
#define PLAN_ID_BYTES (sizeof PLAN_ID_FORM + 16)

struct plan {
    struct point *points;
    size_t count;
    struct mix_work **mixes; /* of its points; owned */
    size_t mix_count;
    char id[PLAN_ID_BYTES]; /* PLAN_ID_FORM and a digest of all points and of how they are measured
                             */
};

/*
 * Crosses the axes of every section, the layout being the slowest. Combinations that cannot differ
 * are one point: each setting counts only where the option table lists that it applies, and a list
 * of shares only as far as the processes take from it. The job must outlive the plan.
 *
 * gpus: how many the run has, for those points that run on all of them. STATUS_USAGE also where a
 * point needs more GPUs than there are, or more workers than are allowed.
 */
enum status plan_make(const struct job *job, unsigned gpus, struct plan *out);
void plan_release(struct plan *plan);

/* Prints the canonical text of a point, by which plans are distinguished: a line "NAME=VALUE" for
 * each setting that is not neutral. It depends on no struct's layout. */
void point_key_print(FILE *out, const struct point *point);

/* point_check_stagger() of every point, before its window is known. */
enum status plan_check_stagger(const struct plan *plan);

/* Fills order with 0..count-1, shuffled by seed and round; seed 0 leaves the plan's order. */
void plan_order(size_t count, unsigned seed, unsigned round, size_t *order);
