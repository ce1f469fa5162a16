/*
 * How fast searches for the best layout find it, on a machine made of measurements of all layouts
 * (tests/bench/recorded.h): mpsweep tune, random search, successive halving and Bayesian
 * optimisation. All pay the same for starts of processes, and have the same time; only tune keeps a
 * part of it for rounds that confirm what it has found.
 *
 * regret JOB RESULTS [CALIBRATION]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/tune/search/gp.h"
#include "tests/bench/recorded.h"
#include "tests/unit/tune/chance.h"

#define TRIALS 50
#define LOOKS_MOST 512

/* As of tune: a look takes this share of the time, within bounds. */
static double look_s(double budget_s)
{
    return fmin(0.25, fmax(0.1, 0.008 * budget_s));
}

struct attempt {
    const struct tune_recorded *machine;
    const struct tune_truth *truth;
    struct tune_trial trial;
    uint64_t random;
    /* Of each layout: the sums over its windows, weighted by their lengths. */
    double *values, *weights;
    bool *tried;
};

static void note(void *context, const struct tune_batch *batch, const struct tune_item *item,
                 struct tune_observation *seen)
{
    struct attempt *attempt = context;
    (void)batch;
    attempt->tried[item->point] = true;
    if (seen->outcome != TUNE_MEASURED)
        return;
    attempt->values[item->point] += item->window_s * log(seen->value);
    attempt->weights[item->point] += item->window_s;
}

/* Returns false when the time is over. */
static bool measure(struct attempt *attempt, const struct tune_batch *batch)
{
    double before = attempt->trial.seconds;
    tune_trial_measure(attempt->truth, &attempt->machine->space, batch, &attempt->random,
                       &attempt->trial, note, attempt);
    return attempt->trial.seconds > before;
}

static double seen_log(const struct attempt *attempt, size_t layout)
{
    double weight = attempt->weights[layout];
    return weight > 0.0 ? attempt->values[layout] / weight : -INFINITY;
}

/* The best as far as was seen, by true value; 0: none. */
static double best_seen(const struct attempt *attempt)
{
    const struct tune_space *space = &attempt->machine->space;
    size_t best = 0;
    for (size_t i = 1; i < space->candidates; i++)
        if (seen_log(attempt, i) > seen_log(attempt, best))
            best = i;
    return attempt->weights[best] > 0.0 ? tune_truth_ips(attempt->truth, &space->plan.points[best])
                                        : 0.0;
}

