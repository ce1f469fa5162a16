/*
 * Shards: one plan, measured by several runs of which each takes a part, mostly on a machine each.
 * And fleets: one plan that several machines measure as a whole.
 *
 * Every run deals the points by itself, and all come to the same result: it follows from the plan,
 * the seed, and the number of shards and of reference points alone. No process is touched here.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "job/options.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"

#define SHARD_MOST 10000

struct shard {
    unsigned index, count; /* count 0: the whole plan, and no shard of it */
    bool fleet;            /* every run measures all points; the index is only its name */
    bool automatic;        /* the index came from Slurm */
    unsigned reference;    /* points that every shard measures */
};

/*
 * What the options ask for; "auto" is looked up in the environment: the place in a Slurm job array
 * (SLURM_ARRAY_TASK_*) and that of a task which srun started (SLURM_PROCID, SLURM_NTASKS), or both.
 * STATUS_USAGE with what is wrong.
 */
enum status shard_from_options(const struct options *options, struct shard *out);

/* The owner of a point that all shards measure. */
#define SHARD_ALL UINT32_MAX

/*
 * Deals the points: fills owner, of one entry a point, with the index of the shard that measures
 * it, or SHARD_ALL. Shards take about equally long, to within the longest of their points; points
 * that can share workers stay in one shard, unless that would make it longer than that by more than
 * a twentieth. A shard may be left without a point of its own.
 *
 * Points for reference are of different layouts as far as possible, and have about 8 workers. A
 * point with a given rate, which any GPU may serve, is not taken. Sets shard->reference to how many
 * there are, which may be fewer than wanted. STATUS_MEMORY is the only error.
 */
enum status shard_deal(const struct plan *plan, const struct round_limits *limits, unsigned seed,
                       struct shard *shard, uint32_t *owner);

/* The header's object "shard"; owner as dealt. NULL without memory. */
json_t *shard_json(const struct shard *shard, const uint32_t *owner, size_t points);

/* "shard 2 of 8", "node 2 of 8", for messages; "a whole plan" for none. Returns text. */
const char *shard_name(const struct shard *shard, char *text, size_t size);
