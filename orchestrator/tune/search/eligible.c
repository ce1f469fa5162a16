#include "job/queues.h"
#include "orchestrator/tune/search/internal.h"

/* Ceilings and predictions come from figures that are a few percent off; where measurements show
 * that ceilings are further off, less is ruled out by them. */
#define CEILING_SLACK 1.1
#define LATENCY_SLACK 1.4
#define PREDICTED_CPU_SLACK 1.4

/* Settings that never worked, and failed so often, are not tried again. */
#define DEAD_AFTER 3

/* All queues of clients and server together are limited, whatever the clients do with them. */
static bool has_as_many_queues(const struct tune_candidate *one, const struct tune_candidate *other)
{
    return one->processes >= other->processes &&
           mps_queues(one->processes, one->connections) >=
               mps_queues(other->processes, other->connections);
}

bool tune_has_room(const struct tune_search *search, const struct tune_candidate *refused)
{
    for (size_t i = 0; i < search->known_count; i++) {
        const struct tune_candidate *known = &search->candidates[search->known[i]];
        if (known->axes[TUNE_AXIS_MPS] && has_as_many_queues(known, refused))
            return true;
    }
    return false;
}

static bool is_more_of(const struct tune_candidate *one, const struct tune_candidate *other)
{
    return one->processes >= other->processes && one->threads >= other->threads &&
           tune_streams_of(one) >= tune_streams_of(other) &&
           one->connections >= other->connections &&
           one->axes[TUNE_AXIS_LAUNCH] == other->axes[TUNE_AXIS_LAUNCH];
}

/* Each process has a context, and each iteration in flight its buffers, however they are launched.
 * A limit on the memory of a client is another matter. */
static bool takes_as_much_memory(const struct tune_candidate *one,
                                 const struct tune_candidate *other)
{
    return one->processes >= other->processes && tune_in_flight(one) >= tune_in_flight(other) &&
           one->axes[TUNE_AXIS_LIMIT] == 0 && other->axes[TUNE_AXIS_LIMIT] == 0;
}

/* Whether over MPS the driver had no room for another client. A program dies of that by itself; one
 * that lacks threads has its clients. */
static bool was_crowded(const struct tune_search *search, size_t refused)
{
    const struct tune_observation *seen = &search->states[refused].seen;
    bool died = search->rules.program && seen->unready && seen->threads == 0;
    return seen->crowded || (died && search->candidates[refused].axes[TUNE_AXIS_MPS]);
}

bool tune_search_lacks_threads(const struct tune_search *search, size_t point)
{
    for (size_t i = 0; i < search->refused_count; i++) {
        unsigned threads = search->states[search->refused[i]].seen.threads;
        if (threads && search->candidates[point].threads > threads)
            return true;
    }
    return false;
}

bool tune_search_is_beyond(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    if (search->states[point].knowledge != TUNE_UNTRIED)
        return false;
    if (tune_search_lacks_threads(search, point))
        return true;
    for (size_t i = 0; i < search->refused_count; i++) {
        const struct tune_candidate *other = &search->candidates[search->refused[i]];
        const struct tune_observation *seen = &search->states[search->refused[i]].seen;
        bool refused = seen->outcome == TUNE_INFEASIBLE;
        bool crowded = was_crowded(search, search->refused[i]);
        if (one->axes[TUNE_AXIS_MPS] == other->axes[TUNE_AXIS_MPS] &&
            ((refused && is_more_of(one, other)) ||
             (refused && seen->full && takes_as_much_memory(one, other)) ||
             (crowded && has_as_many_queues(one, other) && !tune_has_room(search, other))))
            return true;
    }
    return false;
}

static bool has_worked(const struct tune_search *search, int axis, uint32_t value)
{
    for (size_t i = 0; i < search->known_count; i++)
        if (search->candidates[search->known[i]].axes[axis] == value)
            return true;
    return false;
}

/* Whether what did not even start has one setting only that has never worked, and this one: more
 * processes than have worked are such a setting, too. What is not a client of MPS fails for that
 * alone. */
static bool is_blamed(const struct tune_search *search, int axis, uint32_t value)
{
    unsigned worked = tune_most_processes(search);
    for (size_t i = 0; i < search->refused_count; i++) {
        size_t refused = search->refused[i];
        const uint32_t *axes = search->candidates[refused].axes;
        unsigned others = search->candidates[refused].processes > worked;
        if (search->states[refused].seen.unattached && axis == TUNE_AXIS_MPS && axes[axis] == value)
            return true;
        if (!search->states[refused].seen.unready || axes[axis] != value)
            continue;
        for (int other = 0; other < TUNE_AXES; other++)
            others += other != axis && !has_worked(search, other, axes[other]);
        if (others == 0 && !has_worked(search, axis, value))
            return true;
    }
    return false;
}

bool tune_has_dead_setting(const struct tune_search *search, size_t point)
{
    const uint32_t *axes = search->candidates[point].axes;
    bool enough = search->refused_count >= DEAD_AFTER;
    for (int axis = 0; axis < TUNE_AXES && search->rules.program; axis++)
        if (is_blamed(search, axis, axes[axis]))
            return true;
    for (int axis = 0; axis < TUNE_AXES && enough; axis++) {
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

bool tune_is_open(const struct tune_search *search, size_t best, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    if (search->states[point].knowledge != TUNE_UNTRIED || one->excluded || one->outside)
        return false;
    if (tune_search_is_beyond(search, point))
        return false;
    if (search->rules.max_p99_us > 0.0 && one->mean_us > LATENCY_SLACK * search->rules.max_p99_us)
        return false;
    if (search->rules.max_cpus > 0.0 && one->cpus > PREDICTED_CPU_SLACK * search->rules.max_cpus)
        return false;
    if (one->ceiling > 0.0 && best != TUNE_NO_POINT && tune_meets(search, best) &&
        one->ceiling * CEILING_SLACK * search->surpassed < search->states[best].seen.low)
        return false;
    return true;
}
