#include <math.h>
#include <string.h>

#include "orchestrator/tune/search/internal.h"
#include "statistics/effect.h"
#include "statistics/statistics.h"

/* A loser is named wrongly in at most this share of searches: over all looks at the finals, and
 * whichever of those compared is the best of the sample. */
#define ALPHA 0.025

/* Equals: not surely worse by more than TUNE_SAME; and hardly by so much. */
#define EQUAL_SURE 0.95
#define MUCH_LESS 0.03
#define EQUAL_RISK 0.05

/* A finalist that is so surely worse than the best needs no further round. */
#define BEATEN_SURE 0.99

/* Starts of the search before the finals have two layouts to compare. */
#define LOOKS_BEFORE 2.0

/* What was not measured does so much more with TUNE_BETTER_CHANCE: the search is not finished. */
#define MUCH_BETTER 0.05

/* The likeliest of many layouts owes that to luck, too: what is believed of it comes true as often
 * as this power of it (docs/search.md). */
#define OVERRATED 2.0

/* What looks ahead and their finals take, times this, suffices more often than not: each may make
 * others likely. */
#define AHEAD_SPARE 2.0

/* Where the upper end of a percentile is not known it is unlikely to be beyond this multiple of it.
 */
#define UNKNOWN_END 2.0

const char *tune_stage_name(enum tune_stage stage)
{
    static const char *const names[] = {"look", "final", "naive", "done"};
    return names[stage];
}

const char *tune_reason_name(enum tune_reason reason)
{
    static const char *const names[] = {"more", "cpus", "share", "p99", "processes", "mps"};
    return names[reason];
}

const char *tune_verdict_name(enum tune_verdict verdict)
{
    static const char *const names[] = {"winner", "equal", "unfinished", "none"};
    return names[verdict];
}

bool tune_may_win(const struct tune_search *search, size_t point)
{
    return search->states[point].knowledge == TUNE_KNOWN && !search->candidates[point].outside &&
           search->states[point].seen.value > 0.0 && !search->states[point].seen.beaten &&
           !search->states[point].seen.overloaded;
}

static bool over_cpus(const struct tune_search *search, double cpus)
{
    double limit = search->rules.max_cpus;
    return limit > 0.0 && cpus > TUNE_CPU_SLACK * limit;
}

bool tune_meets(const struct tune_search *search, size_t point)
{
    const struct tune_observation *seen = &search->states[point].seen;
    double limit = search->rules.max_p99_us;
    bool in_time = limit <= 0.0 || (seen->p99_high_us > 0.0 && seen->p99_high_us <= limit);
    bool known = search->rules.max_cpus <= 0.0 || seen->cpus > 0.0;
    return in_time && known && !over_cpus(search, seen->cpus);
}

bool tune_breaks(const struct tune_search *search, size_t point)
{
    const struct tune_observation *seen = &search->states[point].seen;
    double limit = search->rules.max_p99_us;
    if (over_cpus(search, seen->cpus))
        return true;
    if (limit <= 0.0)
        return false;
    if (seen->p99_low_us > 0.0)
        return seen->p99_low_us > limit;
    /* Of few iterations a percentile is at most the slowest: their mean shows more (Little).
     */
    const struct tune_candidate *one = &search->candidates[point];
    return seen->ips > 0.0 && 1e6 * tune_in_flight(one) / seen->ips > limit;
}

bool tune_fits(const struct tune_search *search, size_t point)
{
    const struct tune_observation *seen = &search->states[point].seen;
    double limit = search->rules.max_p99_us;
    return (limit <= 0.0 || seen->p99_us <= limit) && !over_cpus(search, seen->cpus);
}

double tune_excess(const struct tune_search *search, size_t point)
{
    const struct tune_observation *seen = &search->states[point].seen;
    const struct tune_rules *rules = &search->rules;
    double late = rules->max_p99_us > 0.0 ? seen->p99_us / rules->max_p99_us : 0.0;
    double busy = rules->max_cpus > 0.0 ? seen->cpus / rules->max_cpus : 0.0;
    return fmax(late, busy);
}

static double value_of(const struct tune_search *search, size_t point)
{
    const struct tune_state *state = &search->states[point];
    if (state->rounds >= 2)
        return statistics_mean(state->values, state->rounds);
    /* A rate that was found, not what else it may be. */
    if (search->rules.resolution > 0.0)
        return state->seen.value;
    return state->look_weight > 0.0 ? exp(state->looked / state->look_weight) : state->seen.value;
}

