#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/point.h"
#include "orchestrator/tune/search/internal.h"
#include "statistics/statistics.h"

/* Of a prediction whose error is not known, of a guess where there is none, and of one that is
 * fitted to what was seen; and of the level of each: a calibration may be off, and how much a GPU
 * does is not known without one. */
#define PREDICTED_REL 0.15
#define GUESSED_SD 0.7
#define FITTED_SD 0.5
#define PREDICTED_LEVEL_SD 0.1
#define GUESSED_LEVEL_SD 5.0

/* How much of the error of a prediction depends on all features together. */
#define PREDICTED_INTERACTION 0.07
#define GUESSED_INTERACTION 0.3

/* Of rounds against windows of a look. */
#define SHIFT_SD 0.1

/* Of what is predicted to do as much, fewer in flight are tried first: they wait for less. */
#define IN_FLIGHT_COSTS 0.02

/* A guess: iterations in flight beyond this number hardly do more. Of a program, whose processes
 * may have an interpreter each, those of one process do so from a smaller number on; of a server,
 * which has an event loop in each, the requests at one. */
#define KNEE_IN_FLIGHT 32.0
#define KNEE_OF_A_PROCESS 8.0
#define KNEE_AT_SERVERS 512.0
#define KNEE_AT_A_SERVER 2.0
#define KNEE_SHARPNESS 2.0

/* A program's thread that uses a CPU for this much of the time waits awake: more such threads than
 * CPUs do no more together. */
#define AWAKE_CPUS 0.8

/* What measurements may show these to be, as multiples; how unlikely each doubling is, and that
 * threads which wait awake do more beyond the CPUs. */
static const double knee_steps[] = {0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0};
#define KNEE_DOUBT 0.2
#define CROWD_DOUBT 0.5

/* Steps of a number feature and of a class, in the unit of distances. */
#define NUMBER_STEP 0.25
#define CLASS_STEP 0.5

/* Twice as much that is predicted counts for that many steps: a limit that predictions do not know
 * makes the large ones wrong, and the others may yet be right. */
#define PREDICTED_STEPS 8.0

/* TUNE_BETWEEN_REL counts as much as this number of rounds, and the interval of windows as of
 * windows. */
#define ROUNDS_LIKE 3.0
#define LOOKS_LIKE 2.0

/* A program whose processes run wherever the scheduler likes mostly does a little less: bound ones
 * come first (docs/search.md). */
#define UNBOUND_COSTS 0.05

/* How far beyond a prior's own error doubt goes. */
#define DOUBT_MOST 2.0

/* A figure without an interval. */
#define UNKNOWN_SD 0.3
#define UNKNOWN_P99_SD 0.15
#define CPUS_SD 0.05

double tune_in_flight(const struct tune_candidate *one)
{
    return (double)one->processes * one->threads * tune_streams_of(one);
}

/* -- before any measurement -------------------------------------------------------------------- */

static bool axis_varies(const struct tune_search *search, int axis)
{
    for (size_t i = 1; i < search->count; i++)
        if (search->candidates[i].axes[axis] != search->candidates[0].axes[axis])
            return true;
    return false;
}

/* Of a program nothing shows how many of them a layout keeps busy. */
static double most_cpus(const struct tune_search *search)
{
    double most = search->rules.program ? fmax(1.0, search->rules.cpus) : 1.0;
    for (size_t i = 0; i < search->count; i++)
        most = fmax(most, search->candidates[i].cpus);
    return most;
}

static void set_numbers(const struct tune_candidate *one, double cpus, double *out)
{
    double workers = (double)one->processes * one->threads,
           slots = one->threads * tune_streams_of(one);
    double numbers[] = {
        log2(one->processes),
        log2(one->threads),
        log2(tune_streams_of(one)),
        log2(tune_in_flight(one)),
        log2(fmax(1.0, workers / cpus)),
        log2(fmax(1.0, slots / fmax(1.0, one->connections))),
        one->predicted > 0.0 ? PREDICTED_STEPS * log2(one->predicted) : 0.0,
    };
    for (size_t k = 0; k < TUNE_NUMBERS; k++)
        out[k] = NUMBER_STEP * numbers[k];
}

