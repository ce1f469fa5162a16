#include <math.h>
#include <string.h>

#include "statistics/statistics.h"
#include "orchestrator/tune/search_internal.h"

/* A loser is named wrongly in at most this share of searches: over all looks at the finals, and
 * whichever of those compared is the best of the sample. */
#define ALPHA 0.025

const char *tune_stage_name(enum tune_stage stage)
{
    static const char *const names[] = {"naive", "look", "near", "halve", "final", "done"};
    return names[stage];
}

const char *tune_reason_name(enum tune_reason reason)
{
    static const char *const names[] = {"more", "cpus", "p99", "processes"};
    return names[reason];
}

const char *tune_verdict_name(enum tune_verdict verdict)
{
    static const char *const names[] = {"winner", "tie", "none"};
    return names[verdict];
}

/* A process whose only worker never sleeps may be seen to use a little more than one CPU. */
#define CPU_SLACK 1.02

double tune_in_flight(const struct tune_candidate *one)
{
    return (double)one->processes * one->threads * (one->streams > 1 ? one->streams : 1);
}

bool tune_may_win(const struct tune_search *search, size_t point)
{
    return search->states[point].knowledge == TUNE_KNOWN && !search->candidates[point].outside &&
           search->states[point].seen.value > 0.0;
}

static bool over_cpus(const struct tune_search *search, double cpus)
{
    double limit = search->rules.max_cpus;
    return limit > 0.0 && cpus > CPU_SLACK * limit;
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
    return state->rounds >= 2 ? statistics_mean(state->values, state->rounds) : state->seen.value;
}

bool tune_better(const struct tune_search *search, size_t a, size_t b)
{
    bool a_fits = tune_fits(search, a), b_fits = tune_fits(search, b);
    if (a_fits != b_fits)
        return a_fits;
    if (!a_fits)
        return tune_excess(search, a) < tune_excess(search, b);
    return value_of(search, a) > value_of(search, b);
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

struct estimate tune_estimate(const struct tune_search *search, size_t point)
{
    const struct tune_state *state = &search->states[point];
    if (state->rounds >= 2)
        return estimate_from_rounds(state->values, state->rounds);
    return estimate_from_bounds(state->seen.value, state->seen.low, state->seen.high, 0.0);
}

void tune_mark_worse(const struct tune_search *search, size_t best, const size_t *others,
                     size_t count, bool *worse)
{
    double chances[TUNE_TIED_MOST];
    const struct tune_rules *rules = &search->rules;
    /* Bonferroni: finalists are looked at after each of these rounds, with any of them as the base.
     * One that was alone in the finals was chosen by other windows, and is looked at once. */
    double looks = 1.0 + (double)rules->rounds_most - (double)rules->rounds_least;
    double bases = 1.0 + (double)count;
    bool alone = true;
    struct estimate base = tune_estimate(search, best);
    for (size_t i = 0; i < count; i++) {
        struct estimate other = tune_estimate(search, others[i]);
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

static bool meets_in_finals(const struct tune_search *search, size_t point)
{
    return search->states[point].rounds >= 2 && meets_and_may_win(search, point);
}

static bool is_worth_more(const struct tune_search *search, size_t a, size_t b)
{
    return value_of(search, a) > value_of(search, b);
}

static bool is_closer(const struct tune_search *search, size_t a, size_t b)
{
    return tune_excess(search, a) < tune_excess(search, b);
}

static void set_margin(const struct tune_search *search, struct tune_judgement *out)
{
    struct estimate winner = tune_estimate(search, out->winner);
    struct estimate next = tune_estimate(search, out->next);
    struct effect effect = effect_of(&next, &winner);
    out->margin = effect_ratio(&effect) - 1.0;
    out->margin_low = effect_low(&effect) - 1.0;
    out->margin_high = effect_high(&effect) - 1.0;
}

/* The best of the others: a finalist, or one that its windows showed to be better than those. A
 * window that showed more than the winner's finals was luck. */
static size_t find_next(const struct tune_search *search, const size_t *pool, size_t count)
{
    size_t next = count > 1 ? pool[1] : TUNE_NO_POINT;
    for (size_t i = 0; i < search->known_count; i++) {
        size_t point = search->known[i];
        if (point == pool[0] || !meets_and_may_win(search, point) ||
            is_worth_more(search, point, pool[0]))
            continue;
        if (next == TUNE_NO_POINT || is_worth_more(search, point, next))
            next = point;
    }
    return next;
}

/* Finalists that do as much as the best, which is the first of them. */
static size_t count_equals(const struct tune_search *search, const size_t *pool, size_t count)
{
    double least = (1.0 - TUNE_SAME) * value_of(search, pool[0]);
    size_t equals = 1;
    while (equals < count && meets_in_finals(search, pool[equals]) &&
           value_of(search, pool[equals]) >= least)
        equals++;
    return equals;
}

static void put_first(size_t *list, size_t point)
{
    size_t at = 0;
    while (list[at] != point)
        at++;
    memmove(list + 1, list, at * sizeof *list);
    list[0] = point;
}

/* Who may do as much as pool[0], and which of them is the winner. */
static void choose(const struct tune_search *search, size_t *pool, size_t count,
                   struct tune_judgement *out)
{
    bool worse[TUNE_TIED_MOST] = {false};
    tune_mark_worse(search, pool[0], pool + 1, count - 1, worse);
    out->most = pool[0];
    out->equals = count_equals(search, pool, count);
    out->tied[out->tied_count++] = pool[0];
    for (size_t i = 1; i < count; i++)
        if (i < out->equals || !worse[i - 1])
            out->tied[out->tied_count++] = pool[i];
    out->winner = tune_prefer(search, pool, out->equals, &out->reason);
    put_first(pool, out->winner);
    put_first(out->tied, out->winner);
    out->verdict = out->tied_count > 1 ? TUNE_TIE : TUNE_WINNER;
    if (out->verdict == TUNE_WINNER)
        out->tied_count = 0;
}

void tune_search_judge(const struct tune_search *search, struct tune_judgement *out)
{
    size_t pool[TUNE_TIED_MOST + 1] = {0}, all[TUNE_TIED_MOST + 1];
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
        out->measured += search->states[i].knowledge != TUNE_UNTRIED;
    size_t count = tune_rank_all(search, meets_in_finals, is_worth_more, pool, TUNE_TIED_MOST);
    bool finals = count > 0;
    /* One that was alone in the finals is compared with what is known of the others. */
    if (count < 2) {
        size_t known = tune_rank_all(search, meets_and_may_win, is_worth_more, all, TUNE_TIED_MOST);
        for (size_t i = 0; i < known && count < TUNE_TIED_MOST; i++)
            if (!finals || all[i] != pool[0])
                pool[count++] = all[i];
    }
    if (count == 0) {
        tune_rank_all(search, tune_may_win, is_closer, &out->closest, 1);
        return;
    }
    choose(search, pool, count, out);
    out->rounds = finals ? search->states[out->winner].rounds : 0;
    struct estimate estimate = tune_estimate(search, out->winner);
    out->value = estimate.value;
    out->low = estimate.value * exp(-estimate.below);
    out->high = estimate.value * exp(estimate.above);
    out->next = find_next(search, pool, count);
    if (out->next != TUNE_NO_POINT)
        set_margin(search, out);
}
