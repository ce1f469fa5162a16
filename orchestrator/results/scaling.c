#include "orchestrator/results/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"
#include "statistics/statistics.h"

/* Beyond it a report names how GPUs differ. */
#define IMBALANCE_WORTH_A_WORD 0.05

/* One stands out if the others are no farther apart than this share of what it is away from them.
 */
#define OTHERS_APART_MOST 0.5

#define WITHOUT_GPUS (1u << OPTION_GPUS_PER_POINT | 1u << OPTION_MPS_DAEMONS)

json_t *scaling_singles(const json_t *points)
{
    json_t *singles = json_object();
    size_t index;
    json_t *point;
    json_array_foreach(points, index, point)
    {
        if (point_gpus_of(point) != 1 || !point_is_closed(point))
            continue;
        char *key = settings_key(point, WITHOUT_GPUS);
        bool known = key != NULL && json_object_get(singles, key) != NULL;
        if (!known && json_object_set_nocheck(singles, key, point) != 0) {
            json_decref(singles);
            singles = NULL;
        }
        free(key);
    }
    return singles;
}

bool scaling_find(const json_t *singles, const json_t *point, struct scaling *out)
{
    struct scaling scaling = {.gpus = point_gpus_of(point)};
    if (scaling.gpus < 2 || !point_is_closed(point))
        return false;
    char *key = settings_key(point, WITHOUT_GPUS);
    scaling.base = key != NULL ? json_object_get(singles, key) : NULL;
    free(key);
    if (scaling.base == NULL)
        return false;
    scaling.base_ips = number_at(scaling.base, "throughput_ips");
    scaling.efficiency = number_at(point, "throughput_ips") / (scaling.gpus * scaling.base_ips);
    /* Of a ratio of independent means, to the first order. NAN stays NAN. */
    double half = scaling.efficiency *
                  hypot(number_at(point, "ci95_rel"), number_at(scaling.base, "ci95_rel"));
    scaling.low = scaling.efficiency - half;
    scaling.high = scaling.efficiency + half;
    *out = scaling;
    return true;
}

const char *scaling_text(const struct scaling *scaling, char *text, size_t size)
{
    if (scaling == NULL)
        snprintf(text, size, "-");
    else if (isnan(scaling->high))
        snprintf(text, size, "%.1f%%", 100.0 * scaling->efficiency);
    else
        snprintf(text, size, "%.1f%% ±%.1f%%", 100.0 * scaling->efficiency,
                 100.0 * (scaling->high - scaling->efficiency));
    return text;
}

/* How far a GPU of that rate is from `count` others, in order; 0 where they are nearly as far from
 * each other. of_them: its rate over their median. */
static double stands_out(double ips, const double *others, unsigned count, double *of_them)
{
    double median = (others[(count - 1) / 2] + others[count / 2]) / 2;
    if (count < 2 || !(median > 0))
        return 0;
    *of_them = ips / median;
    double away = fabs(*of_them - 1);
    return (others[count - 1] - others[0]) / median <= away * OTHERS_APART_MOST ? away : 0;
}

/* Rates in order: the odd one is the first or the last, if there is one. */
static void find_odd(const double *rates, struct imbalance *out)
{
    unsigned others = out->gpus - 1;
    double below = 1, above = 1;
    double slow = stands_out(rates[0], rates + 1, others, &below);
    double fast = stands_out(rates[others], rates, others, &above);
    out->kind = IMBALANCE_SPREAD;
    out->of_the_others = 1;
    if (slow > 0 && slow >= fast) {
        out->kind = IMBALANCE_SLOW;
        out->of_the_others = below;
    } else if (fast > 0) {
        out->kind = IMBALANCE_FAST;
        out->of_the_others = above;
    }
}

