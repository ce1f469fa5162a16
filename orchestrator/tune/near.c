#include <math.h>
#include <stdlib.h>

#include "orchestrator/tune/search_internal.h"

/* Ceilings and predictions come from figures that are a few percent off. */
#define CEILING_SLACK 1.1
#define LATENCY_SLACK 1.4
#define CPU_SLACK 1.4

/* Settings that never worked, and failed so often, are not tried again. */
#define DEAD_AFTER 3

/* Points looked at for being predicted best. */
#define FIRST_PREDICTED 14

/* Of what is predicted to be equal, fewer processes are tried first: they start sooner. */
#define PROCESS_COSTS 0.004

/* And those that keep fewer CPUs busy. */
#define CPU_COSTS 0.001

/* Of each family one is looked at, unless it is predicted to be this far below the best. */
#define HOPELESS 0.25

/* P and T of a neighbour are at most this many times larger or smaller. */
#define NEAR_FACTOR 2.05

/* Streams for threads: about as many in flight. */
#define TRADE_FACTOR 1.5

/* A setting was tried where at most that many times more or fewer are in flight. */
#define TRIED_FACTOR 4.0

#define LEADERS 3
#define LEADER_SHARE 0.85
#define FAMILY_SHARE 0.75

/* A batch: each rung of it looks at how the last one went. */
#define NEAR_BATCH 10

void tune_add(struct tune_batch *batch, size_t point, double window_s)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].point == point)
            return;
    if (batch->count < TUNE_BATCH_MOST)
        batch->items[batch->count++] = (struct tune_item){point, window_s};
}

static unsigned streams_of(const struct tune_candidate *one)
{
    return one->streams > 1 ? one->streams : 1;
}

/* What the driver refused it also refuses to more of the same. */
static bool is_beyond_refused(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    for (size_t i = 0; i < search->refused_count; i++) {
        const struct tune_candidate *other = &search->candidates[search->refused[i]];
        const struct tune_state *state = &search->states[search->refused[i]];
        if (state->seen.outcome == TUNE_INFEASIBLE &&
            one->axes[TUNE_AXIS_MPS] == other->axes[TUNE_AXIS_MPS] &&
            one->processes >= other->processes && one->threads >= other->threads &&
            streams_of(one) >= streams_of(other) && one->connections >= other->connections &&
            one->axes[TUNE_AXIS_LAUNCH] == other->axes[TUNE_AXIS_LAUNCH])
            return true;
    }
    return false;
}

/* A setting with which nothing has worked: for example a workload that cannot be a graph. Where
 * nothing at all has worked it need not be the setting. */
static bool has_dead_setting(const struct tune_search *search, size_t point)
{
    const uint32_t *axes = search->candidates[point].axes;
    bool tellable = search->known_count > 0 && search->refused_count >= DEAD_AFTER;
    for (int axis = 0; axis < TUNE_AXES && tellable; axis++) {
        unsigned failed = 0, worked = 0;
        for (size_t i = 0; i < search->refused_count; i++)
            failed += search->candidates[search->refused[i]].axes[axis] == axes[axis];
        for (size_t i = 0; i < search->known_count && failed >= DEAD_AFTER; i++)
            worked += search->candidates[search->known[i]].axes[axis] == axes[axis];
        if (worked == 0 && failed >= DEAD_AFTER)
            return true;
    }
    return false;
}

/* Whether it is worth a measurement at all: not tried, not ruled out by what was found of others,
 * by its ceiling or by the predicted latency. */
static bool is_open(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    size_t best = search->best;
    if (search->states[point].knowledge != TUNE_UNTRIED || one->excluded || one->outside)
        return false;
    if (is_beyond_refused(search, point) || has_dead_setting(search, point))
        return false;
    if (search->rules.max_p99_us > 0.0 && one->mean_us > LATENCY_SLACK * search->rules.max_p99_us)
        return false;
    if (search->rules.max_cpus > 0.0 && one->cpus > CPU_SLACK * search->rules.max_cpus)
        return false;
    if (one->ceiling > 0.0 && best != TUNE_NO_POINT && tune_meets(search, best) &&
        one->ceiling * CEILING_SLACK < search->states[best].seen.low)
        return false;
    return true;
}

