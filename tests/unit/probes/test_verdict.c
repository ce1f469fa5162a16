#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/random.h"
#include "probes/probe.h"
#include "probes/outcome.h"

#define ROUNDS 4
#define SAMPLES 41
#define TRIALS 2000

/* What an arm gave: durations around a centre, which itself differs from process to process. */
struct synthetic {
    struct probe_series rounds[ROUNDS];
    double us[ROUNDS][SAMPLES];
};

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller. */
static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * 3.14159265358979 * uniform(state));
}

static struct probe_series made(double *us, size_t count)
{
    struct probe_series series;
    probe_series_make(us, count, &series);
    return series;
}

static void draw(struct synthetic *out, double median_us, double between, double within,
                 uint64_t *state)
{
    for (unsigned r = 0; r < ROUNDS; r++) {
        double centre = median_us * exp(between * normal(state));
        for (unsigned s = 0; s < SAMPLES; s++)
            out->us[r][s] = centre * exp(within * normal(state));
        probe_series_make(out->us[r], SAMPLES, &out->rounds[r]);
    }
}

/* Shares of the trials that end in each verdict, where arms differ by so much and 1.5 matters. */
struct shares {
    double of[4];
};

static struct shares judge_many(double ratio, double between, unsigned rounds)
{
    struct shares shares = {{0}};
    static struct synthetic arm, control;
    uint64_t state = 7;
    for (unsigned t = 0; t < TRIALS; t++) {
        struct probe_effect effect;
        draw(&control, 5, between, 0.3, &state);
        draw(&arm, 5 * ratio, between, 0.3, &state);
        assert_int_equal(probe_compare(arm.rounds, control.rounds, rounds, &effect), STATUS_OK);
        shares.of[probe_judge(&effect, 5, 1.5, 0)] += 1.0 / TRIALS;
    }
    return shares;
}

static void equal_arms_are_not_observed(void **unused)
{
    (void)unused;
    struct shares shares = judge_many(1, 0.05, ROUNDS);
    assert_true(shares.of[PROBE_OBSERVED] < 0.002);
    assert_true(shares.of[PROBE_NOT_OBSERVED] > 0.95);
}

static void noisy_processes_do_not_make_an_effect(void **unused)
{
    (void)unused;
    struct shares shares = judge_many(1, 0.5, ROUNDS);
    assert_true(shares.of[PROBE_OBSERVED] < 0.03);
    assert_true(shares.of[PROBE_INCONCLUSIVE] > 0.3);
}

/* At the threshold itself each side has the 2.5% that the interval promises. */
static void the_threshold_is_crossed_by_chance_as_promised(void **unused)
{
    (void)unused;
    struct shares shares = judge_many(1.5, 0.1, ROUNDS);
    assert_true(shares.of[PROBE_OBSERVED] > 0.01 && shares.of[PROBE_OBSERVED] < 0.04);
    assert_true(shares.of[PROBE_NOT_OBSERVED] > 0.01 && shares.of[PROBE_NOT_OBSERVED] < 0.04);
}

static void an_effect_is_observed(void **unused)
{
    (void)unused;
    assert_true(judge_many(3, 0.05, ROUNDS).of[PROBE_OBSERVED] > 0.99);
    assert_true(judge_many(3, 0, 1).of[PROBE_OBSERVED] > 0.95);
    assert_true(judge_many(1, 0, 1).of[PROBE_NOT_OBSERVED] > 0.95);
}

/* Two rounds each, by hand: logarithms of the ratios are log 2 and log 8, of mean log 4, standard
 * error log 2, and Student's quantile of one degree of freedom is 12.706. */
static void the_interval_is_students_of_paired_logarithms(void **unused)
{
    (void)unused;
    double a[] = {20}, b[] = {40}, c[] = {10}, d[] = {5};
    const struct probe_series arm[] = {made(a, 1), made(b, 1)},
                              control[] = {made(c, 1), made(d, 1)};
    struct probe_effect effect;
    assert_int_equal(probe_compare(arm, control, 2, &effect), STATUS_OK);
    assert_true(fabs(effect.ratio - 4) < 1e-9);
    assert_true(fabs(log(effect.high / effect.ratio) / (12.7062 * log(2)) - 1) < 1e-3);
    assert_true(fabs(log(effect.ratio / effect.low) / (12.7062 * log(2)) - 1) < 1e-3);
}

static void a_summary_pools_the_rounds(void **unused)
{
    (void)unused;
    double a[] = {1, 9, 2, 8}, b[] = {20, 20, 20};
    const struct probe_series rounds[] = {made(a, 4), made(b, 3)};
    struct probe_summary summary;
    assert_int_equal(probe_summarise(rounds, 2, &summary), STATUS_OK);
    assert_int_equal(summary.samples, 7);
    assert_true(fabs(summary.median_us - 10) < 1e-9); /* root of 5 times 20 */
    assert_true(fabs(summary.mean_us - 80.0 / 7) < 1e-9);
    assert_true(summary.max_us == 20 && summary.p99_us == 20);
    assert_true(summary.low_us < 10 && summary.high_us > 10);
}

