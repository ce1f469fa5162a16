#include "orchestrator/tune/search/gp.h"

#include <math.h>
#include <stdlib.h>

/* The share of its variance that a point has alone. */
#define SHARE_ALONE 0.03

struct gp {
    const struct gp_point *points;
    struct gp_hyperparameters hyper;
    size_t count, width; /* points; and behind them the shift */
    size_t rows, rows_most;
    double *factor; /* rows of width numbers */
    double *mean, *variance;
    double likelihood;
};

enum status gp_new(const struct gp_point *points, size_t count,
                   const struct gp_hyperparameters *hyper, size_t rows_most, struct gp **out)
{
    struct gp *gp = calloc(1, sizeof *gp);
    if (!gp)
        return status_set(STATUS_MEMORY, "out of memory");
    gp->points = points;
    gp->count = count;
    gp->width = count + 1;
    gp->hyper = *hyper;
    gp->rows_most = rows_most;
    gp->factor = calloc(gp->width * (rows_most + 1), sizeof *gp->factor);
    gp->mean = calloc(gp->width, sizeof *gp->mean);
    gp->variance = calloc(gp->width, sizeof *gp->variance);
    if (!gp->factor || !gp->mean || !gp->variance) {
        gp_free(gp);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        double sd = hyper->signal_scale * points[i].sd;
        gp->mean[i] = points[i].mean;
        gp->variance[i] = hyper->level * hyper->level + sd * sd;
    }
    gp->variance[count] = hyper->shift * hyper->shift;
    *out = gp;
    return STATUS_OK;
}

void gp_free(struct gp *gp)
{
    if (!gp)
        return;
    free(gp->factor);
    free(gp->mean);
    free(gp->variance);
    free(gp);
}

static double correlation(const struct gp_hyperparameters *hyper, const double *a, const double *b)
{
    const double step = hyper->class_step / hyper->length_scale, near = 1.0 / (1.0 + step);
    double far = 0.0, each = 0.0;
    /* Most features of two points are equal: those need no division. */
    for (size_t k = 0; k < hyper->numbers; k++) {
        double apart = a[k] == b[k] ? 0.0 : fabs(a[k] - b[k]) / hyper->length_scale;
        far += apart;
        each += a[k] == b[k] ? 1.0 : 1.0 / (1.0 + apart);
    }
    for (size_t k = hyper->numbers; k < hyper->features; k++) {
        far += a[k] == b[k] ? 0.0 : step;
        each += a[k] == b[k] ? 1.0 : near;
    }
    return (1.0 - SHARE_ALONE - hyper->interaction_share) * each / (double)hyper->features +
           hyper->interaction_share * exp(-far);
}

/* Before any measurement. */
static double prior(const struct gp *gp, size_t i, size_t j)
{
    const struct gp_hyperparameters *hyper = &gp->hyper;
    const struct gp_point *a = &gp->points[i], *b = &gp->points[j];
    double alone = i == j ? SHARE_ALONE : 0.0;
    return hyper->level * hyper->level + hyper->signal_scale * hyper->signal_scale * a->sd * b->sd *
                                             (alone + correlation(hyper, a->features, b->features));
}

/* Takes from a row what four known ones, which follow each other, explain of it: most of a search's
 * time is here, and four at once load and store the row a quarter as often. */
static void take_four(double *restrict row, const double *restrict known, const double weight[4],
                      size_t width)
{
    const double *a = known, *b = a + width, *c = b + width, *d = c + width;
    for (size_t i = 0; i < width; i++)
        row[i] = row[i] - weight[0] * a[i] - weight[1] * b[i] - weight[2] * c[i] - weight[3] * d[i];
}

static void take_one(double *restrict row, const double *restrict known, double weight,
                     size_t width)
{
    for (size_t i = 0; i < width; i++)
        row[i] -= weight * known[i];
}

/* The covariance of all points with a measurement, as a new row: not yet divided by its sd. */
static double *covariances(struct gp *gp, size_t point, bool shifted)
{
    double *row = gp->factor + gp->rows * gp->width;
    for (size_t i = 0; i < gp->count; i++)
        row[i] = prior(gp, i, point);
    row[gp->count] = shifted ? gp->hyper.shift * gp->hyper.shift : 0.0;
    for (size_t r = 0; r < gp->rows;) {
        const double *known = gp->factor + r * gp->width;
        size_t taken = gp->rows - r < 4 ? 1 : 4;
        double weight[4];
        for (size_t k = 0; k < taken; k++)
            weight[k] =
                known[k * gp->width + point] + (shifted ? known[k * gp->width + gp->count] : 0.0);
        if (taken == 4)
            take_four(row, known, weight, gp->width);
        else
            take_one(row, known, weight[0], gp->width);
        r += taken;
    }
    return row;
}

void gp_observe(struct gp *gp, size_t point, bool shifted, double value, double noise_sd)
{
    if (gp->rows == gp->rows_most)
        return;
    double *row = covariances(gp, point, shifted);
    double variance = row[point] + (shifted ? row[gp->count] : 0.0) + noise_sd * noise_sd;
    double sd = sqrt(fmax(variance, 1e-12));
    double miss = value - gp->mean[point] - (shifted ? gp->mean[gp->count] : 0.0);
    for (size_t i = 0; i < gp->width; i++) {
        row[i] /= sd;
        gp->mean[i] += row[i] * miss / sd;
        gp->variance[i] -= row[i] * row[i];
    }
    gp->likelihood -= 0.5 * miss * miss / (sd * sd) + log(sd);
    gp->rows++;
}

void gp_condition_on_mean(struct gp *gp, size_t point, double noise_sd)
{
    double likelihood = gp->likelihood;
    gp_observe(gp, point, false, gp->mean[point], noise_sd);
    gp->likelihood = likelihood;
}

size_t gp_rows(const struct gp *gp)
{
    return gp->rows;
}

void gp_forget(struct gp *gp, size_t rows)
{
    while (gp->rows > rows) {
        const double *row = gp->factor + --gp->rows * gp->width;
        for (size_t i = 0; i < gp->width; i++)
            gp->variance[i] += row[i] * row[i];
    }
}

double gp_mean(const struct gp *gp, size_t point)
{
    return gp->mean[point];
}

double gp_sd(const struct gp *gp, size_t point)
{
    return sqrt(fmax(gp->variance[point], 0.0));
}

double gp_sd_between(const struct gp *gp, size_t a, size_t b)
{
    double covariance = prior(gp, a, b);
    for (size_t r = 0; r < gp->rows; r++)
        covariance -= gp->factor[r * gp->width + a] * gp->factor[r * gp->width + b];
    return a == b ? 0.0 : sqrt(fmax(gp->variance[a] + gp->variance[b] - 2.0 * covariance, 0.0));
}

double gp_log_likelihood(const struct gp *gp)
{
    return gp->likelihood;
}
