#include "tests/unit/tune/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/options.h"
#include "orchestrator/calibrate/run.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/plan/turns.h"
#include "tests/unit/tune/chance.h"

/* On an H200. */
#define CALIBRATION_S 10.4

/* By how much starts of a program differ. */
#define START_NOISE 0.03

/* What a start that is refused takes beside that of one that works, on an H100. */
#define REFUSED_S 2.5

void tune_truth_make(const struct tune_family *family, unsigned seed, unsigned workload,
                     struct tune_truth *out)
{
    family->make(seed, workload, out);
    out->family = family;
    out->calibration_s = CALIBRATION_S;
}

double tune_truth_ips(const struct tune_truth *truth, const struct point *point)
{
    return truth->family->ips(truth, point);
}

double tune_truth_p99_us(const struct tune_truth *truth, const struct point *point)
{
    return truth->family->p99_us(truth, point);
}

double tune_truth_cpus(const struct tune_truth *truth, const struct point *point)
{
    return truth->family->cpus(truth, point);
}

void tune_truth_calibrate(const struct tune_truth *truth, unsigned seed, const struct point *like,
                          struct calibration *out)
{
    truth->family->calibrate(truth, seed, like, out);
}

void tune_truth_look(const struct tune_truth *truth, const struct point *point, double window_s,
                     uint64_t set, uint64_t *random, struct tune_observation *out)
{
    truth->family->look(truth, point, window_s, set, random, out);
}

/* -- a tune on it ------------------------------------------------------------------------------ */

static enum status set_work(const struct tune_truth *truth, struct options *options)
{
    char kernels[32], bytes[32];
    snprintf(kernels, sizeof kernels, "%u", truth->kernels);
    snprintf(bytes, sizeof bytes, "%zu", truth->bytes);
    enum status status = options_set(options, &option_table[OPTION_KERNELS], kernels, 1);
    return status == STATUS_OK ? options_set(options, &option_table[OPTION_BYTES], bytes, 1)
                               : status;
}

enum status tune_trial_space(const struct tune_truth *truth, struct tune_space *out)
{
    static char program[] = "service", *command[] = {program, NULL};
    struct job job;
    const struct tune_machine machine = {.cpus = truth->cpus};
    enum status status = job_load(NULL, &job);
    if (status != STATUS_OK)
        return status;
    if (truth->family->program)
        job.command = command;
    if (truth->kernels)
        status = set_work(truth, &job.sections[0].options);
    if (status == STATUS_OK)
        status = tune_space_make(&job, &machine, out);
    job_release(&job);
    return status;
}

/* True iterations/s of what meets the constraints, 0 of all else. */
static double allowed_ips(const struct tune_truth *truth, const struct point *point,
                          const struct tune_trial *trial)
{
    bool late = trial->max_p99_us > 0.0 && tune_truth_p99_us(truth, point) > trial->max_p99_us;
    bool busy = trial->max_cpus > 0.0 && tune_truth_cpus(truth, point) > trial->max_cpus;
    return late || busy ? 0.0 : tune_truth_ips(truth, point);
}

/* By costs, true or expected ones. */
static double start_by(const struct tune_costs *costs, const struct point *point)
{
    return fmax(costs->start_s + costs->process_s * point->processes,
                tune_load_seconds(costs, point->processes, point->threads));
}

/* A program's first start reads files that the others find in memory. */
static double start_seconds(const struct tune_truth *truth, const struct point *point,
                            const struct tune_trial *trial)
{
    double seconds = start_by(&truth->costs, point);
    uint64_t of_set = UINT64_C(0x57a7) + trial->sets;
    random_next(&of_set);
    if (!truth->family->program)
        return seconds;
    return seconds * (trial->sets == 0 ? truth->cold : 1.0) *
           exp(START_NOISE * chance_normal(&of_set));
}

/* As in orchestrator/tune/pace.c, as is the next one: how long a start may take before a window
 * that costs so much. */
static double spare_seconds(const struct tune_truth *truth, double cost, bool fresh, bool starts,
                            const struct tune_trial *trial)
{
    double left_s = trial->budget_s - trial->seconds;
    bool looks = truth->family->program && trial->search && !fresh && trial->sets > 0;
    return left_s - cost -
           (looks ? tune_search_reserve_s(trial->search, left_s, &trial->costs, starts) : 0.0);
}