/* What it does if nothing is predicted, in any unit. */
static double guess(const struct tune_search *search, const struct tune_knees *knees,
                    const struct tune_candidate *one)
{
    double turns = one->axes[TUNE_AXIS_MPS] ? 1.0 : one->processes;
    double at_work = tune_in_flight(one) / turns, at_each = tune_in_flight(one) / one->processes;
    double sharpness = search->rules.program ? KNEE_SHARPNESS : 1.0;
    double sum = 1.0 + pow(at_work / knees->all, sharpness) + pow(at_each / knees->each, sharpness);
    double rate = log(at_work) - log(sum) / sharpness;
    double crowd = at_work / tune_streams_of(one) / knees->cpus;
    rate -= log(fmax(1.0, crowd));
    if (search->rules.program && one->axes[TUNE_AXIS_BIND] == BIND_NONE)
        rate -= UNBOUND_COSTS;
    return search->rules.latency ? rate - log(tune_in_flight(one)) : rate;
}

/* Little's law, with a percentile a little above the mean. */
static double guess_p99(const struct tune_search *search, const struct tune_knees *knees,
                        const struct tune_candidate *one)
{
    if (one->mean_us > 0.0)
        return log(1.3 * one->mean_us);
    double value = guess(search, knees, one);
    return search->rules.latency ? -value : log(tune_in_flight(one)) - value;
}

static struct gp_point prior_of(const struct tune_search *search, enum tune_quantity quantity,
                                const struct tune_knees *knees, const struct tune_candidate *one)
{
    double rel = one->predicted_rel > 0.0 ? one->predicted_rel : PREDICTED_REL;
    if (quantity == TUNE_P99)
        return (struct gp_point){.mean = guess_p99(search, knees, one),
                                 .sd = one->mean_us > 0.0 ? 1.5 * rel : GUESSED_SD};
    if (quantity == TUNE_CPUS)
        return (struct gp_point){.mean = log(one->cpus > 0.0 ? one->cpus : 1.0),
                                 .sd = one->cpus > 0.0 ? 0.2 : GUESSED_SD};
    if (one->predicted > 0.0)
        return (struct gp_point){
            .mean = log(one->predicted) - IN_FLIGHT_COSTS * log2(tune_in_flight(one)), .sd = rel};
    return (struct gp_point){.mean = guess(search, knees, one),
                             .sd = search->rules.program ? FITTED_SD : GUESSED_SD};
}

static struct tune_knees first_knees(const struct tune_rules *rules)
{
    return (struct tune_knees){.all = rules->server ? KNEE_AT_SERVERS : KNEE_IN_FLIGHT,
                               .each = rules->server    ? KNEE_AT_A_SERVER
                                       : rules->program ? KNEE_OF_A_PROCESS
                                                        : INFINITY,
                               .cpus = INFINITY};
}

/* The CPUs, if all that was seen of a program's single threads shows that they wait awake. */
static double cpus_for_threads(const struct tune_search *search)
{
    double least = INFINITY;
    for (size_t i = 0; i < search->known_count && !search->rules.server; i++) {
        const struct tune_candidate *one = &search->candidates[search->known[i]];
        if (one->threads == 1 && one->processes <= search->rules.cpus)
            least = fmin(least, search->states[search->known[i]].seen.cpus / one->processes);
    }
    return isfinite(least) && least >= AWAKE_CPUS ? search->rules.cpus : INFINITY;
}

enum status tune_belief_init(const struct tune_search *search, enum tune_quantity quantity,
                             struct tune_belief *out)
{
    double cpus = most_cpus(search);
    size_t features = TUNE_NUMBERS;
    bool predicted = search->rules.predicted;
    out->points = calloc(search->count + 1, sizeof *out->points);
    out->knees = first_knees(&search->rules);
    if (!out->points)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < search->count; i++) {
        out->points[i] = prior_of(search, quantity, &out->knees, &search->candidates[i]);
        set_numbers(&search->candidates[i], cpus, out->points[i].features);
    }
    for (int axis = 0; axis < TUNE_AXES; axis++) {
        if (!axis_varies(search, axis))
            continue;
        for (size_t i = 0; i < search->count; i++)
            out->points[i].features[features] = search->candidates[i].axes[axis];
        features++;
    }
    out->hyper = (struct gp_hyperparameters){
        .numbers = TUNE_NUMBERS,
        .features = features,
        .class_step = CLASS_STEP,
        .level = predicted || quantity == TUNE_CPUS ? PREDICTED_LEVEL_SD : GUESSED_LEVEL_SD,
        .interaction_share = predicted ? PREDICTED_INTERACTION : GUESSED_INTERACTION,
        .shift = SHIFT_SD,
        .signal_scale = 1.0,
        .length_scale = 1.0,
    };
    return STATUS_OK;
}

