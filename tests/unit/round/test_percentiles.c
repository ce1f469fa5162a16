/*
 * Whether the bounds of a percentile hold it, where iterations wait for each other: single servers
 * with Poisson arrivals, whose latencies stay long for as long as the queue is. The workers'
 * histograms are read as the orchestrator reads them. An argument gives the number of windows.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/round/percentiles.h"
#include "tests/unit/statistics/series.h"

#define SERVICE_NS 1e6
#define MOST_ROUNDS 5

static unsigned runs = 60;
static uint64_t seed = UINT64_C(88172645463325252);
static struct shm shm;

enum service { EXPONENTIAL, EVEN, TWO_KINDS, SERVICES };
static const char *const service_names[] = {"exponential", "even", "two kinds"};

static double serve(enum service service)
{
    if (service == EXPONENTIAL)
        return SERVICE_NS * series_exponential(&seed);
    if (service == EVEN)
        return SERVICE_NS * (0.9 + 0.2 * series_uniform(&seed));
    return SERVICE_NS * (series_uniform(&seed) < 0.95 ? 0.8 : 4.8);
}

/* Goes on to the next arrival, and returns the latency. */
static double arrive(enum service service, double load, double *now_ns, double *wait_ns)
{
    double gap_ns = SERVICE_NS / load * series_exponential(&seed);
    *now_ns += gap_ns;
    double latency_ns = fmax(0.0, *wait_ns - gap_ns) + serve(service);
    *wait_ns = latency_ns;
    return latency_ns;
}

/* One round: a window with that number of iterations offered, after a warm-up. */
static void measure(enum service service, double load, unsigned offered, struct histogram *all,
                    struct percentiles *out)
{
    struct latency_blocks blocks;
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    double now_ns = 0.0, wait_ns = 0.0, length_ns = offered * SERVICE_NS / load;
    for (int i = 0; i < 3000; i++)
        arrive(service, load, &now_ns, &wait_ns);
    now_ns = 0.0;
    memset(&slot->latency, 0, sizeof slot->latency);
    /* A window is longer than planned where it grows. */
    latency_blocks_begin(&blocks, 0, (uint64_t)(length_ns * 0.7));
    for (;;) {
        double latency_ns = arrive(service, load, &now_ns, &wait_ns);
        while (blocks.next_ns <= fmin(now_ns, length_ns))
            latency_blocks_note(&blocks, &shm, blocks.next_ns);
        if (now_ns > length_ns)
            break;
        histogram_record(&slot->latency, (uint64_t)latency_ns);
    }
    percentiles_of(&slot->latency, &blocks, out);
    histogram_merge(all, &slot->latency);
    latency_blocks_release(&blocks);
}

struct outcome {
    unsigned known, low_fails, high_fails;
    unsigned naive_fails; /* of the upper bound, were iterations independent */
};

static void look(enum service service, double load, unsigned offered, size_t rounds,
                 double truth_us, struct outcome *out)
{
    struct histogram all = {0};
    struct percentiles percentiles[MOST_ROUNDS];
    double low, high;
    for (size_t i = 0; i < rounds; i++)
        measure(service, load, offered, &all, &percentiles[i]);
    if (histogram_quantile_bounds(&all, 0.99, (double)all.count, &low, &high))
        out->naive_fails += high < truth_us * 1e3;
    if (!percentiles_bounds(&all, percentiles, rounds, PERCENTILE_P99, &low, &high))
        return;
    out->known++;
    out->low_fails += low > truth_us;
    out->high_fails += high < truth_us;
}

static double truth_of(enum service service, double load)
{
    static struct histogram histogram;
    double now_ns = 0.0, wait_ns = 0.0;
    memset(&histogram, 0, sizeof histogram);
    for (int i = 0; i < 1500000; i++)
        histogram_record(&histogram, (uint64_t)arrive(service, load, &now_ns, &wait_ns));
    return histogram_quantile_ns(&histogram, 0.99) / 1e3;
}

