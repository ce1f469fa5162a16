#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/tune/search_internal.h"

/* Of the points of a space, at most this share is looked at, and in a small one this number. */
#define LOOK_SHARE 0.08
#define LOOK_LEAST 48

/* Longer windows for at most this many, twice as long each time. */
#define HALVE_MOST 12
#define RUNGS 3

/* The finals are to be paid for in any case, but not with more than this share of the time. */
#define FINALS_SHARE 0.5
#define FINALS_COUNT 3

/* Finalists are chosen anew at most so often. */
#define ELECTIONS 3

/* Of two windows that differ by less, either may be of the better layout. */
#define NEARLY_SAME 0.03

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
    search->best = TUNE_NO_POINT;
    if (search->rules.rounds_most > TUNE_ROUNDS_MOST)
        search->rules.rounds_most = TUNE_ROUNDS_MOST;
    *out = search;
    return STATUS_OK;
}

void tune_search_free(struct tune_search *search)
{
    if (!search)
        return;
    free(search->candidates);
    free(search->states);
    free(search->known);
    free(search->refused);
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

void tune_search_note(struct tune_search *search, size_t point,
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
    if (tune_leaders(search, &search->best, 1) == 0)
        search->best = TUNE_NO_POINT;
}

void tune_search_note_round(struct tune_search *search, size_t point, double value,
                            const struct tune_observation *observation)
{
    struct tune_state *state = &search->states[point];
    struct tune_observation seen = *observation;
    /* The most of all rounds. */
    if (state->rounds > 0)
        seen.cpus = fmax(seen.cpus, state->seen.cpus);
    if (observation->outcome == TUNE_MEASURED && state->rounds < TUNE_ROUNDS_MOST)
        state->values[state->rounds++] = value;
    tune_search_note(search, point, &seen);
}

/* -- time -------------------------------------------------------------------------------------- */

static double seconds_of(const struct tune_search *search, const struct tune_costs *costs,
                         size_t point, double window_s)
{
    return costs->point_s + window_s + costs->start_s +
           costs->process_s * search->candidates[point].processes;
}

/* Whether the processes of one point can serve another one, as far as numbers show (turns.h). */
static bool may_serve(const struct tune_candidate *started_for, const struct tune_candidate *one)
{
    return started_for->processes >= one->processes &&
           started_for->axes[TUNE_AXIS_MPS] == one->axes[TUNE_AXIS_MPS] &&
           (one->axes[TUNE_AXIS_MPS] || started_for->processes == one->processes) &&
           started_for->connections == one->connections &&
           started_for->axes[TUNE_AXIS_SCHEDULE] == one->axes[TUNE_AXIS_SCHEDULE] &&
           started_for->axes[TUNE_AXIS_DAEMONS] == one->axes[TUNE_AXIS_DAEMONS] &&
           started_for->axes[TUNE_AXIS_SHARE] == one->axes[TUNE_AXIS_SHARE];
}

/* How long a window of the finals must be for the percentile, where that counts. */
static double final_window_s(const struct tune_search *search, size_t point)
{
    const struct tune_rules *rules = &search->rules;
    double ips = search->states[point].seen.ips, window_s = rules->final_s;
    if (rules->max_p99_us > 0.0 && ips > 0.0)
        window_s = fmax(window_s, PERCENTILE_SAMPLES / ips / rules->rounds_least);
    return fmin(window_s, LONGEST_FINAL * rules->final_s);
}

static double round_seconds(const struct tune_search *search, const struct tune_costs *costs,
                            const size_t *points, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += seconds_of(search, costs, points[i], final_window_s(search, points[i]));
    return sum;
}

/* What has to be left for the finals and the windows before them. */
static double reserve_s(const struct tune_search *search, const struct tune_costs *costs)
{
    size_t leaders[FINALS_COUNT + 1];
    size_t count = tune_leaders(search, leaders, FINALS_COUNT);
    double finals_s = search->rules.rounds_least * round_seconds(search, costs, leaders, count);
    double reserve = finals_s;
    for (size_t i = 0; i < count; i++)
        reserve += 2.0 * seconds_of(search, costs, leaders[i], 2.0 * search->rules.window_s);
    return fmin(reserve, FINALS_SHARE * search->budget_s);
}

static bool affordable(const struct tune_search *search, const struct tune_costs *costs,
                       double seconds_left)
{
    size_t best = search->best;
    if (best == TUNE_NO_POINT || isinf(seconds_left))
        return true;
    double next_s = seconds_of(search, costs, best, search->rules.window_s);
    return seconds_left - next_s > reserve_s(search, costs);
}

/* Leaves out what would take from the finals' time; one is left in any case. */
static void trim(const struct tune_search *search, const struct tune_costs *costs,
                 double seconds_left, struct tune_batch *batch)
{
    double spent = 0.0, reserve = isinf(seconds_left) ? 0.0 : reserve_s(search, costs);
    for (size_t i = 0; i < batch->count; i++) {
        const struct tune_item *item = &batch->items[i];
        bool served = false;
        for (size_t j = 0; j < i && !served; j++)
            served = may_serve(&search->candidates[batch->items[j].point],
                               &search->candidates[item->point]);
        spent += served ? costs->point_s + item->window_s
                        : seconds_of(search, costs, item->point, item->window_s);
        if (i > 0 && spent > seconds_left - reserve) {
            batch->count = i;
            return;
        }
    }
}

/* -- the stages -------------------------------------------------------------------------------- */

static void add_naive(const struct tune_search *search, struct tune_batch *batch)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->candidates[i].naive && !search->candidates[i].excluded &&
            search->states[i].knowledge == TUNE_UNTRIED)
            tune_add(batch, i, search->rules.window_s);
}