void tune_belief_release(struct tune_belief *belief)
{
    gp_free(belief->gp);
    free(belief->points);
    *belief = (struct tune_belief){0};
}

/* -- measurements ------------------------------------------------------------------------------ */

double tune_noise_of(const struct tune_observation *seen)
{
    bool bounded = seen->low > 0.0 && isfinite(seen->high) && seen->high > seen->low;
    double within =
        bounded ? log(seen->high / seen->low) / (2.0 * STATISTICS_NORMAL_975) : UNKNOWN_SD;
    if (!bounded && seen->low == seen->high && seen->low > 0.0)
        within = 0.0;
    return hypot(within, TUNE_BETWEEN_REL);
}

/* Sum of the squares by which rounds of a layout differ from their mean, as logarithms; *degrees is
 * their number without it. */
static double round_squares(const struct tune_state *state, double *degrees)
{
    double squares = 0.0, mean = 0.0;
    for (unsigned i = 0; i < state->rounds; i++)
        mean += log(state->values[i]) / state->rounds;
    for (unsigned i = 0; i < state->rounds; i++)
        squares += pow(log(state->values[i]) - mean, 2.0);
    *degrees = state->rounds > 0 ? state->rounds - 1.0 : 0.0;
    return squares;
}

/* Rounds of one layout spread about as those of another: of a few alone it would be chance. */
static double usual_round_noise(const struct tune_search *search)
{
    double squares = ROUNDS_LIKE * TUNE_BETWEEN_REL * TUNE_BETWEEN_REL, degrees = ROUNDS_LIKE;
    for (size_t k = 0; k < search->known_count; k++) {
        double more;
        squares += round_squares(&search->states[search->known[k]], &more);
        degrees += more;
    }
    return sqrt(squares / degrees);
}

/* But some layouts are less steady than others. That a few rounds agree shows nothing. */
static double round_noise(const struct tune_state *state, double usual)
{
    double degrees, squares = round_squares(state, &degrees);
    double own = sqrt((ROUNDS_LIKE * usual * usual + squares) / (ROUNDS_LIKE + degrees));
    return fmax(own, usual);
}

/* Of all windows before the finals. Several of them show by how much they differ how far the
 * interval of each is right: a few in part, and from four on by themselves (Student's t). And they
 * differ at least as much as rounds do. */
static double look_noise(const struct tune_state *state, double usual)
{
    double mean = state->looked / state->look_weight, looks = state->looks;
    double spread = fmax(0.0, state->look_squares - state->look_weight * mean * mean);
    double scale = (LOOKS_LIKE + spread) / (LOOKS_LIKE + looks - 1.0);
    double within =
        (looks > 3.0 ? fmin(scale, spread / (looks - 3.0)) : scale) / state->look_weight;
    double between = round_noise(state, usual), least = TUNE_BETWEEN_REL * TUNE_BETWEEN_REL / looks;
    return sqrt(fmax(within, least) + between * between / looks - least);
}

/* What windows before the finals showed; false: nothing. */
static bool look_of(const struct tune_search *search, enum tune_quantity quantity, size_t point,
                    double usual_noise, double *value, double *noise)
{
    const struct tune_state *state = &search->states[point];
    const struct tune_observation *seen = &state->seen;
    if (quantity == TUNE_VALUE) {
        if (state->looks == 0)
            return false;
        *value = state->looked / state->look_weight;
        *noise = look_noise(state, usual_noise);
        return true;
    }
    double figure = quantity == TUNE_P99 ? seen->p99_us : seen->cpus;
    bool bounded = seen->p99_low_us > 0.0 && seen->p99_high_us > seen->p99_low_us;
    *value = log(figure);
    *noise = quantity == TUNE_CPUS ? CPUS_SD
             : bounded ? log(seen->p99_high_us / seen->p99_low_us) / (2.0 * STATISTICS_NORMAL_975)
                       : UNKNOWN_P99_SD;
    return figure > 0.0;
}

