/* The maths of comparisons, with known answers and by simulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "statistics/effect.h"
#include "statistics/statistics.h"
#include "statistics/student.h"

#define THRESHOLD 0.02
#define ALPHA 0.025

/* The same numbers at each run. */
static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static void test_student(void **unused)
{
    (void)unused;
    /* Tables of Student's t. */
    static const struct {
        double probability, degrees, t;
    } known[] = {{0.025, 1, 12.7062047},   {0.025, 2, 4.30265273},        {0.025, 5, 2.57058184},
                 {0.05, 10, 1.81246112},   {0.005, 30, 2.74999565},       {0.0005, 3, 12.9239786},
                 {0.025, 1e9, 1.95996398}, {0.025, INFINITY, 1.95996398}, {0.1, 120, 1.28864646}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double t = student_exceeded(known[i].probability, known[i].degrees);
        assert_true(fabs(t / known[i].t - 1) < 1e-6);
        assert_true(fabs(student_above(t, known[i].degrees) / known[i].probability - 1) < 1e-6);
    }
    assert_true(fabs(student_above(0, 3.7) - 0.5) < 1e-12);
    assert_true(fabs(student_above(-1.3, 3.7) + student_above(1.3, 3.7) - 1) < 1e-12);
    assert_true(student_above(INFINITY, 4) == 0 && student_above(-INFINITY, 4) == 1);
    /* Between whole degrees it lies between theirs. */
    double between = student_exceeded(0.025, 2.5);
    assert_true(between < 4.3027 && between > 3.1824);
    assert_true(student_exceeded(1e-9, 1) > 1e8);
}

static void test_welch(void **unused)
{
    (void)unused;
    /* Means 100 and 110, standard deviations 2 and 4 of 5 rounds: relative standard errors
     * 0.894% and 1.626%; Welch's degrees 6.2; a t of 2.427. */
    const double base_values[] = {98, 100, 102, 101.4142135623731, 98.5857864376269};
    const double values[] = {105, 108, 110, 112, 115};
    struct estimate base = estimate_from_rounds(base_values, 5);
    struct estimate change = estimate_from_rounds(values, 5);
    struct effect effect = effect_of(&base, &change);
    double a = base.below / statistics_t975(4), b = change.below / statistics_t975(4);
    double degrees = pow(a * a + b * b, 2) / (pow(a, 4) / 4 + pow(b, 4) / 4);
    assert_true(fabs(effect_ratio(&effect) - 1.1) < 1e-12);
    assert_true(fabs(effect.degrees_below / degrees - 1) < 1e-3);
    double width = student_exceeded(0.025, degrees) * sqrt(a * a + b * b);
    assert_true(fabs(effect.below / width - 1) < 1e-3);
    assert_true(fabs(effect_low(&effect) - 1.1 * exp(-width)) < 1e-3);
    assert_true(fabs(effect_high(&effect) - 1.1 * exp(width)) < 1e-3);
    /* An interval compared with an exact number stays as it is. */
    const struct estimate exact = {100, 0, 0, INFINITY};
    effect = effect_of(&exact, &change);
    assert_true(fabs(effect.below / change.below - 1) < 1e-3);
}

static struct effect symmetric(double ratio, double width)
{
    return (struct effect){log(ratio), width, width, INFINITY, INFINITY};
}

