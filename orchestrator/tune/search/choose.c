#include <math.h>
#include <stdlib.h>

#include "job/queues.h"
#include "orchestrator/tune/search/internal.h"
#include "statistics/statistics.h"

/* What has more queues than GPUs usually have may be refused, and that takes as long as a start;
 * the chance that it is not. */
#define CHANCE_BEYOND 0.2

/* That a program has several threads of which nothing shows that it has. */
#define CHANCE_OF_THREADS 0.1

/* Points that share processes, at most: each batch heeds what the last one showed. Of a start that
 * takes long, as many as take as long as it. */
#define CREW_MOST 6
#define DEAR_CREW_MOST 24

/* A look is not worth it if it is expected to gain less than this share, and another one of the
 * same layout, of which the finals show more. */
#define GAIN_LEAST 0.0001
#define AGAIN_GAIN_LEAST 0.0005

/* Nor is a start of a program worth its seconds for less than this, or any look the time of further
 * finalists. */
#define START_GAIN_LEAST 0.005

/* Until this many have shown what predictions are worth. */
#define LOOKS_LEAST 12

/* Of a window whose like was not seen yet. */
#define LOOK_NOISE 0.03

/* Looks ahead, at most. */
#define AHEAD_MOST 48

void tune_add(struct tune_batch *batch, size_t point, double window_s)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].point == point)
            return;
    if (batch->count < TUNE_BATCH_MOST)
        batch->items[batch->count++] = (struct tune_item){point, window_s};
}

/* -- expected gain ----------------------------------------------------------------------------- */

/* The mean of what is above `best` of a normal distribution. */
static double expected_improvement(double mean, double sd, double best)
{
    double z = (mean - best) / fmax(sd, 1e-9);
    return (mean - best) * statistics_normal_below(z) + sd * exp(-0.5 * z * z) / sqrt(2.0 * M_PI);
}

static double chance_below(const struct tune_belief *belief, size_t point, double limit)
{
    double sd = fmax(gp_sd(belief->gp, point), 1e-3);
    return statistics_normal_below((log(limit) - gp_mean(belief->gp, point)) / sd);
}

/* That a point is within the constraints, that the driver has room for it, and the program has its
 * threads. */
static double chance_to_fit(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    bool beyond = one->axes[TUNE_AXIS_MPS] &&
                  !mps_queues_fit(one->processes, one->connections, MPS_QUEUES_USUAL) &&
                  !tune_has_room(search, one);
    double chance = beyond ? CHANCE_BEYOND : 1.0;
    if (search->rules.may_ignore_threads && tune_has_new_threads(search, point))
        chance *= CHANCE_OF_THREADS;
    if (search->rules.max_p99_us > 0.0)
        chance *= chance_below(&search->beliefs[TUNE_P99], point, search->rules.max_p99_us);
    if (search->rules.max_cpus > 0.0)
        chance *= chance_below(&search->beliefs[TUNE_CPUS], point,
                               TUNE_CPU_SLACK * search->rules.max_cpus);
    return chance;
}

/* What the choice of a batch works with. */
struct choice {
    struct tune_search *search;
    struct gp *gp;
    size_t *open, count; /* points that may be looked at */
    double *fits;        /* the chance of each */
    double best;         /* what is to be surpassed */
    double noise;        /* of a look */
};

/* Of those that likely fit the highest mean; where none does anything is an improvement, and where
 * nothing was measured what is to be hoped for. */
static double incumbent(const struct tune_search *search, const struct gp *gp, const size_t *open,
                        size_t count)
{
    double best = -INFINITY, most = -INFINITY, least = INFINITY;
    for (size_t i = 0; i < search->known_count; i++) {
        size_t point = search->known[i];
        if (tune_may_win(search, point) && !search->states[point].dropped &&
            tune_fits(search, point))
            best = fmax(best, gp_mean(gp, point));
    }
    for (size_t i = 0; i < count; i++) {
        double sd = search->beliefs[TUNE_VALUE].points[open[i]].sd;
        most = fmax(most, gp_mean(gp, open[i]) - sd);
        least = fmin(least, gp_mean(gp, open[i]) - sd);
    }
    if (isfinite(best))
        return best;
    return search->known_count > 0 ? least : most;
}

static bool is_untried(const struct choice *choice, size_t i)
{
    return choice->search->states[choice->open[i]].knowledge == TUNE_UNTRIED;
}