bool tune_better_by(const struct tune_search *search, size_t a, size_t b, double a_value,
                    double b_value)
{
    bool a_fits = tune_fits(search, a), b_fits = tune_fits(search, b);
    if (a_fits != b_fits)
        return a_fits;
    if (!a_fits)
        return tune_excess(search, a) < tune_excess(search, b);
    return a_value > b_value;
}

bool tune_better(const struct tune_search *search, size_t a, size_t b)
{
    return tune_better_by(search, a, b, value_of(search, a), value_of(search, b));
}

size_t tune_rank(const struct tune_search *search, tune_order comes_first, size_t point,
                 size_t *list, size_t count, size_t most)
{
    size_t at = count;
    while (at > 0 && comes_first(search, point, list[at - 1]))
        at--;
    if (at == most)
        return count;
    if (count < most)
        count++;
    memmove(list + at + 1, list + at, (count - 1 - at) * sizeof *list);
    list[at] = point;
    return count;
}

size_t tune_rank_all(const struct tune_search *search, tune_filter is_wanted,
                     tune_order comes_first, size_t *out, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < search->count; i++)
        if (is_wanted(search, i))
            count = tune_rank(search, comes_first, i, out, count, most);
    return count;
}

size_t tune_leaders(const struct tune_search *search, size_t *out, size_t most)
{
    return tune_rank_all(search, tune_may_win, tune_better, out, most);
}

size_t tune_search_best(const struct tune_search *search)
{
    size_t best;
    return tune_leaders(search, &best, 1) > 0 ? best : TUNE_NO_POINT;
}

/* By rounds of the finals if there are two, else by the last window. */
static struct estimate estimate_of(const struct tune_search *search, size_t point)
{
    const struct tune_state *state = &search->states[point];
    double rel = search->rules.resolution, rate = value_of(search, point);
    if (rel > 0.0 && state->rounds > 0)
        return estimate_from_bounds(rate, rate * (1.0 - rel), rate * (1.0 + rel), 0.0);
    if (state->rounds >= 2)
        return estimate_from_rounds(state->values, state->rounds);
    return estimate_from_bounds(state->seen.value, state->seen.low, state->seen.high, 0.0);
}

/* Which of the others are worse than the best beyond doubt, all taken together. */
static void mark_worse(const struct tune_search *search, size_t best, const size_t *others,
                       size_t count, bool *worse)
{
    double chances[TUNE_EQUAL_MOST];
    const struct tune_rules *rules = &search->rules;
    /* Bonferroni: finalists are looked at after each of these rounds, with any of them as the base.
     * One that was alone in the finals was chosen by other windows, and is looked at once. */
    double rounds = fmax(rules->rounds_most, search->states[best].rounds);
    double looks = 1.0 + rounds - (double)rules->rounds_least;
    double bases = 1.0 + (double)count;
    bool alone = true;
    struct estimate base = estimate_of(search, best);
    for (size_t i = 0; i < count; i++) {
        struct estimate other = estimate_of(search, others[i]);
        struct effect effect = effect_of(&base, &other);
        alone &= search->states[others[i]].rounds < 2;
        chances[i] = effect_chance(&effect, 0.0, -1);
    }
    effect_holm(chances, count, alone ? ALPHA : ALPHA / (looks * bases), worse);
}

static bool meets_and_may_win(const struct tune_search *search, size_t point)
{
    return tune_may_win(search, point) && tune_meets(search, point);
}

/* How far beyond the limits it may be; 1: it seems to be well within them. */
static double may_exceed(const struct tune_search *search, size_t point)
{
    const struct tune_observation *seen = &search->states[point].seen;
    double limit = search->rules.max_p99_us, excess = fmax(1.0, tune_excess(search, point));
    double high = seen->p99_high_us > 0.0 ? seen->p99_high_us : UNKNOWN_END * seen->p99_us;
    return limit > 0.0 ? fmax(excess, high / limit) : excess;
}

/* What its record has, and not its earlier looks, which the reader does not see. */
static double shown_value(const struct tune_search *search, size_t point)
{
    const struct tune_state *state = &search->states[point];
    return state->rounds > 0 ? statistics_mean(state->values, state->rounds) : state->seen.value;
}

/* Of those that seem to be well within the limits, though not surely, the finalist that does most.
 */
static bool is_closer(const struct tune_search *search, size_t a, size_t b)
{
    double beyond_a = may_exceed(search, a), beyond_b = may_exceed(search, b);
    bool final_a = search->states[a].rounds > 0, final_b = search->states[b].rounds > 0;
    if (beyond_a != beyond_b)
        return beyond_a < beyond_b;
    return final_a != final_b ? final_a : shown_value(search, a) > shown_value(search, b);
}