/* -- first ------------------------------------------------------------------------------------- */

/* Which of the families a point belongs to: over MPS, several processes, several threads, launch,
 * and clients that get a share of the GPU. Where threads poll, it is their streams that count. */
#define FAMILIES 64
#define FAMILY_POLLS 32u
static unsigned family_of(const struct tune_candidate *one)
{
    if (one->streams > 1)
        return FAMILY_POLLS | (one->axes[TUNE_AXIS_MPS] ? 1u : 0u) |
               (one->axes[TUNE_AXIS_LAUNCH] ? 8u : 0u) | (one->axes[TUNE_AXIS_SHARE] ? 16u : 0u);
    return (one->axes[TUNE_AXIS_MPS] ? 1u : 0u) | (one->processes > 1 ? 2u : 0u) |
           (one->threads > 1 ? 4u : 0u) | (one->axes[TUNE_AXIS_LAUNCH] ? 8u : 0u) |
           (one->axes[TUNE_AXIS_SHARE] ? 16u : 0u);
}

static bool same_size(const struct tune_candidate *a, const struct tune_candidate *b)
{
    return a->processes == b->processes && a->threads == b->threads &&
           streams_of(a) == streams_of(b);
}

/* Whether one like it is chosen already. Predictions know little of how workers wait: of each size
 * there may be one for each way. */
static bool is_alike(const struct tune_search *search, const size_t *chosen, size_t count,
                     size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    for (size_t i = 0; i < count; i++) {
        const struct tune_candidate *other = &search->candidates[chosen[i]];
        bool as_many =
            one->streams > 1 ? tune_in_flight(one) == tune_in_flight(other) : same_size(one, other);
        if (as_many && family_of(one) == family_of(other) &&
            one->axes[TUNE_AXIS_SCHEDULE] == other->axes[TUNE_AXIS_SCHEDULE])
            return true;
    }
    return false;
}

static double prospect(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    double limit = search->rules.max_p99_us;
    double most_cpus = search->rules.max_cpus;
    double predicted =
        one->predicted / (1.0 + PROCESS_COSTS * one->processes + CPU_COSTS * one->cpus);
    /* A mean latency beyond the limit leaves little hope for its percentile. */
    if (limit > 0.0 && one->mean_us > limit)
        predicted *= limit / one->mean_us / 2.0;
    if (most_cpus > 0.0 && one->cpus > most_cpus)
        predicted *= most_cpus / one->cpus / 2.0;
    return predicted;
}

/* Those that an earlier run measured count, and are not measured again. */
static void add_predicted(const struct tune_search *search, struct tune_batch *batch)
{
    size_t chosen[FIRST_PREDICTED + FAMILIES], count = 0;
    bool *passed = calloc(search->count + 1, sizeof *passed);
    double top = 0.0;
    while (passed && count < FIRST_PREDICTED) {
        size_t best = TUNE_NO_POINT;
        for (size_t i = 0; i < search->count; i++) {
            bool wanted = !passed[i] && (is_open(search, i) || tune_may_win(search, i));
            if (wanted && (best == TUNE_NO_POINT || prospect(search, i) > prospect(search, best)))
                best = i;
        }
        if (best == TUNE_NO_POINT)
            break;
        passed[best] = true;
        if (is_alike(search, chosen, count, best))
            continue;
        top = fmax(top, prospect(search, best));
        chosen[count++] = best;
    }
    free(passed);
    for (unsigned family = 0; family < FAMILIES; family++) {
        size_t best = TUNE_NO_POINT;
        bool seen = false;
        for (size_t i = 0; i < count && !seen; i++)
            seen = family_of(&search->candidates[chosen[i]]) == family;
        for (size_t i = 0; i < search->count && !seen; i++)
            if (family_of(&search->candidates[i]) == family && is_open(search, i) &&
                (best == TUNE_NO_POINT || prospect(search, i) > prospect(search, best)))
                best = i;
        if (best != TUNE_NO_POINT && prospect(search, best) >= HOPELESS * top)
            chosen[count++] = best;
    }
    for (size_t i = 0; i < count; i++)
        if (search->states[chosen[i]].knowledge == TUNE_UNTRIED)
            tune_add(batch, chosen[i], search->rules.window_s);
}

