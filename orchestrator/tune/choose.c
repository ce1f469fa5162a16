#include <math.h>
#include <stdlib.h>

#include "orchestrator/tune/costs.h"
#include "orchestrator/tune/search_internal.h"

/* Ceilings and predictions come from figures that are a few percent off. */
#define CEILING_SLACK 1.1
#define LATENCY_SLACK 1.4
#define PREDICTED_CPU_SLACK 1.4

/* Settings that never worked, and failed so often, are not tried again. */
#define DEAD_AFTER 3

/* The most hardware queues that H100s and H200s have for all MPS clients and the server, which
 * takes as many as one of them (docs/mps.md). What has more may be refused, and that takes as long
 * as a start; the chance that it is not. */
#define QUEUES_USUAL 128
#define CHANCE_BEYOND 0.2

/* Points that share processes, at most: each batch heeds what the last one showed. Of a start that
 * takes long, as many as take as long as it. */
#define CREW_MOST 6
#define DEAR_CREW_MOST 24

/* Started processes may be this many times as many as those that work (turns.h). */
#define CREW_SHRINKS 4

/* What one start serves is much alike: the gain of each further layout counts this share of that of
 * the one before. */
#define ALIKE 0.7

/* A program's processes may need much memory of the host: a start has at most this many times as
 * many as have worked. */
#define GROWTH_MOST 16

/* A look is not worth it if it is expected to gain less than this share, and another one of the
 * same layout, of which the finals show more. */
#define GAIN_LEAST 0.0001
#define AGAIN_GAIN_LEAST 0.0005

/* Nor is a start of a program worth its seconds for less than this. */
#define START_GAIN_LEAST 0.005

/* A start of a program is dear if it takes longer than this, and more than this share of the time
 * that is left. */
#define DEAR_START_S 10.0
#define DEAR_START_SHARE 0.12

/* Until this many have shown what predictions are worth. */
#define LOOKS_LEAST 12

/* Of a window whose like was not seen yet. */
#define LOOK_NOISE 0.03

/* What is likely enough to look at, and at most this many of them. */
#define CHANCE_LEAST 0.01
#define AHEAD_MOST 48

void tune_add(struct tune_batch *batch, size_t point, double window_s)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].point == point)
            return;
    if (batch->count < TUNE_BATCH_MOST)
        batch->items[batch->count++] = (struct tune_item){point, window_s};
}

/* On processes that there are. */
static double held_seconds(const struct tune_costs *costs, double window_s)
{
    return costs->point_s + fmax(window_s, costs->window_s);
}

/* Threads get their streams ready at the same time; those of a program are its own business. */
static double streams_seconds(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    bool any = one->streams > 1 && !search->rules.program;
    return any ? search->costs.stream_s * one->streams : 0.0;
}

double tune_seconds_of(const struct tune_search *search, size_t point, double window_s)
{
    const struct tune_costs *costs = &search->costs;
    return held_seconds(costs, window_s) + streams_seconds(search, point) + costs->start_s +
           costs->process_s * search->candidates[point].processes;
}

double tune_look_seconds(const struct tune_search *search, size_t point)
{
    return tune_seconds_of(search, point, search->look_s) + search->costs.search_s;
}

/* -- what is worth a measurement at all -------------------------------------------------------- */

static unsigned streams_of(const struct tune_candidate *one)
{
    return one->streams > 1 ? one->streams : 1;
}

/* All queues of all clients together are limited, whatever the clients do with them. */
static bool has_as_many_queues(const struct tune_candidate *one, const struct tune_candidate *other)
{
    return one->processes >= other->processes &&
           one->processes * one->connections >= other->processes * other->connections;
}

/* Whether a refusal is not a limit: as many clients with as many queues have worked. */
static bool has_room(const struct tune_search *search, const struct tune_candidate *refused)
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
           streams_of(one) >= streams_of(other) && one->connections >= other->connections &&
           one->axes[TUNE_AXIS_LAUNCH] == other->axes[TUNE_AXIS_LAUNCH];
}

/* Whether over MPS the driver had no room for another client. A program dies of that by itself. */
static bool was_crowded(const struct tune_search *search, size_t refused)
{
    const struct tune_observation *seen = &search->states[refused].seen;
    return seen->crowded || (search->rules.program && seen->unready &&
                             search->candidates[refused].axes[TUNE_AXIS_MPS]);
}

