#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "recording/recorder.h"
#include "worker/engines/sampling.h"

/* -- which calls are timed --------------------------------------------------------------------- */

#define COST_NS 40.0

static void nothing_is_timed_before_an_iteration_is_known(void **state)
{
    (void)state;
    struct sampling sampling;
    unsigned from, to;
    sampling_init(&sampling, 220, COST_NS);
    for (int i = 0; i < 1000; i++)
        assert_false(sampling_next(&sampling, &from, &to));
}

static void a_single_call_is_never_timed_apart(void **state)
{
    (void)state;
    struct sampling sampling;
    unsigned from, to;
    sampling_init(&sampling, 1, COST_NS);
    sampling_adapt(&sampling, NS_PER_S);
    for (int i = 0; i < 1000; i++)
        assert_false(sampling_next(&sampling, &from, &to));
}

/* What it costs, and whether each call has its turn, for iterations of all lengths and sizes. */
static void sampling_keeps_to_its_share_and_leaves_no_call_out(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 3, 20, 220, 256, 257, 1000, 5000};
    static unsigned timed[5000];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (uint64_t took_ns = 10 * NS_PER_US; took_ns <= NS_PER_S; took_ns *= 10) {
            struct sampling sampling;
            unsigned from = 0, to = 0;
            double cost_ns = 0.0;
            uint64_t iterations = 0, calls = 0;
            memset(timed, 0, sizeof timed);
            sampling_init(&sampling, sizes[s], COST_NS);
            sampling_adapt(&sampling, took_ns);
            /* Three turns. */
            while (calls < 3 * (uint64_t)sizes[s]) {
                iterations++;
                if (!sampling_next(&sampling, &from, &to))
                    continue;
                assert_true(from < to && to <= sizes[s] && to - from <= SAMPLING_CALLS_MOST);
                for (unsigned i = from; i < to; i++)
                    timed[i]++;
                calls += to - from;
                double here_ns = (double)(to - from + 1) * COST_NS;
                cost_ns += here_ns;
                /* No iteration bears more than the share, but for two readings. */
                assert_true(here_ns <= SAMPLING_SHARE * (double)took_ns || to - from == 1);
            }
            /* The first iteration is sampled at once: one more than its turn. */
            assert_true(cost_ns <=
                        SAMPLING_SHARE * (double)took_ns * (double)(iterations + 1) + 2 * COST_NS);
            for (unsigned i = 0; i < sizes[s]; i++)
                assert_in_range(timed[i], 2, 4);
            /* Some samples a second at least. */
            assert_true((double)calls / ((double)(iterations * took_ns) / 1e9) >= 1.0);
        }
    }
}

static void only_a_shorter_iteration_changes_the_share(void **state)
{
    (void)state;
    struct sampling sampling;
    unsigned from, to;
    sampling_init(&sampling, 220, COST_NS);
    sampling_adapt(&sampling, NS_PER_S); /* as with lazy loading: all calls */
    assert_true(sampling_next(&sampling, &from, &to));
    assert_int_equal(to - from, 220);
    sampling_adapt(&sampling, NS_PER_MS); /* 500 ns: 11 calls and a moment more */
    sampling_adapt(&sampling, 2 * NS_PER_S);
    assert_true(sampling_next(&sampling, &from, &to));
    assert_int_equal(to - from, 11);
    sampling_adapt(&sampling, 16 * NS_PER_US); /* 8 ns: two readings in every 10th */
    unsigned sampled = 0;
    for (int i = 0; i < 100; i++)
        sampled += sampling_next(&sampling, &from, &to);
    assert_int_equal(sampled, 10);
    assert_int_equal(to - from, 1);
}

static void the_measured_cost_is_that_of_a_clock_reading_at_least(void **state)
{
    (void)state;
    double cost_ns = sampling_measure_cost_ns();
    assert_true(cost_ns > 0.0 && cost_ns < 1e6);
}

/* -- recording --------------------------------------------------------------------------------- */

#define WARMUP_NS 1000

static struct shm shm;
static struct recorder recorder;
static struct shm_slot *slot;

