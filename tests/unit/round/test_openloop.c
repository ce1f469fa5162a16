/*
 * Whether an open loop is saturated: servers with many connections, on which requests wait unseen,
 * for windows of a second after a warm-up of a tenth. Workers record them as they always do.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/clock.h"
#include "orchestrator/round/openloop.h"
#include "recording/recorder.h"
#include "tests/unit/statistics/series.h"

#define WARMUP_NS (NS_PER_S / 10)
#define END_NS (WARMUP_NS + NS_PER_S)
#define MOST_OFFERED 20000

static struct shm shm;
static uint64_t seed = UINT64_C(88172645463325252);

/* What a server does with what it gets, in order. */
struct server {
    unsigned offered; /* in the window */
    double load;      /* of a serial server, whose service takes load/offered seconds */
    double latency_s; /* of one that serves all at once */
    unsigned connections;
    bool random_arrivals, random_service;
};

static double random_or(bool random)
{
    return random ? series_exponential(&seed) : 1.0;
}

/* Gives the number of those that were left waiting. */
static uint64_t serve(const struct server *server, struct shm_slot *slot)
{
    static uint64_t ends_ns[MOST_OFFERED];
    struct recorder recorder;
    struct pace pace = {0};
    double gap_ns = 1e9 / server->offered, planned_ns = 0.0, free_ns = 0.0;
    uint64_t backlog = 0;
    memset(slot, 0, sizeof *slot);
    recorder_init(&recorder, &shm, slot, &(const struct recorder_options){.pace = &pace});
    recorder.in_window = true;
    for (unsigned i = 0; planned_ns <= (double)END_NS; i++) {
        double begin_ns = planned_ns;
        assert_true(i < MOST_OFFERED);
        if (i >= server->connections)
            begin_ns = fmax(begin_ns, (double)ends_ns[i - server->connections]);
        double service_ns = (server->load > 0.0 ? server->load * gap_ns : server->latency_s * 1e9) *
                            random_or(server->random_service);
        double end_ns =
            server->load > 0.0 ? fmax(begin_ns, free_ns) + service_ns : begin_ns + service_ns;
        free_ns = end_ns;
        ends_ns[i] = (uint64_t)end_ns;
        pace.planned_ns = (uint64_t)planned_ns;
        if (begin_ns > (double)END_NS)
            backlog++;
        else
            recorder_add(&recorder, &(const struct iteration_times){.begin_ns = (uint64_t)begin_ns,
                                                                    .end_ns = ends_ns[i]});
        planned_ns += gap_ns * random_or(server->random_arrivals);
    }
    return backlog;
}

static bool saturates(const struct server *server)
{
    const struct point point = {
        .processes = 1, .threads = 1, .work.rate_units = (uint64_t)server->offered * RATE_UNITS};
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    struct openloop_counts counts = {0};
    uint64_t backlog = serve(server, slot);
    slot->backlog = backlog;
    openloop_collect(&counts, slot);
    openloop_judge(&counts, &point, 1.0);
    return counts.saturated;
}

static int begin(void **state)
{
    (void)state;
    const struct shm_settings settings = {.slice_ns = NS_PER_MS, .warmup_ns = WARMUP_NS};
    if (shm_create(&settings, 1, 1, &shm) != STATUS_OK)
        return -1;
    atomic_store(&shm.header->window_begin_ns, WARMUP_NS);
    atomic_store(&shm.header->window_end_ns, END_NS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    shm_release(&shm);
    return 0;
}

/* Until a twentieth is left over, as in the queue of few connections. */
static void connections_hide_no_load_that_is_too_much(void **state)
{
    (void)state;
    static const double loads[] = {1.07, 1.1, 1.3, 2.0, 10.0};
    static const unsigned connections[] = {1, 4, 32, 64, 100, 512, MOST_OFFERED};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        for (size_t c = 0; c < sizeof connections / sizeof *connections; c++)
            for (unsigned offered = 500; offered <= 8000; offered *= 2)
                assert_true(saturates(&(const struct server){
                    .offered = offered, .load = loads[i], .connections = connections[c]}));
}

static void what_is_served_does_not_saturate(void **state)
{
    (void)state;
    static const double loads[] = {0.1, 0.5, 0.9, 0.99, 1.0, 1.02, 1.04};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        for (unsigned offered = 20; offered <= 10000; offered *= 5)
            assert_false(saturates(&(const struct server){
                .offered = offered, .load = loads[i], .connections = MOST_OFFERED}));
}

/* More and more requests are on their way while the first have no answer yet. */
static void long_answers_do_not_saturate(void **state)
{
    (void)state;
    static const double latencies_s[] = {0.01, 0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 5.0};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof latencies_s / sizeof *latencies_s; i++)
        for (unsigned offered = 20; offered <= 10000; offered *= 5) {
            struct server server = {
                .offered = offered, .latency_s = latencies_s[i], .connections = MOST_OFFERED};
            assert_false(saturates(&server));
            server.random_arrivals = server.random_service = true;
            for (int run = 0; run < 50; run++)
                wrong += saturates(&server);
        }
    assert_in_range(wrong, 0, 8 * 4 * 50 / 1000);
}

/* How often, of 1000 random ones. */
static unsigned times_of(double load, unsigned offered)
{
    const struct server server = {.offered = offered,
                                  .load = load,
                                  .connections = MOST_OFFERED,
                                  .random_arrivals = true,
                                  .random_service = true};
    unsigned times = 0;
    for (int run = 0; run < 1000; run++)
        times += saturates(&server);
    return times;
}

static void random_requests_are_judged_by_what_they_do(void **state)
{
    (void)state;
    assert_in_range(times_of(0.5, 1000), 0, 0);
    assert_in_range(times_of(0.8, 300), 0, 5);
    assert_in_range(times_of(0.8, 1000), 0, 1);
    assert_in_range(times_of(0.9, 1000), 0, 10);
    assert_in_range(times_of(0.95, 10000), 0, 1);
    assert_in_range(times_of(1.1, 10000), 950, 1000);
    assert_in_range(times_of(1.3, 1000), 950, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_hide_no_load_that_is_too_much),
        cmocka_unit_test(what_is_served_does_not_saturate),
        cmocka_unit_test(long_answers_do_not_saturate),
        cmocka_unit_test(random_requests_are_judged_by_what_they_do),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
