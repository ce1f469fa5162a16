#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "job/rate.h"
#include "recording/pace.h"

static struct shm_settings at_rate(double ips, enum work_arrival arrival, uint64_t seed)
{
    return (struct shm_settings){
        .rate_units = (uint64_t)(ips * RATE_UNITS), .arrival = arrival, .arrival_seed = seed};
}

static void constant_starts_are_where_they_belong(void **state)
{
    (void)state;
    /* 3 workers at 7/s together: neither the gap nor the phase is a whole number of nanoseconds. */
    const struct shm_settings settings = at_rate(7, ARRIVAL_CONSTANT, 0);
    for (unsigned w = 0; w < 3; w++) {
        struct pace pace;
        pace_init(&pace, &settings, NULL, w, 3);
        for (uint64_t k = 0; k < 100000; k++) {
            assert_int_equal(pace.planned_ns, (k * 3 + w) * NS_PER_S / 7);
            pace_next(&pace);
        }
    }
}

static void all_workers_together_are_evenly_spaced(void **state)
{
    (void)state;
    enum { WORKERS = 8, EACH = 50 };
    static const double rates[] = {0.01, 1, 400, 333.333, 1e7};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        const struct shm_settings settings = at_rate(rates[r], ARRIVAL_CONSTANT, 0);
        struct pace paces[WORKERS];
        double gap_ns = 1e12 / (double)settings.rate_units;
        for (unsigned w = 0; w < WORKERS; w++)
            pace_init(&paces[w], &settings, NULL, w, WORKERS);
        for (unsigned i = 0; i < WORKERS * EACH; i++) {
            struct pace *pace = &paces[i % WORKERS];
            assert_true(fabs((double)pace->planned_ns - i * gap_ns) <= 1.0);
            pace_next(pace);
        }
    }
}

/* Three starts a cycle, at 30/s: a cycle takes 0.1 s. Two workers take every second one. */
static void a_trace_repeats_and_is_dealt_out(void **state)
{
    (void)state;
    static double at[] = {0.0, 0.3, 2.0};
    static const double starts_s[2][4] = {{0.0, 2.0 / 30, 3.3 / 30, 6.0 / 30},
                                          {0.3 / 30, 3.0 / 30, 5.0 / 30, 6.3 / 30}};
    const struct arrivals trace = {at, 3};
    const struct shm_settings settings = at_rate(30, ARRIVAL_TRACE, 0);
    for (unsigned w = 0; w < 2; w++) {
        struct pace pace;
        pace_init(&pace, &settings, &trace, w, 2);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(fabs((double)pace.planned_ns / 1e9 - starts_s[w][i]) < 1e-8);
            pace_next(&pace);
        }
    }
}

static void long_runs_do_not_drift(void **state)
{
    (void)state;
    const struct shm_settings settings = at_rate(9999.999, ARRIVAL_CONSTANT, 0);
    struct pace pace;
    pace_init(&pace, &settings, NULL, 0, 1);
    for (unsigned i = 0; i < 9999999; i++)
        pace_next(&pace);
    assert_int_equal(pace.planned_ns, 1000 * NS_PER_S);
}

static void a_seed_repeats_and_workers_differ(void **state)
{
    (void)state;
    enum { PACES = 5, STEPS = 1000 };
    const struct shm_settings first = at_rate(100, ARRIVAL_POISSON, 1);
    const struct shm_settings other = at_rate(100, ARRIVAL_POISSON, 2);
    struct pace paces[PACES];
    unsigned equal[PACES] = {0};
    pace_init(&paces[0], &first, NULL, 0, 4);
    pace_init(&paces[1], &first, NULL, 0, 4);
    pace_init(&paces[2], &first, NULL, 1, 4);
    pace_init(&paces[3], &other, NULL, 0, 4);
    pace_init(&paces[4], &other, NULL, 1, 4);
    for (unsigned i = 0; i < STEPS; i++) {
        for (unsigned p = 1; p < PACES; p++)
            equal[p] += paces[p].planned_ns == paces[0].planned_ns;
        for (unsigned p = 0; p < PACES; p++)
            pace_next(&paces[p]);
    }
    assert_int_equal(equal[1], STEPS);
    for (unsigned p = 2; p < PACES; p++)
        assert_int_equal(equal[p], 0);
    /* The same on every machine and in every version. */
    pace_init(&paces[0], &first, NULL, 0, 4);
    assert_int_equal(paces[0].planned_ns, 27740485);
}

