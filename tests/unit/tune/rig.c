#include "tests/unit/tune/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tune_rig rig;

const struct tune_costs rig_cheap = {.point_s = 0.1};
const struct tune_rules rig_rules = {
    .window_s = 0.25, .final_s = 1.0, .rounds_least = 3, .rounds_most = 8};

void rig_make_space(void)
{
    rig.count = 0;
    for (unsigned p = 1; p <= 16; p *= 2)
        for (unsigned t = 1; t <= 16; t *= 2)
            for (unsigned mps = 0; mps < 2; mps++)
                for (unsigned launch = 0; launch < 2; launch++)
                    rig.space[rig.count++] = (struct tune_candidate){
                        .processes = p,
                        .threads = t,
                        .connections = 8,
                        .axes = {[TUNE_AXIS_MPS] = mps, [TUNE_AXIS_LAUNCH] = launch},
                        .naive = p == 1 && t == 1 && mps == 0 && launch == 0,
                    };
    memset(rig.asked, 0, sizeof rig.asked);
    rig.steps = 0;
    rig.noise = 1;
}

void rig_take_space(const struct tune_candidate *space, size_t count)
{
    rig.count = count;
    memcpy(rig.space, space, count * sizeof *space);
    memset(rig.asked, 0, sizeof rig.asked);
}

void rig_begin(const struct tune_rules *with)
{
    tune_search_free(rig.search);
    rig.search = NULL;
    for (size_t i = 0; i < rig.count; i++)
        rig.space[i].start_weight = rig.space[i].processes;
    assert_int_equal(tune_search_new(rig.space, rig.count, with, &rig.search), STATUS_OK);
}

int rig_end(void **state)
{
    (void)state;
    tune_search_free(rig.search);
    rig.search = NULL;
    return 0;
}

double rig_random_share(void)
{
    return (double)(random_next(&rig.noise) >> 11) / 9007199254740992.0;
}

void rig_look(size_t point, double value, double spread, double p99_us, bool fresh)
{
    struct tune_observation seen = {.outcome = value > 0.0   ? TUNE_MEASURED
                                               : value < 0.0 ? TUNE_FAILED
                                                             : TUNE_INFEASIBLE};
    if (rig.asked[point]++ == 0)
        rig.first_step[point] = rig.steps;
    if (value > 0.0) {
        double noisy = value * (1.0 + spread * (2.0 * rig_random_share() - 1.0));
        double wide = fmax(spread, 1e-4);
        seen = (struct tune_observation){
            .value = noisy,
            .ips = noisy,
            .low = noisy * (1.0 - wide),
            .high = noisy * (1.0 + wide),
            .p99_us = p99_us,
            .p99_low_us = p99_us * 0.98,
            .p99_high_us = p99_us * 1.02,
        };
    }
    if (fresh)
        tune_search_note_round(rig.search, point, seen.value, &seen);
    else
        tune_search_note(rig.search, point, &seen);
}

double rig_latency_of(size_t point, double value)
{
    return 1e6 * rig.space[point].processes * rig.space[point].threads / fmax(value, 1e-3);
}

double rig_run(surface truth, double spread, double budget_s)
{
    struct tune_batch batch;
    double spent_s = 0.0;
    for (;;) {
        tune_search_next(rig.search, budget_s - spent_s, &rig_cheap, &batch);
        if (batch.count == 0)
            return spent_s;
        assert_true(++rig.steps < 1000);
        for (size_t i = 0; i < batch.count; i++) {
            size_t point = batch.items[i].point;
            double value = truth(&rig.space[point]);
            assert_true(point < rig.count);
            if (spent_s + batch.items[i].window_s + rig_cheap.point_s > budget_s)
                continue;
            spent_s += batch.items[i].window_s + rig_cheap.point_s;
            rig_look(point, value, spread, rig_latency_of(point, value), batch.fresh);
        }
    }
}

struct tune_judgement rig_judge(void)
{
    struct tune_judgement judgement;
    tune_search_judge(rig.search, &judgement);
    return judgement;
}

size_t rig_points_asked(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < rig.count; i++)
        sum += rig.asked[i] > 0;
    return sum;
}

/* -- surfaces ---------------------------------------------------------------------------------- */

double surface_hill(const struct tune_candidate *one)
{
    double p = log2(one->processes) - 2.0, t = log2(one->threads) - 3.0;
    return 1000.0 * exp(-0.1 * (p * p + t * t)) * (one->axes[TUNE_AXIS_MPS] ? 1.0 : 0.6) *
           (one->axes[TUNE_AXIS_LAUNCH] ? 1.0 : 0.8);
}

bool surface_is_top(const struct tune_candidate *one)
{
    return one->processes == 4 && one->threads == 8 && one->axes[TUNE_AXIS_MPS] &&
           one->axes[TUNE_AXIS_LAUNCH];
}

double surface_flat(const struct tune_candidate *one)
{
    return one->processes > 0 ? 500.0 : 0.0;
}

double surface_more_is_better(const struct tune_candidate *one)
{
    return 10.0 * one->processes * one->threads / (1.0 + 0.02 * one->processes * one->threads);
}

double surface_refuses_many(const struct tune_candidate *one)
{
    return one->processes >= 8 && one->axes[TUNE_AXIS_MPS] ? 0.0 : surface_hill(one);
}

double surface_fails_as_graph(const struct tune_candidate *one)
{
    return one->axes[TUNE_AXIS_LAUNCH] ? -1.0 : surface_hill(one);
}

double surface_fails_always(const struct tune_candidate *one)
{
    (void)one;
    return -1.0;
}