static void set_margin(const struct tune_search *search, struct tune_judgement *out)
{
    struct estimate winner = estimate_of(search, out->winner);
    struct estimate next = estimate_of(search, out->next);
    struct effect effect = effect_of(&next, &winner);
    out->margin = effect_ratio(&effect) - 1.0;
    out->margin_low = effect_low(&effect) - 1.0;
    out->margin_high = effect_high(&effect) - 1.0;
}

static bool is_finalist(const struct tune_search *search, size_t point)
{
    return search->states[point].rounds >= 2;
}

/* The chance that a layout does less than the best by more than a share. */
static double chance_of_less(const struct tune_search *search, size_t best, size_t point,
                             double share)
{
    const struct tune_state *state = &search->states[point];
    double less = search->states[best].believed - state->believed;
    return statistics_normal_below((less - share) / fmax(state->doubt, 1e-6));
}

/* Layouts that differ by less count as equal: rates that are searched for are known to a share. */
static double same_share(const struct tune_search *search)
{
    return fmax(TUNE_SAME, search->rules.resolution);
}

/* One that had windows alone is as good if they show that it is hardly less, and not much less. */
static bool is_as_good(const struct tune_search *search, size_t best, size_t point)
{
    double much_less = fmax(MUCH_LESS, 2.0 * search->rules.resolution);
    return chance_of_less(search, best, point, same_share(search)) < EQUAL_SURE &&
           chance_of_less(search, best, point, much_less) < EQUAL_RISK;
}

/* A finalist that rounds, or these and windows, leave within what counts as the same: it may be as
 * good, however far its rounds spread. most: the mean of the rounds of the one that did most. */
static bool may_be_as_good(const struct tune_search *search, size_t best, size_t point, double most)
{
    const struct tune_state *state = &search->states[point];
    double same = same_share(search);
    bool by_all = search->states[best].believed - state->believed <= same;
    bool by_rounds = value_of(search, point) >= (1.0 - same) * most;
    return is_finalist(search, point) && (by_all || by_rounds) &&
           chance_of_less(search, best, point, same) < EQUAL_SURE;
}

bool tune_is_told_apart(const struct tune_search *search, size_t best, size_t point)
{
    double same = same_share(search);
    return chance_of_less(search, best, point, same) >= EQUAL_SURE ||
           (is_as_good(search, best, point) &&
            chance_of_less(search, best, point, -same) > 1.0 - EQUAL_RISK);
}

/* The least, or the most, that its looks together or one of its rounds showed. */
static double extreme_of(const struct tune_state *state, double (*pick)(double, double))
{
    double value = exp(state->looked / state->look_weight);
    for (unsigned i = 0; i < state->rounds; i++)
        value = pick(value, state->values[i]);
    return value;
}

double tune_least_shown(const struct tune_search *search, size_t point)
{
    return extreme_of(&search->states[point], fmin);
}

/* Looks and rounds agree: where a host has two levels, one window alone may be an accident. */
bool tune_is_beaten(const struct tune_search *search, size_t best, size_t point)
{
    if (!search->rules.program || best == TUNE_NO_POINT || !tune_meets(search, best))
        return false;
    const struct tune_state *state = &search->states[point], *better = &search->states[best];
    return state->looks > 0 && state->rounds > 0 && better->looks > 0 && better->rounds > 0 &&
           extreme_of(state, fmax) < extreme_of(better, fmin) &&
           chance_of_less(search, best, point, same_share(search)) >= BEATEN_SURE;
}

bool tune_has_equal(const struct tune_search *search, const size_t *points, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_as_good(search, points[0], points[i]))
            return true;
    return false;
}

size_t tune_rivals(const struct tune_search *search, size_t best, const size_t *points,
                   size_t count, size_t *out)
{
    size_t finals = 0, rivals = 0;
    bool worse[TUNE_EQUAL_MOST] = {false};
    for (size_t i = 0; i < count && finals < TUNE_EQUAL_MOST; i++)
        if (points[i] != best && is_finalist(search, points[i]))
            out[finals++] = points[i];
    mark_worse(search, best, out, finals, worse);
    for (size_t i = 0; i < finals; i++)
        if (!worse[i] && !is_as_good(search, best, out[i]))
            out[rivals++] = out[i];
    return rivals;
}

