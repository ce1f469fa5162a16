/*
 * What mpsweep tune finds on 20 random machines with 3 workloads each, which are simulated: its
 * share of the best that there is, and the share of the space that it measured.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tune/machine.h"

#define MACHINES 20
#define TRIALS (MACHINES * TUNE_WORKLOADS)

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *what, double *values, double scale)
{
    qsort(values, TRIALS, sizeof *values, ascending);
    printf("  %-34s %8.1f %8.1f %8.1f %8.1f %8.1f\n", what, scale * values[0],
           scale * values[TRIALS / 20], scale * values[TRIALS / 4], scale * values[TRIALS / 2],
           scale * values[TRIALS - 1]);
}

static int run(bool guided, double budget_s)
{
    double reached[TRIALS], measured[TRIALS], points[TRIALS], seconds[TRIALS];
    int count = 0, ties = 0, near = 0;
    for (unsigned machine = 0; machine < MACHINES; machine++) {
        struct tune_truth truth;
        struct tune_space space;
        tune_truth_make(machine, 0, &truth);
        if (tune_trial_space(&truth, &space) != STATUS_OK)
            return 1;
        for (unsigned workload = 0; workload < TUNE_WORKLOADS; workload++) {
            struct tune_trial trial = {.guided = guided, .budget_s = budget_s};
            tune_truth_make(machine, workload, &truth);
            if (tune_trial_run(&truth, &space, machine, &trial) != STATUS_OK)
                return 1;
            reached[count] = trial.won_ips / trial.best_ips;
            near += reached[count] >= 0.95;
            measured[count] = (double)trial.measured / (double)trial.space;
            points[count] = (double)trial.measured;
            seconds[count++] = trial.seconds;
            ties += trial.judgement.verdict == TUNE_TIE;
        }
        tune_space_release(&space);
    }
    printf("\n%s, %.0f s: %d of %d within 5%% of the best; %d ties\n",
           guided ? "guided by a calibration" : "measuring alone", budget_s, near, TRIALS, ties);
    printf("  %-34s %8s %8s %8s %8s %8s\n", "", "least", "5%", "25%", "median", "most");
    print("reached, % of the exhaustive best", reached, 100.0);
    print("measured, % of the space", measured, 100.0);
    print("measured, points", points, 1.0);
    print("seconds (simulated)", seconds, 1.0);
    return 0;
}

int main(void)
{
    printf("%d random machines x %d workloads, simulated (tests/unit/tune/machine.c):\n", MACHINES,
           TUNE_WORKLOADS);
    return run(true, 300.0) || run(false, 300.0) || run(true, 120.0) || run(false, 120.0) ||
           run(false, 60.0);
}
