/*
 * What several GPUs give against one: scaling efficiency, and GPUs that are slower than others.
 * Pure functions of the points of a results file (docs/results-format.md).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/* The measured points of one GPU, to be found by those of several: the first of each settings_key()
 * without those of GPUs. A new reference; NULL: no memory. */
json_t *scaling_singles(const json_t *points);

struct scaling {
    unsigned gpus;
    const json_t *base; /* the point of one GPU with all other settings the same; borrowed */
    double base_ips;
    /* Throughput over that of `gpus` times one GPU: 1 is ideal. low and high bound it with 95%
     * confidence, from the intervals of both; they are NAN where one of these is not known. */
    double efficiency, low, high;
};

/* How a measured closed-loop point of several GPUs scales. False: it is none, or there is no such
 * point of one GPU. The number of daemons makes no difference, since one GPU has one. */
bool scaling_find(const json_t *singles, const json_t *point, struct scaling *out);

/* "94.2% ±0.8%" of a scaling; "-" for NULL. Returns text. */
const char *scaling_text(const struct scaling *scaling, char *text, size_t size);

/* How the GPUs of a point differ: one of them stands out from the others, which are among
 * themselves at most half as far apart as it is from their median, or none does. Of two, neither
 * is the odd one. */
enum imbalance_kind { IMBALANCE_SPREAD, IMBALANCE_SLOW, IMBALANCE_FAST };

struct imbalance_gpu {
    unsigned number;  /* within the run */
    const char *uuid; /* "" where the record lacks it; borrowed */
    double ips;
};

/* The GPUs of a point beside each other. */
struct imbalance {
    unsigned gpus;
    double mean_ips; /* of a GPU */
    double relative; /* (fastest - slowest) / mean */
    struct imbalance_gpu slowest, fastest;
    enum imbalance_kind kind;
    double
        of_the_others; /* rate of the one that stands out over the median of the others, else 1 */
};

/* False: not a point of several GPUs with the rate of each, or no memory. */
bool imbalance_of(const json_t *point, struct imbalance *out);

/* Whether it is large enough to report: more than 5%, and more than the point's
 * own interval leaves open between two of its GPUs. */
bool imbalance_matters(const struct imbalance *imbalance, const json_t *point);

/* The one that stands out; with IMBALANCE_SPREAD the slowest. */
const struct imbalance_gpu *imbalance_odd(const struct imbalance *imbalance);

/* "GPU 2 is 25% slower than the median of the others", "the GPUs differ by 18%, from GPU 0, the
 * slowest, to GPU 2, the fastest"; with each GPU's UUID, if that is wanted. Returns text. */
#define IMBALANCE_TEXT 256
const char *imbalance_text(const struct imbalance *imbalance, bool uuids,
                           char text[IMBALANCE_TEXT]);

/* The measured point that differs from this one, of several GPUs over MPS, by the other choice of
 * daemons alone; NULL: none. Borrowed from points. */
const json_t *scaling_other_daemons(const json_t *points, const json_t *point);