static void bounds_hold_at_any_load(void **state)
{
    (void)state;
    static const double loads[] = {0.05, 0.3, 0.5, 0.7, 0.9};
    static const struct {
        unsigned offered;
        size_t rounds;
    } sizes[] = {{1000, 1}, {8000, 1}, {1000, 5}};
    for (enum service service = 0; service < SERVICES; service++)
        for (size_t l = 0; l < sizeof loads / sizeof loads[0]; l++) {
            double truth_us = truth_of(service, loads[l]);
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                struct outcome out = {0};
                for (unsigned n = 0; n < runs; n++)
                    look(service, loads[l], sizes[s].offered, sizes[s].rounds, truth_us, &out);
                print_message("%-11s %2.0f%% busy, %zu x %u: p99 within bounds %5.1f%%, of them "
                              "known %5.1f%%; upper one %5.1f%%, were they independent %5.1f%%\n",
                              service_names[service], 100 * loads[l], sizes[s].rounds,
                              sizes[s].offered,
                              100.0 * (runs - out.low_fails - out.high_fails) / runs,
                              100.0 * out.known / runs, 100.0 * (runs - out.high_fails) / runs,
                              100.0 * (runs - out.naive_fails) / runs);
                assert_true((out.low_fails + out.high_fails) * 100 <= 5 * runs);
            }
        }
}

/* What is known where latencies are independent, which is in a closed loop and at low load. */
static void independent_ones_have_bounds(void **state)
{
    (void)state;
    static const unsigned counts[] = {368, 1000, 3000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        double truth_us = 1e3 * -log(0.01);
        struct outcome out = {0};
        for (unsigned n = 0; n < 4 * runs; n++)
            look(EXPONENTIAL, 1e-6, counts[i], 1, truth_us, &out);
        print_message("independent, %u: known %.1f%%, hold %.1f%%\n", counts[i],
                      25.0 * out.known / runs,
                      100.0 - 25.0 * (out.low_fails + out.high_fails) / runs);
        assert_true((out.low_fails + out.high_fails) * 100 <= 5 * 4 * runs);
        assert_true(counts[i] < 3000 || out.known * 100 >= 90 * 4 * runs);
    }
}

/* All alike: known exactly; and nothing without blocks. */
static void equal_latencies_are_known(void **state)
{
    (void)state;
    struct latency_blocks blocks = {0};
    struct percentiles percentiles;
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    double low, high;
    memset(&slot->latency, 0, sizeof slot->latency);
    for (int i = 0; i < 1000; i++)
        histogram_record(&slot->latency, 5000000);
    percentiles_of(&slot->latency, &blocks, &percentiles);
    assert_false(percentiles_bounds(&slot->latency, &percentiles, 1, PERCENTILE_P99, &low, &high));
    memset(&slot->latency, 0, sizeof slot->latency);
    latency_blocks_begin(&blocks, 0, 1000000000);
    for (int i = 0; i < 1000; i++) {
        histogram_record(&slot->latency, 5000000);
        if ((uint64_t)i * 1000000 >= blocks.next_ns)
            latency_blocks_note(&blocks, &shm, (uint64_t)i * 1000000);
    }
    assert_int_equal(blocks.count, 19);
    percentiles_of(&slot->latency, &blocks, &percentiles);
    assert_true(percentiles_bounds(&slot->latency, &percentiles, 1, PERCENTILE_P99, &low, &high));
    assert_true(low == 5000.0 && high == 5000.0);
    latency_blocks_release(&blocks);
}

/* The share of three rounds with that number of iterations in all that have bounds of p99. There is
 * hardly any load, and iterations do not wait for each other. */
static double known_of_three(unsigned all)
{
    const unsigned trials = 200;
    struct outcome outcome = {0};
    for (unsigned i = 0; i < trials; i++)
        look(EXPONENTIAL, 1e-6, all / 3, 3, 0.0, &outcome);
    return (double)outcome.known / trials;
}

/* The finals of a tune are so long (tune/search/finals.c). */
static void bounds_take_more_than_their_ranks(void **state)
{
    (void)state;
    double few = known_of_three(500), more = known_of_three(800), most = known_of_three(1500);
    printf(
        "three rounds of 500, 800 and 1500 iterations have bounds in %.0f%%, %.0f%% and %.0f%%\n",
        100.0 * few, 100.0 * more, 100.0 * most);
    assert_true(few < 0.2 && more < 0.6 && most > 0.85);
}

static int make(void **state)
{
    (void)state;
    const struct shm_settings settings = {.slice_ns = 1000000};
    return shm_create(&settings, 1, 1, &shm) == STATUS_OK ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    shm_release(&shm);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_at_any_load),
        cmocka_unit_test(independent_ones_have_bounds),
        cmocka_unit_test(equal_latencies_are_known),
        cmocka_unit_test(bounds_take_more_than_their_ranks),
    };
    if (argc > 1)
        runs = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, make, release);
}