static int begin(void **state)
{
    (void)state;
    const struct shm_settings settings = {.slice_ns = 1000, .warmup_ns = WARMUP_NS, .kernels = 4};
    if (shm_create(&settings, 1, 1, &shm) != STATUS_OK)
        return -1;
    slot = shm_slot_at(&shm, 0, 0);
    atomic_store(&shm.header->start_ns, 5000);
    recorder_init(&recorder, &shm, slot, &(const struct recorder_options){0});
    return 0;
}

static int end(void **state)
{
    (void)state;
    shm_release(&shm);
    return 0;
}

/* An iteration that ends then, after the agreed start. */
static void iterate(uint64_t from_ns, uint64_t to_ns, unsigned calls)
{
    static const uint64_t call_ns[] = {7, 9};
    const struct iteration_times times = {
        .begin_ns = 5000 + from_ns,
        .h2d_ns = 10,
        .launch_ns = 20,
        .sync_ns = 30,
        .d2h_ns = 40,
        .end_ns = 5000 + to_ns,
        .call_ns = call_ns,
        .calls = calls,
    };
    recorder_before(&recorder);
    recorder_add(&recorder, &times);
}

/* The only worker of its thread. */
static void end_thread(void)
{
    uint64_t iterations = recorder_iterations(&recorder);
    recorder_end(&recorder, NULL, &iterations);
}

static void calls_count_in_the_window_only(void **state)
{
    (void)state;
    iterate(0, 900, 2); /* warm-up */
    iterate(900, 1000, 2);
    assert_int_equal(slot->launch_call.count, 0);
    iterate(1000, 1900, 2);
    iterate(1900, 2900, 0);
    iterate(2900, 3900, 1);
    assert_int_equal(slot->launch_call.count, 3);
    assert_int_equal(slot->launch_call.sum_ns, 7 + 9 + 7);
    assert_int_equal(slot->iterations, 3);
    assert_int_equal(slot->launch.count, 3);
    atomic_store(&shm.header->window_end_ns, 3900);
    iterate(3900, 4900, 2); /* after its end */
    assert_int_equal(slot->launch_call.count, 3);
}

/* Each iteration begins once: one that stands across the end counts in full, one that stands across
 * the beginning does not. */
static void what_begins_in_the_window_counts_in_full(void **state)
{
    (void)state;
    atomic_store(&shm.header->window_end_ns, 4000);
    iterate(0, 2500, 0);
    assert_int_equal(slot->iterations, 0);
    assert_int_equal(slot->latency.count, 0);
    assert_int_equal(slot->latency.max_ns, 2500);
    iterate(2500, 3500, 0);
    iterate(3500, 900000, 0);
    iterate(900000, 900500, 0);
    assert_int_equal(slot->iterations, 2);
    assert_int_equal(slot->latency.count, 2);
    assert_int_equal(slot->latency.max_ns, 900000 - 3500);
    /* 1500 of its own, 1000, and 500 of the last: the window's. */
    uint64_t units = 0;
    for (unsigned i = 0; i < 3; i++)
        units += atomic_load(&slot->slices[i]);
    double expected = 1500.0 / 2500.0 + 1.0 + 500.0 / (900000.0 - 3500.0);
    assert_true(fabs((double)units / (double)SHM_ITERATION_UNITS - expected) < 1e-4);
}

static uint64_t longest(unsigned place)
{
    return atomic_load(&slot->longest_ns[place]);
}

/* One after the other. */
static void iterate_lengths(uint64_t *at_ns, const uint64_t *lengths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        iterate(*at_ns + 3, *at_ns + lengths[i], 0);
        *at_ns += lengths[i];
    }
}

static void the_longest_iterations_are_noted(void **state)
{
    (void)state;
    static const uint64_t early[] = {30, 500, 20, 90, 90, 300}, late[] = {20, 40, 10, 60, 50};
    uint64_t at_ns = 0;
    iterate_lengths(&at_ns, early, sizeof early / sizeof early[0]);
    assert_int_equal(longest(0), 500);
    assert_int_equal(longest(1), 300);
    assert_int_equal(longest(2), 90);
    assert_int_equal(longest(3), 90);
    /* The one that reaches beyond the warm-up. */
    assert_int_equal(atomic_load(&slot->still_ns), 300);
    iterate_lengths(&at_ns, late, sizeof late / sizeof late[0]);
    assert_int_equal(longest(0), 60);
    assert_int_equal(longest(3), 20);
    assert_int_equal(atomic_load(&slot->still_ns), 300);
    atomic_store(&shm.header->window_end_ns, at_ns);
    iterate(at_ns, at_ns + 5000, 0);
    assert_int_equal(longest(0), 5000);
    assert_int_equal(atomic_load(&slot->still_ns), 300);
}