bool tune_search_is_beyond(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    for (size_t i = 0; i < search->refused_count; i++) {
        const struct tune_candidate *other = &search->candidates[search->refused[i]];
        bool refused = search->states[search->refused[i]].seen.outcome == TUNE_INFEASIBLE;
        bool crowded = was_crowded(search, search->refused[i]);
        if (search->states[point].knowledge == TUNE_UNTRIED &&
            one->axes[TUNE_AXIS_MPS] == other->axes[TUNE_AXIS_MPS] &&
            ((refused && is_more_of(one, other)) ||
             (crowded && has_as_many_queues(one, other) && !has_room(search, other))))
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

/* Whether what did not even start has one setting only that has never worked, and this one. */
static bool is_blamed(const struct tune_search *search, int axis, uint32_t value)
{
    for (size_t i = 0; i < search->refused_count; i++) {
        size_t refused = search->refused[i];
        const uint32_t *axes = search->candidates[refused].axes;
        unsigned others = 0;
        if (!search->states[refused].seen.unready || axes[axis] != value)
            continue;
        for (int other = 0; other < TUNE_AXES; other++)
            others += other != axis && !has_worked(search, other, axes[other]);
        if (others == 0 && !has_worked(search, axis, value))
            return true;
    }
    return false;
}

/* A setting with which nothing has worked: for example a workload that cannot be a graph. A start
 * of a program that hangs is too dear to be tried as often. */
static bool has_dead_setting(const struct tune_search *search, size_t point)
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

/* Not tried, not ruled out by what was found of others, by its ceiling or by predictions. */
static bool is_open(const struct tune_search *search, size_t best, size_t point)
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
        one->ceiling * CEILING_SLACK < search->states[best].seen.low)
        return false;
    return true;
}

/* -- expected gain ----------------------------------------------------------------------------- */

static double below(double x)
{
    return 0.5 * erfc(-x / M_SQRT2);
}

/* The mean of what is above `best` of a normal distribution. */
static double improvement(double mean, double sd, double best)
{
    double z = (mean - best) / fmax(sd, 1e-9);
    return (mean - best) * below(z) + sd * exp(-0.5 * z * z) / sqrt(2.0 * M_PI);
}

static double chance_below(const struct tune_belief *belief, size_t point, double limit)
{
    return below((log(limit) - gp_mean(belief->gp, point)) / fmax(gp_sd(belief->gp, point), 1e-3));
}

/* That a point is within the constraints, and that the driver has room for it. */
static double chance_to_fit(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    bool beyond = one->axes[TUNE_AXIS_MPS] &&
                  (one->processes + 1) * one->connections > QUEUES_USUAL && !has_room(search, one);
    double chance = beyond ? CHANCE_BEYOND : 1.0;
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
    double gain = improvement(gp_mean(choice->gp, choice->open[i]), sd, choice->best);
    /* A window shows less of what is nearly known already. */
    double shown = 1.0 - choice->noise / hypot(choice->noise, sd);
    return gain * choice->fits[i] * shown;
}

/* The same of a program, beside that: its threads, streams and binding are those of its start. */
static bool may_serve_program(const struct tune_search *search,
                              const struct tune_candidate *started_for,
                              const struct tune_candidate *one)
{
    return started_for->streams == one->streams && started_for->threads >= one->threads &&
           (one->streams <= 1 || started_for->threads == one->threads || search->rules.server) &&
           started_for->axes[TUNE_AXIS_BIND] == one->axes[TUNE_AXIS_BIND] &&
           2 * (started_for->processes - one->processes) <= one->processes;
}

/* Whether the processes of one point can serve another one, as far as numbers show (turns.h). */
static bool may_serve(const struct tune_search *search, const struct tune_candidate *started_for,
                      const struct tune_candidate *one)
{
    return started_for->processes >= one->processes &&
           started_for->axes[TUNE_AXIS_MPS] == one->axes[TUNE_AXIS_MPS] &&
           (one->axes[TUNE_AXIS_MPS] ? started_for->processes <= CREW_SHRINKS * one->processes
                                     : started_for->processes == one->processes) &&
           started_for->connections == one->connections &&
           started_for->axes[TUNE_AXIS_SCHEDULE] == one->axes[TUNE_AXIS_SCHEDULE] &&
           started_for->axes[TUNE_AXIS_DAEMONS] == one->axes[TUNE_AXIS_DAEMONS] &&
           started_for->axes[TUNE_AXIS_SHARE] == one->axes[TUNE_AXIS_SHARE] &&
           (!search->rules.program || may_serve_program(search, started_for, one));
}

