/*
 * What mpsweep tune finds on random machines with 3 workloads each, which are simulated: its share
 * of the best that there is, and what its verdicts are worth.
 *
 * tune_bench [FIRST [MACHINES [FAMILY]]]: other machines than those that the search was developed
 * on, or of one family (soft, saturating, services) alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/tune/machine.h"

#define MACHINES_MOST 200
#define TRIALS_MOST (MACHINES_MOST * TUNE_WORKLOADS)

struct outcome {
    double reached[TRIALS_MOST], seconds, better_chances;
    unsigned count, within5, within2, seen5, better, over, verdicts[TUNE_NONE + 1];
    unsigned equal, holds_best, holds_like, holds_worse, members, measured, confirmed;
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void count_trial(const struct tune_trial *trial, struct outcome *out)
{
    double reached = trial->won_ips / trial->best_ips;
    out->reached[out->count++] = reached;
    out->within5 += reached >= 0.95;
    out->within2 += reached >= 0.98;
    out->seen5 += trial->best_measured_ips >= 0.95 * trial->best_ips;
    out->better += reached < 1.0 / 1.05;
    out->better_chances += trial->judgement.better_chance;
    out->over += trial->seconds > trial->budget_s;
    out->verdicts[trial->judgement.verdict]++;
    out->measured += (unsigned)trial->measured;
    out->confirmed += trial->judgement.rounds > 1;
    if (trial->judgement.verdict > TUNE_EQUAL)
        return;
    out->equal++;
    out->holds_best += trial->equal_most_ips >= trial->best_measured_ips;
    out->holds_like += trial->equal_most_ips >= 0.99 * trial->best_ips;
    out->holds_worse += trial->equal_least_ips < 0.97 * trial->best_measured_ips;
    out->members += (unsigned)trial->judgement.equal_count;
}

static double percent(unsigned part, unsigned all)
{
    return all ? 100.0 * part / all : NAN;
}

/* What a search begins with. */
enum guide { MEASURING, GUIDED, FOREKNOWN };
static const char *const guide_names[] = {"measuring", "guided", "foreknown"};

static int run(const struct tune_family *family, unsigned first, unsigned machines,
               enum guide guide, double budget_s)
{
    static struct outcome all;
    all = (struct outcome){0};
    clock_t begin = clock();
    for (unsigned machine = first; machine < first + machines; machine++) {
        for (unsigned workload = 0; workload < TUNE_WORKLOADS; workload++) {
            struct tune_truth truth;
            struct tune_space space;
            struct tune_trial trial = {.guided = guide != MEASURING,
                                       .foreknown = guide == FOREKNOWN,
                                       .budget_s = budget_s};
            tune_truth_make(family, machine, workload, &truth);
            if (tune_trial_space(&truth, &space) != STATUS_OK)
                return 1;
            if (tune_trial_run(&truth, &space, machine, &trial) != STATUS_OK)
                return 1;
            count_trial(&trial, &all);
            tune_space_release(&space);
        }
    }
    qsort(all.reached, all.count, sizeof *all.reached, ascending);
    printf("%-9s %5.0f %7.1f %7.1f %7.1f %7.1f %7.1f %5u %5.0f %7.1f | %4u %4u %4u %4u | %7.1f "
           "%7.1f %7.1f %7.1f | %5.1f %5.1f | %.2f\n",
           guide_names[guide], budget_s, percent(all.within5, all.count),
           percent(all.within2, all.count), percent(all.seen5, all.count), 100.0 * all.reached[0],
           100.0 * all.reached[all.count / 2], all.over, (double)all.measured / all.count,
           percent(all.confirmed, all.count), all.verdicts[TUNE_WINNER], all.verdicts[TUNE_EQUAL],
           all.verdicts[TUNE_UNFINISHED], all.verdicts[TUNE_NONE],
           percent(all.holds_best, all.equal), percent(all.holds_like, all.equal),
           percent(all.holds_worse, all.equal), all.equal ? (double)all.members / all.equal : NAN,
           100.0 * all.better_chances / all.count, percent(all.better, all.count),
           (double)(clock() - begin) / CLOCKS_PER_SEC / all.count);
    fflush(stdout);
    return 0;
}

static int run_all(const struct tune_family *family, unsigned first, unsigned machines)
{
    static const double budgets[] = {20.0, 30.0, 60.0, 120.0};
    static const double program_budgets[] = {60.0, 90.0, 180.0};
    printf("\nfamily %s\n", family->name);
    for (size_t i = 0; family->program && i < sizeof program_budgets / sizeof *program_budgets; i++)
        if (run(family, first, machines, MEASURING, program_budgets[i]) != 0)
            return 1;
    for (int guide = family->program ? -1 : FOREKNOWN; guide >= MEASURING; guide--)
        for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
            if (run(family, first, machines, (enum guide)guide, budgets[i]) != 0)
                return 1;
    return 0;
}

int main(int count, char **words)
{
    static const struct tune_family *const families[] = {&tune_family_soft, &tune_family_usl,
                                                         &tune_family_service};
    unsigned first = count > 1 ? (unsigned)atoi(words[1]) : 0;
    unsigned machines = count > 2 ? (unsigned)atoi(words[2]) : 20;
    machines = machines > MACHINES_MOST ? MACHINES_MOST : machines;
    printf("machines %u to %u, %d workloads each, simulated (tests/unit/tune/machine.h)\n", first,
           first + machines - 1, TUNE_WORKLOADS);
    printf(
        "reached: %% of trials within 5%% and 2%% of the best of all, and in which one within 5%%\n"
        "was looked at; least, median; budgets that were overrun; points measured; %% with two\n"
        "rounds of the best. Verdicts: winner, equal, unfinished, none. Of the first two: %% in\n"
        "which what is named holds the best that was measured, one within 1%% of the best of all,\n"
        "one that is more than 3%% worse; how many are named. A layout does more than 5%% more\n"
        "than the best: %% by the search, %% in truth. CPU seconds of a trial. foreknown: what is\n"
        "predicted is true, each layout off by %.0f%% by itself, and none is refused.\n",
        100.0 * TUNE_FOREKNOWN_REL);
    bool any = false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (count > 3 && strcmp(words[3], families[i]->name) != 0)
            continue;
        any = true;
        if (run_all(families[i], first, machines) != 0)
            return 1;
    }
    return !any;
}