static unsigned differing_axes(const struct tune_candidate *a, const struct tune_candidate *b)
{
    unsigned sum = 0;
    for (int axis = 0; axis < TUNE_AXES; axis++)
        sum += a->axes[axis] != b->axes[axis];
    return sum;
}

/* Of a few streams with their threads, or of processes and threads, how far from the plainest. */
static double shape_of(const struct tune_candidate *one)
{
    if (one->streams > 1)
        return log2((double)one->processes * one->threads);
    return one->processes > 1 && one->threads > 1
               ? fabs(log2((double)one->processes / one->threads))
               : 0.0;
}

/* The point of a family that is nearest to a number in flight and to the plainest settings. */
static size_t nearest_of(const struct tune_search *search, unsigned family, double in_flight)
{
    size_t best = TUNE_NO_POINT;
    double least = INFINITY;
    const struct tune_candidate *plain = &search->candidates[0];
    for (size_t i = 0; i < search->count; i++) {
        const struct tune_candidate *one = &search->candidates[i];
        if (family_of(one) != family || one->outside || one->excluded)
            continue;
        double far = fabs(log2(tune_in_flight(one) / in_flight)) + 0.2 * shape_of(one) +
                     0.5 * differing_axes(one, plain);
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

/* A few sizes of each family; one where processes take turns, or have shares. */
static void add_coarse(const struct tune_search *search, struct tune_batch *batch)
{
    for (unsigned family = 0; family < FAMILIES; family++) {
        double most = 0.0;
        for (size_t i = 0; i < search->count; i++)
            if (family_of(&search->candidates[i]) == family && is_open(search, i))
                most = fmax(most, tune_in_flight(&search->candidates[i]));
        if (most < 1.0)
            continue;
        bool once = (!(family & 1) && (family & 2)) || family & 16;
        unsigned levels = once ? 1 : 3;
        for (unsigned level = 1; level <= levels; level++) {
            double share = once ? 0.5 : (double)level / (levels + 0.5);
            size_t point = nearest_of(search, family, pow(most, share));
            if (point != TUNE_NO_POINT && is_open(search, point))
                tune_add(batch, point, search->rules.window_s);
        }
    }
}

static bool is_cheaper(const struct tune_search *search, size_t a, size_t b)
{
    return search->candidates[a].processes < search->candidates[b].processes;
}

void tune_add_first(const struct tune_search *search, struct tune_batch *batch)
{
    if (search->rules.predicted)
        add_predicted(search, batch);
    else
        add_coarse(search, batch);
    /* Where there is no time for all, what is dear is left out. All windows are equal. */
    size_t cheapest[TUNE_BATCH_MOST + 1];
    for (size_t i = 0; i < batch->count; i++)
        tune_rank(search, is_cheaper, batch->items[i].point, cheapest, i, TUNE_BATCH_MOST);
    for (size_t i = 0; i < batch->count; i++)
        batch->items[i].point = cheapest[i];
}

/* -- near -------------------------------------------------------------------------------------- */

static bool is_step(unsigned a, unsigned b)
{
    double ratio = a > b ? (double)a / b : (double)b / a;
    return ratio <= NEAR_FACTOR;
}

/* Doublings of P, T and S between two points, and one for each other setting that differs. */
static double steps_between(const struct tune_candidate *a, const struct tune_candidate *b)
{
    return differing_axes(a, b) + fabs(log2((double)a->processes / b->processes)) +
           fabs(log2((double)a->threads / b->threads)) +
           fabs(log2((double)streams_of(a) / streams_of(b)));
}

/* A step in P or T or both, a step in S, or one in S against one in P or T. */
static bool is_move(const struct tune_candidate *a, const struct tune_candidate *b)
{
    bool same_streams = streams_of(a) == streams_of(b);
    bool same_threads = a->processes == b->processes && a->threads == b->threads;
    double ratio = tune_in_flight(a) / tune_in_flight(b);
    bool traded = ratio <= TRADE_FACTOR && ratio >= 1.0 / TRADE_FACTOR;
    return is_step(a->processes, b->processes) && is_step(a->threads, b->threads) &&
           is_step(streams_of(a), streams_of(b)) && (same_streams || same_threads || traded);
}

/* How far a point is from another one: 1 for a move, 1 for each other setting that differs; 0 for
 * more than that. */
static unsigned distance(const struct tune_candidate *a, const struct tune_candidate *b)
{
    if (!is_move(a, b))
        return 0;
    return (same_size(a, b) ? 0 : 1) + differing_axes(a, b);
}

/* What is to be expected of a point, by prediction and by how it missed at the nearest point that
 * was measured. */
static double corrected(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    double least = INFINITY, ratio = 1.0;
    for (size_t i = 0; i < search->known_count; i++) {
        const struct tune_candidate *other = &search->candidates[search->known[i]];
        const struct tune_state *state = &search->states[search->known[i]];
        if (other->predicted <= 0.0)
            continue;
        double far = steps_between(one, other);
        if (far < least) {
            least = far;
            ratio = state->seen.value / other->predicted;
        }
    }
    return prospect(search, point) * ratio;
}

/* The most that prediction was exceeded by. */
static double highest_ratio(const struct tune_search *search)
{
    double highest = 0.0;
    for (size_t i = 0; i < search->known_count; i++) {
        size_t point = search->known[i];
        double predicted = search->candidates[point].predicted;
        if (predicted > 0.0)
            highest = fmax(highest, search->states[point].seen.value / predicted);
    }
    return highest;
}

/* The order of neighbours: by the ring, the leader, and the prediction. */
struct neighbour {
    size_t point;
    unsigned ring;
    size_t leader;
    double expected;
};

static bool comes_first(const struct neighbour *a, const struct neighbour *b)
{
    if (a->ring != b->ring)
        return a->ring < b->ring;
    if (a->leader != b->leader)
        return a->leader < b->leader;
    return a->expected > b->expected;
}

static size_t insert(struct neighbour *list, size_t count, size_t most,
                     const struct neighbour *neighbour)
{
    size_t at = count;
    while (at > 0 && comes_first(neighbour, &list[at - 1]))
        at--;
    if (at == most)
        return count;
    count = count < most ? count + 1 : most;
    for (size_t i = count - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = *neighbour;
    return count;
}

/* Around the best: all that is one step away, and two steps; around the others: sizes, or wide, all
 * that is one step away. */
static bool is_near(const struct tune_search *search, size_t point, const size_t *leaders,
                    size_t count, bool wide, struct neighbour *out)
{
    for (size_t leader = 0; leader < count; leader++) {
        const struct tune_candidate *a = &search->candidates[leaders[leader]];
        const struct tune_candidate *b = &search->candidates[point];
        unsigned far = distance(a, b);
        bool sized = differing_axes(a, b) == 0;
        if (far == 0 || far > 2 || (leader > 0 && (wide ? far > 1 : !sized)))
            continue;
        *out = (struct neighbour){.point = point, .ring = far, .leader = leader};
        return true;
    }
    return false;
}

/* Neighbours of some points, and what is predicted to be better than all that was found. */
static void add_neighbours(const struct tune_search *search, const size_t *leaders, size_t leading,
                           bool wide, size_t most, struct tune_batch *batch)
{
    struct neighbour list[NEAR_BATCH + 1];
    size_t count = 0;
    double best = leading > 0 ? search->states[leaders[0]].seen.value : 0.0;
    double most_ratio = highest_ratio(search);
    for (size_t i = 0; i < search->count && leading > 0; i++) {
        struct neighbour neighbour;
        if (search->states[i].knowledge != TUNE_UNTRIED)
            continue;
        bool near = is_near(search, i, leaders, leading, wide, &neighbour);
        bool may_be_more = prospect(search, i) * most_ratio > best;
        double expected =
            search->rules.predicted && (near || may_be_more) ? corrected(search, i) : 0.0;
        bool promising = expected > best;
        if ((!near && !promising) || !is_open(search, i))
            continue;
        if (!near)
            neighbour = (struct neighbour){.point = i, .ring = 1, .leader = leading};
        neighbour.expected = expected;
        count = insert(list, count, most, &neighbour);
    }
    for (size_t i = 0; i < count; i++)
        tune_add(batch, list[i].point, search->rules.window_s);
}

/* With about as many in flight as the best has: few workers do not show what a setting is good for.
 */
static bool is_tried(const struct tune_search *search, const struct tune_candidate *best, int axis,
                     uint32_t value)
{
    for (size_t i = 0; i < search->known_count; i++) {
        const struct tune_candidate *one = &search->candidates[search->known[i]];
        double ratio = tune_in_flight(one) / tune_in_flight(best);
        if (one->axes[axis] == value && ratio <= TRIED_FACTOR && ratio >= 1.0 / TRIED_FACTOR)
            return true;
    }
    return false;
}

/* Every setting is looked at once, in what is nearest to the best of those that have it. */
static void add_untried_settings(const struct tune_search *search, size_t best, size_t most,
                                 struct tune_batch *batch)
{
    const struct tune_candidate *from = &search->candidates[best];
    for (int axis = 0; axis < TUNE_AXES; axis++) {
        size_t nearest = TUNE_NO_POINT;
        double least = INFINITY;
        for (size_t i = 0; i < search->count; i++) {
            const struct tune_candidate *one = &search->candidates[i];
            if (is_tried(search, from, axis, one->axes[axis]) || !is_open(search, i))
                continue;
            double far = steps_between(from, one);
            if (far < least) {
                least = far;
                nearest = i;
            }
        }
        if (nearest != TUNE_NO_POINT && batch->count < most)
            tune_add(batch, nearest, search->rules.window_s);
    }
}

/* The best of each family that is not far below the best of all, best first. */
static size_t family_leaders(const struct tune_search *search, size_t *out)
{
    size_t count = 0;
    for (unsigned family = 0; family < FAMILIES; family++) {
        size_t best = TUNE_NO_POINT;
        for (size_t i = 0; i < search->known_count; i++) {
            size_t point = search->known[i];
            if (family_of(&search->candidates[point]) == family && tune_may_win(search, point) &&
                (best == TUNE_NO_POINT || tune_better(search, point, best)))
                best = point;
        }
        if (best == TUNE_NO_POINT || search->states[best].seen.value <
                                         FAMILY_SHARE * search->states[search->best].seen.value)
            continue;
        count = tune_rank(search, tune_better, best, out, count, FAMILIES);
    }
    return count;
}

bool tune_add_near(const struct tune_search *search, size_t room, struct tune_batch *batch)
{
    size_t leaders[FAMILIES + 1], most = room < NEAR_BATCH ? room : NEAR_BATCH;
    size_t leading = tune_leaders(search, leaders, LEADERS);
    while (leading > 1 && search->states[leaders[leading - 1]].seen.value <
                              LEADER_SHARE * search->states[leaders[0]].seen.value)
        leading--;
    if (leading == 0)
        return false;
    add_neighbours(search, leaders, leading, false, most, batch);
    if (batch->count == 0)
        add_untried_settings(search, leaders[0], most, batch);
    if (batch->count == 0) {
        leading = family_leaders(search, leaders);
        add_neighbours(search, leaders, leading, true, most, batch);
    }
    return batch->count > 0;
}
