/* The finals: what they need of the time, who takes part, and with which windows. */
#include <math.h>
#include <string.h>

#include "orchestrator/tune/search/internal.h"

/* All rounds of this many layouts are to be paid for in any case, with windows at least that long,
 * and of all finalists if that is not more than this share of the time. */
#define FINALS_COUNT 2
#define FINALS_SHARE 0.3
#define FINAL_LEAST_S 0.2

/* A program's starts may be dear, and its finals come before its looks: all rounds if that is not
 * more than this share of the time, or else two if that is not more than the other; with some to
 * spare, as starts differ, and the few more than the many. To confirm one of two layouts is worth
 * less than to see some more. */
#define DEAR_FINALS_SHARE 0.6
#define FEW_FINALS_SHARE 0.5
#define DEAR_FINALS_ROUNDS 2
#define START_SPARE 1.1
#define FEW_STARTS_SPARE 1.25

/* A layout that does at most this much less has the finals of one that has no time for them. */
#define LESS_MOST 0.05

/* A start that is paid for is worth a window of this share of it, where there is time: what a round
 * shows alone may be one of two levels of its host. */
#define FINAL_START_SHARE 0.3

/* Finalists are chosen among this many. */
#define FINALISTS_FROM 12

/* Who is further below the best than that many standard deviations cannot be a finalist, but for
 * the second: a window that shows far too much of one layout would leave nothing to compare it
 * with. The second of a program, whose starts may be dear, has to do this share of the least that
 * the best has shown. */
#define FAR_BELOW 2.0
#define SECOND_LEAST 0.6

/* Iterations that it takes to bound a 99th percentile from above: where they are independent, three
 * rounds of a third of them have bounds in nine of ten cases, as a window counts for about half as
 * many as it seems to hold (tests/unit/round/test_percentiles.c). And how much longer than
 * otherwise a window of the finals may be for them. */
#define PERCENTILE_SAMPLES 1500.0
#define LONGEST_FINAL 8.0

/* Iterations that the window of a searched rate offers; and windows that the first round takes
 * beside it to narrow what a look found, which count as spread over all rounds. */
#define RATE_SAMPLES 1000.0
#define RATE_NARROWING 2.0

/* To compare two layouts is worth shorter ones: down to this share, in steps, of which a p99 still
 * has bounds. */
#define RATE_SHORTEST 0.4
#define SHORTER_STEP 0.2

/* -- time -------------------------------------------------------------------------------------- */

/* How long a window of finals of final_s should be for the percentile, where that counts. */
static double percentile_s(const struct tune_search *search, double final_s, size_t point)
{
    const struct tune_rules *rules = &search->rules;
    double ips = search->states[point].seen.ips;
    double share = rules->final_s > 0.0 ? fmin(1.0, final_s / rules->final_s) : 1.0;
    if (rules->resolution > 0.0 && ips > 0.0)
        return fmin(share * RATE_SAMPLES / ips, TUNE_RATE_LONGEST * rules->final_s);
    if (rules->max_p99_us <= 0.0 || ips <= 0.0)
        return 0.0;
    double window_s = PERCENTILE_SAMPLES / ips / rules->rounds_least;
    return fmin(window_s, LONGEST_FINAL * rules->final_s);
}

static double final_window_s(const struct tune_search *search, double final_s, size_t point)
{
    return fmax(final_s, percentile_s(search, final_s, point));
}

static bool is_larger(const struct tune_search *search, size_t a, size_t b)
{
    return tune_is_larger(&search->candidates[a], &search->candidates[b]);
}

/* Whether processes that start for one finalist serve another one. */
static bool comes_with(const struct tune_search *search, size_t started_for, size_t point)
{
    return tune_may_share_round(search, &search->candidates[started_for],
                                &search->candidates[point]);
}

/* A round of finals of final_s. The larger points start, as in turns.c, and serve what they can of
 * the others. */
static double round_with(const struct tune_search *search, double final_s, const size_t *points,
                         size_t count)
{
    size_t sorted[TUNE_FINALISTS + 1], starts[TUNE_FINALISTS + 1], started = 0;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        tune_rank(search, is_larger, points[i], sorted, i, count);
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (j < started && !comes_with(search, starts[j], sorted[i]))
            j++;
        double window_s = final_window_s(search, final_s, sorted[i]);
        if (search->rules.resolution > 0.0 && search->states[sorted[i]].rounds == 0)
            sum += RATE_NARROWING * window_s / search->rules.rounds_least;
        sum += j < started ? tune_held_seconds_of(search, sorted[i], window_s)
                           : tune_seconds_of(search, sorted[i], window_s);
        if (j == started)
            starts[started++] = sorted[i];
    }
    return sum;
}

