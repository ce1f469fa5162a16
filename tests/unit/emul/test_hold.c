/* The time model beside a kernel whose end is not known; explicit times, no clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emul/model/model.h"

#define US UINT64_C(1000)
#define SLICE_NS model_machine_default.slice_ns
#define ORIGIN (1000 * SLICE_NS)

static bool always_alive(int32_t pid, uint64_t start_time)
{
    (void)pid, (void)start_time;
    return true;
}

static bool first_is_dead(int32_t pid, uint64_t start_time)
{
    (void)start_time;
    return pid != 1;
}

/* Two processes, the first of which has a kernel that holds the GPU. */
struct pair {
    struct model *model;
    struct model_process processes[2];
    struct model_stream streams[2];
    uint64_t begin_ns; /* of the holding kernel */
};

static void start(struct pair *pair, int32_t server, effects_off off)
{
    memset(pair, 0, sizeof *pair);
    pair->model = calloc(1, sizeof *pair->model);
    assert_non_null(pair->model);
    pair->model->machine = model_machine_default;
    pair->model->effects_off = off;
    for (int p = 0; p < 2; p++) {
        assert_true(model_context_open(pair->model, p + 1, 1, server, 8,
                                       (uint32_t)model_machine_default.slots, always_alive,
                                       &pair->processes[p]));
        model_stream_init(&pair->processes[p], &pair->streams[p]);
    }
    pair->begin_ns = model_hold_begin(
        &(struct model_issue){pair->model, &pair->processes[0], &pair->streams[0], ORIGIN, NULL});
    assert_true(pair->begin_ns >= ORIGIN && pair->begin_ns < ORIGIN + SLICE_NS);
}

/* When a kernel of 10 us ends that is launched then, by the second process. */
static uint64_t launch(struct pair *pair, int p, uint64_t now_ns)
{
    const struct model_work kernel = {.kind = MODEL_KERNEL, .slots = 1, .duration_ns = 10 * US};
    uint64_t host_ns = 0;
    return model_issue_launch(&(struct model_issue){pair->model, &pair->processes[p],
                                                    &pair->streams[p], now_ns, &host_ns},
                              &kernel);
}

#define SOON (20 * US) /* for a launch and that kernel */

static void waits_for_the_slice(void **state)
{
    (void)state;
    struct pair pair;
    start(&pair, 0, 0);
    /* In the holder's third slice: at its end. */
    uint64_t end = launch(&pair, 1, pair.begin_ns + 2 * SLICE_NS + 500 * US);
    assert_int_equal(end, pair.begin_ns + 3 * SLICE_NS + 10 * US);
    /* At once while it is there, and then not before another whole slice of the holder's. */
    assert_int_equal(launch(&pair, 1, end - 9 * US), end + 10 * US);
    end += 10 * US;
    assert_int_equal(launch(&pair, 1, end + US), end + SLICE_NS + 10 * US);
    /* The holder's own work does not wait. */
    assert_true(launch(&pair, 0, end + US) < end + US + SOON);

    /* Nor does a copy of the other one: copy engines are not in slices. */
    const struct model_work copy = {
        .kind = MODEL_COPY, .direction = MODEL_TO_HOST, .duration_ns = 10 * US};
    struct model_stream stream;
    model_stream_init(&pair.processes[1], &stream);
    uint64_t now = end + 10 * SLICE_NS, host_ns = 0;
    assert_true(model_issue_copy(
                    &(struct model_issue){pair.model, &pair.processes[1], &stream, now, &host_ns},
                    &copy) < now + SOON);
    assert_true(model_issue_copy(
                    &(struct model_issue){pair.model, &pair.processes[1], &stream, now, &host_ns},
                    &copy) >= now + 20 * US);

    /* When the kernel has ended nothing waits. */
    model_hold_end(
        &(struct model_issue){pair.model, &pair.processes[0], &pair.streams[0], now, NULL});
    assert_int_equal(pair.streams[0].end_ns, now);
    now += 100 * SLICE_NS;
    assert_true(launch(&pair, 1, now) < now + SOON);
    free(pair.model);
}

static void over_mps_nobody_waits(void **state)
{
    (void)state;
    struct pair pair;
    start(&pair, 77, 0);
    assert_true(launch(&pair, 1, pair.begin_ns + 500 * US) < pair.begin_ns + 500 * US + SOON);
    free(pair.model);
}

static void without_the_effect_nobody_waits(void **state)
{
    (void)state;
    struct pair pair;
    start(&pair, 0, 1U << EFFECT_CONTEXT_ADMISSION);
    assert_true(launch(&pair, 1, pair.begin_ns + 500 * US) < pair.begin_ns + 500 * US + SOON);
    free(pair.model);
}

/* A process that dies holds nothing any more once another comes; nor after a repair. */
static void the_dead_hold_nothing(void **state)
{
    (void)state;
    struct pair pair;
    struct model_process third;
    start(&pair, 0, 0);
    model_repair(pair.model);
    assert_true(model_is_held_by_other(pair.model, pair.processes[1].group));
    assert_false(model_is_held_by_other(pair.model, pair.processes[0].group));
    assert_true(model_context_open(pair.model, 3, 1, 0, 8, 1, first_is_dead, &third));
    assert_false(model_is_held_by_other(pair.model, pair.processes[1].group));
    uint64_t now = ORIGIN + 500 * SLICE_NS;
    assert_true(launch(&pair, 1, now) < now + SOON);
    free(pair.model);

    /* Over MPS the others of its group live on. */
    start(&pair, 77, 0);
    assert_true(model_context_open(pair.model, 3, 1, 0, 8, 1, first_is_dead, &third));
    assert_int_equal(pair.model->groups[pair.processes[1].group].holds, 0);
    free(pair.model);
}

/* The launch path of a process is one for all its threads, or one for each. */
static void launch_path(void **state)
{
    (void)state;
    for (int off = 0; off < 2; off++) {
        struct pair pair;
        start(&pair, 77, off ? 1U << EFFECT_LAUNCH_CONTENTION : 0);
        uint64_t host_ns[2] = {0, 0};
        for (int thread = 0; thread < 2; thread++)
            model_pay_launch(&(struct model_issue){pair.model, &pair.processes[1], NULL, ORIGIN,
                                                   &host_ns[thread]},
                             3 * US);
        assert_int_equal(host_ns[0], ORIGIN + 3 * US);
        assert_int_equal(host_ns[1], ORIGIN + (off ? 3 : 6) * US);
        free(pair.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_slice),
        cmocka_unit_test(over_mps_nobody_waits),
        cmocka_unit_test(without_the_effect_nobody_waits),
        cmocka_unit_test(the_dead_hold_nothing),
        cmocka_unit_test(launch_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