static void add_all(const struct tune_search *search, struct tune_batch *batch)
{
    for (size_t i = 0; i < search->count && batch->count < TUNE_BATCH_MOST; i++)
        if (search->states[i].knowledge == TUNE_UNTRIED && !search->candidates[i].excluded &&
            !search->candidates[i].outside)
            tune_add(batch, i, search->rules.window_s);
}

static size_t room_to_look(const struct tune_search *search)
{
    size_t most = (size_t)(LOOK_SHARE * (double)search->count);
    size_t tried = search->known_count + search->refused_count;
    most = most < LOOK_LEAST ? LOOK_LEAST : most;
    return tried < most ? most - tried : 0;
}

/* Those that may yet turn out to be the best, best first: whose upper end is above the lower end of
 * the best, and which do not surely break the constraints. */
static size_t contenders(const struct tune_search *search, size_t *out)
{
    size_t leaders[TUNE_CONTENDERS + 1], count = 0;
    size_t found = tune_leaders(search, leaders, TUNE_CONTENDERS);
    if (found == 0)
        return 0;
    /* Of those that fit surely or likely; where none does, the nearest to it. */
    const struct tune_state *best = &search->states[leaders[0]];
    for (size_t i = 0; i < found; i++) {
        const struct tune_state *state = &search->states[leaders[i]];
        if (state->dropped || (tune_breaks(search, leaders[i]) && tune_fits(search, leaders[0])))
            continue;
        if (i == 0 || !(state->seen.high < best->seen.low))
            out[count++] = leaders[i];
    }
    return count;
}

/* Takes a point out of a list. */
static size_t take(size_t *list, size_t *count, size_t at)
{
    size_t point = list[at];
    forget(list, count, point);
    return point;
}

/* Of contenders in turn the best one left, and the one to be preferred among those that seem to be
 * as good: both the most and the cheapest of a plateau get to the finals. */