static void learn_start(const struct tune_truth *truth, const struct point *point, double seconds,
                        struct tune_trial *trial)
{
    start_costs_learn(&trial->starts, point->processes, seconds);
    trial->costs.start_s = trial->starts.start_s;
    trial->costs.process_s = trial->starts.process_s;
    trial->costs.load_s = truth->costs.load_s;
}

void tune_trial_measure(const struct tune_truth *truth, const struct tune_space *space,
                        const struct tune_batch *batch, uint64_t *random, struct tune_trial *trial,
                        tune_trial_note *note, void *context)
{
    const struct plan *plan = &space->plan;
    const struct tune_costs *costs = &truth->costs;
    bool *done = malloc(plan->count + 1);
    struct turn *turns = calloc(plan->count + 1, sizeof *turns);
    size_t count = 0;
    memset(done, true, plan->count + 1);
    for (size_t i = 0; i < batch->count; i++)
        done[batch->items[i].point] = false;
    /* Who shares processes is known: only those that start some pay for it. */
    enum turns_reuse finals = space->job.command ? TURNS_EQUAL : TURNS_FRESH;
    enum turns_reuse looks = space->job.command ? TURNS_LARGEST : TURNS_EQUAL;
    if (turns_make(plan, done, 1, 0, batch->fresh ? finals : looks, turns, &count) != STATUS_OK)
        abort();
    const bool waits = space->job.command && !batch->fresh;
    trial->crew = waits ? trial->crew : NULL;
    for (size_t i = 0; i < count; i++) {
        size_t index = turns[i].point, at = 0;
        while (batch->items[at].point != index)
            at++;
        if (trial->search && !batch->fresh && tune_search_is_beyond(trial->search, index))
            continue;
        double window_s = batch->items[at].window_s;
        const struct point *point = &plan->points[index];
        struct tune_observation seen;
        double cost = costs->point_s + window_s;
        bool starts =
            !trial->crew || (turns[i].starts && !(waits && turns_serves(trial->crew, point)));
        double start_s = starts ? start_seconds(truth, point, trial) : 0.0;
        double spare_s = spare_seconds(truth, cost, batch->fresh, starts, trial);
        trial->crew = starts ? point : trial->crew;
        if (start_s > spare_s) {
            /* A program that is not ready in time has cost it, unless that was expected. */
            bool waited = batch->fresh || start_by(&trial->costs, point) <= spare_s;
            if (truth->family->program && waited)
                trial->seconds += fmax(spare_s, 0.0);
            trial->crew = NULL;
            continue;
        }
        cost += start_s;
        trial->seconds += cost;
        trial->sets += starts;
        if (starts && truth->family->program)
            learn_start(truth, point, start_s, trial);
        tune_truth_look(truth, point, window_s, trial->sets, random, &seen);
        if (seen.outcome == TUNE_INFEASIBLE) {
            trial->seconds = fmin(trial->seconds + REFUSED_S, trial->budget_s);
            trial->crew = NULL;
        }
        if (index < space->candidates)
            trial->best_measured_ips =
                fmax(trial->best_measured_ips, allowed_ips(truth, point, trial));
        note(context, batch, &batch->items[at], &seen);
    }
    trial->crew = waits ? trial->crew : NULL;
    free(done);
    free(turns);
}

/* Windows and latencies so far of each point. */
struct tuning {
    struct tune_search *search;
    double (*pooled)[2];
};

static void note_tuned(void *context, const struct tune_batch *batch, const struct tune_item *item,
                       struct tune_observation *seen)
{
    struct tuning *tuning = context;
    if (!batch->fresh) {
        tune_search_note(tuning->search, item->point, seen);
        return;
    }
    /* Percentiles of all rounds together. */
    double *sums = tuning->pooled[item->point];
    sums[0] += item->window_s;
    sums[1] += seen->p99_us * item->window_s;
    double samples = seen->ips * sums[0], wide = 0.5 / sqrt(samples * 0.01);
    seen->p99_us = sums[1] / sums[0];
    seen->p99_low_us = seen->p99_us * exp(-wide);
    seen->p99_high_us = samples > 368.0 ? seen->p99_us * exp(wide) : 0.0;
    tune_search_note_round(tuning->search, item->point, seen->ips, seen);
}

/* Predictions that are true, but for errors of which no layout shows those of another. */
static void foreknow(const struct tune_truth *truth, const struct tune_space *space, unsigned seed,
                     struct tune_candidate *candidates)
{
    uint64_t random = UINT64_C(0xf02e) + seed;
    for (size_t i = 0; i < space->plan.count; i++) {
        double ips = tune_truth_ips(truth, &space->plan.points[i]);
        candidates[i].predicted = ips * exp(TUNE_FOREKNOWN_REL * chance_normal(&random));
        candidates[i].predicted_rel = TUNE_FOREKNOWN_REL;
        candidates[i].ceiling = 0.0;
        candidates[i].excluded |= ips <= 0.0;
    }
}