static void test_verdicts(void **unused)
{
    (void)unused;
    static const struct {
        double ratio, width;
        enum effect_verdict verdict;
    } cases[] = {
        {1, 0.01, EFFECT_SAME},      {1, 0.03, EFFECT_UNSURE},      {1.05, 0.02, EFFECT_BETTER},
        {1.05, 0.04, EFFECT_UNSURE}, {0.95, 0.02, EFFECT_WORSE},    {0.95, 0.04, EFFECT_UNSURE},
        {1.019, 0, EFFECT_SAME},     {1.021, 0, EFFECT_BETTER},     {0.981, 0, EFFECT_SAME},
        {0.979, 0, EFFECT_WORSE},    {1.015, 0.006, EFFECT_UNSURE}, {0.5, INFINITY, EFFECT_UNSURE},
        {1e300, 1, EFFECT_BETTER},   {1e-300, 1, EFFECT_WORSE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct effect effect = symmetric(cases[i].ratio, cases[i].width);
        assert_int_equal(effect_verdict(&effect, THRESHOLD), cases[i].verdict);
        /* One point alone: the chance agrees with the interval. */
        bool worse = effect_chance(&effect, THRESHOLD, -1) <= ALPHA;
        bool better = effect_chance(&effect, THRESHOLD, 1) <= ALPHA;
        assert_int_equal(worse, cases[i].verdict == EFFECT_WORSE);
        assert_int_equal(better, cases[i].verdict == EFFECT_BETTER);
    }
    assert_string_equal(effect_verdict_name(EFFECT_WORSE), "worse");
    assert_string_equal(effect_verdict_name(EFFECT_BETTER), "better");
    assert_string_equal(effect_verdict_name(EFFECT_SAME), "same");
    assert_string_equal(effect_verdict_name(EFFECT_UNSURE), "unsure");
}

static void test_swapping(void **unused)
{
    (void)unused;
    static const enum effect_verdict turned[] = {EFFECT_BETTER, EFFECT_WORSE, EFFECT_SAME,
                                                 EFFECT_UNSURE};
    for (int i = 0; i < 2000; i++) {
        double value = 100 * exp(0.05 * normal()), other = 100;
        struct estimate a =
            estimate_from_bounds(value, value * (1 - 0.05 * uniform()), value * 1.03, 0.001);
        struct estimate b = estimate_from_half_width(other, 0.05 * uniform(), 1 + 20 * uniform());
        struct effect there = effect_of(&a, &b), back = effect_of(&b, &a);
        assert_true(fabs(effect_ratio(&there) * effect_ratio(&back) - 1) < 1e-12);
        assert_true(fabs(effect_low(&there) * effect_high(&back) - 1) < 1e-12);
        assert_int_equal(effect_verdict(&back, THRESHOLD),
                         turned[effect_verdict(&there, THRESHOLD)]);
        assert_true(fabs(effect_chance(&there, THRESHOLD, 1) -
                         effect_chance(&back, THRESHOLD, -1)) < 1e-12);
    }
}

static void test_without_interval(void **unused)
{
    (void)unused;
    const double one[] = {50};
    struct estimate single = estimate_from_rounds(one, 1);
    struct estimate known = estimate_from_half_width(100, 0.01, 31);
    struct effect effect = effect_of(&known, &single);
    assert_int_equal(effect_verdict(&effect, THRESHOLD), EFFECT_UNSURE);
    assert_true(effect_chance(&effect, THRESHOLD, -1) == 1);
    assert_true(fabs(effect_ratio(&effect) - 0.5) < 1e-12);
    static const double bad[][2] = {{0, 2}, {-1, 2}, {2, 1}, {1.5, 2}, {0.5, 0.9}, {NAN, NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct estimate none = estimate_from_bounds(1, bad[i][0], bad[i][1], 0);
        assert_true(isinf(none.below) && isinf(none.above));
    }
    struct estimate bounds = estimate_from_bounds(10, 8, 15, 0.01);
    assert_true(fabs(bounds.below - log(10.0 / 8) - 0.01) < 1e-12);
    assert_true(fabs(bounds.above - log(1.5) - 0.01) < 1e-12);
    assert_true(isinf(estimate_from_half_width(1, NAN, 3).below));
}

static void test_holm(void **unused)
{
    (void)unused;
    bool named[4];
    const double chances[] = {0.01, 0.001, 0.02, 0.5};
    /* 0.001 <= 0.025/4; 0.01 > 0.025/3. */
    effect_holm(chances, 4, 0.025, named);
    assert_true(!named[0] && named[1] && !named[2] && !named[3]);
    /* 0.001 <= 0.05/4, 0.01 <= 0.05/3, 0.02 <= 0.05/2, 0.5 > 0.05. */
    effect_holm(chances, 4, 0.05, named);
    assert_true(named[0] && named[1] && named[2] && !named[3]);
    effect_holm(chances + 2, 1, 0.025, named);
    assert_true(named[0]);
    effect_holm(chances, 0, 0.025, named);
}

/* A run of the same system: rounds of one mean, or one window's interval. */
static struct estimate simulate(size_t rounds, double deviation, double mean)
{
    double values[40];
    size_t count = rounds > 1 ? rounds : 32;
    for (size_t i = 0; i < count; i++)
        values[i] = mean * (1 + deviation * normal());
    if (rounds > 1)
        return estimate_from_rounds(values, count);
    return estimate_from_half_width(statistics_mean(values, count),
                                    statistics_ci95_rel(values, count), 31);
}

static void test_false_alarms(void **unused)
{
    (void)unused;
    enum { POINTS = 40, RUNS = 250 };
    static const struct {
        size_t base_rounds, rounds;
        double deviation, threshold;
        bool covers; /* of two rounds each, Welch's degrees are a guess */
    } cases[] = {{1, 1, 0.05, 0, true},    {3, 3, 0.02, 0, true},   {2, 2, 0.02, 0, false},
                 {5, 5, 0.05, 0, true},    {5, 1, 0.05, 0, true},   {10, 3, 0.02, 0, true},
                 {3, 3, 0.02, 0.02, true}, {2, 2, 0.1, 0.02, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int alarms = 0, plain_alarms = 0, covered = 0;
        for (int run = 0; run < RUNS; run++) {
            double chances[POINTS];
            bool named[POINTS], any = false, plain = false;
            for (int i = 0; i < POINTS; i++) {
                struct estimate base = simulate(cases[c].base_rounds, cases[c].deviation, 100);
                struct estimate change = simulate(cases[c].rounds, cases[c].deviation, 100);
                struct effect effect = effect_of(&base, &change);
                chances[i] = effect_chance(&effect, cases[c].threshold, -1);
                plain |= effect_verdict(&effect, cases[c].threshold) == EFFECT_WORSE;
                covered += effect_low(&effect) <= 1 && effect_high(&effect) >= 1;
            }
            effect_holm(chances, POINTS, ALPHA, named);
            for (int i = 0; i < POINTS; i++)
                any |= named[i];
            alarms += any;
            plain_alarms += plain;
        }
        double rate = (double)alarms / RUNS, coverage = (double)covered / (RUNS * POINTS);
        print_message("%zu and %zu rounds, threshold %g: regressions %.1f%% (each point by itself "
                      "%.1f%%), coverage %.1f%%\n",
                      cases[c].base_rounds, cases[c].rounds, cases[c].threshold, 100 * rate,
                      100.0 * plain_alarms / RUNS, 100 * coverage);
        assert_true(rate <= 0.05);
        assert_true(coverage >= 0.93);
        if (cases[c].covers)
            assert_true(coverage <= 0.98);
        /* Without a margin that matters, points by themselves do alarm: Holm is what prevents it.
         */
        if (cases[c].covers && cases[c].threshold == 0)
            assert_true(plain_alarms > 10 * alarms && plain_alarms > RUNS / 4);
    }
}

static void test_power(void **unused)
{
    (void)unused;
    /* One point of forty 10% slower, 1% between rounds, 5 rounds: it is found. */
    int found = 0, others = 0;
    for (int run = 0; run < 500; run++) {
        double chances[40];
        bool named[40];
        for (int i = 0; i < 40; i++) {
            struct estimate base = simulate(5, 0.01, 100);
            struct estimate change = simulate(5, 0.01, i == 7 ? 90 : 100);
            struct effect effect = effect_of(&base, &change);
            chances[i] = effect_chance(&effect, THRESHOLD, -1);
        }
        effect_holm(chances, 40, ALPHA, named);
        for (int i = 0; i < 40; i++)
            *(i == 7 ? &found : &others) += named[i];
    }
    assert_true(found >= 480);
    assert_true(others <= 5);
}

/* -- rounds that are dealt anew -- */

static unsigned comparisons = 10;

/* p99 of rounds of an open loop: a server with Poisson arrivals, busy that share of the time. */
#define POOL 300
static double pool[POOL];

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void fill_pool(double load)
{
    enum { ITERATIONS = 1000 };
    static double latencies[ITERATIONS];
    for (int n = 0; n < POOL; n++) {
        double latency = 0;
        for (int i = -500; i < ITERATIONS; i++) {
            latency = fmax(0, latency + log(uniform()) / load) - log(uniform());
            if (i >= 0)
                latencies[i] = latency;
        }
        qsort(latencies, ITERATIONS, sizeof *latencies, by_size);
        pool[n] = latencies[ITERATIONS * 99 / 100 - 1];
    }
}

enum rounds_kind { EVEN, ONE_IN_FIVE_SLOWER, TWO_MODES, OPEN_50, OPEN_70, OPEN_90, KINDS };
static const char *const kind_names[] = {"even",           "one in five 10% slower",
                                         "50/50 +-5%",     "open loop, 50%",
                                         "open loop, 70%", "open loop, 90%"};

static double one_round(enum rounds_kind kind)
{
    if (kind >= OPEN_50)
        return pool[(size_t)(uniform() * POOL)];
    double level = kind == ONE_IN_FIVE_SLOWER ? (uniform() < 0.2 ? 90 : 100)
                   : kind == TWO_MODES        ? (uniform() < 0.5 ? 95 : 105)
                                              : 100;
    return level * (1 + 0.005 * normal());
}

/* Compares points of the same kind in two files; the first point is slower by that share in the
 * second one. Returns whether the first and any other point are worse, as bits. */
static unsigned compare(enum rounds_kind kind, size_t points, size_t base, size_t change,
                        double slower)
{
    struct effect_test tests[40];
    double values[40][20], of[20];
    unsigned found = 0;
    int turn = kind >= OPEN_50 ? -1 : 1;
    for (size_t i = 0; i < points; i++) {
        for (size_t r = 0; r < base + change; r++) {
            of[r] = one_round(kind) * (i == 0 && r >= base ? 1 - turn * slower : 1);
            values[i][r] = turn * log(of[r]);
        }
        struct estimate first = estimate_from_rounds(of, base);
        struct estimate second = estimate_from_rounds(of + base, change);
        struct effect effect = effect_of(&first, &second);
        if (turn < 0)
            effect = (struct effect){-effect.log_ratio, effect.above, effect.below,
                                     effect.degrees_above, effect.degrees_below};
        tests[i] = (struct effect_test){.effect = effect, .rounds = {values[i], base, change}};
    }
    assert_true(effect_judge(tests, points, THRESHOLD, true));
    for (size_t i = 0; i < points; i++)
        found |= tests[i].verdict == EFFECT_WORSE ? (i == 0 ? 1u : 2u) : 0u;
    return found;
}

/* Two files of the same system: any point is worse in at most 2.5% of the comparisons. */
static void test_alike_rounds(void **unused)
{
    (void)unused;
    static const size_t sizes[][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {3, 10}, {10, 10}};
    unsigned all = 0, all_false = 0;
    for (enum rounds_kind kind = 0; kind < KINDS; kind++) {
        if (kind >= OPEN_50)
            fill_pool(kind == OPEN_50 ? 0.5 : kind == OPEN_70 ? 0.7 : 0.9);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            unsigned wrong = 0;
            for (unsigned n = 0; n < comparisons; n++)
                wrong += compare(kind, 10, sizes[s][0], sizes[s][1], 0) != 0;
            print_message("%s, %zu and %zu rounds: worse in %.1f%% of comparisons\n",
                          kind_names[kind], sizes[s][0], sizes[s][1], 100.0 * wrong / comparisons);
            assert_true(sizes[s][0] > 3 || sizes[s][1] > 3 || wrong == 0);
            all += comparisons;
            all_false += wrong;
        }
    }
    print_message("all: %.2f%%\n", 100.0 * all_false / all);
    assert_true(all_false * 1000 <= 25 * all);
}

/* A point that is 10% slower is found with 5 rounds, whatever the other points do. */
static void test_slower_rounds(void **unused)
{
    (void)unused;
    unsigned found = 0, others = 0;
    for (unsigned n = 0; n < comparisons; n++) {
        unsigned worse = compare(EVEN, 40, 5, 5, 0.1);
        found += worse & 1;
        others += worse >> 1;
    }
    print_message("10%% slower, 5 rounds, 40 points: found %.1f%%, others %.1f%%\n",
                  100.0 * found / comparisons, 100.0 * others / comparisons);
    assert_true(found == comparisons);
    assert_true(others * 20 <= comparisons);
    assert_true(compare(EVEN, 1, 4, 4, 0.1) == 1);
    assert_true(compare(EVEN, 1, 3, 3, 0.5) == 0);
    assert_true(compare(EVEN, 1, 1, 1, 0.5) == 0);
}

static void test_deals(void **unused)
{
    (void)unused;
    /* Of 70 deals of four and four one looks like this. */
    const double values[] = {4, 4.1, 4.2, 4.3, 1, 1.1, 1.2, 1.3};
    const struct effect_rounds figures[] = {{values, 4, 4}, {values, 4, 4}};
    double alone[2], together[2];
    effect_deal(figures, 2, -1, alone, together);
    assert_true(alone[0] > 0.8 / 70 && alone[0] < 1.3 / 70);
    assert_true(alone[1] == alone[0] && together[0] == alone[0] && together[1] == alone[0]);
    effect_deal(figures, 2, 1, alone, together);
    assert_true(alone[0] == 1.0);
    /* All equal: any deal looks the same. */
    const double same[] = {7, 7, 7, 7, 7, 7, 7, 7};
    const struct effect_rounds equal = {same, 4, 4};
    effect_deal(&equal, 1, -1, alone, together);
    assert_true(alone[0] == 1.0);
    assert_false(effect_can_be_found(1, 20));
    assert_false(effect_can_be_found(3, 3));
    assert_true(effect_can_be_found(4, 4) && effect_can_be_found(3, 5));
    assert_true(effect_can_be_found(2, 8) && !effect_can_be_found(2, 7));
    assert_false(effect_can_be_found(0, 100));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_welch),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_swapping),
        cmocka_unit_test(test_without_interval),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_deals),
        cmocka_unit_test(test_alike_rounds),
        cmocka_unit_test(test_slower_rounds),
    };
    if (argc > 1)
        comparisons = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