static void put_first(size_t *list, size_t point)
{
    size_t at = 0;
    while (list[at] != point)
        at++;
    memmove(list + 1, list, at * sizeof *list);
    list[0] = point;
}

/* The one to be preferred comes first, then the one to be preferred among the others, and so on. */
static void sort_by_preference(const struct tune_search *search, size_t *list, size_t count)
{
    enum tune_reason reason;
    for (size_t i = 0; i + 1 < count; i++)
        put_first(list + i, tune_prefer(search, list + i, count - i, &reason));
}

/* How many rounds a winner must have: two, where one with as many is about as good as the best, or
 * else one, where short finals were those of others; none, where all that had finals are surely
 * less than one without. */
static unsigned rounds_of_winner(const struct tune_search *search, const size_t *pool, size_t count)
{
    double least = search->states[pool[0]].believed - same_share(search);
    unsigned most = 0, good = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tune_state *state = &search->states[pool[i]];
        unsigned rounds = state->rounds < 2 ? state->rounds : 2;
        most = rounds > most ? rounds : most;
        if (state->believed >= least && rounds > good)
            good = rounds;
    }
    for (size_t i = 0; good == 0 && i < count; i++)
        if (is_finalist(search, pool[i]) &&
            chance_of_less(search, pool[0], pool[i], same_share(search)) < EQUAL_SURE)
            good = most;
    return most < 2 ? 0 : good;
}

/* Of `count` points that meet the constraints, the most believed first: the winner is a finalist if
 * there is any, and the cheapest of those that do about as much as the best of them. */
static void choose_winner(const struct tune_search *search, const size_t *pool, size_t count,
                          struct tune_judgement *out)
{
    size_t like[TUNE_EQUAL_MOST] = {0}, found = 0;
    unsigned rounds = rounds_of_winner(search, pool, count);
    for (size_t i = 0; i < count && found < TUNE_EQUAL_MOST; i++) {
        if (search->states[pool[i]].rounds < rounds)
            continue;
        if (found > 0 && (search->states[pool[i]].believed <
                              search->states[like[0]].believed - same_share(search) ||
                          !is_as_good(search, pool[0], pool[i])))
            continue;
        like[found++] = pool[i];
    }
    out->most = like[0];
    out->winner = tune_prefer(search, like, found, &out->reason);
    out->rounds = rounds ? search->states[out->winner].rounds : 0;
}

static double most_of_rounds(const struct tune_search *search, const size_t *pool, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++)
        if (is_finalist(search, pool[i]))
            most = fmax(most, value_of(search, pool[i]));
    return most;
}

/* Those that are as good; and beside them finalists that may be, as far as the data show. Where
 * there are only such, the search is not finished: more rounds would show it. */
static void find_equals(const struct tune_search *search, const size_t *pool, size_t count,
                        struct tune_judgement *out)
{
    double most = most_of_rounds(search, pool, count);
    bool sure[TUNE_LOOKS_MOST + 1] = {false};
    out->equal[out->equal_count++] = out->winner;
    for (size_t i = 0; i < count && out->equal_count < TUNE_EQUAL_MOST; i++) {
        sure[i] = pool[i] == out->winner || is_as_good(search, pool[0], pool[i]);
        if (pool[i] != out->winner && sure[i])
            out->equal[out->equal_count++] = pool[i];
    }
    bool any = out->equal_count > 1;
    for (size_t i = 0; any && i < count && out->equal_count < TUNE_EQUAL_MOST; i++)
        if (!sure[i] && may_be_as_good(search, pool[0], pool[i], most))
            out->equal[out->equal_count++] = pool[i];
    sort_by_preference(search, out->equal + 1, out->equal_count - 1);
}

/* The best of the others, by what is believed of them. */
static void find_next(const struct tune_search *search, const size_t *pool, size_t count,
                      struct tune_judgement *out)
{
    for (size_t i = 0; i < count && out->next == TUNE_NO_POINT; i++)
        if (pool[i] != out->winner && (out->rounds == 0 || is_finalist(search, pool[i])))
            out->next = pool[i];
    for (size_t i = 0; i < count && out->next == TUNE_NO_POINT; i++)
        if (pool[i] != out->winner)
            out->next = pool[i];
    if (out->next != TUNE_NO_POINT)
        set_margin(search, out);
}

static double share_reached(const struct tune_search *search, double value)
{
    double most = 0.0, ceiling = 0.0;
    for (size_t i = 0; i < search->count; i++) {
        const struct tune_candidate *one = &search->candidates[i];
        if (one->excluded || one->outside)
            continue;
        most = fmax(most, one->predicted);
        ceiling = fmax(ceiling, one->ceiling);
    }
    most = most > 0.0 ? most : ceiling;
    return most > 0.0 ? value / most : 0.0;
}

