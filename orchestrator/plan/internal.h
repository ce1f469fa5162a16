/*
 * What the files that make a plan share.
 */
#pragma once

#include "orchestrator/plan/plan.h"

/* A hash table of the points of a plan, by place. All zero bytes: empty. */
struct point_set {
    struct point_slot {
        size_t place; /* one more than a point's place; 0: free */
        uint64_t hash;
    } * slots;
    size_t room;     /* a power of two, or 0 */
    size_t compared; /* pairs of points that were compared one by one */
};

/* Looks a canonical point up among the points of the plan, `count` in number. Where it is not one
 * of them, it gets the place *at == count, and *added is true. */
enum status point_set_add(struct point_set *set, const struct point *points, size_t count,
                          const struct point *point, size_t *at, bool *added);
void point_set_release(struct point_set *set);

/* What the last word for a workload stood for: a plan asks for each word thousands of times. */
struct workload_found {
    const char *word;
    struct point found;
};

/* Finds out what a point's word for the workload stands for, and sets its kind, its mix and its
 * word. STATUS_USAGE, STATUS_NOT_FOUND and STATUS_SYSTEM list what there is, or why a program
 * cannot be run; and with a program no setting of the point may be one that it would not heed. */
enum status workload_find(const struct job *job, struct plan *plan, struct workload_found *last,
                          struct point *point);

/* Sets plan->id. */
enum status plan_make_id(const struct job *job, struct plan *plan);
