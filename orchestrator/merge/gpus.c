#include "orchestrator/merge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "statistics/student.h"
#include "orchestrator/results/effect.h"

#define Z975 1.959964
#define MOST_STEPS 2000
#define STILL 1e-13

struct fit {
    const struct gpus_observation *observations;
    size_t count, points, gpus;
    size_t *parent;      /* GPUs, then points: which of them are linked */
    double *point, *gpu; /* what each gives */
    double *sums;
    size_t *seen; /* observations of each point, then of each GPU */
    bool *used;   /* of each observation */
};

static size_t root(size_t *parent, size_t at)
{
    while (parent[at] != at) {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    return at;
}

/* Marks the observations of the largest set of GPUs that points link. Returns how many GPUs. */
static size_t link_up(struct fit *fit)
{
    for (size_t i = 0; i < fit->gpus + fit->points; i++)
        fit->parent[i] = i;
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        fit->parent[root(fit->parent, o->gpu)] = root(fit->parent, fit->gpus + o->point);
    }
    size_t *members = fit->seen;
    for (size_t i = 0; i < fit->gpus + fit->points; i++)
        members[i] = 0;
    size_t best = 0;
    for (size_t i = 0; i < fit->gpus; i++) {
        size_t at = root(fit->parent, i);
        if (++members[at] > members[root(fit->parent, best)] && members[at] > 1)
            best = i;
    }
    size_t set = root(fit->parent, best), compared = members[set];
    for (size_t i = 0; i < fit->count; i++)
        fit->used[i] = root(fit->parent, fit->observations[i].gpu) == set;
    return compared;
}

/* Counts the observations in use of each point and of each GPU. */
static void count_observations(struct fit *fit)
{
    for (size_t i = 0; i < fit->gpus + fit->points; i++)
        fit->seen[i] = 0;
    for (size_t i = 0; i < fit->count; i++) {
        if (!fit->used[i])
            continue;
        fit->seen[fit->observations[i].point]++;
        fit->seen[fit->points + fit->observations[i].gpu]++;
    }
}

/* The means of what the other side leaves. Returns the largest change. */
static double improve(struct fit *fit, bool points)
{
    size_t count = points ? fit->points : fit->gpus;
    double *mine = points ? fit->point : fit->gpu;
    const size_t *seen = points ? fit->seen : fit->seen + fit->points;
    double change = 0.0;
    for (size_t i = 0; i < count; i++)
        fit->sums[i] = 0.0;
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        if (!fit->used[i])
            continue;
        if (points)
            fit->sums[o->point] += o->log_ips - fit->gpu[o->gpu];
        else
            fit->sums[o->gpu] += o->log_ips - fit->point[o->point];
    }
    for (size_t i = 0; i < count; i++) {
        if (seen[i] == 0)
            continue;
        double mean = fit->sums[i] / (double)seen[i];
        change = fmax(change, fabs(mean - mine[i]));
        mine[i] = mean;
    }
    return change;
}

static void centre(struct fit *fit, size_t compared)
{
    double sum = 0.0;
    const size_t *seen = fit->seen + fit->points;
    for (size_t i = 0; i < fit->gpus; i++)
        sum += seen[i] ? fit->gpu[i] : 0.0;
    for (size_t i = 0; i < fit->gpus; i++)
        if (seen[i])
            fit->gpu[i] -= sum / (double)compared;
    for (size_t i = 0; i < fit->points; i++)
        fit->point[i] += sum / (double)compared;
}

/* How far one measurement is off, by what the model leaves, and at least as far as the
 * measurements' own intervals. */
static double find_scatter(const struct fit *fit, struct gpus_model *model)
{
    double left = 0.0, own = 0.0;
    size_t used = 0, known = 0, points = 0;
    bool one_round = false;
    for (size_t i = 0; i < fit->points; i++)
        points += fit->seen[i] > 0;
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        if (!fit->used[i])
            continue;
        double off = o->log_ips - fit->point[o->point] - fit->gpu[o->gpu];
        left += off * off;
        used++;
        if (isfinite(o->half_rel)) {
            own += o->half_rel * o->half_rel / (Z975 * Z975);
            one_round |= o->one_round;
            known++;
        }
    }
    size_t unknowns = points + model->compared - 1;
    model->degrees = used > unknowns ? (double)(used - unknowns) : 0.0;
    double variance = known ? own / (double)known : model->degrees > 0.0 ? 0.0 : INFINITY;
    if (model->degrees > 0.0)
        variance = fmax(variance, left / model->degrees);
    model->within_runs_only = model->degrees <= 0.0 && one_round;
    model->scatter_rel = sqrt(variance);
    return variance;
}

