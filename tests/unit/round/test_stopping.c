/*
 * What the intervals of windows are worth that end by the rule: of simulated series whose mean is
 * known, looked at as the orchestrator does, the share that counts as `ok` and how many of those
 * hold the mean. An argument gives the number of series of each kind, and another seed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "orchestrator/round/window.h"
#include "statistics/statistics.h"
#include "tests/unit/statistics/series.h"

#define SEED UINT64_C(88172645463325252)
#define GOAL 0.01

/* One second and four, in slices as the orchestrator cuts them. */
#define FIRST 480
#define MOST 1920

#define MOST_ROUNDS 5

static unsigned runs = 200;
static uint64_t seed = SEED;
static double series[MOST];

struct kind {
    double (*make)(const struct kind *kind, size_t *changes_at);
    const char *name;
    double a, b;
    /* Percent: of all that are ok at least, of those that hold at least; of those whose level
     * changes in their window, ok and wrong at most; the same of all in rounds. */
    unsigned least_ok, least_held, most_wrong, most_wrong_in_rounds;
};

static double autoregressive(const struct kind *kind, size_t *changes_at)
{
    /* b: half the width of the mean's interval over the longest window, in goals. */
    double scale = kind->b * GOAL * 100.0 / STATISTICS_NORMAL_975;
    *changes_at = MOST;
    series_make(SERIES_AR, kind->a, &seed, series, MOST);
    for (size_t i = 0; i < MOST; i++)
        series[i] = 100.0 + scale * sqrt(MOST) * (1.0 - kind->a) * (series[i] - 100.0);
    return 100.0;
}

static double exponential_modes(const struct kind *kind, size_t *changes_at)
{
    return series_modes(kind->b, kind->a, true, &seed, series, MOST, changes_at);
}

static double even_modes(const struct kind *kind, size_t *changes_at)
{
    return series_modes(kind->b, kind->a, false, &seed, series, MOST, changes_at);
}

static double stalls(const struct kind *kind, size_t *changes_at)
{
    return series_stalls(kind->b / 100.0, kind->a, &seed, series, MOST, changes_at);
}

static double pareto(const struct kind *kind, size_t *changes_at)
{
    *changes_at = MOST;
    return series_pareto(kind->a, &seed, series, MOST);
}

static double queue(const struct kind *kind, size_t *changes_at)
{
    *changes_at = MOST;
    double truth = series_make(SERIES_QUEUE, 0.0, &seed, series, MOST);
    for (size_t i = 0; i < MOST; i++)
        series[i] += kind->a - 100.0;
    return truth + kind->a - 100.0;
}

static double outliers(const struct kind *kind, size_t *changes_at)
{
    (void)kind;
    double truth = series_outliers(4.0 / MOST, &seed, series, MOST);
    *changes_at = 0;
    while (*changes_at < MOST && series[*changes_at] > 0.5 * 100.0 * 4.0 / MOST)
        ++*changes_at;
    return truth;
}

struct outcome {
    unsigned ok, held;
    unsigned seen, seen_wrong; /* of those in whose window the level changed */
    double length;             /* of the windows of those that are ok */
};

/* Two iterations of the slowest worker, as window_judge() takes them; the other series stand for
 * many short iterations. */
static size_t shortest_batch(const struct kind *kind, size_t count)
{
    double sum = 0.0;
    if (kind->make != outliers)
        return 1;
    for (size_t i = 0; i < count; i++)
        sum += series[i];
    double shortest = ceil(2.0 * (double)count / sum);
    return shortest < (double)count ? (size_t)shortest : count;
}

/* One round: whether the level changed in its window, and what is reported. */
static bool measure(const struct kind *kind, double *truth, struct interval *out, size_t *length,
                    bool *plain)
{
    size_t changes_at, count = FIRST;
    unsigned narrow = 0;
    struct window window;
    *truth = kind->make(kind, &changes_at);
    for (;; count = window_next(count, MOST)) {
        window_judge_series(series, count, shortest_batch(kind, count), &window);
        if (window_ends(&window, GOAL, &narrow) || count == MOST ||
            window_is_hopeless(&window, GOAL, count, MOST))
            break;
    }
    *out = window.interval;
    out->half_rel = interval_reported(window.interval.half_rel, GOAL, count > FIRST);
    *plain = window_is_plain(&window);
    *length = count;
    return changes_at < count;
}

static void run(const struct kind *kind, size_t rounds, struct outcome *out)
{
    double truth = 0.0, means[MOST_ROUNDS] = {0.0}, halves[MOST_ROUNDS] = {0.0};
    struct interval interval;
    bool seen = false, all_plain = true;
    size_t length = 0;
    for (size_t i = 0; i < rounds; i++) {
        bool plain;
        seen |= measure(kind, &truth, &interval, &length, &plain);
        all_plain &= plain;
        means[i] = interval.mean;
        halves[i] = interval.half_rel;
    }
    interval_of_rounds(means, halves, rounds, &interval);
    bool ok = all_plain && interval_meets(interval.half_rel, GOAL);
    bool held = ok && fabs(interval.mean - truth) <= interval.half_rel * interval.mean;
    out->ok += ok;
    out->held += held;
    out->seen += seen;
    out->seen_wrong += seen && ok && !held;
    out->length += ok ? (double)length : 0.0;
}

static double percent(unsigned part, unsigned whole)
{
    return whole ? 100.0 * part / whole : NAN;
}