static void too_few_samples_have_no_interval(void **unused)
{
    (void)unused;
    double few[] = {1, 2, 3};
    const struct probe_series round = made(few, 3), none = made(NULL, 0);
    struct probe_summary summary;
    struct probe_effect effect;
    assert_int_equal(probe_summarise(&round, 1, &summary), STATUS_OK);
    assert_true(summary.median_us == 2 || fabs(summary.median_us - 2) < 1e-9);
    assert_true(isnan(summary.low_us) && isnan(summary.high_us));
    assert_int_equal(probe_compare(&round, &round, 1, &effect), STATUS_OK);
    assert_true(isnan(effect.low));
    assert_int_equal(probe_judge(&effect, 2, 1.5, 0), PROBE_INCONCLUSIVE);
    assert_int_equal(probe_summarise(&none, 1, &summary), STATUS_WORKER);
    assert_int_equal(probe_compare(&round, &none, 1, &effect), STATUS_WORKER);
    assert_int_equal(probe_compare(&round, &round, 0, &effect), STATUS_WORKER);
}

/* An effect must be large in both: as a ratio, and in microseconds. */
static void what_matters_is_a_ratio_and_a_difference(void **unused)
{
    (void)unused;
    const struct probe_effect threefold = {3, 2.8, 3.2}, faster = {0.2, 0.1, 0.3};
    assert_int_equal(probe_judge(&threefold, 5, 1.5, 0), PROBE_OBSERVED);
    assert_int_equal(probe_judge(&threefold, 5, 1.5, 9), PROBE_INCONCLUSIVE);
    assert_int_equal(probe_judge(&threefold, 5, 1.5, 12), PROBE_NOT_OBSERVED);
    assert_int_equal(probe_judge(&threefold, 5, 4, 0), PROBE_NOT_OBSERVED);
    assert_int_equal(probe_judge(&faster, 5, 1.5, 0), PROBE_NOT_OBSERVED);
}

/* Arms whose processes differ by so much, each with a level of its own in metric 1; the share of
 * the trials that find an effect of so much, where a tenth matters. */
static double share_observed(double ratio, double between, unsigned level_metric)
{
    enum { CONTROL, ARM, ARMS };
    static const struct probe_arm rows[ARMS] = {{.name = "control"},
                                                {.name = "arm", .control = "control"}};
    const struct probe probe = {.arms = rows, .arm_count = ARMS, .level_metric = level_metric};
    static struct probe_arm_data data[ARMS];
    static double us[ARMS][2][ROUNDS][SAMPLES];
    struct probe_outcome outcome = {.probe = &probe, .arms = data};
    double observed = 0;
    uint64_t state = 11;
    for (unsigned t = 0; t < TRIALS; t++) {
        struct probe_effect effect;
        for (unsigned a = 0; a < ARMS; a++) {
            data[a] = (struct probe_arm_data){.arm = &rows[a], .chosen = true, .rounds = ROUNDS};
            for (unsigned r = 0; r < ROUNDS; r++) {
                double level = 3 * exp(between * normal(&state));
                for (unsigned m = 0; m < 2; m++) {
                    double factor = a == ARM && m == 0 ? ratio : 1;
                    for (unsigned s = 0; s < SAMPLES; s++)
                        us[a][m][r][s] = level * factor * exp(0.05 * normal(&state));
                    probe_series_make(us[a][m][r], SAMPLES, &data[a].series[m][r]);
                }
            }
        }
        probe_level(&outcome);
        assert_int_equal(
            probe_compare(data[ARM].series[0], data[CONTROL].series[0], ROUNDS, &effect),
            STATUS_OK);
        observed += (double)(probe_judge(&effect, 3, 1.1, 0) == PROBE_OBSERVED) / TRIALS;
    }
    return observed;
}

static void what_was_taken_out_is_still_known(void **unused)
{
    (void)unused;
    double a[] = {10, 12, 14}, b[] = {20, 24, 28};
    struct probe_series rounds[] = {made(a, 3), made(b, 3)};
    struct probe_summary summary;
    rounds[1].scale = 0.5;
    assert_int_equal(probe_summarise(rounds, 2, &summary), STATUS_OK);
    assert_true(fabs(summary.median_us - 12) < 1e-9 && fabs(summary.mean_us - 12) < 1e-9);
    assert_true(summary.max_us == 14 && fabs(summary.high_us - summary.low_us) < 1e-9);
    assert_int_equal(probe_summarise_unscaled(rounds, 2, &summary), STATUS_OK);
    assert_true(fabs(summary.median_us - sqrt(12.0 * 24)) < 1e-9);
    assert_true(summary.mean_us == 18 && summary.max_us == 28 && summary.p99_us == 28);
    assert_true(rounds[1].scale == 0.5);
}

static void what_processes_differ_by_can_be_taken_out(void **unused)
{
    (void)unused;
    assert_true(share_observed(1.25, 0.2, 0) < 0.3);
    assert_true(share_observed(1.25, 0.2, 1) > 0.98);
    assert_true(share_observed(1.0, 0.2, 1) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_arms_are_not_observed),
        cmocka_unit_test(noisy_processes_do_not_make_an_effect),
        cmocka_unit_test(the_threshold_is_crossed_by_chance_as_promised),
        cmocka_unit_test(an_effect_is_observed),
        cmocka_unit_test(the_interval_is_students_of_paired_logarithms),
        cmocka_unit_test(a_summary_pools_the_rounds),
        cmocka_unit_test(too_few_samples_have_no_interval),
        cmocka_unit_test(what_matters_is_a_ratio_and_a_difference),
        cmocka_unit_test(what_was_taken_out_is_still_known),
        cmocka_unit_test(what_processes_differ_by_can_be_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
