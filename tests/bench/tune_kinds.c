/*
 * What kind of layout is the best on the simulated machines by which the search is judged, and
 * whether another kind would do: a family on which one kind always wins would judge little.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/tune/kinds.h"

#define MACHINES 50

struct tally {
    unsigned trials, best[TUNE_KINDS], near[TUNE_KINDS], alone[TUNE_KINDS];
    unsigned shares, pageable, unbound, asleep;
    double refused;                         /* share of the space, summed */
    double good[MACHINES * TUNE_WORKLOADS]; /* share of the space within 5% of the best */
};

static void count(const struct tune_truth *truth, const struct tune_space *space,
                  struct tally *tally)
{
    double best_ips[TUNE_KINDS];
    size_t refused = 0, best = tune_kinds_find(truth, space, best_ips);
    const struct point *point = &space->plan.points[best];
    double most = tune_truth_ips(truth, point);
    unsigned near = 0, last = 0;
    for (unsigned kind = 0; kind < TUNE_KINDS; kind++) {
        tally->near[kind] += best_ips[kind] >= 0.98 * most;
        near += best_ips[kind] >= 0.95 * most;
        last = best_ips[kind] >= 0.95 * most ? kind : last;
    }
    tally->alone[last] += near == 1;
    tally->best[tune_kind_of(point)]++;
    tally->shares += point->active_thread_percentage.count > 0;
    tally->pageable += point->work.memory == MEMORY_PAGEABLE;
    tally->unbound += point->bind == BIND_NONE;
    tally->asleep += point->work.schedule == SCHEDULE_BLOCK;
    size_t good = 0;
    for (size_t i = 0; i < space->candidates; i++) {
        double ips = tune_truth_ips(truth, &space->plan.points[i]);
        refused += ips <= 0.0;
        good += ips >= 0.95 * most;
    }
    tally->refused += (double)refused / (double)space->candidates;
    tally->good[tally->trials++] = (double)good / (double)space->candidates;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run(const struct tune_family *family)
{
    struct tally tally = {.trials = 0};
    for (unsigned machine = 0; machine < MACHINES; machine++) {
        for (unsigned workload = 0; workload < TUNE_WORKLOADS; workload++) {
            struct tune_truth truth;
            struct tune_space space;
            tune_truth_make(family, machine, workload, &truth);
            if (tune_trial_space(&truth, &space) != STATUS_OK)
                return 1;
            count(&truth, &space, &tally);
            tune_space_release(&space);
        }
    }
    printf("\n%s: %d machines x %d workloads\n", family->name, MACHINES, TUNE_WORKLOADS);
    printf("  %-24s %8s %12s %24s\n", "kind", "is best", "within 2%", "others 5% below");
    for (unsigned kind = 0; kind < TUNE_KINDS; kind++)
        printf("  %-24s %8u %12u %24u\n", tune_kind_name(kind), tally.best[kind], tally.near[kind],
               tally.alone[kind]);
    printf("  of the best ones %u with shares, %u pageable, %u unbound, %u asleep; refused on "
           "average: %.0f%% of the space\n",
           tally.shares, tally.pageable, tally.unbound, tally.asleep,
           100.0 * tally.refused / tally.trials);
    qsort(tally.good, tally.trials, sizeof *tally.good, ascending);
    printf("  within 5%% of the best: %.2f%% of the space in a quarter of the trials, %.2f%% in "
           "half, %.2f%% in three quarters\n",
           100.0 * tally.good[tally.trials / 4], 100.0 * tally.good[tally.trials / 2],
           100.0 * tally.good[tally.trials * 3 / 4]);
    return 0;
}

int main(void)
{
    return run(&tune_family_soft) || run(&tune_family_usl);
}