/* Whether it is open if one that is not among the equals is as good as a winner. */
static bool has_doubt(const struct tune_search *search, size_t winner, const size_t *pool,
                      size_t count)
{
    size_t rivals[TUNE_EQUAL_MOST];
    bool doubt = tune_rivals(search, winner, pool, count, rivals) > 0;
    for (size_t i = 0; i < count; i++)
        if (pool[i] != winner)
            doubt |=
                chance_of_less(search, pool[0], pool[i], same_share(search)) < EQUAL_SURE ||
                (search->states[pool[i]].rounds == 1 && !tune_is_beaten(search, pool[0], pool[i]));
    return doubt;
}

static void look_ahead(struct tune_search *search, bool doubt, struct tune_judgement *out)
{
    double seconds, believed;
    double enough = pow(TUNE_BETTER_CHANCE, 1.0 / OVERRATED);
    tune_look_ahead(search, MUCH_BETTER, enough, &believed, &seconds);
    out->better_chance = pow(believed, OVERRATED);
    bool cut = search->cut && out->rounds == 0;
    if (out->better_chance <= TUNE_BETTER_CHANCE && !cut && !doubt)
        return;
    out->verdict = TUNE_UNFINISHED;
    out->open = out->better_chance <= TUNE_BETTER_CHANCE && !cut;
    double whole_s = fmax(search->rules.budget_s, search->budget_s);
    if (!isfinite(whole_s))
        return;
    out->enough_budget_s = whole_s + AHEAD_SPARE * (seconds + tune_whole_finals_s(search));
    if (!cut)
        return;
    double finals_s = tune_least_finals_s(search);
    double look_s = tune_look_seconds(search, out->winner);
    out->finals_budget_s = whole_s - search->budget_s + LOOKS_BEFORE * look_s + finals_s;
    out->finals_budget_s = fmax(out->finals_budget_s, tune_least_budget_s(search));
    /* What there was, was not enough. */
    if (out->finals_budget_s <= whole_s)
        out->finals_budget_s = whole_s + finals_s;
    out->enough_budget_s = fmax(out->finals_budget_s, out->enough_budget_s + finals_s);
}

void tune_search_judge(struct tune_search *search, struct tune_judgement *out)
{
    size_t pool[TUNE_LOOKS_MOST + 1];
    *out = (struct tune_judgement){
        .verdict = TUNE_NONE,
        .winner = TUNE_NO_POINT,
        .most = TUNE_NO_POINT,
        .next = TUNE_NO_POINT,
        .closest = TUNE_NO_POINT,
        .margin = NAN,
        .margin_low = NAN,
        .margin_high = NAN,
        .complete = search->stage == TUNE_STAGE_DONE && !search->cut && search->known_count > 0,
        .cut = search->cut,
    };
    for (size_t i = 0; i < search->count; i++)
        out->measured +=
            search->states[i].knowledge != TUNE_UNTRIED && !search->candidates[i].outside;
    size_t known = tune_stand(search, pool), count = 0;
    for (size_t i = 0; i < known; i++)
        if (meets_and_may_win(search, pool[i]))
            pool[count++] = pool[i];
    if (count == 0) {
        tune_rank_all(search, tune_may_win, is_closer, &out->closest, 1);
        return;
    }
    choose_winner(search, pool, count, out);
    find_equals(search, pool, count, out);
    out->verdict = out->equal_count > 1 ? TUNE_EQUAL : TUNE_WINNER;
    struct estimate estimate = estimate_of(search, out->winner);
    out->value = estimate.value;
    out->low = estimate.value * exp(-estimate.below);
    out->high = estimate.value * exp(estimate.above);
    /* Few rounds that agree by luck show less of what differs than their windows do. */
    const struct tune_observation *seen = &search->states[out->winner].seen;
    if (seen->low > 0.0 && isfinite(seen->high)) {
        out->low = fmin(out->low, seen->low);
        out->high = fmax(out->high, seen->high);
    }
    out->reached_share = share_reached(search, out->value);
    find_next(search, pool, count, out);
    /* A winner is better than all others beyond doubt, and had rounds if any of them had. */
    bool doubt = (out->equal_count == 1 && has_doubt(search, out->winner, pool, count)) ||
                 (out->rounds == 0 && most_of_rounds(search, pool, count) > 0.0);
    look_ahead(search, doubt, out);
}