static void poisson_gaps_are_exponential(void **state)
{
    (void)state;
    enum { COUNT = 400000, BINS = 6 };
    const struct shm_settings settings = at_rate(1000, ARRIVAL_POISSON, 7);
    struct pace pace;
    double sum = 0.0, squares = 0.0;
    unsigned beyond[BINS] = {0};
    pace_init(&pace, &settings, NULL, 3, 4);
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t before = pace.planned_ns;
        pace_next(&pace);
        double gap = (double)(pace.planned_ns - before) / 4e6; /* 1 is the mean */
        sum += gap;
        squares += gap * gap;
        for (unsigned b = 0; b < BINS; b++)
            beyond[b] += gap > b * 0.75;
    }
    /* Five standard errors each. */
    assert_true(fabs(sum / COUNT - 1.0) < 5.0 / sqrt(COUNT));
    assert_true(fabs(squares / COUNT - 2.0) < 5.0 * sqrt(20.0 / COUNT));
    for (unsigned b = 0; b < BINS; b++) {
        double share = exp(-0.75 * b);
        assert_true(fabs((double)beyond[b] / COUNT - share) <=
                    5.0 * sqrt(share * (1.0 - share) / COUNT) + 1e-6);
    }
}

/* Of a Poisson process the variance of the counts is their mean; also of all workers together,
 * which evenly spaced or correlated ones would miss. */
static void poisson_counts_vary_as_they_should(void **state)
{
    (void)state;
    enum { WORKERS = 6, SECONDS = 4000 };
    const struct shm_settings settings = at_rate(30, ARRIVAL_POISSON, 12);
    unsigned *counts = calloc(SECONDS, sizeof *counts);
    assert_non_null(counts);
    for (unsigned w = 0; w < WORKERS; w++) {
        struct pace pace;
        pace_init(&pace, &settings, NULL, w, WORKERS);
        for (; pace.planned_ns < SECONDS * NS_PER_S; pace_next(&pace))
            counts[pace.planned_ns / NS_PER_S]++;
    }
    double sum = 0.0, squares = 0.0;
    for (unsigned s = 0; s < SECONDS; s++) {
        sum += counts[s];
        squares += (counts[s] - 30.0) * (counts[s] - 30.0);
    }
    free(counts);
    assert_true(fabs(sum / SECONDS - 30.0) < 5.0 * sqrt(30.0 / SECONDS));
    assert_true(fabs(squares / SECONDS / 30.0 - 1.0) < 5.0 * sqrt(2.0 / SECONDS));
}

static void the_backlog_is_what_is_planned_and_not_begun(void **state)
{
    (void)state;
    const struct shm_settings settings = at_rate(10, ARRIVAL_CONSTANT, 0);
    struct pace pace;
    pace_init(&pace, &settings, NULL, 1, 2); /* 0.1, 0.3, 0.5, ... */
    assert_int_equal(pace_backlog(&pace, NS_PER_S), 5);
    pace_init(&pace, &settings, NULL, 1, 2);
    pace_next(&pace);
    assert_int_equal(pace_backlog(&pace, 500 * NS_PER_MS), 2);
    pace_init(&pace, &settings, NULL, 1, 2);
    assert_int_equal(pace_backlog(&pace, 0), 0);
    pace_init(&pace, &settings, NULL, 1, 2);
    assert_int_equal(pace_backlog(&pace, UINT64_MAX), PACE_MOST_BACKLOG);
}

static struct shm shm;

static int begin(void **state)
{
    (void)state;
    const struct shm_settings settings = at_rate(0.01, ARRIVAL_CONSTANT, 0);
    alarm(60); /* one that is not heard would wait for half a day */
    return shm_create(&settings, 2, 2, &shm) == STATUS_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    alarm(0);
    shm_release(&shm);
    return 0;
}

static void a_worker_knows_its_place(void **state)
{
    (void)state;
    struct pace pace;
    shm_gate_open(&shm, 5000);
    pace_begin(&pace, &shm, shm_slot_at(&shm, 1, 0), NULL);
    assert_int_equal(pace.start_ns, 5000);
    assert_int_equal(pace.planned_ns, 200 * NS_PER_S); /* the third of four */
    /* Fewer threads than there is room for: the second of two. */
    const struct shm_settings settings = shm.header->settings;
    shm_reset(&shm, &settings, 2, 1);
    pace_begin(&pace, &shm, shm_slot_at(&shm, 1, 0), NULL);
    assert_int_equal(pace.planned_ns, 100 * NS_PER_S);
}

static void a_late_one_starts_at_once(void **state)
{
    (void)state;
    struct pace pace;
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    shm_gate_open(&shm, clock_now_ns() - NS_PER_S);
    pace_begin(&pace, &shm, slot, NULL);
    assert_true(pace_wait(&pace, &shm, slot));
    assert_true(pace.late);
    assert_int_equal(atomic_load(&slot->idle_until_ns), 0);
    shm_stop(&shm, 0);
    assert_false(pace_wait(&pace, &shm, slot));
}