/* An idle worker waits for its planned start, and a late one for the iteration before. */
static void an_open_loop_notes_only_what_was_due(void **state)
{
    (void)state;
    struct pace pace = {.planned_ns = 2000};
    recorder_init(&recorder, &shm, slot, &(const struct recorder_options){.pace = &pace});
    atomic_store(&shm.header->window_end_ns, 9000);
    iterate(2100, 2400, 0);
    assert_int_equal(longest(0), 400);
    pace.planned_ns = 2100;
    iterate(2400, 2900, 0);
    assert_int_equal(longest(0), 500);
    pace.planned_ns = 9001; /* none is due */
    recorder_end(&recorder, &pace, NULL);
    assert_int_equal(longest(0), 500);
    pace.planned_ns = 5000;
    recorder_end(&recorder, &pace, NULL);
    assert_int_equal(longest(0), 4000);
    assert_int_equal(atomic_load(&slot->still_ns), 4000);
}

/* Until the orchestrator knows when it begins, which it announces ahead. */
static void what_ends_before_the_window_begins_counts_nowhere(void **state)
{
    (void)state;
    atomic_store(&shm.header->window_begin_ns, UINT64_MAX);
    iterate(0, 3000, 0);
    assert_false(recorder.in_window);
    assert_int_equal(slot->latency.count, 0);
    atomic_store(&shm.header->window_begin_ns, 4000);
    iterate(3000, 5000, 0); /* half of it is in the first slice */
    assert_int_equal(atomic_load(&slot->slices[0]), SHM_ITERATION_UNITS / 2);
    assert_false(recorder.in_window);
    iterate(5000, 6000, 0);
    assert_true(recorder.in_window);
    assert_int_equal(slot->latency.count, 1);
}

static void a_connection_stands_still_while_none_has_an_answer(void **state)
{
    (void)state;
    uint64_t progress_ns = 5000 + 1700; /* another one had an answer then */
    recorder_init(&recorder, &shm, slot,
                  &(const struct recorder_options){.progress_ns = &progress_ns});
    iterate(1100, 2000, 0);
    assert_int_equal(longest(0), 2000);
    assert_int_equal(atomic_load(&slot->still_ns), 300);
    assert_int_equal(progress_ns, 7000);
    iterate(2000, 2500, 0);
    assert_int_equal(atomic_load(&slot->still_ns), 500);
    /* What was noted of another one first may have ended later. */
    progress_ns = 9000;
    iterate(2500, 3500, 0);
    assert_int_equal(atomic_load(&slot->still_ns), 500);
    assert_int_equal(progress_ns, 9000);
}

static void cpu_counts_from_the_end_of_the_warmup(void **state)
{
    (void)state;
    iterate(0, 500, 0);
    end_thread();
    assert_int_equal(slot->cpu.wall_ns, 0); /* no window, no figure */
    iterate(500, 1200, 0);                  /* crosses it */
    assert_false(recorder.in_window);
    iterate(1200, 1900, 0);
    iterate(1900, 2500, 0);
    assert_true(recorder.in_window);
    end_thread();
    assert_int_equal(slot->cpu.iterations, 2);
    assert_true(slot->cpu.wall_ns > 0 && slot->cpu.wall_ns < 1000 * NS_PER_S);
    recorder_end(&recorder, NULL, NULL); /* as another worker of the thread */
    assert_int_equal(slot->cpu.iterations + slot->cpu.wall_ns, 0);
    assert_true(slot->cpu.process_wall_ns > 0);
}

