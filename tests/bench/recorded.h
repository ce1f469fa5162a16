/*
 * A machine made of measurements: each layout of a tune's space does there what it did in a results
 * file that has all of them, and each look differs as its rounds did, or by 2% where it has one.
 * All points cost the same beside their window and their start. So searches can be compared on real
 * layouts, as often as one likes, without a GPU.
 */
#pragma once

#include "files/results_read.h"
#include "orchestrator/tune/space.h"
#include "tests/unit/tune/machine.h"

struct recorded_layout {
    double ips; /* mean of its rounds; 0: it did not work, or was not measured */
    double sd;  /* of the logarithm of a round */
    double window_s;
    double ci95_rel, p99_us, cpus;
};

struct tune_recorded {
    struct job job;
    struct results results;
    char **command; /* of a program, NULL-ended; or NULL */
    struct tune_space space;
    struct recorded_layout *layouts; /* of the space's plan */
    size_t measured;
    bool calibrated;
    struct calibration calibration;
};

/*
 * job: of a tune, whose space the results file has; calibration: a results file with one, or NULL.
 * The truth borrows from the recorded machine, which recorded_close() frees.
 */
enum status recorded_open(const char *job, const char *results, const char *calibration,
                          struct tune_recorded *out, struct tune_truth *truth);
void recorded_close(struct tune_recorded *recorded);