double tune_trial_best_ips(const struct tune_truth *truth, const struct tune_space *space,
                           const struct tune_trial *trial)
{
    double best = 0.0;
    for (size_t i = 0; i < space->candidates; i++)
        best = fmax(best, allowed_ips(truth, &space->plan.points[i], trial));
    return best;
}

static void find_equal(const struct tune_truth *truth, const struct tune_space *space,
                       struct tune_trial *trial)
{
    const struct tune_judgement *judgement = &trial->judgement;
    trial->equal_most_ips = trial->equal_least_ips = 0.0;
    for (size_t i = 0; i < judgement->equal_count; i++) {
        double ips = tune_truth_ips(truth, &space->plan.points[judgement->equal[i]]);
        trial->equal_most_ips = fmax(trial->equal_most_ips, ips);
        trial->equal_least_ips = i > 0 ? fmin(trial->equal_least_ips, ips) : ips;
    }
}

enum status tune_trial_run(const struct tune_truth *truth, const struct tune_space *space,
                           unsigned seed, struct tune_trial *trial)
{
    struct calibration calibration;
    struct tuning tuning = {NULL};
    struct tune_batch batch;
    uint64_t random = UINT64_C(0x5eed) + seed;
    const struct tune_rules base = {
        .max_p99_us = trial->max_p99_us,
        .max_cpus = trial->max_cpus,
        .cpus = truth->cpus,
        .window_s = 0.25,
        .final_s = 1.0,
        .rounds_least = 3,
        .rounds_most = 8,
        .rounds_unsure = 32,
        .final_grows = true,
        .program = space->job.command != NULL,
        .may_ignore_threads = truth->may_ignore_threads,
        .trusted = trial->trusted,
    };
    struct tune_rules rules = base;
    rules.budget_s = trial->budget_s;
    trial->seconds = trial->best_measured_ips = 0.0;
    trial->sets = 0;
    trial->crew = NULL;
    trial->costs = truth->costs;
    if (truth->family->program) {
        start_costs_init(ESTIMATE_START_S, ESTIMATE_START_PROCESS_S, &trial->starts);
        trial->costs.start_s = ESTIMATE_START_S;
        trial->costs.process_s = ESTIMATE_START_PROCESS_S;
        trial->costs.load_s = 0.0;
    }
    if (trial->guided) {
        tune_truth_calibrate(truth, seed, &space->plan.points[0], &calibration);
        trial->seconds = truth->calibration_s;
    }
    struct tune_candidate *candidates = tune_space_candidates(
        space, TUNE_THROUGHPUT, trial->guided ? &calibration : NULL, &rules.predicted);
    if (candidates && trial->foreknown)
        foreknow(truth, space, seed, candidates);
    /* Starts of these machines take as long for the last process as for the first. */
    for (size_t i = 0; candidates && i < space->plan.count; i++)
        candidates[i].start_weight = candidates[i].processes;
    tuning.pooled = calloc(space->plan.count + 1, sizeof *tuning.pooled);
    enum status status = STATUS_MEMORY;
    if (candidates && tuning.pooled)
        status = tune_search_new(candidates, space->plan.count, &rules, &tuning.search);
    trial->search = tuning.search;
    while (status == STATUS_OK) {
        tune_search_hold(tuning.search,
                         trial->crew ? (size_t)(trial->crew - space->plan.points) : TUNE_NO_POINT);
        tune_search_next(tuning.search, trial->budget_s - trial->seconds, &trial->costs, &batch);
        if (batch.count == 0)
            break;
        tune_trial_measure(truth, space, &batch, &random, trial, note_tuned, &tuning);
    }
    if (status == STATUS_OK) {
        tune_search_judge(tuning.search, &trial->judgement);
        size_t winner = trial->judgement.winner;
        trial->space = space->candidates;
        trial->measured = trial->judgement.measured;
        trial->best_ips = tune_trial_best_ips(truth, space, trial);
        trial->won_ips =
            winner == TUNE_NO_POINT ? 0.0 : tune_truth_ips(truth, &space->plan.points[winner]);
        find_equal(truth, space, trial);
    }
    trial->search = NULL;
    free(tuning.pooled);
    free(candidates);
    tune_search_free(tuning.search);
    return status;
}