static double gain_of(const struct choice *choice, size_t i)
{
    double sd = gp_sd(choice->gp, choice->open[i]);
    double gain = expected_improvement(gp_mean(choice->gp, choice->open[i]), sd, choice->best);
    /* A window shows less of what is nearly known already. */
    double shown = 1.0 - choice->noise / hypot(choice->noise, sd);
    return gain * choice->fits[i] * shown;
}

/* By how much longer the batch's processes start so that they serve a point, too; below 0: they do
 * not. */
static double seconds_to_add(const struct tune_search *search, const struct tune_batch *batch,
                             size_t point)
{
    const struct tune_candidate *all = search->candidates;
    size_t most = point;
    for (size_t i = 0; i < batch->count; i++)
        if (tune_is_larger(&all[batch->items[i].point], &all[most]))
            most = batch->items[i].point;
    double started_s = 0.0;
    for (size_t i = 0; i < batch->count; i++) {
        size_t other = batch->items[i].point;
        started_s = fmax(started_s, tune_start_seconds(search, other));
        if (other == point || !tune_may_serve(search, &all[most], &all[other]))
            return -1.0;
    }
    return tune_may_serve(search, &all[most], &all[point])
               ? tune_start_seconds(search, most) - started_s
               : -1.0;
}

static bool set_choice(struct tune_search *search, struct choice *out)
{
    size_t best = tune_search_best(search);
    *out = (struct choice){.search = search,
                           .gp = search->beliefs[TUNE_VALUE].gp,
                           .noise = LOOK_NOISE,
                           .open = calloc(search->count + 1, sizeof *out->open),
                           .fits = calloc(search->count + 1, sizeof *out->fits)};
    if (!out->open || !out->fits)
        return false;
    for (size_t i = 0; i < search->count; i++) {
        /* A search of a rate shows all that there is to see. */
        bool again = tune_may_win(search, i) && !search->states[i].dropped &&
                     search->states[i].rounds == 0 && search->rules.resolution <= 0.0;
        if (again || (tune_is_open(search, best, i) && !tune_has_dead_setting(search, i)))
            out->open[out->count++] = i;
    }
    /* Where nothing at all has worked it need not be the setting. */
    for (size_t i = 0; i < search->count && out->count == 0; i++)
        if (tune_is_open(search, best, i))
            out->open[out->count++] = i;
    for (size_t i = 0; i < out->count; i++)
        out->fits[i] = chance_to_fit(search, out->open[i]);
    out->best = incumbent(search, out->gp, out->open, out->count);
    return true;
}

static void release_choice(struct choice *choice)
{
    free(choice->open);
    free(choice->fits);
}

/* Without predictions: one worker alone, with which the others are compared. It goes first, by
 * itself: what others cost is not known yet. */
static bool add_plainest(const struct choice *choice, double seconds_most, struct tune_batch *batch)
{
    const struct tune_search *search = choice->search;
    size_t plainest = TUNE_NO_POINT;
    for (size_t i = 0; i < choice->count; i++) {
        size_t point = choice->open[i];
        if (search->candidates[point].naive &&
            (plainest == TUNE_NO_POINT || tune_in_flight(&search->candidates[point]) <
                                              tune_in_flight(&search->candidates[plainest])))
            plainest = point;
    }
    bool first = !search->rules.predicted && search->known_count + search->refused_count == 0;
    if (!first || plainest == TUNE_NO_POINT || tune_look_seconds(search, plainest) > seconds_most)
        return false;
    tune_add(batch, plainest, search->look_s);
    return true;
}

static size_t most_of_a_crew(const struct tune_search *search)
{
    if (!search->rules.program)
        return CREW_MOST;
    /* A look on processes that there are takes as long whichever layout of a program it shows. */
    double as_many = search->costs.start_s / fmax(tune_held_look_seconds(search, 0), 1e-3);
    return (size_t)fmin(fmax(as_many, CREW_MOST), DEAR_CREW_MOST);
}

/* The most for its seconds that a start for open[i] is expected to gain, with the layouts that it
 * serves, too. */