static double round_seconds(const struct tune_search *search, const size_t *points, size_t count)
{
    return round_with(search, search->final_s, points, count);
}

/* Whether the finals come before any look but the first. Where starts are cheap a share of the time
 * is enough for them. */
static bool are_finals_dear(const struct tune_search *search)
{
    return search->rules.program || search->rules.exhaustive;
}

static unsigned fewest_rounds(const struct tune_search *search)
{
    unsigned rounds = search->rules.rounds_least;
    return rounds < DEAR_FINALS_ROUNDS ? rounds : DEAR_FINALS_ROUNDS;
}

/* A round of `count` of the leaders: of one more often, where there are fewer. */
static double leaders_s(const struct tune_search *search, double final_s, const size_t *leaders,
                        size_t known, size_t count)
{
    double sum = round_with(search, final_s, leaders, count < known ? count : known);
    for (size_t i = known; i < count; i++)
        sum += round_with(search, final_s, &leaders[known - 1], 1);
    return sum;
}

double tune_least_finals_s(const struct tune_search *search)
{
    size_t leaders[FINALS_COUNT + 1];
    size_t known = tune_leaders(search, leaders, FINALS_COUNT);
    /* Those that it had may have been shorter than usual. */
    return known == 0 ? 0.0
                      : FEW_STARTS_SPARE * fewest_rounds(search) *
                            leaders_s(search, search->rules.final_s, leaders, known, FINALS_COUNT);
}

double tune_whole_finals_s(const struct tune_search *search)
{
    size_t leaders[FINALS_COUNT + 1];
    size_t known = tune_leaders(search, leaders, FINALS_COUNT);
    return known == 0 ? 0.0
                      : START_SPARE * search->rules.rounds_least *
                            leaders_s(search, search->final_s, leaders, known, FINALS_COUNT);
}

double tune_least_budget_s(const struct tune_search *search)
{
    size_t leaders[FINALS_COUNT + 1];
    size_t known = tune_leaders(search, leaders, FINALS_COUNT);
    if (known == 0 || !are_finals_dear(search))
        return 0.0;
    double round_s = leaders_s(search, search->rules.final_s, leaders, known, 1);
    return FEW_STARTS_SPARE * fewest_rounds(search) * round_s / FEW_FINALS_SHARE;
}

/* The shortest finals that the search may have for the sake of one more. */
static double brief_final_s(const struct tune_search *search)
{
    return search->rules.resolution > 0.0 ? RATE_SHORTEST * search->rules.final_s : search->final_s;
}

/* Whether there is time for the fewest rounds that a point may have. */
static bool has_time(const struct tune_search *search, size_t point)
{
    return fewest_rounds(search) * round_with(search, brief_final_s(search), &point, 1) <=
           search->left_s;
}

/* Takes away the first of a program's points that have no time for rounds, if another one has that
 * does about as much: a start of fewer processes is sooner ready. Returns how many are left. */
static size_t without_dearest(const struct tune_search *search, size_t *points, size_t count)
{
    size_t first = 0;
    while (first < count && search->states[points[first]].rounds == 0 &&
           !has_time(search, points[first]))
        first++;
    if (!search->rules.program || first == count ||
        search->states[points[first]].seen.value <
            (1.0 - LESS_MOST) * search->states[points[0]].seen.value)
        return count;
    memmove(points, points + first, (count - first) * sizeof *points);
    return count - first;
}

/* The finals that the time is good for; where it is not for any, nothing is held back for them. Of
 * the first layout alone there is nothing to compare: another one is worth more than its rounds,
 * unless others fail. */
static double dear_reserve_s(const struct tune_search *search, const size_t *leaders, size_t known)
{
    if (known == 1 && search->refused_count == 0)
        return 0.0;
    double two_s = leaders_s(search, search->final_s, leaders, known, FINALS_COUNT);
    double one_s = leaders_s(search, search->final_s, leaders, known, 1);
    double all_s = START_SPARE * search->rules.rounds_least * two_s;
    double brief_s = leaders_s(search, brief_final_s(search), leaders, known, FINALS_COUNT);
    double few = FEW_STARTS_SPARE * fewest_rounds(search);
    double share_s = FEW_FINALS_SHARE * search->budget_s, few_s = fmin(share_s, search->left_s);
    if (all_s <= DEAR_FINALS_SHARE * search->budget_s && all_s <= search->left_s)
        return all_s;
    if (few * brief_s <= few_s)
        return fmin(few * two_s, few_s);
    bool fits = few * one_s <= share_s && fewest_rounds(search) * one_s <= search->left_s;
    return fits ? fmin(few * one_s, search->left_s) : 0.0;
}