static enum status judge(const struct fit *fit, struct gpus_model *model)
{
    double variance = find_scatter(fit, model);
    double t = model->degrees > 0.0 ? student_exceeded(0.025, model->degrees) : Z975;
    double *chances = calloc(2 * model->count + 1, sizeof *chances);
    bool *named = calloc(2 * model->count + 1, sizeof *named);
    if (!chances || !named) {
        free(chances);
        free(named);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < model->count; i++) {
        struct gpus_factor *gpu = &model->gpus[i];
        size_t seen = fit->seen[fit->points + i];
        *gpu = (struct gpus_factor){.factor = 1.0, .low = 0.0, .high = INFINITY};
        chances[2 * i] = chances[2 * i + 1] = 1.0;
        if (seen == 0)
            continue;
        double half = t * sqrt(variance * (1.0 - 1.0 / (double)model->compared) / (double)seen);
        gpu->observations = seen;
        gpu->factor = exp(fit->gpu[i]);
        gpu->low = exp(fit->gpu[i] - half);
        gpu->high = exp(fit->gpu[i] + half);
        if (!isfinite(half))
            continue;
        double degrees = model->degrees > 0.0 ? model->degrees : INFINITY;
        const struct effect effect = {fit->gpu[i], half, half, degrees, degrees};
        chances[2 * i] = effect_chance(&effect, MERGE_GPUS_MATTERS, 1);
        chances[2 * i + 1] = effect_chance(&effect, MERGE_GPUS_MATTERS, -1);
    }
    effect_holm(chances, 2 * model->count, 0.05, named);
    for (size_t i = 0; i < model->count; i++) {
        model->gpus[i].differs = named[2 * i] || named[2 * i + 1];
        model->differ |= model->gpus[i].differs;
    }
    free(chances);
    free(named);
    return STATUS_OK;
}

enum status gpus_model_make(const struct gpus_observation *observations, size_t count,
                            size_t points, size_t gpus, struct gpus_model *out)
{
    size_t all = points + gpus + 1;
    struct fit fit = {.observations = observations, .count = count, .points = points, .gpus = gpus};
    struct gpus_model model = {.count = gpus};
    enum status status = STATUS_OK;
    fit.parent = calloc(all, sizeof *fit.parent);
    fit.seen = calloc(all, sizeof *fit.seen);
    fit.sums = calloc(all, sizeof *fit.sums);
    fit.point = calloc(all, sizeof *fit.point);
    fit.gpu = calloc(all, sizeof *fit.gpu);
    fit.used = calloc(count + 1, sizeof *fit.used);
    model.gpus = calloc(gpus + 1, sizeof *model.gpus);
    if (!fit.parent || !fit.seen || !fit.sums || !fit.point || !fit.gpu || !fit.used ||
        !model.gpus) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    if (gpus > 0)
        model.compared = link_up(&fit);
    if (model.compared < 2)
        model.compared = 0;
    for (size_t i = 0; i < count && model.compared == 0; i++)
        fit.used[i] = false;
    count_observations(&fit);
    if (model.compared > 0) {
        for (int step = 0; step < MOST_STEPS; step++) {
            double change = improve(&fit, true);
            if (fmax(change, improve(&fit, false)) < STILL)
                break;
        }
        centre(&fit, model.compared);
    }
    status = judge(&fit, &model);
    if (status == STATUS_OK) {
        *out = model;
        model.gpus = NULL;
    }
out:
    free(fit.parent);
    free(fit.seen);
    free(fit.sums);
    free(fit.point);
    free(fit.gpu);
    free(fit.used);
    free(model.gpus);
    return status;
}

void gpus_model_release(struct gpus_model *model)
{
    free(model->gpus);
    *model = (struct gpus_model){0};
}