/* Exactly the iterations that begin after the warm-up. */
static void fixed_work_ends_after_its_iterations(void **state)
{
    (void)state;
    shm.header->settings.iterations = 2;
    assert_false(recorder_has_finished(&recorder));
    iterate(0, 900, 0);
    iterate(900, 1900, 0); /* began before */
    assert_int_equal(slot->iterations, 0);
    assert_false(recorder_has_finished(&recorder));
    iterate(1900, 2900, 0);
    assert_false(recorder_has_finished(&recorder));
    iterate(2900, 3900, 0);
    assert_true(recorder_has_finished(&recorder));
    assert_int_equal(slot->iterations, 2);
    assert_int_equal(slot->latency.count, 2);
    end_thread();
    assert_int_equal(slot->cpu.iterations, 2);
    assert_true(slot->work_end_ns > slot->work_begin_ns);
}

static void work_by_time_never_finishes(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        iterate(i * 100, i * 100 + 100, 0);
    assert_false(recorder_has_finished(&recorder));
}

static void fixed_work_of_any_length_has_its_slices(void **state)
{
    (void)state;
    shm.header->settings.iterations = 1000000;
    uint64_t took_ns = SHM_SLICES * UINT64_C(1000);
    for (uint64_t i = 0; i < 50; i++)
        iterate(i * took_ns, (i + 1) * took_ns, 0);
    uint64_t units = 0;
    for (unsigned i = 0; i < SHM_SLICES; i++)
        units += atomic_load(&slot->slices[i]);
    /* All but the share of the first that was warm-up. */
    assert_in_range(units, SHM_ITERATION_UNITS * 49, SHM_ITERATION_UNITS * 50);
    assert_int_equal(slot->slice_shift, 6);
}

static uint64_t slice_units(unsigned slice)
{
    return atomic_load(&slot->slices[slice]);
}

/* Slices begin at the end of the warm-up, 1000 after the start, and are as long. */
static void no_time_before_the_release_is_credited(void **state)
{
    (void)state;
    recorder_release(&recorder, 5000 + 3500);
    iterate(3500, 4500, 0);
    assert_int_equal(slice_units(0), 0);
    assert_int_equal(slice_units(1), 0);
    assert_in_range(slice_units(2), SHM_ITERATION_UNITS / 2 - 1, SHM_ITERATION_UNITS / 2 + 1);
    assert_int_equal(slice_units(2) + slice_units(3), SHM_ITERATION_UNITS);
    /* From then on the time between iterations is theirs. */
    iterate(5500, 6500, 0);
    assert_int_equal(slice_units(3) + slice_units(4) + slice_units(5), 3 * SHM_ITERATION_UNITS / 2);
    assert_int_equal(slot->iterations, 2);
}

static void a_release_at_the_start_changes_nothing(void **state)
{
    (void)state;
    recorder_release(&recorder, 5000);
    iterate(500, 2000, 0);
    assert_int_equal(slice_units(0), SHM_ITERATION_UNITS / 2);
    assert_int_equal(slice_units(1), 0);
}

/* -- CPU --------------------------------------------------------------------------------------- */

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void *burn(void *argument)
{
    uint64_t until_ns = thread_cpu_ns() + *(uint64_t *)argument;
    while (thread_cpu_ns() < until_ns)
        ;
    return NULL;
}

static void cpu_time_is_the_threads_own_beside_the_processs(void **state)
{
    (void)state;
    struct cpu_reading before, after;
    uint64_t much_ns = 200 * NS_PER_MS, little_ns = 20 * NS_PER_MS;
    pthread_t other;
    cpu_read((struct cpu_source){0}, &before);
    burn(&little_ns);
    assert_int_equal(pthread_create(&other, NULL, burn, &much_ns), 0);
    pthread_join(other, NULL);
    cpu_read((struct cpu_source){0}, &after);
    struct shm_cpu used = cpu_between(&before, &after, 3);
    assert_int_equal(used.iterations, 3);
    assert_true(used.cpu_ns >= little_ns && used.cpu_ns < much_ns);
    assert_true(used.wall_ns >= much_ns);
    assert_true(used.process_cpu_ns >= much_ns + little_ns);
    assert_int_equal(used.process_wall_ns, used.wall_ns);
}

#define SLEEPS 5

struct sleeper {
    char status[64];        /* /proc's file of the thread */
    unsigned long switches; /* that it had before */
    int pipe[2];            /* where it sleeps */
};

/* Voluntary ones, as /proc counts them. */
static unsigned long read_switches(const char *status)
{
    char line[128];
    unsigned long switches = 0;
    FILE *file = fopen(status, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "voluntary_ctxt_switches: %lu", &switches) == 1)
            break;
    if (file)
        fclose(file);
    return switches;
}