bool imbalance_of(const json_t *point, struct imbalance *out)
{
    const json_t *per_gpu = json_object_get(point, "per_gpu");
    struct imbalance imbalance = {.gpus = (unsigned)json_array_size(per_gpu)};
    double sum = 0;
    size_t index;
    const json_t *gpu;
    if (imbalance.gpus < 2)
        return false;
    double *rates = calloc(imbalance.gpus, sizeof *rates);
    if (rates == NULL)
        return false;
    json_array_foreach(per_gpu, index, gpu)
    {
        const struct imbalance_gpu one = {.number = (unsigned)integer_at(gpu, "gpu"),
                                          .uuid = text_at(gpu, "uuid"),
                                          .ips = number_at(gpu, "throughput_ips")};
        if (!(one.ips >= 0))
            goto none;
        rates[index] = one.ips;
        sum += one.ips;
        if (index == 0 || one.ips < imbalance.slowest.ips)
            imbalance.slowest = one;
        if (index == 0 || one.ips > imbalance.fastest.ips)
            imbalance.fastest = one;
    }
    if (!(sum > 0))
        goto none;
    imbalance.mean_ips = sum / imbalance.gpus;
    imbalance.relative = (imbalance.fastest.ips - imbalance.slowest.ips) / imbalance.mean_ips;
    statistics_sort(rates, imbalance.gpus);
    find_odd(rates, &imbalance);
    free(rates);
    *out = imbalance;
    return true;
none:
    free(rates);
    return false;
}

bool imbalance_matters(const struct imbalance *imbalance, const json_t *point)
{
    /* That of a GPU is wider than that of the mean of all by the root of their number, and that of
     * a difference of two by the root of two once more. */
    double interval = number_at(point, "ci95_rel") * sqrt(2.0 * imbalance->gpus);
    return imbalance->relative > IMBALANCE_WORTH_A_WORD &&
           !(imbalance->relative <= interval); /* also where there is none */
}

const struct imbalance_gpu *imbalance_odd(const struct imbalance *imbalance)
{
    return imbalance->kind == IMBALANCE_FAST ? &imbalance->fastest : &imbalance->slowest;
}

static void append_gpu(struct text *text, const struct imbalance_gpu *gpu, bool uuid)
{
    text_append(text, "GPU %u", gpu->number);
    if (uuid && gpu->uuid[0] != '\0')
        text_append(text, " (%.63s)", gpu->uuid);
}

const char *imbalance_text(const struct imbalance *imbalance, bool uuids, char out[IMBALANCE_TEXT])
{
    struct text text = {.at = out, .size = IMBALANCE_TEXT};
    if (imbalance->kind == IMBALANCE_SPREAD) {
        text_append(&text, "the GPUs differ by %.0f%%, from ", 100.0 * imbalance->relative);
        append_gpu(&text, &imbalance->slowest, uuids);
        text_append(&text, ", the slowest, to ");
        append_gpu(&text, &imbalance->fastest, uuids);
        text_append(&text, ", the fastest");
        return out;
    }
    append_gpu(&text, imbalance_odd(imbalance), uuids);
    text_append(&text, " is %.0f%% %s than the median of the others",
                100.0 * fabs(imbalance->of_the_others - 1),
                imbalance->kind == IMBALANCE_SLOW ? "slower" : "faster");
    return out;
}

const json_t *scaling_other_daemons(const json_t *points, const json_t *point)
{
    const json_t *other, *found = NULL;
    size_t index;
    const char *daemons = text_at(point, "mps_daemons");
    char *key = point_gpus_of(point) > 1 && daemons[0] != '\0'
                    ? settings_key(point, 1u << OPTION_MPS_DAEMONS)
                    : NULL;
    if (key == NULL)
        return NULL;
    json_array_foreach(points, index, other)
    {
        const char *others = text_at(other, "mps_daemons");
        /* What is quick to see first: keys of all points would be dear. */
        if (others[0] == '\0' || strcmp(others, daemons) == 0 || !point_is_closed(other) ||
            point_gpus_of(other) != point_gpus_of(point) ||
            integer_at(other, "processes") != integer_at(point, "processes") ||
            integer_at(other, "threads") != integer_at(point, "threads"))
            continue;
        char *other_key = settings_key(other, 1u << OPTION_MPS_DAEMONS);
        bool same = other_key != NULL && strcmp(other_key, key) == 0;
        free(other_key);
        if (same) {
            found = other;
            break;
        }
    }
    free(key);
    return found;
}
