#include "orchestrator/merge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "statistics/effect.h"
#include "statistics/student.h"

#define Z975 1.959964
#define MOST_STEPS 2000
#define STILL 1e-13

/* What a point or a GPU gives to the logarithm of a throughput. */
struct term {
    size_t parent;  /* leads to the one that stands for all terms that observations link */
    size_t members; /* GPUs linked to it, where it stands for them */
    size_t seen;    /* observations in use that have it */
    double value, sum;
};

struct fit {
    const struct gpus_observation *observations;
    size_t count, points, gpus;
    struct term *terms; /* one of each point, then one of each GPU */
    bool *used;         /* of each observation */
};

static struct term *point_of(const struct fit *fit, const struct gpus_observation *observation)
{
    return &fit->terms[observation->point];
}

static struct term *gpu_of(const struct fit *fit, const struct gpus_observation *observation)
{
    return &fit->terms[fit->points + observation->gpu];
}

static size_t root(struct term *terms, size_t at)
{
    while (terms[at].parent != at) {
        terms[at].parent = terms[terms[at].parent].parent;
        at = terms[at].parent;
    }
    return at;
}

/* Marks the observations of the largest set of GPUs that points link, if these are two at least.
 * Returns how many GPUs. */
static size_t link_up(struct fit *fit)
{
    struct term *terms = fit->terms;
    size_t set = SIZE_MAX;
    for (size_t i = 0; i < fit->points + fit->gpus; i++)
        terms[i].parent = i;
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        terms[root(terms, fit->points + o->gpu)].parent = root(terms, o->point);
    }
    for (size_t i = 0; i < fit->gpus; i++) {
        size_t at = root(terms, fit->points + i);
        if (++terms[at].members > 1 && (set == SIZE_MAX || terms[at].members > terms[set].members))
            set = at;
    }
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        fit->used[i] = root(terms, o->point) == set;
        point_of(fit, o)->seen += fit->used[i];
        gpu_of(fit, o)->seen += fit->used[i];
    }
    return set == SIZE_MAX ? 0 : terms[set].members;
}

/* Gives each of these terms the mean of what the terms of the other kind leave. Returns the largest
 * change. */
static double improve(struct fit *fit, struct term *begin, struct term *end)
{
    double change = 0.0;
    for (struct term *term = begin; term < end; term++)
        term->sum = 0.0;
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        struct term *point = point_of(fit, o), *gpu = gpu_of(fit, o);
        if (!fit->used[i])
            continue;
        point->sum += o->log_ips - gpu->value;
        gpu->sum += o->log_ips - point->value;
    }
    for (struct term *term = begin; term < end; term++) {
        if (term->seen == 0)
            continue;
        double mean = term->sum / (double)term->seen;
        change = fmax(change, fabs(mean - term->value));
        term->value = mean;
    }
    return change;
}

/* Least squares, then the GPUs' values around zero. */
static void fit_terms(struct fit *fit, size_t compared)
{
    struct term *gpus = fit->terms + fit->points, *end = gpus + fit->gpus;
    for (int step = 0; step < MOST_STEPS; step++) {
        double change = improve(fit, fit->terms, gpus);
        if (fmax(change, improve(fit, gpus, end)) < STILL)
            break;
    }
    double sum = 0.0;
    for (struct term *gpu = gpus; gpu < end; gpu++)
        sum += gpu->seen ? gpu->value : 0.0;
    for (struct term *gpu = gpus; gpu < end; gpu++)
        if (gpu->seen)
            gpu->value -= sum / (double)compared;
    for (struct term *point = fit->terms; point < gpus; point++)
        point->value += sum / (double)compared;
}

/* How far one measurement is off, by what the model leaves, and at least as far as the
 * measurements' own intervals. */
static double find_scatter(const struct fit *fit, struct gpus_model *model)
{
    double left = 0.0, own = 0.0;
    size_t used = 0, known = 0, points = 0;
    bool one_round = false;
    for (size_t i = 0; i < fit->points; i++)
        points += fit->terms[i].seen > 0;
    for (size_t i = 0; i < fit->count; i++) {
        const struct gpus_observation *o = &fit->observations[i];
        if (!fit->used[i])
            continue;
        double off = o->log_ips - point_of(fit, o)->value - gpu_of(fit, o)->value;
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
        const struct term *term = &fit->terms[fit->points + i];
        *gpu = (struct gpus_factor){.factor = 1.0, .low = 0.0, .high = INFINITY};
        chances[2 * i] = chances[2 * i + 1] = 1.0;
        if (term->seen == 0)
            continue;
        double half =
            t * sqrt(variance * (1.0 - 1.0 / (double)model->compared) / (double)term->seen);
        gpu->observations = term->seen;
        gpu->factor = exp(term->value);
        gpu->low = exp(term->value - half);
        gpu->high = exp(term->value + half);
        if (!isfinite(half))
            continue;
        double degrees = model->degrees > 0.0 ? model->degrees : INFINITY;
        const struct effect effect = {term->value, half, half, degrees, degrees};
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
    struct fit fit = {.observations = observations, .count = count, .points = points, .gpus = gpus};
    struct gpus_model model = {.count = gpus};
    enum status status = STATUS_OK;
    fit.terms = calloc(points + gpus + 1, sizeof *fit.terms);
    fit.used = calloc(count + 1, sizeof *fit.used);
    model.gpus = calloc(gpus + 1, sizeof *model.gpus);
    if (!fit.terms || !fit.used || !model.gpus) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    model.compared = link_up(&fit);
    if (model.compared > 0)
        fit_terms(&fit, model.compared);
    status = judge(&fit, &model);
    if (status == STATUS_OK) {
        *out = model;
        model.gpus = NULL;
    }
out:
    free(fit.terms);
    free(fit.used);
    free(model.gpus);
    return status;
}

void gpus_model_release(struct gpus_model *model)
{
    free(model->gpus);
    *model = (struct gpus_model){0};
}
