/* How much a kernel must be given to take so long: GPUs of paper, on which a function gives the
 * time. */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/random.h"
#include "worker/length.h"

struct paper {
    double floor_ns, slope_ns; /* of an empty kernel, and of each further unit */
    double bend, steep;        /* amount from which on each costs steep times more; 0: none */
    double stairs_ns;          /* the time grows in steps of this; 0: it does not */
    double noise;              /* up to so much of a measurement more */
    uint64_t fails_at;         /* amount from which on it cannot be measured; 0: none */
    unsigned disturbed;        /* call that takes three times as long; 0: none */
    uint64_t random;
    unsigned calls;
    uint64_t most_asked;
};

static enum status measure(void *data, uint64_t amount, double *ns)
{
    struct paper *paper = data;
    paper->calls++;
    if (amount > paper->most_asked)
        paper->most_asked = amount;
    if (paper->fails_at && amount >= paper->fails_at)
        return status_set(STATUS_CUDA, "it broke");
    double x = (double)amount;
    *ns = paper->floor_ns + x * paper->slope_ns;
    if (paper->bend > 0.0 && x > paper->bend)
        *ns += paper->steep * (x - paper->bend) * paper->slope_ns;
    if (paper->stairs_ns > 0.0)
        *ns = paper->stairs_ns * ceil(*ns / paper->stairs_ns);
    if (paper->calls == paper->disturbed)
        *ns *= 3.0;
    *ns *= 1.0 + paper->noise * (double)(random_next(&paper->random) % 1000) / 1000.0;
    return STATUS_OK;
}

static enum status find(struct paper *paper, double asked_ns, uint64_t unit, struct length *out)
{
    const struct length_search search = {
        .asked_ns = asked_ns,
        .unit = unit,
        .least = unit,
        .first = 1000 * unit,
        .most = INT32_MAX,
        .measure = measure,
        .data = paper,
    };
    return length_find(&search, out);
}

static void lengths_are_found(void **state)
{
    (void)state;
    static const double asked_ns[] = {1e3, 3e3, 15e3, 1e6, 1e9};
    static const struct paper papers[] = {
        {.floor_ns = 500, .slope_ns = 5.2},
        {.floor_ns = 900, .slope_ns = 0.003, .bend = 1e5, .steep = 2},
        {.floor_ns = 0, .slope_ns = 20},
        {.floor_ns = 700, .slope_ns = 5.2, .noise = 0.004},
        {.floor_ns = 0, .slope_ns = 0.5, .bend = 100, .steep = 2},
        {.floor_ns = 500, .slope_ns = 0.0001, .bend = 1e4, .steep = 1e5},
    };
    for (size_t p = 0; p < sizeof papers / sizeof papers[0]; p++) {
        for (size_t a = 0; a < sizeof asked_ns / sizeof asked_ns[0]; a++) {
            struct paper paper = papers[p];
            struct length length = {0};
            double ns;
            /* As much as there is to give may be too little. */
            paper.noise = 0.0;
            assert_int_equal(measure(&paper, INT32_MAX, &ns), STATUS_OK);
            bool possible = ns > asked_ns[a];
            paper = papers[p];
            enum status status = find(&paper, asked_ns[a], p == 1 ? 16 : 1, &length);
            if (!possible) {
                assert_int_equal(status, STATUS_UNSUPPORTED);
                assert_non_null(strstr(status_text(), "the nearest that it comes to is"));
                continue;
            }
            assert_int_equal(status, STATUS_OK);
            assert_true(paper.calls <= 41);
            if (paper.noise == 0.0)
                assert_true(paper.calls <= 30);
            paper.noise = 0.0;
            assert_int_equal(measure(&paper, length.amount, &ns), STATUS_OK);
            if (ns < asked_ns[a] * 0.975 || ns > asked_ns[a] * 1.025)
                fail_msg("paper %zu: %g ns instead of %g", p, ns, asked_ns[a]);
            assert_true(length.got_ns > asked_ns[a] * 0.98 && length.got_ns < asked_ns[a] * 1.02);
            assert_int_equal(length.amount % (p == 1 ? 16 : 1), 0);
        }
    }
}

static void what_is_too_short_is_said(void **state)
{
    (void)state;
    struct paper paper = {.floor_ns = 2300, .slope_ns = 5};
    struct length length = {.amount = 77};
    assert_int_equal(find(&paper, 1000, 1, &length), STATUS_UNSUPPORTED);
    assert_string_equal(status_text(), "the shortest takes 2.31 us here");
    assert_int_equal(paper.calls, 3);
    assert_int_equal(length.amount, 77);
    /* As short as it gets is near enough, also a little below. */
    assert_int_equal(find(&paper, 2290, 1, &length), STATUS_OK);
    assert_int_equal(length.amount, 1);
    assert_int_equal(find(&paper, 2200, 1, &length), STATUS_OK);
    assert_int_equal(length.amount, 1);
    assert_int_equal(find(&paper, 2190, 1, &length), STATUS_UNSUPPORTED);
    /* Steps of 10 us: 15 is out of reach. */
    paper = (struct paper){.slope_ns = 10000};
    assert_int_equal(find(&paper, 15000, 1, &length), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_text(), "the nearest that it comes to is"));
}

/* Of one that moves data, or loads, by each of these. */
static void between_steps_the_nearest_is_taken(void **state)
{
    (void)state;
    struct paper paper = {.floor_ns = 900, .slope_ns = 0.003, .stairs_ns = 100, .noise = 0.002};
    struct length length = {0};
    assert_int_equal(find(&paper, 2040, 16, &length), STATUS_OK);
    assert_true(length.got_ns >= 2000 && length.got_ns < 2010);
    assert_true(paper.calls <= 90);
    paper.stairs_ns = 300;
    assert_int_equal(find(&paper, 2240, 16, &length), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_text(), "the nearest that it comes to is 2.1"));
}

/* Whichever measurement it was. */
static void a_disturbed_measurement_does_no_harm(void **state)
{
    (void)state;
    for (unsigned call = 1; call <= 12; call++) {
        struct paper paper = {.floor_ns = 900, .slope_ns = 0.003, .disturbed = call};
        struct length length = {0};
        assert_int_equal(find(&paper, 40e3, 16, &length), STATUS_OK);
        double ns = 900.0 + 0.003 * (double)length.amount;
        assert_true(ns > 0.98 * 40e3 && ns < 1.02 * 40e3);
        paper = (struct paper){.floor_ns = 900, .slope_ns = 0.003, .disturbed = call};
        assert_int_equal(find(&paper, 1000, 16, &length), STATUS_OK);
    }
}

static void nothing_far_too_long_is_tried(void **state)
{
    (void)state;
    struct paper paper = {.floor_ns = 2000, .slope_ns = 5};
    struct length length;
    assert_int_equal(find(&paper, 1e9, 1, &length), STATUS_OK);
    assert_true((double)paper.most_asked < 1.1e9 / 5);
}

static void errors_are_handed_on(void **state)
{
    (void)state;
    struct paper paper = {.floor_ns = 2000, .slope_ns = 5, .fails_at = 5000};
    struct length length = {.amount = 77};
    assert_int_equal(find(&paper, 1e6, 1, &length), STATUS_CUDA);
    assert_string_equal(status_text(), "it broke");
    assert_int_equal(length.amount, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_found),
        cmocka_unit_test(what_is_too_short_is_said),
        cmocka_unit_test(between_steps_the_nearest_is_taken),
        cmocka_unit_test(a_disturbed_measurement_does_no_harm),
        cmocka_unit_test(nothing_far_too_long_is_tried),
        cmocka_unit_test(errors_are_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
