/*
 * What throughput is to be expected of a point, and how far that may be off. From the runs of a
 * calibration: what an iteration takes is known for a few numbers of workers, and what is between
 * and beyond them follows from that and from what the machine can do in all (explain/curve.h). From
 * a calibration without runs, as of earlier versions: from a queueing network
 * (explain/network.h), never above the lowest ceiling.
 */
#pragma once

#include "explain/ceilings.h"

struct prediction {
    double ips;      /* iterations/s; 0: nothing is known */
    double half_rel; /* half of the interval in which 9 of 10 are expected, relative */
    /* It is beyond what predictions were compared with: more workers than any run had by far, or
     * settings of which no run shows anything. */
    bool is_beyond;
};

void predict(const struct explain_point *point, const struct calibration *calibration,
             struct prediction *out);

/* Its iterations/s. */
double predict_ips(const struct explain_point *point, const struct calibration *calibration);
