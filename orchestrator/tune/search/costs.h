/*
 * What starting workers costs: a fixed part and one for each process, learned from starts. Without
 * any it is what an H200 needs; with starts of one size the fixed part explains what differs from
 * that, and one start that takes far longer than the others changes little. Pure functions.
 */
#pragma once

/* As many starts as are remembered. */
#define START_COSTS_MOST 16

struct start_costs {
    double start_s, process_s; /* what is expected of the next start */
    double usual_start_s, usual_process_s;
    unsigned count;
    struct {
        double processes, ready_s, noise_s;
    } starts[START_COSTS_MOST]; /* the newest first */
};

void start_costs_init(double start_s, double process_s, struct start_costs *out);

/* One start of `processes` took ready_s seconds. */
void start_costs_learn(struct start_costs *costs, double processes, double ready_s);

/* How long a start is waited for at most that takes long by itself, from the seconds that were
 * expected. */
double start_late_s(double expected_s);