static void nobody_starts_early(void **state)
{
    (void)state;
    static const enum work_schedule schedules[] = {SCHEDULE_AUTO, SCHEDULE_SPIN, SCHEDULE_BLOCK};
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        struct pace pace;
        shm_gate_open(&shm, clock_now_ns());
        pace_begin(&pace, &shm, slot, NULL);
        pace.schedule = schedules[i];
        pace.planned_ns = 150 * NS_PER_MS; /* longer than one look at the stop flag */
        assert_true(pace_wait(&pace, &shm, slot));
        assert_true(clock_now_ns() >= pace.start_ns + pace.planned_ns);
        assert_int_equal(atomic_load(&slot->idle_until_ns), 0);
    }
}

static void *wait_for_start(void *argument)
{
    struct pace *pace = argument;
    return pace_wait(pace, &shm, shm_slot_at(&shm, 0, 1)) ? pace : NULL;
}

static void the_stop_is_heard_in_a_wait(void **state)
{
    (void)state;
    static const enum work_schedule schedules[] = {SCHEDULE_AUTO, SCHEDULE_BLOCK};
    const struct shm_slot *slot = shm_slot_at(&shm, 0, 1);
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        struct pace pace;
        pthread_t thread;
        void *started = &pace;
        atomic_store(&shm.header->stop, 0);
        shm_gate_open(&shm, clock_now_ns());
        pace_begin(&pace, &shm, slot, NULL);
        pace.schedule = schedules[i];
        assert_int_equal(pthread_create(&thread, NULL, wait_for_start, &pace), 0);
        /* Waiting is published, so that it does not look like a worker that hangs. */
        while (atomic_load(&slot->idle_until_ns) == 0)
            ;
        assert_int_equal(atomic_load(&slot->idle_until_ns), pace.start_ns + 100 * NS_PER_S);
        shm_stop(&shm, 0);
        pthread_join(thread, &started);
        assert_null(started);
    }
}

static void rates_are_read(void **state)
{
    (void)state;
    struct rate rate;
    char text[32];
    assert_true(rate_parse("closed", &rate));
    assert_true(rate.units == 0 && rate.goal.permille == 0);
    assert_true(rate_parse("0.25", &rate) && rate.units == 250);
    assert_string_equal(rate_text(rate.units, text, sizeof text), "0.25");
    assert_true(rate_parse("1e3", &rate) && rate.units == 1000 * RATE_UNITS);
    assert_true(rate_parse("max-under-p99=5ms", &rate));
    assert_true(rate.units == 0 && rate.goal.permille == 990 && rate.goal.latency_ns == 5000000);
    assert_true(rate_parse("max-under-p999=1.5s", &rate));
    assert_true(rate.goal.permille == 999 && rate.goal.latency_ns == 1500000000);
    assert_true(rate_parse("max-under-p50=250us", &rate));
    assert_true(rate.goal.permille == 500 && rate.goal.latency_ns == 250000);
    static const char *const wrong[] = {"",
                                        "0",
                                        "-1",
                                        "0.001",
                                        "1e9",
                                        "nan",
                                        "inf",
                                        "0x10",
                                        "5 potatoes",
                                        "open",
                                        "max-under-",
                                        "max-under-p99",
                                        "max-under-p99=",
                                        "max-under-p99=5",
                                        "max-under-p99=ms",
                                        "max-under-p99=-5ms",
                                        "max-under-p99=0ms",
                                        "max-under-p99=5 ms",
                                        "max-under-p99=5msec",
                                        "max-under-p99=2h",
                                        "max-under-p99=7200s",
                                        "max-under-p98=5ms",
                                        "max-under-mean=5ms"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (rate_parse(wrong[i], &rate))
            fail_msg("'%s' is taken for a rate", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_starts_are_where_they_belong),
        cmocka_unit_test(all_workers_together_are_evenly_spaced),
        cmocka_unit_test(a_trace_repeats_and_is_dealt_out),
        cmocka_unit_test(long_runs_do_not_drift),
        cmocka_unit_test(a_seed_repeats_and_workers_differ),
        cmocka_unit_test(poisson_gaps_are_exponential),
        cmocka_unit_test(poisson_counts_vary_as_they_should),
        cmocka_unit_test(the_backlog_is_what_is_planned_and_not_begun),
        cmocka_unit_test_setup_teardown(a_worker_knows_its_place, begin, end),
        cmocka_unit_test_setup_teardown(a_late_one_starts_at_once, begin, end),
        cmocka_unit_test_setup_teardown(nobody_starts_early, begin, end),
        cmocka_unit_test_setup_teardown(the_stop_is_heard_in_a_wait, begin, end),
        cmocka_unit_test(rates_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
