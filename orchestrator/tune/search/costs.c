#include "orchestrator/tune/search/costs.h"

#include <math.h>

/* How far starts differ from what is usual, as standard deviations in seconds: a program may load
 * for many seconds, and its processes one after the other; and starts of one size by NOISE_S. */
#define START_SPREAD_S 3.0
#define PROCESS_SPREAD_S 0.1
#define NOISE_S 0.3

/* How much less than usual a process may take, as a share of that: a few small starts show little
 * of what a large one takes. */
#define PROCESS_LESS 0.5

/* Of what an earlier start counted, with each new one. */
#define KEEP 0.85

/* A start is late after so often what is expected, and some seconds. */
#define LATE_START 2.0
#define LATE_S 10.0

void start_costs_init(double start_s, double process_s, struct start_costs *out)
{
    *out = (struct start_costs){.start_s = start_s,
                                .process_s = process_s,
                                .usual_start_s = start_s,
                                .usual_process_s = process_s};
}

/* The line through the starts with the least squares, its two numbers drawn to what is usual. */
static void solve_with(struct start_costs *costs, double process_spread_s)
{
    double weight = 1.0 / (NOISE_S * NOISE_S);
    double start_weight = 1.0 / (START_SPREAD_S * START_SPREAD_S);
    double process_weight = 1.0 / (process_spread_s * process_spread_s);
    double a = weight * costs->n + start_weight, b = weight * costs->p;
    double d = weight * costs->pp + process_weight;
    double u = weight * costs->y + start_weight * costs->usual_start_s;
    double v = weight * costs->py + process_weight * costs->usual_process_s;
    double determinant = a * d - b * b;
    costs->start_s = fmax(0.0, (u * d - v * b) / determinant);
    costs->process_s = fmax(0.0, (v * a - u * b) / determinant);
}

static void solve(struct start_costs *costs)
{
    solve_with(costs, PROCESS_SPREAD_S);
    if (costs->process_s < costs->usual_process_s)
        solve_with(costs, PROCESS_LESS * costs->usual_process_s);
}

void start_costs_learn(struct start_costs *costs, double processes, double ready_s)
{
    double *const sums[] = {&costs->n, &costs->p, &costs->pp, &costs->y, &costs->py};
    const double added[] = {1.0, processes, processes * processes, ready_s, processes * ready_s};
    for (unsigned i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] = KEEP * *sums[i] + added[i];
    solve(costs);
}

double start_late_s(double expected_s)
{
    return LATE_START * expected_s + LATE_S;
}
