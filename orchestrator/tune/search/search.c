#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/tune/search/internal.h"

/* A look takes this share of the time, within bounds. */
#define LOOK_BUDGET_SHARE 0.008
#define LOOK_LEAST_S 0.1

/* All looks at a program are at least so long, as a share of a start, but not longer than windows
 * of the finals: what a start serves is little beside it, and a host may have two levels. */
#define LOOK_START_SHARE 0.25

enum status tune_search_new(const struct tune_candidate *candidates, size_t count,
                            const struct tune_rules *rules, struct tune_search **out)
{
    struct tune_search *search = calloc(1, sizeof *search);
    if (!search)
        return status_set(STATUS_MEMORY, "out of memory");
    search->held = TUNE_NO_POINT;
    search->candidates = calloc(count + 1, sizeof *search->candidates);
    search->states = calloc(count + 1, sizeof *search->states);
    search->known = calloc(count + 1, sizeof *search->known);
    search->refused = calloc(count + 1, sizeof *search->refused);
    if (!search->candidates || !search->states || !search->known || !search->refused) {
        tune_search_free(search);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    memcpy(search->candidates, candidates, count * sizeof *candidates);
    search->count = count;
    search->rules = *rules;
    search->final_s = rules->final_s;
    search->surpassed = 1.0;
    if (search->rules.rounds_most > TUNE_ROUNDS_MOST)
        search->rules.rounds_most = TUNE_ROUNDS_MOST;
    if (search->rules.rounds_unsure < search->rules.rounds_most)
        search->rules.rounds_unsure = search->rules.rounds_most;
    if (search->rules.rounds_unsure > TUNE_ROUNDS_MOST)
        search->rules.rounds_unsure = TUNE_ROUNDS_MOST;
    const bool matters[] = {
        [TUNE_VALUE] = true,
        [TUNE_P99] = rules->max_p99_us > 0.0,
        [TUNE_CPUS] = rules->max_cpus > 0.0,
    };
    enum status status = STATUS_OK;
    for (int i = 0; i < TUNE_QUANTITIES && status == STATUS_OK; i++)
        if (matters[i])
            status = tune_belief_init(search, (enum tune_quantity)i, &search->beliefs[i]);
    if (status == STATUS_OK)
        *out = search;
    else
        tune_search_free(search);
    return status;
}

void tune_search_free(struct tune_search *search)
{
    if (!search)
        return;
    free(search->candidates);
    free(search->states);
    free(search->known);
    free(search->refused);
    for (int i = 0; i < TUNE_QUANTITIES; i++)
        tune_belief_release(&search->beliefs[i]);
    free(search);
}

/* -- what is found ----------------------------------------------------------------------------- */

static void forget(size_t *list, size_t *count, size_t point)
{
    for (size_t i = 0; i < *count; i++) {
        if (list[i] != point)
            continue;
        memmove(list + i, list + i + 1, (*count - i - 1) * sizeof *list);
        (*count)--;
        return;
    }
}

static void keep(struct tune_search *search, size_t point,
                 const struct tune_observation *observation)
{
    struct tune_state *state = &search->states[point];
    bool works = observation->outcome == TUNE_MEASURED;
    double ceiling = search->candidates[point].ceiling;
    search->noted++;
    forget(search->known, &search->known_count, point);
    forget(search->refused, &search->refused_count, point);
    state->seen = *observation;
    state->knowledge = works ? TUNE_KNOWN : TUNE_NOT_WORKING;
    if (works && ceiling > 0.0)
        search->surpassed = fmax(search->surpassed, observation->low / ceiling);
    if (works)
        search->known[search->known_count++] = point;
    else
        search->refused[search->refused_count++] = point;
    /* A layout that fails once in many times must not be deployed. */
    state->dropped |= !works;
}

void tune_search_note(struct tune_search *search, size_t point,
                      const struct tune_observation *observation)
{
    struct tune_state *state = &search->states[point];
    search->looks++;
    keep(search, point, observation);
    if (observation->outcome != TUNE_MEASURED || !(observation->value > 0.0))
        return;
    double weight = pow(tune_noise_of(observation), -2.0);
    /* A rate that was found is the least that it may be. */
    double value = search->rules.resolution > 0.0 ? sqrt(observation->low * observation->high)
                                                  : observation->value;
    state->looked += weight * log(value);
    state->look_squares += weight * pow(log(value), 2.0);
    state->look_weight += weight;
    state->looks++;
    tune_belief_note(search, point);
}

void tune_search_lower_rounds(struct tune_search *search, size_t point, double value)
{
    struct tune_state *state = &search->states[point];
    for (unsigned i = 0; i < state->rounds; i++)
        state->values[i] = fmin(state->values[i], value);
}

void tune_search_note_round(struct tune_search *search, size_t point, double value,
                            const struct tune_observation *observation)
{
    struct tune_state *state = &search->states[point];
    struct tune_observation seen = *observation;
    /* The most of all rounds. */
    if (state->rounds > 0)
        seen.cpus = fmax(seen.cpus, state->seen.cpus);
    if (observation->outcome == TUNE_MEASURED && value > 0.0 && state->rounds < TUNE_ROUNDS_MOST)
        state->values[state->rounds++] = value;
    keep(search, point, &seen);
}

/* -- the stages -------------------------------------------------------------------------------- */

static void add_all(const struct tune_search *search, struct tune_batch *batch)
{
    for (size_t i = 0; i < search->count && batch->count < TUNE_BATCH_MOST; i++)
        if (search->states[i].knowledge == TUNE_UNTRIED && !search->candidates[i].excluded &&
            !search->candidates[i].outside)
            tune_add(batch, i, search->look_s);
}

/* What a program may need, or not bear, beside what each layout has. */
#define TRAITS 4

static bool trait_of(const struct tune_candidate *one, int trait)
{
    const bool traits[TRAITS] = {one->axes[TUNE_AXIS_MPS], one->processes > 1, one->threads > 1,
                                 one->axes[TUNE_AXIS_BIND]};
    return traits[trait];
}

/* How many of them are other ones than those of all that did not work. */
static unsigned new_traits(const struct tune_search *search, size_t point)
{
    unsigned count = 0;
    for (int trait = 0; trait < TRAITS; trait++) {
        bool has = trait_of(&search->candidates[point], trait), is_new = true;
        for (size_t i = 0; i < search->refused_count && is_new; i++)
            is_new = trait_of(&search->candidates[search->refused[i]], trait) != has;
        count += is_new;
    }
    return count;
}

/* Whether one shows more than the other of a program of which nothing is known to work: the less
 * it differs from what did not, the more surely that is the reason. */
static bool is_plainer(const struct tune_search *search, size_t one, size_t other)
{
    unsigned a = new_traits(search, one), b = new_traits(search, other);
    return a != b ? a < b
                  : tune_in_flight(&search->candidates[one]) <
                        tune_in_flight(&search->candidates[other]);
}

/* Processes over MPS of a program's first start. */
#define FIRST_CREW 4

/* Whether a layout has all settings of the plainest one, but more processes, over MPS. */
static bool is_first_crew(const struct tune_search *search, size_t plainest, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    const struct tune_candidate *plain = &search->candidates[plainest];
    bool same = one->axes[TUNE_AXIS_MPS] && one->threads == plain->threads &&
                one->streams == plain->streams && one->share == plain->share;
    for (int axis = 0; axis < TUNE_AXES; axis++)
        same &= axis == TUNE_AXIS_MPS || one->axes[axis] == plain->axes[axis];
    return same && one->processes <= FIRST_CREW && !one->excluded && !one->outside;
}

/* A few processes, where nothing has failed yet: their start takes hardly longer than that of one,
 * and they serve one and two as well. With few hardware queues, which find room. */
static size_t first_crew(const struct tune_search *search, size_t plainest)
{
    const struct tune_rules *rules = &search->rules;
    const struct tune_candidate *best = &search->candidates[plainest];
    if (search->refused_count > 0 || rules->server || rules->names_processes ||
        rules->max_cpus > 0.0)
        return plainest;
    for (size_t i = 0; i < search->count; i++) {
        const struct tune_candidate *one = &search->candidates[i];
        if (is_first_crew(search, plainest, i) &&
            (one->processes > best->processes ||
             (one->processes == best->processes && one->connections < best->connections)))
            best = one;
    }
    return (size_t)(best - search->candidates);
}

/* Until something of a program works: few workers, since how long a start takes is not known yet,
 * nor whether the program has the threads of others; then what differs from all that failed, in as
 * little as can be. False: nothing does. */
static bool add_first(const struct tune_search *search, struct tune_batch *batch)
{
    size_t first = TUNE_NO_POINT;
    for (size_t i = 0; i < search->count; i++)
        if (search->states[i].knowledge == TUNE_UNTRIED && !search->candidates[i].excluded &&
            !search->candidates[i].outside && new_traits(search, i) > 0 &&
            (first == TUNE_NO_POINT || is_plainer(search, i, first)))
            first = i;
    if (first != TUNE_NO_POINT)
        tune_add(batch, first_crew(search, first), search->look_s);
    return batch->count > 0;
}

/* A program that never got ready, however it was tried, does not work. One that did may do so with
 * more workers, and what an earlier run showed may have been mended. */
static bool is_unproved(const struct tune_search *search)
{
    bool unready = true;
    for (size_t i = 0; i < search->refused_count; i++)
        unready &= search->states[search->refused[i]].seen.unready;
    return search->rules.program && search->known_count == 0 && unready &&
           (search->refused_count == 0 || !search->rules.exhaustive);
}

/* Nothing more seems to be worth a look, and there is time beside all rounds of the finals: what
 * was learned may be wrong. */
static bool add_doubtful(struct tune_search *search, double seconds_most, struct tune_batch *batch)
{
    double most_s = fmin(seconds_most, search->left_s - tune_whole_finals_s(search));
    bool any = false, too_dear = false;
    if (!search->rules.predicted || search->rules.trusted || isinf(search->left_s))
        return false;
    while (!any && !too_dear && tune_belief_doubt(search))
        any = tune_belief_renew(search, TUNE_GROWTH) == STATUS_OK &&
              tune_choose(search, most_s, most_s, batch, &too_dear);
    return any;
}

static bool add_looks(struct tune_search *search, struct tune_batch *batch)
{
    bool too_dear = false;
    if (is_unproved(search))
        return add_first(search, batch);
    if (search->rules.exhaustive) {
        add_all(search, batch);
        return batch->count > 0;
    }
    if (search->looks >= TUNE_LOOKS_MOST || tune_belief_renew(search, TUNE_GROWTH) != STATUS_OK)
        return false;
    double most_s = INFINITY, held_s = INFINITY;
    if (isfinite(search->left_s)) {
        most_s = search->left_s - tune_reserve_s(search, true);
        held_s = search->left_s - tune_reserve_s(search, false);
    }
    bool any = tune_choose(search, most_s, held_s, batch, &too_dear);
    search->cut |= !any && too_dear;
    return any || (!too_dear && add_doubtful(search, most_s, batch));
}

/* For comparison, in the time that remains: what costs little comes first. */
static bool add_naive(const struct tune_search *search, struct tune_batch *batch)
{
    double spent_s = 0.0;
    for (;;) {
        size_t cheapest = TUNE_NO_POINT;
        double least_s = search->left_s - spent_s;
        for (size_t i = 0; i < search->count; i++) {
            double seconds = tune_look_seconds(search, i);
            bool added = false;
            for (size_t j = 0; j < batch->count; j++)
                added |= batch->items[j].point == i;
            if (!search->candidates[i].naive || search->candidates[i].excluded || added ||
                search->states[i].knowledge != TUNE_UNTRIED || !(seconds < least_s))
                continue;
            least_s = seconds;
            cheapest = i;
        }
        if (cheapest == TUNE_NO_POINT)
            return batch->count > 0;
        spent_s += least_s;
        tune_add(batch, cheapest, search->look_s);
    }
}

/* One of the obvious layouts may seem better than all finalists: it gets rounds of its own,
 * once. */
static bool add_late_finals(struct tune_search *search, struct tune_batch *batch)
{
    size_t best = tune_search_best(search);
    if (search->reopened || best == TUNE_NO_POINT || search->states[best].rounds > 0 ||
        !tune_add_round(search, batch))
        return false;
    search->reopened = true;
    search->stage = TUNE_STAGE_FINAL;
    return true;
}

/* The finals and the obvious layouts may change what is believed: what they leave of the time is
 * for looks that are worth it now, and for finals of these. */
static bool add_later_looks(struct tune_search *search, struct tune_batch *batch)
{
    if (search->cut || search->rules.exhaustive || tune_belief_renew(search, 1.0) != STATUS_OK ||
        !add_looks(search, batch))
        return false;
    search->stage = TUNE_STAGE_LOOK;
    return true;
}

/* Chooses the batch of the stage that the search is in. False: it has none. */
static bool fill(struct tune_search *search, struct tune_batch *batch)
{
    switch (search->stage) {
    case TUNE_STAGE_LOOK:
        return add_looks(search, batch);
    case TUNE_STAGE_FINAL:
        return tune_add_round(search, batch);
    case TUNE_STAGE_NAIVE:
        return !is_unproved(search) && (add_naive(search, batch) || add_late_finals(search, batch));
    default:
        return false;
    }
}

void tune_search_hold(struct tune_search *search, size_t point)
{
    search->held = point;
}

void tune_search_next(struct tune_search *search, double seconds_left,
                      const struct tune_costs *costs, struct tune_batch *out)
{
    *out = (struct tune_batch){0};
    search->left_s = seconds_left;
    search->costs = *costs;
    if (search->budget_s <= 0.0) {
        search->budget_s = seconds_left;
        search->look_s =
            fmin(search->rules.window_s, fmax(LOOK_LEAST_S, LOOK_BUDGET_SHARE * search->budget_s));
    }
    if (search->rules.program) {
        double worth_s = fmin(LOOK_START_SHARE * costs->start_s, search->rules.final_s);
        search->look_s = fmax(search->look_s, worth_s);
    }
    /* Nothing came of the last batch: there was no time for it, and there will be none. */
    if (search->asked && search->noted == 0 && search->stage < TUNE_STAGE_DONE) {
        search->cut |= search->stage < TUNE_STAGE_NAIVE;
        search->stage++;
    }
    search->noted = 0;
    while (search->stage < TUNE_STAGE_DONE && !fill(search, out)) {
        *out = (struct tune_batch){0};
        search->stage++;
    }
    if (search->stage == TUNE_STAGE_DONE && !add_later_looks(search, out))
        *out = (struct tune_batch){0};
    out->stage = search->stage;
    if (out->count > 0)
        search->held_looks = tune_is_held(search, out->items[0].point) ? search->held_looks + 1 : 1;
    search->asked = out->count > 0;
}