/* What is held back in any case: looks on processes that wait take little of the rest. */
static double least_reserve_s(const struct tune_search *search, size_t best)
{
    return FEW_STARTS_SPARE * fewest_rounds(search) * round_seconds(search, &best, 1);
}

double tune_reserve_s(const struct tune_search *search, bool starts)
{
    size_t leaders[TUNE_FINALISTS + 1];
    size_t count = tune_leaders(search, leaders, TUNE_FINALISTS);
    if (count == 0 || isinf(search->left_s))
        return 0.0;
    double all_s = search->rules.rounds_least * round_seconds(search, leaders, count);
    double share_s = fmin(all_s, FINALS_SHARE * search->budget_s);
    if (!are_finals_dear(search))
        return share_s;
    count = without_dearest(search, leaders, count);
    double dear_s = dear_reserve_s(search, leaders, count);
    double reserve_s = dear_s > 0.0 ? fmax(share_s, dear_s) : 0.0;
    return starts ? reserve_s : fmin(reserve_s, least_reserve_s(search, leaders[0]));
}

bool tune_leaves_finals(const struct tune_search *search, size_t point)
{
    double few_s = least_reserve_s(search, point);
    double left_s = search->left_s - tune_look_seconds(search, point);
    return tune_reserve_s(search, true) <= 0.0 ||
           few_s <= fmin(FEW_FINALS_SHARE * search->budget_s, left_s);
}

double tune_search_reserve_s(const struct tune_search *search, double seconds_left,
                             const struct tune_costs *costs, bool starts)
{
    struct tune_search now = *search;
    now.left_s = seconds_left;
    now.costs = *costs;
    return tune_reserve_s(&now, starts);
}

/* -- who takes part ---------------------------------------------------------------------------- */

/* Takes a point out of a list. */
static size_t take(size_t *list, size_t *count, size_t at)
{
    size_t point = list[at];
    memmove(list + at, list + at + 1, (*count - at - 1) * sizeof *list);
    (*count)--;
    return point;
}

/* Whether more rounds of a point would change nothing. */
static bool is_settled(const struct tune_search *search, size_t best, size_t point)
{
    const struct tune_rules *rules = &search->rules;
    const struct tune_state *state = &search->states[point];
    bool unsure = state->rounds > 0 && tune_fits(search, point) && !tune_meets(search, point);
    if (state->rounds >= (unsure ? rules->rounds_unsure : rules->rounds_most))
        return true;
    bool told_apart =
        state->rounds >= rules->rounds_least && tune_is_told_apart(search, best, point);
    return point != best && !unsure && (told_apart || tune_is_beaten(search, best, point));
}

/* Those that may yet turn out to be the best, best first, and which do not surely break the
 * constraints; where all do, the nearest to it. One round alone rules nothing out. */