static double start_rate(const struct choice *choice, size_t i, size_t crew_most,
                         double seconds_most)
{
    const struct tune_search *search = choice->search;
    const struct tune_candidate *first = &search->candidates[choice->open[i]];
    double seconds = tune_look_seconds(search, choice->open[i]), gains[DEAR_CREW_MOST] = {0.0};
    double with_s = tune_held_look_seconds(search, choice->open[i]);
    double gain = gain_of(choice, i), rate = gain / seconds;
    size_t count = 0;
    for (size_t k = 0; k < choice->count; k++) {
        const struct tune_candidate *one = &search->candidates[choice->open[k]];
        if (k == i || !tune_may_serve(search, first, one))
            continue;
        double more = gain_of(choice, k);
        size_t at = count < crew_most - 1 ? count++ : count;
        for (; at > 0 && more > gains[at - 1]; at--)
            if (at < crew_most - 1)
                gains[at] = gains[at - 1];
        if (at < crew_most - 1)
            gains[at] = more;
    }
    for (size_t k = 0; k < count && seconds + with_s <= seconds_most; k++) {
        gain += gains[k];
        seconds += with_s;
        rate = fmax(rate, gain / seconds);
    }
    return rate;
}

/* Whether a program may start for open[i], which is expected to gain that share. What is known
 * already the finals show with fresh starts, too: it has the time only that all rounds of the best
 * leave. */
static bool is_worth_a_start(const struct choice *choice, size_t i, double gain)
{
    const struct tune_search *search = choice->search;
    double spare_s = search->left_s - tune_whole_finals_s(search);
    return gain >= START_GAIN_LEAST &&
           (is_untried(choice, i) || tune_look_seconds(search, choice->open[i]) <= spare_s);
}

/* Whether a look at open[i], which is expected to gain that share, may be next: where nothing waits
 * that serves it, on processes that start for it. */
static bool may_look(const struct choice *choice, size_t i, double gain, bool *too_dear)
{
    const struct tune_search *search = choice->search;
    size_t point = choice->open[i];
    double least = search->known_count < LOOKS_LEAST ? 0.0 : GAIN_LEAST;
    if (!(gain > (is_untried(choice, i) ? least : AGAIN_GAIN_LEAST)))
        return false;
    /* The same processes show little more of it: sets of them differ, windows do not. */
    if (tune_is_held(search, point))
        return is_untried(choice, i);
    if (!tune_may_start(search, point))
        return false;
    if (!search->rules.program)
        return true;
    if (!is_worth_a_start(choice, i, gain))
        return false;
    bool fits = tune_leaves_finals(search, point);
    *too_dear |= !fits;
    return fits;
}

/* Whether the processes that wait have measured for less time than their start took. */
static bool owes_its_start(const struct tune_search *search)
{
    if (!search->rules.program || search->held == TUNE_NO_POINT)
        return false;
    double look_s = tune_held_look_seconds(search, search->held);
    double start_s = tune_look_seconds(search, search->held) - look_s;
    return (double)search->held_looks * look_s < start_s;
}

/* Whether no others may start yet: those that wait cost a start, and serve open points that may
 * gain as much as one has to. */
static bool has_crew_to_use(const struct choice *choice, double held_most)
{
    const struct tune_search *search = choice->search;
    for (size_t i = 0; i < choice->count && owes_its_start(search); i++)
        if (tune_is_held(search, choice->open[i]) && is_untried(choice, i) &&
            gain_of(choice, i) >= START_GAIN_LEAST &&
            tune_held_look_seconds(search, choice->open[i]) <= held_most)
            return true;
    return false;
}

