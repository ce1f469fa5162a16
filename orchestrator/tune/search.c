#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/tune/search_internal.h"

/* A look takes this share of the time, within bounds. */
#define LOOK_BUDGET_SHARE 0.008
#define LOOK_LEAST_S 0.1

/* All rounds of this many layouts are to be paid for in any case, with windows at least that long,
 * and of all finalists if that is not more than this share of the time. */
#define FINALS_COUNT 2
#define FINALS_SHARE 0.3
#define FINAL_LEAST_S 0.2

/* Finalists are chosen among this many. */
#define FINALISTS_FROM 12

/* Who is further below the best than that many standard deviations cannot be a finalist. */
#define FAR_BELOW 2.0

/* Iterations that it takes to bound a 99th percentile from above, with some to spare; and how much
 * longer than otherwise a window of the finals may be for them. */
#define PERCENTILE_SAMPLES 500.0
#define LONGEST_FINAL 8.0

enum status tune_search_new(const struct tune_candidate *candidates, size_t count,
                            const struct tune_rules *rules, struct tune_search **out)
{
    struct tune_search *search = calloc(1, sizeof *search);
    if (!search)
        return status_set(STATUS_MEMORY, "out of memory");
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
    search->noted++;
    forget(search->known, &search->known_count, point);
    forget(search->refused, &search->refused_count, point);
    state->seen = *observation;
    state->knowledge = works ? TUNE_KNOWN : TUNE_NOT_WORKING;
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
    state->looked += weight * log(observation->value);
    state->look_weight += weight;
    tune_belief_note(search, point, observation);
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

/* -- time -------------------------------------------------------------------------------------- */

/* How long a window of the finals should be for the percentile, where that counts. */
static double percentile_s(const struct tune_search *search, size_t point)
{
    const struct tune_rules *rules = &search->rules;
    double ips = search->states[point].seen.ips;
    if (rules->max_p99_us <= 0.0 || ips <= 0.0)
        return 0.0;
    double window_s = PERCENTILE_SAMPLES / ips / rules->rounds_least;
    return fmin(window_s, LONGEST_FINAL * rules->final_s);
}

static double final_window_s(const struct tune_search *search, size_t point)
{
    return fmax(search->final_s, percentile_s(search, point));
}

static double round_seconds(const struct tune_search *search, const size_t *points, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += tune_seconds_of(search, points[i], final_window_s(search, points[i]));
    return sum;
}

/* What has to be left for the finals. */
static double reserve_s(const struct tune_search *search)
{
    size_t leaders[TUNE_FINALISTS + 1];
    size_t count = tune_leaders(search, leaders, TUNE_FINALISTS);
    double all_s = search->rules.rounds_least * round_seconds(search, leaders, count);
    return fmin(all_s, FINALS_SHARE * search->budget_s);
}

/* -- the stages -------------------------------------------------------------------------------- */

static void add_all(const struct tune_search *search, struct tune_batch *batch)
{
    for (size_t i = 0; i < search->count && batch->count < TUNE_BATCH_MOST; i++)
        if (search->states[i].knowledge == TUNE_UNTRIED && !search->candidates[i].excluded &&
            !search->candidates[i].outside)
            tune_add(batch, i, search->look_s);
}

static bool add_looks(struct tune_search *search, struct tune_batch *batch)
{
    bool too_dear = false;
    if (search->rules.exhaustive) {
        add_all(search, batch);
        return batch->count > 0;
    }
    if (search->looks >= TUNE_LOOKS_MOST || tune_belief_renew(search, TUNE_GROWTH) != STATUS_OK)
        return false;
    double most_s = isinf(search->left_s) ? INFINITY : search->left_s - reserve_s(search);
    bool any = tune_choose(search, most_s, batch, &too_dear);
    search->cut |= !any && too_dear;
    return any;
}

/* Takes a point out of a list. */
static size_t take(size_t *list, size_t *count, size_t at)
{
    size_t point = list[at];
    forget(list, count, point);
    return point;
}

/* Those that may yet turn out to be the best, best first, and which do not surely break the
 * constraints; where all do, the nearest to it. One round alone rules nothing out. */
static size_t contenders(const struct tune_search *search, size_t *out)
{
    size_t standing[TUNE_LOOKS_MOST + 1], count = 0;
    size_t found = tune_stand(search, standing);
    for (size_t i = 0; i < found && count < TUNE_EQUAL_MOST; i++) {
        const struct tune_state *state = &search->states[standing[i]];
        const struct tune_state *best = &search->states[standing[0]];
        bool breaks = tune_breaks(search, standing[i]) && tune_fits(search, standing[0]);
        bool may = state->believed + FAR_BELOW * state->doubt >= best->believed;
        if (!state->dropped && !breaks && (may || state->rounds == 1))
            out[count++] = standing[i];
    }
    return count;
}

/* Of contenders in turn the best one left, and the one to be preferred among those that seem to be
 * as good: both the most and the cheapest of a plateau get to the finals. */
static size_t survivors(const struct tune_search *search, size_t *out, size_t most)
{
    size_t left[TUNE_EQUAL_MOST], count = 0;
    enum tune_reason reason;
    size_t found = contenders(search, left);
    double least = found > 0 ? search->states[left[0]].believed - TUNE_SAME : 0.0;
    while (found > 0 && count < most) {
        out[count++] = take(left, &found, 0);
        size_t equals = 0;
        while (equals < found && tune_fits(search, left[equals]) &&
               search->states[left[equals]].believed + search->states[left[equals]].doubt >= least)
            equals++;
        if (equals == 0 || count == most)
            continue;
        size_t preferred = tune_prefer(search, left, equals, &reason), at = 0;
        while (left[at] != preferred)
            at++;
        out[count++] = take(left, &found, at);
    }
    return count;
}

static bool is_surer(const struct tune_search *search, size_t a, size_t b)
{
    return tune_meets(search, a) && !tune_meets(search, b);
}

static bool is_sure(const struct tune_search *search, size_t point)
{
    return tune_may_win(search, point) && tune_meets(search, point) &&
           !search->states[point].dropped;
}

/* Whether more rounds of a point would change nothing. */
static bool is_settled(const struct tune_search *search, size_t best, size_t point)
{
    const struct tune_rules *rules = &search->rules;
    const struct tune_state *state = &search->states[point];
    bool unsure = state->rounds > 0 && tune_fits(search, point) && !tune_meets(search, point);
    if (state->rounds >= (unsure ? rules->rounds_unsure : rules->rounds_most))
        return true;
    return point != best && !unsure && state->rounds >= rules->rounds_least &&
           tune_is_told_apart(search, best, point);
}

/* Half of the places are for those that surely meet the constraint, where there are any; they come
 * first, as the last are left out where time is short. */
static size_t choose_finalists(const struct tune_search *search, size_t *out)
{
    size_t points[FINALISTS_FROM + 1], sure[2], count = 0, unsure = 0;
    size_t found = survivors(search, points, FINALISTS_FROM);
    bool any_sure = tune_rank_all(search, is_sure, tune_better, sure, 1) > 0;
    for (size_t i = 0; i < found && count < TUNE_FINALISTS; i++) {
        bool meets = tune_meets(search, points[i]);
        if (is_settled(search, points[0], points[i]))
            continue;
        if (!meets && any_sure && unsure == TUNE_FINALISTS / 2)
            continue;
        unsure += !meets;
        out[count++] = points[i];
    }
    /* However much better others seem to be. */
    size_t best = found > 0 ? points[0] : TUNE_NO_POINT;
    if (any_sure && unsure == count && (found == 0 || !is_settled(search, best, sure[0]))) {
        count -= count == TUNE_FINALISTS;
        out[count++] = sure[0];
    }
    for (size_t i = 1; i < count; i++)
        tune_rank(search, is_surer, out[i], out, i, count);
    return count;
}

/* More rounds of the only one left would change nothing. */
static bool is_decided(const struct tune_search *search, const size_t *points, size_t count)
{
    return count == 0 || (count == 1 && tune_meets(search, points[0]) &&
                          search->states[points[0]].rounds >= search->rules.rounds_least);
}

/* Windows as long as there is time for in all rounds of the first finalists. */
static void begin_finals(struct tune_search *search)
{
    size_t points[TUNE_FINALISTS + 1] = {0};
    size_t chosen = choose_finalists(search, points);
    size_t count = chosen < FINALS_COUNT ? chosen : FINALS_COUNT;
    unsigned rounds = search->rules.rounds_least;
    search->begun = true;
    for (search->final_s = search->rules.final_s; count > 0; count--) {
        double spare_s = search->left_s - rounds * round_seconds(search, points, count);
        if (isinf(spare_s) || spare_s >= 0.0)
            break;
        double shorter_s = search->final_s + spare_s / (rounds * count);
        if (shorter_s >= fmin(FINAL_LEAST_S, search->rules.final_s)) {
            search->final_s = shorter_s;
            break;
        }
    }
    /* Where there is no time for all rounds, two of the best are better than none. */
    if (count == 0 && chosen > 0) {
        search->final_s = fmin(FINAL_LEAST_S, search->rules.final_s);
        count = 2.0 * round_seconds(search, points, 1) < search->left_s;
    }
    search->cut |= count < chosen && count < FINALS_COUNT;
}

/* Where nothing is left to compare with it, a sole best goes on beside those that are not worse
 * beyond doubt. */
static size_t add_rivals(const struct tune_search *search, size_t *points)
{
    size_t standing[TUNE_LOOKS_MOST + 1], count = 0;
    size_t found = tune_stand(search, standing);
    for (size_t i = 0; i < found && count < TUNE_FINALISTS; i++) {
        const struct tune_state *state = &search->states[standing[i]];
        if (state->rounds > 0 && state->rounds < search->rules.rounds_most && !state->dropped &&
            (i == 0 || tune_is_rival(search, standing[0], standing[i])))
            points[count++] = standing[i];
    }
    return count > 1 ? count : 0;
}

/* One round of those that may still win, as many as there are places and time for. False: it is
 * over. */
static bool add_round(struct tune_search *search, struct tune_batch *batch)
{
    size_t points[TUNE_FINALISTS + 1] = {0};
    if (!search->begun)
        begin_finals(search);
    size_t count = choose_finalists(search, points);
    if (is_decided(search, points, count) && (count = add_rivals(search, points)) == 0)
        return false;
    while (count > 0 && round_seconds(search, points, count) > search->left_s)
        count--;
    for (size_t i = 0; i < count; i++)
        tune_add(batch, points[i], final_window_s(search, points[i]));
    search->cut |= count == 0;
    batch->fresh = true;
    return count > 0;
}

/* For comparison, in the time that remains: what costs little comes first. */
static bool add_naive(const struct tune_search *search, struct tune_batch *batch)
{
    double spent_s = 0.0;
    for (;;) {
        size_t cheapest = TUNE_NO_POINT;
        double least_s = search->left_s - spent_s;
        for (size_t i = 0; i < search->count; i++) {
            double seconds = tune_seconds_of(search, i, search->look_s);
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

/* Chooses the batch of the stage that the search is in. False: it has none. */
static bool fill(struct tune_search *search, struct tune_batch *batch)
{
    switch (search->stage) {
    case TUNE_STAGE_LOOK:
        return add_looks(search, batch);
    case TUNE_STAGE_FINAL:
        return add_round(search, batch);
    case TUNE_STAGE_NAIVE:
        return add_naive(search, batch);
    default:
        return false;
    }
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
    out->stage = search->stage;
    search->asked = out->count > 0;
}
