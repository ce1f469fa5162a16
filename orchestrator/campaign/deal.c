#include <math.h>
#include <stdlib.h>

#include "orchestrator/campaign/estimate.h"
#include "orchestrator/campaign/shard.h"
#include "orchestrator/plan/turns.h"

#define REFERENCE_WORKERS 8

/* A cut that is this near to one between two groups, as a share of a shard's time, is moved there.
 */
#define NEAR_SHARE 0.05

/* Whole microseconds: machines that round differently must not deal differently. */
static uint64_t us(double seconds)
{
    return (uint64_t)(seconds * 1e6 + 0.5);
}

/* Points of one shard lie side by side in this line. */
struct place {
    size_t point;
    bool head;      /* of points that share workers */
    uint64_t begin; /* us */
};

/* How far a point is from the workers that are wanted, as a ratio. */
static double oddness(const struct point *point)
{
    return fabs(log((double)point_workers(point) / REFERENCE_WORKERS));
}

/* The best one of a layout that is not chosen yet; plan->count: none. */
static size_t best_of(const struct plan *plan, enum layout_kind layout, bool searched,
                      const uint32_t *owner)
{
    size_t best = plan->count;
    for (size_t i = 0; i < plan->count; i++) {
        const struct point *point = &plan->points[i];
        if (point->layout != layout || owner[i] == SHARD_ALL || point->work.rate_units ||
            (point->goal.permille != 0) != searched)
            continue;
        if (best == plan->count || oddness(point) < oddness(&plan->points[best]))
            best = i;
    }
    return best;
}

/* One of each layout in turn; searches, which take long, only where there is nothing else. */
static unsigned choose_reference(const struct plan *plan, unsigned wanted, uint32_t *owner)
{
    unsigned chosen = 0;
    for (int searched = 0; searched < 2; searched++) {
        for (bool found = true; found && chosen < wanted;) {
            found = false;
            for (int layout = 0; layout < LAYOUT_KINDS && chosen < wanted; layout++) {
                size_t best = best_of(plan, (enum layout_kind)layout, searched, owner);
                if (best == plan->count)
                    continue;
                owner[best] = SHARD_ALL;
                found = true;
                chosen++;
            }
        }
    }
    return chosen;
}

static uint64_t lay_out(const struct plan *plan, const struct round_limits *limits,
                        const struct turn *turns, size_t count, struct place *line)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &plan->points[turns[i].point];
        uint64_t cost = us(estimate_point_s(point, limits));
        if (turns[i].starts)
            cost += us(estimate_start_s(point));
        line[i] = (struct place){turns[i].point, turns[i].starts, total};
        total += cost;
    }
    return total;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t begin_of(const struct place *line, size_t count, uint64_t total, size_t at)
{
    return at < count ? line[at].begin : total;
}

static bool is_border(const struct place *line, size_t count, size_t at)
{
    return at == count || line[at].head;
}

/* Where the line is cut nearest to a time, at or behind the place from; a little off, where two
 * groups meet there. */
static size_t cut_near(const struct place *line, size_t count, uint64_t total, uint64_t time,
                       uint64_t tolerance, size_t from)
{
    size_t cut = from;
    while (cut < count && distance(begin_of(line, count, total, cut + 1), time) <=
                              distance(begin_of(line, count, total, cut), time))
        cut++;
    size_t before = cut, behind = cut;
    while (before > from && !is_border(line, count, before))
        before--;
    while (!is_border(line, count, behind))
        behind++;
    uint64_t to_before = distance(begin_of(line, count, total, before), time);
    uint64_t to_behind = distance(begin_of(line, count, total, behind), time);
    size_t border = to_before <= to_behind ? before : behind;
    return (to_before < to_behind ? to_before : to_behind) <= tolerance ? border : cut;
}

static void cut_up(const struct place *line, size_t count, uint64_t total, unsigned shards,
                   uint32_t *owner)
{
    double part = (double)total / shards;
    size_t begin = 0;
    for (unsigned shard = 0; shard < shards; shard++) {
        /* total < 2^53 us = 285 years: exact enough, and the same everywhere. */
        uint64_t time = (uint64_t)((double)total * (shard + 1) / shards);
        size_t end = shard + 1 == shards
                         ? count
                         : cut_near(line, count, total, time, (uint64_t)(NEAR_SHARE * part), begin);
        for (size_t i = begin; i < end; i++)
            owner[line[i].point] = shard;
        begin = end;
    }
}

enum status shard_deal(const struct plan *plan, const struct round_limits *limits, unsigned seed,
                       struct shard *shard, uint32_t *owner)
{
    bool *chosen = calloc(plan->count + 1, sizeof *chosen);
    struct turn *turns = calloc(plan->count + 1, sizeof *turns);
    struct place *line = calloc(plan->count + 1, sizeof *line);
    enum status status = STATUS_OK;
    size_t count;
    if (!chosen || !turns || !line) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < plan->count; i++)
        owner[i] = shard->fleet ? SHARD_ALL : 0;
    if (shard->fleet)
        goto out;
    shard->reference = choose_reference(plan, shard->reference, owner);
    for (size_t i = 0; i < plan->count; i++)
        chosen[i] = owner[i] == SHARD_ALL;
    /* As if workers were reused, whether they are or not: a plan does not depend on it. */
    status = turns_make(plan, chosen, seed, 0, TURNS_EQUAL, turns, &count);
    if (status == STATUS_OK)
        cut_up(line, count, lay_out(plan, limits, turns, count, line), shard->count, owner);
out:
    free(chosen);
    free(turns);
    free(line);
    return status;
}
