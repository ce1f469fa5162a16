/*
 * What starting workers costs: a fixed part and one for each process, learned from starts. Without
 * any it is what an H200 needs; with starts of one size the fixed part explains what differs from
 * that. Pure functions.
 */
#pragma once

struct start_costs {
    double start_s, process_s; /* what is expected of the next start */
    double usual_start_s, usual_process_s;
    double n, p, pp, y, py; /* sums over the starts, the older ones count for less */
};

void start_costs_init(double start_s, double process_s, struct start_costs *out);

/* One start of `processes` took ready_s seconds. */
void start_costs_learn(struct start_costs *costs, double processes, double ready_s);

/* How long a start is waited for at most that takes long by itself, from the seconds that were
 * expected. */
double start_late_s(double expected_s);