static void check(const struct kind *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct outcome one = {0}, several = {0};
        const struct kind *kind = &kinds[i];
        for (unsigned n = 0; n < runs; n++)
            run(kind, 1, &one);
        for (unsigned n = 0; n < runs / 4; n++)
            run(kind, MOST_ROUNDS, &several);
        print_message(
            "%-18s %4g %4g: ok %5.1f%% after %4.0f slices, hold %5.1f%% of them; where "
            "it changed, ok and wrong %4.1f%%; %d rounds: ok %5.1f%%, and wrong %4.1f%%\n",
            kind->name, kind->a, kind->b, percent(one.ok, runs), one.ok ? one.length / one.ok : NAN,
            percent(one.held, one.ok), percent(one.seen_wrong, one.seen), MOST_ROUNDS,
            percent(several.ok, runs / 4), percent(several.ok - several.held, runs / 4));
        assert_true(one.ok * 100 >= kind->least_ok * runs);
        assert_true(one.held * 100 >= kind->least_held * one.ok);
        assert_true(one.seen_wrong * 100 <= kind->most_wrong * one.seen);
        assert_true((several.ok - several.held) * 100 <= kind->most_wrong_in_rounds * (runs / 4));
    }
}

/* Of series that show in one window all that they do, 93% or more of those that are ok hold. */
static void what_a_window_shows_is_held(void **state)
{
    (void)state;
    static const struct kind kinds[] = {
        {autoregressive, "autoregressive", 0.0, 0.1, 100, 95, 10, 7},
        {autoregressive, "autoregressive", 0.0, 0.6, 60, 95, 10, 7},
        {autoregressive, "autoregressive", 0.5, 0.3, 95, 95, 10, 7},
        {autoregressive, "autoregressive", 0.5, 0.7, 40, 95, 10, 7},
        {autoregressive, "autoregressive", 0.9, 0.3, 95, 93, 10, 7},
        {autoregressive, "autoregressive", 0.9, 0.7, 40, 95, 10, 7},
        {autoregressive, "autoregressive", 0.9, 1.0, 2, 93, 10, 7},
        {autoregressive, "autoregressive", 0.95, 0.3, 95, 93, 10, 7},
        {autoregressive, "autoregressive", 0.95, 0.5, 85, 93, 10, 7},
        {autoregressive, "autoregressive", 0.95, 0.7, 40, 93, 10, 7},
        {autoregressive, "autoregressive", 0.95, 1.0, 2, 90, 10, 7},
        {exponential_modes, "modes, by chance", 20, 2, 95, 95, 10, 7},
        {exponential_modes, "modes, by chance", 50, 2, 70, 90, 10, 7},
        {even_modes, "modes, even", 20, 10, 0, 95, 10, 7},
        {even_modes, "modes, even", 50, 10, 0, 95, 10, 7},
        {even_modes, "modes, even", 100, 10, 0, 95, 10, 7},
        {even_modes, "modes, even", 200, 10, 0, 95, 10, 7},
        {even_modes, "modes, even", 200, 2, 0, 95, 10, 7},
        {pareto, "Pareto", 1.5, 0, 0, 93, 10, 7},
        {pareto, "Pareto", 2.5, 0, 0, 93, 10, 7},
        {queue, "M/M/1", 100, 0, 95, 92, 10, 7},
        {queue, "M/M/1", 30, 0, 90, 92, 10, 7},
    };
    check(kinds, sizeof kinds / sizeof kinds[0]);
}

/* Where a level lasts about as long as a window, one window cannot know of the other. */
static void what_it_does_not_show_is_not_claimed(void **state)
{
    (void)state;
    static const struct kind kinds[] = {
        {autoregressive, "autoregressive", 0.98, 0.3, 95, 90, 0, 7},
        {autoregressive, "autoregressive", 0.98, 0.8, 40, 90, 0, 7},
        {exponential_modes, "modes, by chance", 100, 10, 0, 0, 20, 7},
        {exponential_modes, "modes, by chance", 200, 10, 0, 0, 20, 7},
        {exponential_modes, "modes, by chance", 500, 10, 0, 0, 20, 7},
        {exponential_modes, "modes, by chance", 1000, 10, 0, 0, 20, 7},
        {exponential_modes, "modes, by chance", 2000, 10, 0, 0, 20, 7},
        {even_modes, "modes, even", 500, 10, 0, 0, 20, 7},
        {even_modes, "modes, even", 1000, 10, 0, 0, 20, 7},
        {even_modes, "modes, even", 1000, 2, 0, 0, 20, 7},
        {stalls, "stalls", 1, 1, 0, 0, 20, 10},
        {stalls, "stalls", 5, 1, 0, 0, 30, 40},
        {stalls, "stalls", 5, 5, 0, 0, 20, 7},
        {stalls, "stalls", 20, 5, 0, 0, 20, 7},
        {stalls, "stalls", 50, 5, 0, 0, 20, 20},
        {stalls, "stalls", 20, 10, 0, 0, 20, 7},
        {outliers, "10 ms, 2% of 510 ms", 0, 0, 0, 0, 20, 7},
    };
    check(kinds, sizeof kinds / sizeof kinds[0]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_window_shows_is_held),
        cmocka_unit_test(what_it_does_not_show_is_not_claimed),
    };
    if (argc > 1)
        runs = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10) | 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