static size_t survivors(const struct tune_search *search, size_t *out, size_t most)
{
    size_t left[TUNE_CONTENDERS], count = 0;
    enum tune_reason reason;
    size_t found = contenders(search, left);
    double least = found > 0 ? (1.0 - NEARLY_SAME) * search->states[left[0]].seen.value : 0.0;
    while (found > 0 && count < most) {
        out[count++] = take(left, &found, 0);
        size_t equals = 0;
        while (equals < found && tune_fits(search, left[equals]) &&
               search->states[left[equals]].seen.value >= least)
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

/* False: few enough are left, or longer windows would not pay. */
static bool add_halving(struct tune_search *search, const struct tune_costs *costs,
                        double seconds_left, struct tune_batch *batch)
{
    size_t points[HALVE_MOST + 1];
    size_t most = HALVE_MOST >> search->rungs;
    size_t count = survivors(search, points, most);
    double window_s = search->rules.window_s * (double)(2u << search->rungs);
    if (search->rungs == RUNGS || count <= 2 || most < TUNE_FINALISTS / 2)
        return false;
    double reserve = reserve_s(search, costs), spent = 0.0;
    for (size_t i = 0; i < count; i++) {
        spent += seconds_of(search, costs, points[i], window_s);
        if (isfinite(seconds_left) && spent > seconds_left - reserve)
            break;
        tune_add(batch, points[i], fmin(window_s, search->rules.final_s));
    }
    search->rungs++;
    return batch->count > 0;
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

/* Half of the places are for those that surely meet the constraint, where there are any; they come
 * first, as the last are left out where time is short. */
static size_t choose_finalists(const struct tune_search *search, size_t *out)
{
    size_t points[HALVE_MOST + 1], sure[2], count = 0, unsure = 0;
    size_t found = survivors(search, points, HALVE_MOST);
    bool any_sure = tune_rank_all(search, is_sure, tune_better, sure, 1) > 0;
    for (size_t i = 0; i < found && count < TUNE_FINALISTS; i++) {
        bool meets = tune_meets(search, points[i]);
        if (!meets && any_sure && unsure == TUNE_FINALISTS / 2)
            continue;
        unsure += !meets;
        out[count++] = points[i];
    }
    /* However much better others seem to be. */
    if (any_sure && unsure == count) {
        count -= count == TUNE_FINALISTS;
        out[count++] = sure[0];
    }
    for (size_t i = 1; i < count; i++)
        tune_rank(search, is_surer, out[i], out, i, count);
    return count;
}

static void begin_finals(struct tune_search *search, const struct tune_costs *costs,
                         double seconds_left)
{
    size_t points[TUNE_FINALISTS + 1];
    size_t count = choose_finalists(search, points);
    search->elections++;
    while (count > 0 && search->rules.rounds_least * round_seconds(search, costs, points, count) >
                            seconds_left) {
        count--;
        search->cut = true;
    }
    /* Where there is no time for all rounds, two of the best are better than none. */
    if (count == 0 && choose_finalists(search, points) > 0 &&
        2.0 * round_seconds(search, costs, points, 1) < seconds_left)
        count = 1;
    for (size_t i = 0; i < count; i++)
        search->states[points[i]].finalist = true;
}

static bool is_active_finalist(const struct tune_search *search, size_t point)
{
    const struct tune_state *state = &search->states[point];
    return state->finalist && !state->dropped && !(state->rounds > 0 && tune_breaks(search, point));
}

static bool all_same(const struct tune_search *search, const size_t *points, size_t count)
{
    struct estimate best = tune_estimate(search, points[0]);
    for (size_t i = 1; i < count; i++) {
        struct estimate other = tune_estimate(search, points[i]);
        struct effect effect = effect_of(&best, &other);
        if (effect_verdict(&effect, TUNE_SAME) != EFFECT_SAME)
            return false;
    }
    return true;
}

/* Drops those that have lost, and returns whether it is decided. */
static bool is_decided(struct tune_search *search, size_t *points, size_t *count)
{
    const struct tune_rules *rules = &search->rules;
    bool worse[TUNE_FINALISTS] = {false};
    unsigned fewest = UINT32_MAX;
    for (size_t i = 0; i < *count; i++) {
        unsigned rounds = search->states[points[i]].rounds;
        fewest = rounds < fewest ? rounds : fewest;
    }
    if (*count == 0)
        return true;
    if (fewest < rules->rounds_least)
        return false;
    if (fewest >= rules->rounds_most)
        return true;
    /* Its percentile is not known well enough yet. */
    if (!tune_meets(search, points[0]))
        return false;
    if (*count == 1 || all_same(search, points, *count))
        return true;
    tune_mark_worse(search, points[0], points + 1, *count - 1, worse);
    size_t left = 1;
    for (size_t i = 1; i < *count; i++) {
        search->states[points[i]].dropped = worse[i - 1];
        if (!worse[i - 1])
            points[left++] = points[i];
    }
    *count = left;
    return left == 1;
}

/* One round of those that may still win. False: it is over. */
static bool add_round(struct tune_search *search, const struct tune_costs *costs,
                      double seconds_left, struct tune_batch *batch)
{
    size_t points[TUNE_FINALISTS + 1];
    size_t count;
    /* Again where all of them turned out to break the constraint. */
    while ((count = tune_rank_all(search, is_active_finalist, tune_better, points,
                                  TUNE_FINALISTS)) == 0 &&
           search->elections < ELECTIONS)
        begin_finals(search, costs, seconds_left);
    if (is_decided(search, points, &count))
        return false;
    if (round_seconds(search, costs, points, count) > seconds_left) {
        search->cut = true;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        tune_add(batch, points[i], final_window_s(search, points[i]));
    batch->fresh = true;
    return true;
}

static bool add_looks(struct tune_search *search, struct tune_batch *batch)
{
    if (search->rules.exhaustive) {
        add_all(search, batch);
    } else if (!search->looked) {
        tune_add_first(search, batch);
        search->looked = true;
    }
    return batch->count > 0;
}

/* Chooses the batch of the stage that the search is in. False: it has none. */
static bool fill(struct tune_search *search, double seconds_left, const struct tune_costs *costs,
                 struct tune_batch *batch)
{
    size_t room;
    switch (search->stage) {
    case TUNE_STAGE_NAIVE:
        add_naive(search, batch);
        return batch->count > 0;
    case TUNE_STAGE_LOOK:
        if (!affordable(search, costs, seconds_left)) {
            search->cut = true;
            return false;
        }
        return add_looks(search, batch);
    case TUNE_STAGE_NEAR:
        room = room_to_look(search);
        if (search->rules.exhaustive || room == 0)
            return false;
        if (!affordable(search, costs, seconds_left)) {
            search->cut = true;
            return false;
        }
        return tune_add_near(search, room, batch);
    case TUNE_STAGE_HALVE:
        return add_halving(search, costs, seconds_left, batch);
    case TUNE_STAGE_FINAL:
        return add_round(search, costs, seconds_left, batch);
    default:
        return false;
    }
}

void tune_search_next(struct tune_search *search, double seconds_left,
                      const struct tune_costs *costs, struct tune_batch *out)
{
    *out = (struct tune_batch){0};
    if (search->budget_s <= 0.0)
        search->budget_s = seconds_left;
    /* Nothing came of the last batch: there was no time for it, and there will be none. */
    if (search->asked && search->noted == 0 && search->stage < TUNE_STAGE_DONE) {
        search->cut = true;
        search->stage++;
    }
    search->noted = 0;
    while (search->stage < TUNE_STAGE_DONE && !fill(search, seconds_left, costs, out)) {
        *out = (struct tune_batch){0};
        search->stage++;
    }
    out->stage = search->stage;
    if (out->stage == TUNE_STAGE_NEAR || out->stage == TUNE_STAGE_LOOK)
        trim(search, costs, seconds_left, out);
    search->asked = out->count > 0;
}