static bool is_larger(const struct tune_candidate *one, const struct tune_candidate *other)
{
    return one->processes == other->processes ? one->threads > other->threads
                                              : one->processes > other->processes;
}

/* Processes to be added to those of the batch so that they serve a point, too; below 0: they do
 * not. */
static int processes_to_add(const struct tune_search *search, const struct tune_batch *batch,
                            size_t point)
{
    const struct tune_candidate *one = &search->candidates[point], *most = one;
    for (size_t i = 0; i < batch->count; i++) {
        const struct tune_candidate *other = &search->candidates[batch->items[i].point];
        if (is_larger(other, most))
            most = other;
    }
    unsigned started = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct tune_candidate *other = &search->candidates[batch->items[i].point];
        started = other->processes > started ? other->processes : started;
        if (batch->items[i].point == point || !may_serve(search, most, other))
            return -1;
    }
    return may_serve(search, most, one) ? (int)most->processes - (int)started : -1;
}

static bool set_choice(struct tune_search *search, struct choice *out)
{
    size_t best = TUNE_NO_POINT;
    if (tune_leaders(search, &best, 1) == 0)
        best = TUNE_NO_POINT;
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
                     search->rules.resolution <= 0.0;
        if (again || (is_open(search, best, i) && !has_dead_setting(search, i)))
            out->open[out->count++] = i;
    }
    /* Where nothing at all has worked it need not be the setting. */
    for (size_t i = 0; i < search->count && out->count == 0; i++)
        if (is_open(search, best, i))
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

static size_t most_of_a_crew(const struct tune_search *search, double window_s)
{
    const struct tune_costs *costs = &search->costs;
    double as_long = costs->start_s / fmax(held_seconds(costs, window_s) + costs->search_s, 1e-3);
    return search->rules.program ? (size_t)fmin(fmax(as_long, CREW_MOST), DEAR_CREW_MOST)
                                 : CREW_MOST;
}

/* The most for its seconds that a start for open[i] is expected to gain, with the layouts that it
 * serves, too. */
static double start_rate(const struct choice *choice, size_t i, size_t crew_most,
                         double seconds_most)
{
    const struct tune_search *search = choice->search;
    const struct tune_candidate *first = &search->candidates[choice->open[i]];
    double seconds = tune_look_seconds(search, choice->open[i]), gains[DEAR_CREW_MOST] = {0.0};
    double with_s = held_seconds(&search->costs, search->look_s) + search->costs.search_s;
    double gain = gain_of(choice, i), rate = gain / seconds, new = ALIKE;
    size_t count = 0;
    for (size_t k = 0; k < choice->count; k++) {
        const struct tune_candidate *one = &search->candidates[choice->open[k]];
        if (k == i || !may_serve(search, first, one))
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
        gain += new *gains[k];
        seconds += with_s;
        new *= ALIKE;
        rate = fmax(rate, gain / seconds);
    }
    return rate;
}

/* Whether a point has more processes than may be started yet. */
static bool outgrows(const struct tune_search *search, size_t point)
{
    unsigned most = 1;
    for (size_t i = 0; i < search->known_count; i++) {
        unsigned processes = search->candidates[search->known[i]].processes;
        most = processes > most ? processes : most;
    }
    return search->candidates[point].processes > GROWTH_MOST * most;
}

static bool are_starts_dear(const struct tune_search *search)
{
    const double start_s = search->costs.start_s;
    return search->rules.program && start_s >= DEAR_START_S &&
           start_s >= DEAR_START_SHARE * search->left_s;
}

/* A program that has one thread, whatever it is asked for, is waited for in vain, and the longer
 * the longer its starts take. Where they are dear the layouts that any program has come first, and
 * others if there is time to wait, and for all rounds of the best. */
static bool may_lack_threads(const struct tune_search *search, size_t point)
{
    bool several = false;
    if (search->candidates[point].threads == 1 || search->rules.server)
        return false;
    for (size_t i = 0; i < search->known_count; i++) {
        const struct tune_candidate *known = &search->candidates[search->known[i]];
        if (known->threads > 1)
            return false;
        several |= known->processes > 1;
    }
    double spare_s = search->left_s - tune_whole_finals_s(search);
    return !several || start_late_s(tune_look_seconds(search, point)) > spare_s;
}

/* Whether a layout has settings that the first one had not: another share of the GPU or binding.
 * Its start serves no layout without them, and where starts are dear the best have their rounds
 * first. */