static void observe_rounds(const struct tune_search *search, size_t point, double usual_noise,
                           size_t column, struct gp *gp)
{
    const struct tune_state *state = &search->states[point];
    if (state->rounds == 0)
        return;
    double sum = 0.0;
    for (unsigned i = 0; i < state->rounds; i++)
        sum += log(state->values[i]);
    double between = round_noise(state, usual_noise);
    double noise = hypot(between / sqrt(state->rounds), search->rules.resolution / 2.0);
    gp_observe(gp, column, true, sum / state->rounds, noise);
}

bool tune_belief_doubt(struct tune_search *search)
{
    struct tune_belief *belief = &search->beliefs[TUNE_VALUE];
    if (2.0 * belief->hyper.signal_scale > DOUBT_MOST || search->known_count == 0)
        return false;
    belief->least_scale = 2.0 * belief->hyper.signal_scale;
    belief->fitted = 0;
    return true;
}

/* A process over known points only, best first as they are; columns are their places in `known`. */
static struct gp *make_small(const struct tune_search *search, enum tune_quantity quantity,
                             const struct gp_hyperparameters *hyper, const struct tune_knees *knees,
                             const size_t *known, size_t count, bool rounds,
                             struct gp_point *points)
{
    struct gp *gp;
    double usual = usual_round_noise(search);
    for (size_t i = 0; i < count; i++) {
        points[i] = search->beliefs[quantity].points[known[i]];
        points[i].mean = prior_of(search, quantity, knees, &search->candidates[known[i]]).mean;
    }
    if (gp_new(points, count, hyper, 2 * count, &gp) != STATUS_OK)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        double value, noise;
        if (look_of(search, quantity, known[i], usual, &value, &noise))
            gp_observe(gp, i, false, value, noise);
        if (rounds)
            observe_rounds(search, known[i], usual, i, gp);
    }
    return gp;
}

static bool is_believed_more(const struct tune_search *search, size_t a, size_t b)
{
    return tune_better_by(search, a, b, search->states[a].believed, search->states[b].believed);
}

size_t tune_stand(const struct tune_search *search, size_t *out)
{
    size_t known[TUNE_LOOKS_MOST + 1], count = tune_leaders(search, known, TUNE_LOOKS_MOST);
    struct gp_point *points = calloc(count + 1, sizeof *points);
    const struct tune_belief *belief = &search->beliefs[TUNE_VALUE];
    struct gp *gp = points ? make_small(search, TUNE_VALUE, &belief->hyper, &belief->knees, known,
                                        count, true, points)
                           : NULL;
    size_t best = 0;
    for (size_t i = 0; i < count && gp; i++)
        search->states[known[i]].believed = gp_mean(gp, i);
    for (size_t i = 1; i < count; i++)
        if (is_believed_more(search, known[i], known[best]))
            best = i;
    for (size_t i = 0; i < count && gp; i++)
        search->states[known[i]].doubt = gp_sd_between(gp, i, best);
    gp_free(gp);
    free(points);
    for (size_t i = 0; i < count; i++)
        tune_rank(search, is_believed_more, known[i], out, i, TUNE_LOOKS_MOST);
    return count;
}

/* How likely the measurements are under such hyperparameters and knees; points has room for all
 * that are known. */
static double likelihood_of(const struct tune_search *search, enum tune_quantity quantity,
                            const struct gp_hyperparameters *hyper, const struct tune_knees *knees,
                            struct gp_point *points)
{
    struct gp *gp = make_small(search, quantity, hyper, knees, search->known, search->known_count,
                               false, points);
    double likelihood = gp ? gp_log_likelihood(gp) : -INFINITY;
    gp_free(gp);
    return likelihood;
}

/* Takes these knees if they are likelier than what is `best` until now. */
static void try_knees(struct tune_search *search, enum tune_quantity quantity,
                      const struct tune_knees *knees, double doubt, double *best,
                      struct gp_point *points)
{
    struct tune_belief *belief = &search->beliefs[quantity];
    double likelihood = likelihood_of(search, quantity, &belief->hyper, knees, points) - doubt;
    if (!(likelihood > *best))
        return;
    *best = likelihood;
    belief->knees = *knees;
}