static void shuffle(struct attempt *attempt, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(chance_uniform(&attempt->random) * (double)i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* Many at once: the more there are, the more of them share processes. */
static bool measure_all(struct attempt *attempt, const size_t *layouts, size_t count,
                        double window_s, size_t at_once)
{
    for (size_t i = 0; i < count; i += at_once) {
        struct tune_batch batch = {.stage = TUNE_STAGE_LOOK};
        while (batch.count < at_once && i + batch.count < count) {
            batch.items[batch.count] =
                (struct tune_item){.point = layouts[i + batch.count], .window_s = window_s};
            batch.count++;
        }
        if (!measure(attempt, &batch))
            return false;
    }
    return true;
}

/* -- the searches ------------------------------------------------------------------------------ */

static double search_random(struct attempt *attempt)
{
    size_t count = attempt->machine->space.candidates, *order = calloc(count + 1, sizeof *order);
    shuffle(attempt, order, count);
    measure_all(attempt, order, count, look_s(attempt->trial.budget_s), 16);
    free(order);
    return best_seen(attempt);
}

/* As many as the time allows in short windows; then the better half in windows that are twice as
 * long, and so on. */
static double search_halving(struct attempt *attempt)
{
    const struct tune_costs *costs = &attempt->truth->costs;
    size_t count = attempt->machine->space.candidates, *order = calloc(count + 1, sizeof *order);
    double window_s = 0.1, each_s = costs->point_s + costs->start_s / 4.0 + costs->process_s;
    double windows = 1.0 + log2((double)count);
    size_t left = (size_t)fmax(2.0, attempt->trial.budget_s / (2.0 * each_s + window_s * windows));
    shuffle(attempt, order, count);
    left = left < count ? left : count;
    while (measure_all(attempt, order, left, window_s, TUNE_BATCH_MOST) && left > 1) {
        for (size_t i = 1; i < left; i++)
            for (size_t j = i;
                 j > 0 && seen_log(attempt, order[j]) > seen_log(attempt, order[j - 1]); j--) {
                size_t kept = order[j];
                order[j] = order[j - 1];
                order[j - 1] = kept;
            }
        left = (left + 1) / 2;
        window_s *= 2.0;
    }
    free(order);
    return best_seen(attempt);
}

static void set_features(const struct tune_candidate *candidate, struct gp_point *out)
{
    out->features[0] = 0.25 * log2(candidate->processes);
    out->features[1] = 0.25 * log2(candidate->threads);
    out->features[2] = 0.25 * log2(candidate->streams > 1 ? candidate->streams : 1);
    out->features[3] = 0.25 * log2(candidate->connections > 1 ? candidate->connections : 1);
    for (size_t i = 0; i < TUNE_AXES; i++)
        out->features[4 + i] = candidate->axes[i];
}

/* Everything seen, under the scale and length that make it likeliest. */
static struct gp *learn(const struct attempt *attempt, struct gp_point *points,
                        const double *noises)
{
    static const double scales[] = {0.25, 0.5, 1.0, 2.0}, lengths[] = {0.5, 1.0, 2.0, 4.0};
    size_t count = attempt->machine->space.candidates;
    struct gp *best = NULL;
    double mean = 0.0, seen = 0.0;
    for (size_t i = 0; i < count; i++)
        if (attempt->weights[i] > 0.0) {
            mean += seen_log(attempt, i);
            seen += 1.0;
        }
    for (size_t i = 0; i < count; i++) {
        points[i].mean = mean / fmax(1.0, seen);
        points[i].sd = 1.0;
    }
    for (size_t k = 0; k < 16; k++) {
        const struct gp_hyperparameters hyper = {.numbers = 4,
                                                 .features = 4 + TUNE_AXES,
                                                 .class_step = 0.5,
                                                 .interaction_share = 0.3,
                                                 .level = 1.0,
                                                 .signal_scale = scales[k / 4],
                                                 .length_scale = lengths[k % 4]};
        struct gp *gp;
        if (gp_new(points, count, &hyper, LOOKS_MOST, &gp) != STATUS_OK)
            abort();
        for (size_t i = 0; i < count; i++)
            if (attempt->weights[i] > 0.0)
                gp_observe(gp, i, false, seen_log(attempt, i), noises[i]);
        if (best && gp_log_likelihood(gp) <= gp_log_likelihood(best)) {
            gp_free(gp);
            continue;
        }
        gp_free(best);
        best = gp;
    }
    return best;
}

/* Expected improvement over the best that was seen. */
static double expected_improvement(const struct gp *gp, size_t layout, double best)
{
    double sd = fmax(1e-9, gp_sd(gp, layout)), z = (gp_mean(gp, layout) - best) / sd;
    double density = exp(-0.5 * z * z) / sqrt(2.0 * M_PI), below = 0.5 * erfc(-z / sqrt(2.0));
    return sd * (z * below + density);
}

/* Batches of six as tune has them, after twelve random layouts. */
static double search_bayesian(struct attempt *attempt)
{
    const struct tune_space *space = &attempt->machine->space;
    size_t count = space->candidates, *order = calloc(count + 1, sizeof *order);
    struct gp_point *points = calloc(count + 1, sizeof *points);
    double *noises = calloc(count + 1, sizeof *noises), window_s = look_s(attempt->trial.budget_s);
    bool predicted;
    struct tune_candidate *candidates =
        tune_space_candidates(space, TUNE_THROUGHPUT, NULL, &predicted);
    for (size_t i = 0; i < count; i++) {
        set_features(&candidates[i], &points[i]);
        noises[i] = fmax(0.01, attempt->machine->layouts[i].ci95_rel / 2.0);
    }
    shuffle(attempt, order, count);
    bool going = measure_all(attempt, order, 12, window_s, 6);
    for (unsigned looks = 12; going && looks + 6 < LOOKS_MOST; looks += 6) {
        struct gp *gp = learn(attempt, points, noises);
        double best = -INFINITY;
        size_t chosen[6], chosen_count = 0;
        for (size_t i = 0; i < count; i++)
            if (attempt->weights[i] > 0.0)
                best = fmax(best, gp_mean(gp, i));
        while (chosen_count < 6) {
            size_t next = count;
            for (size_t i = 0; i < count; i++)
                if (!attempt->tried[i] &&
                    (next == count ||
                     expected_improvement(gp, i, best) > expected_improvement(gp, next, best)))
                    next = i;
            if (next == count)
                break;
            chosen[chosen_count++] = next;
            attempt->tried[next] = true;
            gp_condition_on_mean(gp, next, noises[next]);
        }
        gp_free(gp);
        going = chosen_count > 0 && measure_all(attempt, chosen, chosen_count, window_s, 6);
    }
    free(order);
    free(points);
    free(noises);
    free(candidates);
    return best_seen(attempt);
}

/* -- tables ------------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The name of a job's file, without its folder and its suffix. */
static void print_work(const char *job)
{
    const char *slash = strrchr(job, '/'), *name = slash ? slash + 1 : job;
    printf("%-8.*s", (int)strcspn(name, "."), name);
}

static void print_row(const char *job, const char *name, double budget_s, double *reached)
{
    unsigned within = 0;
    for (unsigned i = 0; i < TRIALS; i++)
        within += reached[i] >= 0.98;
    qsort(reached, TRIALS, sizeof *reached, ascending);
    print_work(job);
    printf("%6.0f  %-22s %8.1f %8.1f %8.1f %8.0f\n", budget_s, name, 100.0 * reached[TRIALS / 2],
           100.0 * reached[TRIALS / 10], 100.0 * reached[0], 100.0 * within / TRIALS);
    fflush(stdout);
}

static void run_search(const struct tune_recorded *machine, const struct tune_truth *truth,
                       double (*search)(struct attempt *), double budget_s, double *reached)
{
    size_t count = machine->space.plan.count + 1;
    for (unsigned seed = 0; seed < TRIALS; seed++) {
        struct attempt attempt = {.machine = machine,
                                  .truth = truth,
                                  .trial = {.budget_s = budget_s},
                                  .random = UINT64_C(0x2545f491) + seed,
                                  .values = calloc(count, sizeof(double)),
                                  .weights = calloc(count, sizeof(double)),
                                  .tried = calloc(count, sizeof(bool))};
        reached[seed] =
            search(&attempt) / tune_trial_best_ips(truth, &machine->space, &attempt.trial);
        free(attempt.values);
        free(attempt.weights);
        free(attempt.tried);
    }
}

static void run_tune(const struct tune_recorded *machine, const struct tune_truth *truth,
                     bool guided, double budget_s, double *reached)
{
    for (unsigned seed = 0; seed < TRIALS; seed++) {
        struct tune_trial trial = {.guided = guided, .budget_s = budget_s};
        if (tune_trial_run(truth, &machine->space, seed, &trial) != STATUS_OK)
            abort();
        reached[seed] = trial.won_ips / trial.best_ips;
    }
}

static void print_space(const struct tune_recorded *machine, const struct tune_truth *truth)
{
    const struct tune_trial trial = {0};
    double best = tune_trial_best_ips(truth, &machine->space, &trial);
    static const double shares[] = {0.99, 0.98, 0.95, 0.5};
    printf("%zu layouts, %zu of them measured; the best does %.0f iterations/s;", //
           machine->space.candidates, machine->measured, best);
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        unsigned near = 0;
        for (size_t i = 0; i < machine->space.candidates; i++)
            near += machine->layouts[i].ips >= shares[k] * best;
        printf("%s %u reach %.0f%%", k ? "," : "", near, 100.0 * shares[k]);
    }
    printf("\na start takes %.2f s and %.2f s for each process, a point %.2f s and its window",
           truth->costs.start_s, truth->costs.process_s, truth->costs.point_s);
    if (machine->calibrated)
        printf("; a calibration %.1f s", truth->calibration_s);
    printf("\n%-8s%6s  %-22s %8s %8s %8s %8s\n", "layouts", "budget", "search", "median", "1 in 10",
           "least", "in 2%");
}

int main(int count, char **words)
{
    static const double budgets[] = {10.0, 20.0, 30.0, 60.0, 120.0};
    static const struct {
        const char *name;
        double (*search)(struct attempt *);
    } searches[] = {
        {"random", search_random},
        {"successive halving", search_halving},
        {"Bayesian optimisation", search_bayesian},
    };
    static struct tune_recorded machine;
    static double reached[TRIALS];
    struct tune_truth truth;
    if (count < 3 || count > 4) {
        fprintf(stderr, "regret JOB RESULTS [CALIBRATION]\n");
        return 1;
    }
    if (recorded_open(words[1], words[2], words[3], &machine, &truth) != STATUS_OK) {
        fprintf(stderr, "regret: %s\n", status_text());
        return 1;
    }
    print_space(&machine, &truth);
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        bool guided = machine.calibrated && budgets[i] >= TUNE_CALIBRATION_LEAST_S;
        run_tune(&machine, &truth, guided, budgets[i], reached);
        print_row(words[1], guided ? "tune, calibrated" : "tune, measuring", budgets[i], reached);
        for (size_t k = 0; k < sizeof searches / sizeof *searches; k++) {
            run_search(&machine, &truth, searches[k].search, budgets[i], reached);
            print_row(words[1], searches[k].name, budgets[i], reached);
        }
    }
    recorded_close(&machine);
    return 0;
}