bool tune_choose(struct tune_search *search, double seconds_most, double held_most,
                 struct tune_batch *batch, bool *too_dear)
{
    struct choice choice;
    double spent_s = 0.0;
    bool made = set_choice(search, &choice);
    size_t rows = made ? gp_rows(choice.gp) : 0;
    *too_dear = false;
    size_t crew_most = most_of_a_crew(search);
    /* A program's processes wait for the next look, which heeds what this one shows. */
    const bool waits = search->rules.program;
    made = made && !add_plainest(&choice, seconds_most, batch);
    const bool stays = made && has_crew_to_use(&choice, held_most);
    while (made && batch->count < (waits ? 1 : crew_most)) {
        size_t first = TUNE_NO_POINT, joins = TUNE_NO_POINT;
        double first_rate = 0.0, join_rate = 0.0, first_s = 0.0, join_s = 0.0;
        for (size_t i = 0; i < choice.count; i++) {
            double gain = gain_of(&choice, i);
            size_t point = choice.open[i];
            bool held = tune_is_held(search, point);
            if ((stays && !held) || !may_look(&choice, i, gain, too_dear))
                continue;
            double alone_s =
                held ? tune_held_look_seconds(search, point) : tune_look_seconds(search, point);
            double rate = waits && !held && alone_s <= seconds_most
                              ? start_rate(&choice, i, crew_most, seconds_most)
                              : gain / alone_s;
            /* What is likely enough to be the best takes of the time of further finalists. */
            double most_s = held && gain >= START_GAIN_LEAST ? held_most : seconds_most;
            if (alone_s > most_s)
                *too_dear = true;
            else if (rate > first_rate) {
                first_rate = rate;
                first = point;
                first_s = alone_s;
            }
            double more_s = batch->count > 0 ? seconds_to_add(search, batch, point) : -1.0;
            double with_s = tune_held_look_seconds(search, point) + more_s;
            if (more_s >= 0.0 && spent_s + with_s <= seconds_most && gain / with_s > join_rate) {
                join_rate = gain / with_s;
                joins = point;
                join_s = with_s;
            }
        }
        if (batch->count > 0 ? join_rate < first_rate || joins == TUNE_NO_POINT
                             : first == TUNE_NO_POINT)
            break;
        size_t point = batch->count > 0 ? joins : first;
        spent_s += batch->count > 0 ? join_s : first_s;
        tune_add(batch, point, search->look_s);
        gp_condition_on_mean(choice.gp, point, choice.noise);
    }
    if (made)
        gp_forget(choice.gp, rows);
    release_choice(&choice);
    return batch->count > 0;
}

/* -- what was not measured --------------------------------------------------------------------- */

static double chance_above(const struct choice *choice, size_t i, double value)
{
    double mean = gp_mean(choice->gp, choice->open[i]), sd = gp_sd(choice->gp, choice->open[i]);
    return choice->fits[i] * statistics_normal_below((mean - value) / fmax(sd, 1e-6));
}

static bool is_any_open(const struct tune_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (tune_is_open(search, TUNE_NO_POINT, i))
            return true;
    return false;
}

/* The seconds of a look at open[i] after those at the ones that were set aside. */
static double ahead_seconds(const struct choice *choice, const size_t *aside, size_t count,
                            size_t i)
{
    const struct tune_search *search = choice->search;
    size_t point = choice->open[i];
    for (size_t k = 0; k < count; k++)
        if (tune_may_serve(search, &search->candidates[aside[k]], &search->candidates[point]))
            return tune_held_look_seconds(search, point);
    return tune_look_seconds(search, point);
}

void tune_look_ahead(struct tune_search *search, double share, double enough, double *chance,
                     double *seconds)
{
    struct choice choice = {0};
    size_t aside[AHEAD_MOST], count = 0;
    *chance = *seconds = 0.0;
    /* A fit to all points of a large space takes minutes. */
    if (!is_any_open(search))
        return;
    bool made = tune_belief_renew(search, 1.0) == STATUS_OK && set_choice(search, &choice);
    double value = made ? choice.best + log1p(share) : 0.0;
    size_t rows = made ? gp_rows(choice.gp) : 0;
    /* One after the other is set aside, with all that go with it. */
    while (made && count < AHEAD_MOST) {
        size_t likeliest = TUNE_NO_POINT;
        double most = 0.0;
        for (size_t i = 0; i < choice.count; i++)
            if (is_untried(&choice, i) && chance_above(&choice, i, value) > most) {
                most = chance_above(&choice, i, value);
                likeliest = i;
            }
        /* Those that may be better stand or fall together: layouts of a plateau are alike. */
        *chance = fmax(*chance, most);
        if (likeliest == TUNE_NO_POINT || most <= enough)
            break;
        *seconds += ahead_seconds(&choice, aside, count, likeliest);
        aside[count++] = choice.open[likeliest];
        value = fmax(value, gp_mean(choice.gp, choice.open[likeliest]) + log1p(share));
        gp_condition_on_mean(choice.gp, choice.open[likeliest], choice.noise);
        choice.fits[likeliest] = 0.0;
    }
    if (made)
        gp_forget(choice.gp, rows);
    release_choice(&choice);
}