/* The guess under which they are likeliest. */
static void fit_guess(struct tune_search *search, enum tune_quantity quantity,
                      struct gp_point *points)
{
    static const size_t steps = sizeof knee_steps / sizeof *knee_steps;
    struct tune_belief *belief = &search->beliefs[quantity];
    const struct tune_knees first = first_knees(&search->rules);
    const double cpus = cpus_for_threads(search);
    double best = -INFINITY;
    for (size_t a = 0; a < steps; a++) {
        for (size_t e = 0; e < steps; e++) {
            struct tune_knees knees = {first.all * knee_steps[a], first.each * knee_steps[e], cpus};
            double doubt = KNEE_DOUBT * (fabs(log2(knee_steps[a])) + fabs(log2(knee_steps[e])));
            try_knees(search, quantity, &knees, doubt, &best, points);
            if (isinf(cpus))
                continue;
            knees.cpus = INFINITY;
            try_knees(search, quantity, &knees, doubt + CROWD_DOUBT, &best, points);
        }
    }
    for (size_t i = 0; i < search->count; i++)
        belief->points[i].mean =
            prior_of(search, quantity, &belief->knees, &search->candidates[i]).mean;
}

/* The hyperparameters under which the measurements are likeliest, with some doubt about extremes.
 */
static void fit(struct tune_search *search, enum tune_quantity quantity)
{
    static const double scales[] = {0.25, 0.5, 1.0, 2.0, 4.0, 8.0},
                        lengths[] = {0.5, 1.0, 2.0, 4.0};
    struct tune_belief *belief = &search->beliefs[quantity];
    struct gp_point *points = calloc(search->known_count + 1, sizeof *points);
    double best = -INFINITY;
    struct gp_hyperparameters hyper = belief->hyper;
    if (points && search->rules.program && !search->rules.predicted && quantity != TUNE_CPUS)
        fit_guess(search, quantity, points);
    /* A guess that is not fitted stays one, however well it went where it was tried. */
    size_t first = search->rules.predicted || search->rules.program ? 0 : 1;
    for (size_t s = first; points && s < sizeof scales / sizeof *scales; s++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            hyper.signal_scale = fmax(scales[s], belief->least_scale);
            hyper.length_scale = lengths[l];
            double doubt =
                2.0 * pow(log(hyper.signal_scale), 2.0) + 0.5 * pow(log(hyper.length_scale), 2.0);
            double likelihood =
                likelihood_of(search, quantity, &hyper, &belief->knees, points) - doubt;
            if (likelihood > best) {
                best = likelihood;
                belief->hyper = hyper;
            }
        }
    }
    belief->fitted = search->known_count;
    free(points);
}

void tune_belief_note(struct tune_search *search, size_t point)
{
    double usual = usual_round_noise(search);
    for (int quantity = 0; quantity < TUNE_QUANTITIES; quantity++) {
        struct tune_belief *belief = &search->beliefs[quantity];
        double value, noise;
        if (!belief->gp ||
            !look_of(search, (enum tune_quantity)quantity, point, usual, &value, &noise))
            continue;
        if (quantity == TUNE_VALUE && search->states[point].looks > 1)
            belief->stale = true;
        else
            gp_observe(belief->gp, point, false, value, noise);
    }
}

enum status tune_belief_renew(struct tune_search *search, double growth)
{
    double usual = usual_round_noise(search);
    for (int quantity = 0; quantity < TUNE_QUANTITIES; quantity++) {
        struct tune_belief *belief = &search->beliefs[quantity];
        bool grown = (double)search->known_count > growth * (double)belief->fitted;
        if (!belief->points || (belief->gp && !grown && !belief->stale))
            continue;
        if (grown)
            fit(search, (enum tune_quantity)quantity);
        gp_free(belief->gp);
        belief->gp = NULL;
        belief->stale = false;
        enum status status = gp_new(belief->points, search->count, &belief->hyper,
                                    TUNE_LOOKS_MOST + TUNE_BATCH_MOST, &belief->gp);
        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < search->known_count; i++) {
            double value, noise;
            if (look_of(search, (enum tune_quantity)quantity, search->known[i], usual, &value,
                        &noise))
                gp_observe(belief->gp, search->known[i], false, value, noise);
        }
    }
    return STATUS_OK;
}