/* Wakes a thread each time that it has gone to sleep. */
static void *wake(void *data)
{
    const struct sleeper *sleeper = data;
    for (unsigned i = 1; i <= SLEEPS; i++) {
        while (read_switches(sleeper->status) < sleeper->switches + i)
            sched_yield();
        if (write(sleeper->pipe[1], "", 1) != 1)
            break;
    }
    return NULL;
}

static void a_sleep_is_a_voluntary_switch(void **state)
{
    (void)state;
    struct cpu_reading before, after;
    struct sleeper sleeper;
    pthread_t waker;
    char byte;
    snprintf(sleeper.status, sizeof sleeper.status, "/proc/self/task/%d/status", (int)gettid());
    assert_int_equal(pipe(sleeper.pipe), 0);
    uint64_t begin_ns = clock_now_ns();
    cpu_read((struct cpu_source){0}, &before);
    sleeper.switches = read_switches(sleeper.status);
    assert_int_equal(pthread_create(&waker, NULL, wake, &sleeper), 0);
    for (unsigned i = 0; i < SLEEPS; i++)
        assert_int_equal(read(sleeper.pipe[0], &byte, 1), 1);
    cpu_read((struct cpu_source){0}, &after);
    struct shm_cpu used = cpu_between(&before, &after, 1);
    pthread_join(waker, NULL);
    close(sleeper.pipe[0]);
    close(sleeper.pipe[1]);
    assert_in_range(used.voluntary, SLEEPS, 100);
    assert_in_range(used.wall_ns, 1, clock_now_ns() - begin_ns);
}

/* Two threads that compute on one CPU: each waits while the other has it. */
static void waiting_for_a_cpu_is_no_sleep(void **state)
{
    (void)state;
    struct cpu_reading before, after;
    cpu_set_t all, one;
    uint64_t much_ns = 50 * NS_PER_MS;
    pthread_t other;
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    cpu_read((struct cpu_source){0}, &before);
    assert_int_equal(pthread_create(&other, NULL, burn, &much_ns), 0); /* on the same CPU */
    burn(&much_ns);
    pthread_join(other, NULL);
    cpu_read((struct cpu_source){0}, &after);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    struct shm_cpu used = cpu_between(&before, &after, 1);
    assert_true(used.delay_ns > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_timed_before_an_iteration_is_known),
        cmocka_unit_test(a_single_call_is_never_timed_apart),
        cmocka_unit_test(sampling_keeps_to_its_share_and_leaves_no_call_out),
        cmocka_unit_test(only_a_shorter_iteration_changes_the_share),
        cmocka_unit_test(the_measured_cost_is_that_of_a_clock_reading_at_least),
        cmocka_unit_test_setup_teardown(calls_count_in_the_window_only, begin, end),
        cmocka_unit_test_setup_teardown(what_begins_in_the_window_counts_in_full, begin, end),
        cmocka_unit_test_setup_teardown(the_longest_iterations_are_noted, begin, end),
        cmocka_unit_test_setup_teardown(an_open_loop_notes_only_what_was_due, begin, end),
        cmocka_unit_test_setup_teardown(what_ends_before_the_window_begins_counts_nowhere, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_connection_stands_still_while_none_has_an_answer, begin,
                                        end),
        cmocka_unit_test_setup_teardown(cpu_counts_from_the_end_of_the_warmup, begin, end),
        cmocka_unit_test_setup_teardown(fixed_work_ends_after_its_iterations, begin, end),
        cmocka_unit_test_setup_teardown(work_by_time_never_finishes, begin, end),
        cmocka_unit_test_setup_teardown(fixed_work_of_any_length_has_its_slices, begin, end),
        cmocka_unit_test_setup_teardown(no_time_before_the_release_is_credited, begin, end),
        cmocka_unit_test_setup_teardown(a_release_at_the_start_changes_nothing, begin, end),
        cmocka_unit_test(cpu_time_is_the_threads_own_beside_the_processs),
        cmocka_unit_test(a_sleep_is_a_voluntary_switch),
        cmocka_unit_test(waiting_for_a_cpu_is_no_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