static size_t contenders(const struct tune_search *search, size_t *out)
{
    size_t standing[TUNE_LOOKS_MOST + 1], count = 0;
    size_t found = tune_stand(search, standing);
    double shown = found > 0 ? tune_least_shown(search, standing[0]) : 0.0;
    for (size_t i = 0; i < found && count < TUNE_EQUAL_MOST; i++) {
        const struct tune_state *state = &search->states[standing[i]];
        const struct tune_state *best = &search->states[standing[0]];
        bool breaks = tune_breaks(search, standing[i]) && tune_fits(search, standing[0]);
        bool second = i < FINALS_COUNT &&
                      !(search->rules.program && exp(state->believed) < SECOND_LEAST * shown);
        bool may =
            second || state->believed + FAR_BELOW * state->doubt >= best->believed - TUNE_SAME;
        bool settled = i > 0 && is_settled(search, standing[0], standing[i]);
        if (!state->dropped && !breaks && !settled && (may || state->rounds == 1))
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

static bool fit_rate_windows(struct tune_search *search, const size_t *points, size_t count,
                             unsigned rounds)
{
    bool fit = false;
    for (double share = 1.0; !fit && share > RATE_SHORTEST - 0.5 * SHORTER_STEP;
         share -= SHORTER_STEP) {
        search->final_s = share * search->rules.final_s;
        fit = rounds * round_seconds(search, points, count) <= search->left_s;
    }
    return fit;
}

/* Windows of the finals so that all rounds take the time that is left, if they may be so short. */
static bool fit_windows(struct tune_search *search, const size_t *points, size_t count,
                        unsigned rounds)
{
    search->final_s = search->rules.final_s;
    if (search->rules.resolution > 0.0)
        return fit_rate_windows(search, points, count, rounds);
    double spare_s = search->left_s - rounds * round_seconds(search, points, count);
    if (spare_s >= 0.0)
        return true;
    search->final_s += spare_s / (double)(rounds * count);
    return search->final_s >= fmin(FINAL_LEAST_S, search->rules.final_s) &&
           rounds * round_seconds(search, points, count) <= search->left_s;
}

/* Longer windows, of what is left over: starts may take longer, and the best has all its rounds
 * before any window is longer. */
static void lengthen_windows(struct tune_search *search, const size_t *points, size_t count,
                             unsigned rounds)
{
    if (!search->rules.final_grows || count == 0)
        return;
    unsigned more = search->rules.rounds_least - rounds;
    double planned_s =
        rounds * round_seconds(search, points, count) + more * round_seconds(search, points, 1);
    double spare_s = search->left_s - START_SPARE * planned_s;
    double most_s = FINAL_START_SHARE * search->costs.start_s - search->final_s;
    search->final_s += fmax(0.0, fmin(spare_s / (rounds * (double)count + more), most_s));
}

/* How many of the finalists have time for all rounds; or, if not all have, for fewer. */
static size_t fit_finals(struct tune_search *search, const size_t *points, size_t count,
                         unsigned *rounds)
{
    *rounds = search->rules.rounds_least;
    if (count == 0 || fit_windows(search, points, count, *rounds))
        return count;
    *rounds = fewest_rounds(search);
    while (count > 0 && !fit_windows(search, points, count, *rounds))
        count--;
    return count;
}

/* As many finalists as have time for all rounds; or two with fewer rounds, or one. */
static void begin_dear_finals(struct tune_search *search, const size_t *points, size_t chosen)
{
    unsigned rounds = search->rules.rounds_least;
    size_t count = chosen;
    while (count > FINALS_COUNT && rounds * round_seconds(search, points, count) > search->left_s)
        count--;
    count = fit_finals(search, points, count, &rounds);
    lengthen_windows(search, points, count, rounds);
    /* One that stands alone may have company once its rounds show less than its window. */
    search->finalists = count == chosen && count < FINALS_COUNT ? FINALS_COUNT : count;
    search->cut |= count < chosen && count < FINALS_COUNT;
}

/* The best by all that was seen. */
static size_t believed_best(const struct tune_search *search)
{
    size_t standing[TUNE_LOOKS_MOST + 1];
    return tune_stand(search, standing) > 0 ? standing[0] : TUNE_NO_POINT;
}

/* Those that had one round and are not beaten have another one before others begin: one alone
 * decides nothing. */
static size_t keep_finalists(const struct tune_search *search, size_t best, size_t *points,
                             size_t count)
{
    size_t kept[2 * TUNE_FINALISTS + 1], first = 0;
    for (size_t i = 0; i < search->known_count && first < search->finalists; i++) {
        size_t point = search->known[i];
        const struct tune_state *state = &search->states[point];
        if (state->rounds == 1 && !state->dropped && !tune_breaks(search, point) &&
            !tune_is_beaten(search, best, point))
            kept[first++] = point;
    }
    size_t all = first;
    for (size_t i = 0; i < count && all < search->finalists; i++) {
        bool has = false;
        for (size_t j = 0; j < first; j++)
            has |= kept[j] == points[i];
        if (!has)
            kept[all++] = points[i];
    }
    memcpy(points, kept, all * sizeof *points);
    return all;
}

/* Windows as long as there is time for in all rounds of the first finalists. */
static void begin_finals(struct tune_search *search)
{
    size_t points[TUNE_FINALISTS + 1] = {0};
    size_t chosen = choose_finalists(search, points);
    chosen = without_dearest(search, points, chosen);
    size_t count = chosen < FINALS_COUNT ? chosen : FINALS_COUNT;
    unsigned rounds = search->rules.rounds_least;
    search->begun = true;
    search->finalists = TUNE_FINALISTS;
    if (are_finals_dear(search) && isfinite(search->left_s)) {
        begin_dear_finals(search, points, chosen);
        return;
    }
    count = fit_finals(search, points, count, &rounds);
    search->cut |= count < chosen && count < FINALS_COUNT;
    /* One round of all would be all that there is time for. */
    size_t most = count > 0 ? chosen : 0;
    while (most > count && rounds * round_seconds(search, points, most) > search->left_s)
        most--;
    search->finalists = most < chosen ? most : TUNE_FINALISTS;
}

/* Where nothing is left to compare with it, a sole best goes on beside those that are not worse
 * beyond doubt: longer than others, as long as no other one is as good. */
static size_t add_rivals(const struct tune_search *search, size_t *points)
{
    size_t standing[TUNE_LOOKS_MOST + 1], rivals[TUNE_EQUAL_MOST], count = 0;
    const struct tune_rules *rules = &search->rules;
    size_t found = tune_stand(search, standing);
    size_t others = found > 0 ? tune_rivals(search, standing[0], standing, found, rivals) : 0;
    bool equal = tune_has_equal(search, standing, found);
    unsigned most = equal ? rules->rounds_most : rules->rounds_unsure;
    if (found > 0 && search->states[standing[0]].rounds < most)
        points[count++] = standing[0];
    for (size_t i = 0; i < others && count > 0 && count < TUNE_FINALISTS; i++)
        if (search->states[rivals[i]].rounds < most && !search->states[rivals[i]].dropped)
            points[count++] = rivals[i];
    return count > 1 ? count : 0;
}

/* Adds what had rounds, and whose next one takes no start of its own: that shows by how much the
 * best is better. points has room for one more. */
static size_t add_companions(const struct tune_search *search, size_t best, size_t *points,
                             size_t count)
{
    for (size_t i = 0; i < search->known_count && count > 0 && count < TUNE_FINALISTS; i++) {
        size_t point = search->known[i], at = 0;
        const struct tune_state *state = &search->states[point];
        while (at < count && points[at] != point)
            at++;
        if (at < count || state->rounds == 0 || state->dropped ||
            state->rounds >= search->rules.rounds_most || tune_is_beaten(search, best, point))
            continue;
        points[count] = point;
        double alone_s = round_seconds(search, &point, 1);
        if (round_seconds(search, points, count + 1) <
            round_seconds(search, points, count) + alone_s - 1e-6)
            count++;
    }
    return count;
}

/* Places in the next round: those of beaten finalists stay empty until the best has its rounds. */
static size_t open_places(const struct tune_search *search, size_t best)
{
    size_t places = search->finalists;
    if (best == TUNE_NO_POINT || search->states[best].rounds >= search->rules.rounds_least)
        return places;
    for (size_t i = 0; i < search->known_count && places > 1; i++)
        places -= tune_is_beaten(search, best, search->known[i]);
    return places;
}

/* By how much the windows of a round are longer, where what is left is not enough for one more:
 * each of the rounds to come gets an equal part of it. A sole finalist has no more than it needs.
 */
static double spare_window_s(const struct tune_search *search, const size_t *points, size_t count)
{
    double most_s = search->costs.start_s - search->final_s;
    if (!search->rules.final_grows || !are_finals_dear(search) || isinf(search->left_s) ||
        count == 0)
        return 0.0;
    unsigned had = search->states[points[0]].rounds, least = search->rules.rounds_least;
    double needed = had < least ? least - had : 1.0;
    double round_s = round_seconds(search, points, count);
    double alone_s = round_seconds(search, points, 1);
    double fit = fmax(1.0, floor(search->left_s / round_s));
    double rounds = count == 1 ? fmin(fit, needed) : fit;
    double rest_s = search->left_s - rounds * round_s;
    double more = fmax(0.0, fmin(needed - rounds, floor(rest_s / alone_s)));
    double spare_s = search->left_s - START_SPARE * (rounds * round_s + more * alone_s);
    return fmax(0.0, fmin(spare_s / (rounds * (double)count + more), most_s));
}

bool tune_add_round(struct tune_search *search, struct tune_batch *batch)
{
    size_t points[TUNE_FINALISTS + 1] = {0};
    if (!search->begun)
        begin_finals(search);
    size_t count = choose_finalists(search, points), best = believed_best(search);
    count = without_dearest(search, points, count);
    if (are_finals_dear(search))
        count = keep_finalists(search, best, points, count);
    if (is_decided(search, points, count) && (count = add_rivals(search, points)) == 0)
        return false;
    size_t places = open_places(search, best);
    count = count < places ? count : places;
    count = add_companions(search, best, points, count);
    while (count > 0 && round_seconds(search, points, count) > search->left_s)
        count--;
    double final_s = search->final_s + spare_window_s(search, points, count);
    for (size_t i = 0; i < count; i++)
        tune_add(batch, points[i], final_window_s(search, final_s, points[i]));
    search->cut |= count == 0;
    batch->fresh = true;
    return count > 0;
}