static bool has_other_share_or_binding(const struct tune_search *search, size_t point)
{
    if (search->known_count == 0)
        return false;
    const struct tune_candidate *one = &search->candidates[point];
    const struct tune_candidate *first = &search->candidates[search->known[0]];
    return one->axes[TUNE_AXIS_SHARE] != first->axes[TUNE_AXIS_SHARE] ||
           one->axes[TUNE_AXIS_BIND] != first->axes[TUNE_AXIS_BIND];
}

/* Whether a program may start for open[i], which looks as good as gain. What is known already the
 * finals show with fresh starts, too: it has the time only that all rounds of the best leave. */
static bool may_start(const struct choice *choice, size_t i, double gain)
{
    const struct tune_search *search = choice->search;
    double spare_s = search->left_s - tune_whole_finals_s(search);
    return gain >= START_GAIN_LEAST &&
           (is_untried(choice, i) || tune_look_seconds(search, choice->open[i]) <= spare_s);
}

bool tune_choose(struct tune_search *search, double seconds_most, struct tune_batch *batch,
                 bool *too_dear)
{
    struct choice choice;
    double window_s = search->look_s, spent_s = 0.0;
    bool made = set_choice(search, &choice);
    double least = search->known_count < LOOKS_LEAST ? 0.0 : GAIN_LEAST;
    size_t rows = made ? gp_rows(choice.gp) : 0;
    *too_dear = false;
    size_t crew_most = most_of_a_crew(search, window_s);
    const bool dear = are_starts_dear(search);
    made = made && !add_plainest(&choice, seconds_most, batch);
    while (made && batch->count < crew_most) {
        size_t first = TUNE_NO_POINT, joins = TUNE_NO_POINT;
        double first_rate = 0.0, join_rate = 0.0, first_s = 0.0, join_s = 0.0;
        for (size_t i = 0; i < choice.count; i++) {
            double gain = gain_of(&choice, i);
            if (!(gain > (is_untried(&choice, i) ? least : AGAIN_GAIN_LEAST)))
                continue;
            size_t point = choice.open[i];
            double alone_s = tune_look_seconds(search, point);
            bool starts = search->rules.program && batch->count == 0;
            if (search->rules.program && outgrows(search, point))
                continue;
            if (dear &&
                (may_lack_threads(search, point) || has_other_share_or_binding(search, point)))
                continue;
            if (starts && !may_start(&choice, i, gain))
                continue;
            double rate = starts && alone_s <= seconds_most
                              ? start_rate(&choice, i, crew_most, seconds_most)
                              : gain / alone_s;
            if (alone_s > seconds_most)
                *too_dear = true;
            else if (rate > first_rate) {
                first_rate = rate;
                first = point;
                first_s = alone_s;
            }
            int more = batch->count > 0 ? processes_to_add(search, batch, point) : -1;
            double with_s = held_seconds(&search->costs, window_s) +
                            streams_seconds(search, point) + search->costs.search_s +
                            search->costs.process_s * more;
            if (more >= 0 && spent_s + with_s <= seconds_most && gain / with_s > join_rate) {
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
        tune_add(batch, point, window_s);
        gp_suppose(choice.gp, point, choice.noise);
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
    return choice->fits[i] * below((mean - value) / fmax(sd, 1e-6));
}

void tune_look_ahead(struct tune_search *search, double share, double *chance, double *seconds)
{
    struct choice choice = {0};
    *chance = *seconds = 0.0;
    if (!search->beliefs[TUNE_VALUE].gp)
        return;
    bool made = tune_belief_renew(search, 1.0) == STATUS_OK && set_choice(search, &choice);
    double value = made ? choice.best + log1p(share) : 0.0;
    size_t rows = made ? gp_rows(choice.gp) : 0;
    /* One after the other is set aside, with all that go with it. */
    for (int step = 0; made && step < AHEAD_MOST; step++) {
        size_t likeliest = TUNE_NO_POINT;
        double most = CHANCE_LEAST;
        for (size_t i = 0; i < choice.count; i++)
            if (is_untried(&choice, i) && chance_above(&choice, i, value) > most) {
                most = chance_above(&choice, i, value);
                likeliest = i;
            }
        if (likeliest == TUNE_NO_POINT)
            break;
        /* Those that may be better stand or fall together: layouts of a plateau are alike. */
        *chance = fmax(*chance, most);
        *seconds += tune_look_seconds(search, choice.open[likeliest]);
        gp_suppose(choice.gp, choice.open[likeliest], choice.noise);
        choice.fits[likeliest] = 0.0;
    }
    if (made)
        gp_forget(choice.gp, rows);
    release_choice(&choice);
}
