#include "orchestrator/tune/search/costs.h"

#include <math.h>
#include <string.h>

/* How far starts differ from what is usual, as standard deviations in seconds: a program may load
 * for many seconds, and its processes one after the other; starts of one size by NOISE_S, and the
 * first one by a share of what it takes: it reads files that the others find in memory. */
#define START_SPREAD_S 10.0
#define PROCESS_SPREAD_S 0.1
#define NOISE_S 0.3
#define FIRST_NOISE_SHARE 0.2

/* How much less than usual a process may take, as a share of that: a few small starts show little
 * of what a large one takes. */
#define PROCESS_LESS 0.5

/* What differs more than that from what the other starts show, and more than it may by itself, is
 * an accident: it draws the line as if it differed so much. And how often the line is drawn anew
 * for that. */
#define ACCIDENT_S 1.0
#define ACCIDENT_STEPS 20

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

/* The line through the starts with the least squares, its two numbers drawn to what is usual. A
 * start counts for the less, the further it is from the line as it was. */
static void draw_line(struct start_costs *costs, double process_spread_s)
{
    double a = 1.0 / (START_SPREAD_S * START_SPREAD_S), b = 0.0;
    double d = 1.0 / (process_spread_s * process_spread_s);
    double u = a * costs->usual_start_s, v = d * costs->usual_process_s, age = 1.0;
    for (unsigned i = 0; i < costs->count; i++, age *= KEEP) {
        double p = costs->starts[i].processes, y = costs->starts[i].ready_s;
        double off_s = fabs(y - costs->start_s - costs->process_s * p);
        double noise_s = costs->starts[i].noise_s, accident_s = fmax(ACCIDENT_S, noise_s);
        double weight = age * fmin(1.0, accident_s / off_s) / (noise_s * noise_s);
        a += weight;
        b += weight * p;
        d += weight * p * p;
        u += weight * y;
        v += weight * p * y;
    }
    double determinant = a * d - b * b;
    costs->start_s = fmax(0.0, (u * d - v * b) / determinant);
    costs->process_s = fmax(0.0, (v * a - u * b) / determinant);
}

static void solve(struct start_costs *costs, double process_spread_s)
{
    for (int step = 0; step < ACCIDENT_STEPS; step++)
        draw_line(costs, process_spread_s);
}

void start_costs_learn(struct start_costs *costs, double processes, double ready_s)
{
    unsigned kept = costs->count < START_COSTS_MOST ? costs->count : START_COSTS_MOST - 1;
    memmove(&costs->starts[1], costs->starts, kept * sizeof *costs->starts);
    costs->starts[0].processes = processes;
    costs->starts[0].ready_s = ready_s;
    costs->starts[0].noise_s =
        costs->count > 0 ? NOISE_S : fmax(NOISE_S, FIRST_NOISE_SHARE * ready_s);
    costs->count = kept + 1;
    solve(costs, PROCESS_SPREAD_S);
    if (costs->process_s < costs->usual_process_s)
        solve(costs, PROCESS_LESS * costs->usual_process_s);
}

double start_late_s(double expected_s)
{
    return LATE_START * expected_s + LATE_S;
}
