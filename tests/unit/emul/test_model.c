/* The time model with explicit times: nothing here reads a clock or sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emul/model/model.h"

#define MS UINT64_C(1000000)
#define KERNELS 220
#define WORKERS_MAX 80
#define SLOTS ((uint32_t)model_machine_default.slots)
#define SLICE_NS model_machine_default.slice_ns

/* Times start late enough that nothing looks like a zeroed field. */
#define ORIGIN (1000 * SLICE_NS)

static bool always_alive(int32_t pid, uint64_t start_time)
{
    (void)pid, (void)start_time;
    return true;
}

static bool never_alive(int32_t pid, uint64_t start_time)
{
    (void)pid, (void)start_time;
    return false;
}

static bool only_odd_alive(int32_t pid, uint64_t start_time)
{
    (void)start_time;
    return pid % 2 == 1;
}

struct machine {
    struct model *model;
    struct model_process processes[WORKERS_MAX];
    struct model_stream streams[WORKERS_MAX];
    uint64_t host_ns[WORKERS_MAX];
};

static void clear(struct model *model)
{
    memset(model, 0, sizeof *model);
    model->machine = model_machine_default;
}

static int set_up(void **state)
{
    struct machine *machine = calloc(1, sizeof *machine);
    if (machine == NULL)
        return -1;
    machine->model = calloc(1, sizeof *machine->model);
    *state = machine;
    if (machine->model == NULL)
        return -1;
    clear(machine->model);
    return 0;
}

static int tear_down(void **state)
{
    struct machine *machine = *state;
    free(machine->model);
    free(machine);
    return 0;
}

static void open_process(struct machine *machine, unsigned index, int32_t server, uint32_t queues)
{
    assert_true(model_context_open(machine->model, 100 + (int32_t)index, 1, server, queues, SLOTS,
                                   always_alive, &machine->processes[index]));
}

static const struct model_work *seed_kernel(void)
{
    static struct model_work kernel;
    kernel = model_kernel(&model_machine_default, 5, 64, 3072, 0, false);
    return &kernel;
}

/* When a chain of kernels alone would end, but for the host's first call. */
static uint64_t chain_ns(void)
{
    return KERNELS * seed_kernel()->duration_ns;
}

/* Every worker launches a chain; workers take turns, launch by launch. Worker w belongs to process
 * w / threads. Returns the time from the origin to the last end. */
static uint64_t run_chains(struct machine *machine, unsigned workers, unsigned threads)
{
    uint64_t last = 0;
    for (unsigned w = 0; w < workers; w++) {
        model_stream_init(&machine->processes[w / threads], &machine->streams[w]);
        machine->host_ns[w] = 0;
    }
    for (unsigned k = 0; k < KERNELS; k++)
        for (unsigned w = 0; w < workers; w++) {
            uint64_t end = model_issue_launch(
                &(struct model_issue){machine->model, &machine->processes[w / threads],
                                      &machine->streams[w], ORIGIN, &machine->host_ns[w]},
                seed_kernel());
            last = end > last ? end : last;
        }
    return last - ORIGIN;
}

static void assert_about(uint64_t actual, uint64_t expected)
{
    /* Launching costs a little beside the kernels. */
    assert_in_range(actual, expected, expected + expected / 20);
}

static void test_one_stream(void **state)
{
    struct machine *machine = *state;
    open_process(machine, 0, 0, 8);
    assert_about(run_chains(machine, 1, 1), chain_ns());
}

static void test_streams_on_queues(void **state)
{
    static const struct {
        uint32_t queues;
        unsigned threads;
        unsigned rounds; /* how many times longer than one stream */
    } cases[] = {{8, 8, 1}, {8, 16, 2}, {2, 2, 1}, {2, 8, 4}, {32, 16, 1}, {32, 32, 1}, {1, 3, 3}};
    struct machine *machine = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_process(machine, 0, 0, cases[i].queues);
        assert_about(run_chains(machine, cases[i].threads, cases[i].threads),
                     cases[i].rounds * chain_ns());
        clear(machine->model);
    }
}

static void test_slots_bound_all_clients(void **state)
{
    struct machine *machine = *state;
    for (unsigned p = 0; p < 64; p++)
        open_process(machine, p, 77, 2);
    assert_about(run_chains(machine, 64, 1), 2 * chain_ns());
}

static void test_mps_clients_overlap(void **state)
{
    struct machine *machine = *state;
    for (unsigned p = 0; p < 32; p++)
        open_process(machine, p, 77, 2);
    assert_about(run_chains(machine, 32, 1), chain_ns());
}

static void test_a_percentage_bounds_one_client(void **state)
{
    struct machine *machine = *state;
    assert_true(
        model_context_open(machine->model, 1, 1, 77, 32, 4, always_alive, &machine->processes[0]));
    assert_about(run_chains(machine, 16, 16), 4 * chain_ns());
}

/* However many processes: together no faster than one, and hardly slower. */
static void test_processes_take_turns(void **state)
{
    struct machine *machine = *state;
    for (unsigned count = 2; count <= 16; count *= 2) {
        for (unsigned p = 0; p < count; p++)
            open_process(machine, p, 0, 8);
        uint64_t took = run_chains(machine, count, 1);
        assert_in_range(took, count * chain_ns(), count * chain_ns() * 115 / 100);
        clear(machine->model);
    }
}

/* The same where one process issues all its work before the next. */
static void test_turns_do_not_depend_on_the_order(void **state)
{
    struct machine *machine = *state;
    uint64_t last = 0;
    for (unsigned p = 0; p < 4; p++) {
        open_process(machine, p, 0, 8);
        model_stream_init(&machine->processes[p], &machine->streams[p]);
        for (unsigned k = 0; k < KERNELS; k++)
            last = model_issue_launch(&(struct model_issue){machine->model, &machine->processes[p],
                                                            &machine->streams[p], ORIGIN + p * MS,
                                                            &machine->host_ns[p]},
                                      seed_kernel());
    }
    assert_true(last - ORIGIN >= 4 * chain_ns() - 4 * SLICE_NS);
}

static void test_threads_overlap_within_their_turn(void **state)
{
    struct machine *machine = *state;
    for (unsigned p = 0; p < 4; p++)
        open_process(machine, p, 0, 8);
    uint64_t took = run_chains(machine, 16, 4);
    assert_in_range(took, 4 * chain_ns(), 4 * chain_ns() * 115 / 100);
}

static void test_a_gone_process_fades(void **state)
{
    struct machine *machine = *state;
    open_process(machine, 0, 0, 8);
    open_process(machine, 1, 0, 8);
    run_chains(machine, 2, 1);

    /* Process 1 stays open, but its work is over: process 0 has the GPU for itself. */
    uint64_t later = ORIGIN + 1000 * MS, end = 0;
    for (unsigned k = 0; k < KERNELS; k++)
        end = model_issue_launch(&(struct model_issue){machine->model, &machine->processes[0],
                                                       &machine->streams[0], later,
                                                       &machine->host_ns[0]},
                                 seed_kernel());
    assert_about(end - later, chain_ns());
}

static void test_closing_gives_slices_back(void **state)
{
    struct machine *machine = *state;
    struct model_work long_one = model_kernel(&model_machine_default, 1, 1, 0, 10000 * MS, false);
    open_process(machine, 0, 0, 8);
    open_process(machine, 1, 0, 8);
    model_stream_init(&machine->processes[0], &machine->streams[0]);
    model_issue_launch(&(struct model_issue){machine->model, &machine->processes[0],
                                             &machine->streams[0], ORIGIN, &machine->host_ns[0]},
                       &long_one);
    model_context_close(machine->model, &machine->processes[0]);
    model_stream_init(&machine->processes[1], &machine->streams[1]);
    uint64_t end = model_issue_launch(&(struct model_issue){machine->model, &machine->processes[1],
                                                            &machine->streams[1], ORIGIN,
                                                            &machine->host_ns[1]},
                                      seed_kernel());
    assert_in_range(end - ORIGIN, 0, MS);
}

static void test_work_beyond_the_ring(void **state)
{
    struct machine *machine = *state;
    uint64_t length = 2 * MODEL_SLICES * SLICE_NS;
    struct model_work endless = model_kernel(&model_machine_default, 1, 1, 0, length, false);
    open_process(machine, 0, 0, 8);
    model_stream_init(&machine->processes[0], &machine->streams[0]);
    uint64_t end = model_issue_launch(&(struct model_issue){machine->model, &machine->processes[0],
                                                            &machine->streams[0], ORIGIN,
                                                            &machine->host_ns[0]},
                                      &endless);
    assert_in_range(end - ORIGIN, length, length + MS);
}

static void test_launch_path_is_shared(void **state)
{
    struct machine *machine = *state;
    open_process(machine, 0, 0, 32);
    open_process(machine, 1, 77, 32);
    open_process(machine, 2, 77, 32);
    struct model_work empty = model_kernel(&model_machine_default, 1, 1, 0, 1, false);
    for (unsigned w = 0; w < 2; w++)
        model_stream_init(&machine->processes[0], &machine->streams[w]);
    for (unsigned k = 0; k < 100; k++)
        for (unsigned w = 0; w < 2; w++)
            model_issue_launch(&(struct model_issue){machine->model, &machine->processes[0],
                                                     &machine->streams[w], ORIGIN,
                                                     &machine->host_ns[w]},
                               &empty);
    assert_int_equal(machine->host_ns[1] - ORIGIN, 200 * model_machine_default.launch_ns);

    /* Two processes have a path each. */
    for (unsigned w = 2; w < 4; w++) {
        model_stream_init(&machine->processes[w - 1], &machine->streams[w]);
        for (unsigned k = 0; k < 100; k++)
            model_issue_launch(&(struct model_issue){machine->model, &machine->processes[w - 1],
                                                     &machine->streams[w], ORIGIN,
                                                     &machine->host_ns[w]},
                               &empty);
        assert_int_equal(machine->host_ns[w] - ORIGIN, 100 * model_machine_default.launch_ns);
    }
}

static void test_front_end_bounds_all_launches(void **state)
{
    struct machine *machine = *state;
    struct model_work empty = model_kernel(&model_machine_default, 1, 1, 0, 1, false);
    uint64_t last = 0;
    for (unsigned p = 0; p < 16; p++) {
        open_process(machine, p, 77, 32);
        for (unsigned k = 0; k < 1000; k++) {
            struct model_stream stream; /* a new one each, so that no stream orders them */
            model_stream_init(&machine->processes[p], &stream);
            uint64_t end =
                model_issue_launch(&(struct model_issue){machine->model, &machine->processes[p],
                                                         &stream, ORIGIN, &machine->host_ns[p]},
                                   &empty);
            last = end > last ? end : last;
        }
    }
    assert_true(last - ORIGIN >= 16000 * model_machine_default.front_ns);
}

static void test_graph_costs_one_launch(void **state)
{
    struct machine *machine = *state;
    struct model_work works[KERNELS];
    open_process(machine, 0, 0, 8);
    for (unsigned k = 0; k < KERNELS; k++)
        works[k] = model_kernel(&model_machine_default, 5, 64, 3072, 0, true);
    /* Sixteen graphs on eight queues overlap, unlike sixteen streams of launches. */
    for (unsigned w = 0; w < 16; w++) {
        model_stream_init(&machine->processes[0], &machine->streams[w]);
        uint64_t end = model_issue_graph(
            &(struct model_issue){machine->model, &machine->processes[0], &machine->streams[w],
                                  ORIGIN, &machine->host_ns[w]},
            works, KERNELS);
        assert_int_equal(machine->host_ns[w] - ORIGIN,
                         (w + 1) * model_machine_default.graph_launch_ns);
        assert_int_equal(end - machine->host_ns[w], KERNELS * works[0].duration_ns);
    }
}

static void test_kernel_cost(void **state)
{
    (void)state;
    uint64_t spin_ns = 1000 * model_machine_default.spin_ns;
    struct model_work kernel = model_kernel(&model_machine_default, 5, 64, 1000, 0, false);
    assert_int_equal(kernel.slots, 1);
    assert_int_equal(kernel.duration_ns, model_machine_default.kernel_ns + spin_ns);
    kernel = model_kernel(&model_machine_default, 160, 64, 1000, 0, false);
    assert_int_equal(kernel.slots, SLOTS);
    assert_int_equal(kernel.duration_ns, model_machine_default.kernel_ns + spin_ns);
    kernel = model_kernel(&model_machine_default, 161, 64, 1000, 0, false);
    assert_int_equal(kernel.slots, SLOTS);
    assert_int_equal(kernel.duration_ns, model_machine_default.kernel_ns + 2 * spin_ns);
    kernel = model_kernel(&model_machine_default, 5, 128, 1000, 0, false);
    assert_int_equal(kernel.slots, 2);
    kernel = model_kernel(&model_machine_default, 1, 1, 0, 5 * MS, false);
    assert_int_equal(kernel.duration_ns, model_machine_default.kernel_ns + 5 * MS);
}

static void test_memory_kernel_cost(void **state)
{
    (void)state;
    const struct model_machine *machine = &model_machine_default;
    const uint64_t bytes = 64000000, whole_ns = bytes * 1000 / machine->device_mb_per_s;
    /* A grid that fills the GPU has all of the bandwidth, also one that more than fills it. */
    struct model_work kernel = model_memory_kernel(machine, 160, 64, bytes, false);
    assert_int_equal(kernel.slots, SLOTS);
    assert_int_equal(kernel.duration_ns, machine->kernel_ns + whole_ns);
    kernel = model_memory_kernel(machine, 16000, 64, bytes, true);
    assert_int_equal(kernel.duration_ns, machine->graph_kernel_ns + whole_ns);
    /* One of a quarter has a quarter. */
    kernel = model_memory_kernel(machine, 40, 64, bytes, false);
    assert_int_equal(kernel.slots, SLOTS / 4);
    assert_int_equal(kernel.duration_ns, machine->kernel_ns + 4 * whole_ns);
}

static void test_large_grids_exclude_each_other(void **state)
{
    struct machine *machine = *state;
    struct model_work large = model_kernel(&model_machine_default, 160, 64, 3072, 0, false);
    uint64_t ends[2];
    open_process(machine, 0, 0, 8);
    for (unsigned w = 0; w < 2; w++) {
        model_stream_init(&machine->processes[0], &machine->streams[w]);
        ends[w] = model_issue_launch(&(struct model_issue){machine->model, &machine->processes[0],
                                                           &machine->streams[w], ORIGIN,
                                                           &machine->host_ns[w]},
                                     &large);
    }
    assert_int_equal(ends[1] - ends[0], large.duration_ns);
}

static void test_copy_engines(void **state)
{
    struct machine *machine = *state;
    struct model_work in = model_copy(&model_machine_default, MODEL_TO_DEVICE, 25000000, false);
    struct model_work out = model_copy(&model_machine_default, MODEL_TO_HOST, 25000000, false);
    uint64_t ends[3];
    assert_int_equal(in.duration_ns, model_machine_default.copy_latency_ns + MS);
    open_process(machine, 0, 0, 8);
    for (unsigned w = 0; w < 3; w++)
        model_stream_init(&machine->processes[0], &machine->streams[w]);
    for (unsigned w = 0; w < 3; w++)
        ends[w] = model_issue_copy(&(struct model_issue){machine->model, &machine->processes[0],
                                                         &machine->streams[w], ORIGIN,
                                                         &machine->host_ns[w]},
                                   w == 1 ? &out : &in);
    assert_int_equal(ends[0], ends[1]); /* opposite ways */
    assert_int_equal(ends[2] - ends[0], in.duration_ns);
}

/* Each GPU copies at its own speed until the host's memory gives no more to all of them. */
static void test_host_memory_is_shared(void **state)
{
    static const uint64_t rates[] = {0, 60000, 20000};
    struct model *gpus[2] = {((struct machine *)*state)->model, calloc(1, sizeof *gpus[1])};
    assert_non_null(gpus[1]);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct model_machine machine = model_machine_default;
        struct model_process processes[2];
        struct model_stream streams[2];
        uint64_t host_free_ns = 0, end = 0, host_ns[2] = {0};
        machine.host_mb_per_s = rates[i];
        struct model_work in = model_copy(&machine, MODEL_TO_DEVICE, 25000000, false);
        for (unsigned g = 0; g < 2; g++) {
            clear(gpus[g]);
            gpus[g]->machine = machine;
            assert_true(
                model_context_open(gpus[g], 100, 1, 0, 8, SLOTS, always_alive, &processes[g]));
            processes[g].host_free_ns = &host_free_ns;
            model_stream_init(&processes[g], &streams[g]);
        }
        for (unsigned n = 0; n < 200; n++)
            end = model_issue_copy(&(struct model_issue){gpus[n % 2], &processes[n % 2],
                                                         &streams[n % 2], ORIGIN, &host_ns[n % 2]},
                                   &in);
        uint64_t own_ns = 100 * in.duration_ns, shared_ns = 200 * in.host_ns;
        assert_about(end - ORIGIN, own_ns > shared_ns ? own_ns : shared_ns);
        assert_int_equal(shared_ns > own_ns, rates[i] == 20000);
    }
    free(gpus[1]);
}

/* A copy that waits for its stream's kernels does not keep the engine from others. */
static void test_copy_fills_the_gap(void **state)
{
    struct machine *machine = *state;
    struct model_work out = model_copy(&model_machine_default, MODEL_TO_HOST, 25000, false);
    struct model_work slow = model_kernel(&model_machine_default, 1, 1, 0, 100 * MS, false);
    open_process(machine, 0, 0, 8);
    for (unsigned w = 0; w < 2; w++)
        model_stream_init(&machine->processes[0], &machine->streams[w]);
    model_issue_launch(&(struct model_issue){machine->model, &machine->processes[0],
                                             &machine->streams[0], ORIGIN, &machine->host_ns[0]},
                       &slow);
    model_issue_copy(&(struct model_issue){machine->model, &machine->processes[0],
                                           &machine->streams[0], ORIGIN, &machine->host_ns[0]},
                     &out);
    uint64_t end =
        model_issue_copy(&(struct model_issue){machine->model, &machine->processes[0],
                                               &machine->streams[1], ORIGIN, &machine->host_ns[1]},
                         &out);
    assert_in_range(end - ORIGIN, out.duration_ns, MS);
}

static void test_many_copies_keep_their_order(void **state)
{
    struct machine *machine = *state;
    struct model_work in = model_copy(&model_machine_default, MODEL_TO_DEVICE, 25000, false);
    uint64_t last = 0;
    open_process(machine, 0, 0, 8);
    model_stream_init(&machine->processes[0], &machine->streams[0]);
    for (unsigned i = 0; i < 3 * MODEL_INTERVALS; i++) {
        uint64_t end = model_issue_copy(
            &(struct model_issue){machine->model, &machine->processes[0], &machine->streams[0],
                                  ORIGIN, &machine->host_ns[0]},
            &in);
        assert_true(end >= last + in.duration_ns);
        last = end;
    }
}

/* Two threads with pageable memory: the first one's copy back waits for its kernels, and the second
 * one's copy in, issued later, waits with it; unless the first synchronises before it copies. */
static void test_pageable_staging(void **state)
{
    struct machine *machine = *state;
    struct model_work in = model_copy(&model_machine_default, MODEL_TO_DEVICE, 12000, true);
    struct model_work out = model_copy(&model_machine_default, MODEL_TO_HOST, 12000, true);
    struct model_work slow = model_kernel(&model_machine_default, 1, 1, 0, 100 * MS, false);
    for (int synchronise = 0; synchronise < 2; synchronise++) {
        uint64_t start = ORIGIN + (uint64_t)synchronise * 1000 * MS;
        uint64_t *host = machine->host_ns;
        open_process(machine, 0, 0, 8);
        struct model_process *process = &machine->processes[0];
        for (unsigned w = 0; w < 2; w++)
            model_stream_init(process, &machine->streams[w]);
        uint64_t kernel_end = model_issue_launch(
            &(struct model_issue){machine->model, process, &machine->streams[0], start, &host[0]},
            &slow);
        uint64_t copied = 0;
        if (!synchronise)
            copied =
                model_issue_pageable(&(struct model_issue){machine->model, process,
                                                           &machine->streams[0], start, &host[0]},
                                     &out);
        uint64_t other =
            model_issue_pageable(&(struct model_issue){machine->model, process,
                                                       &machine->streams[1], start + MS, &host[1]},
                                 &in);
        if (synchronise) {
            assert_in_range(other, start, start + 2 * MS);
        } else {
            assert_true(copied > kernel_end);
            assert_int_equal(host[0], copied);
            assert_int_equal(other, copied + in.duration_ns);
        }
        model_context_close(machine->model, process);
    }
}

static void test_context_table(void **state)
{
    struct machine *machine = *state;
    struct model_process process;
    for (int32_t i = 0; i < MODEL_CONTEXTS; i++)
        assert_true(
            model_context_open(machine->model, i + 1, 5, 0, 8, SLOTS, always_alive, &process));
    assert_false(model_context_open(machine->model, 999, 5, 0, 8, SLOTS, always_alive, &process));
    /* The dead give their entries back when one is needed. */
    assert_true(model_context_open(machine->model, 999, 5, 0, 8, SLOTS, only_odd_alive, &process));
    unsigned used = 0;
    for (unsigned i = 0; i < MODEL_CONTEXTS; i++)
        used += machine->model->contexts[i].pid != 0;
    assert_int_equal(used, MODEL_CONTEXTS / 2 + 1);
}

static void test_memory(void **state)
{
    struct machine *machine = *state;
    open_process(machine, 0, 0, 8);
    open_process(machine, 1, 0, 8);
    struct model_process *first = &machine->processes[0], *second = &machine->processes[1];
    assert_true(model_memory_take(machine->model, first, MODEL_MEMORY_BYTES / 2));
    assert_true(model_memory_take(machine->model, second, MODEL_MEMORY_BYTES / 2));
    assert_false(model_memory_take(machine->model, second, 1));
    assert_false(model_memory_give(machine->model, second, MODEL_MEMORY_BYTES));
    assert_true(model_memory_give(machine->model, second, 1));
    assert_true(model_memory_take(machine->model, first, 1));
    assert_false(model_memory_take(machine->model, first, UINT64_MAX));
    /* What the dead had is free again. */
    struct model_process third;
    assert_true(model_context_open(machine->model, 3, 5, 0, 8, SLOTS, never_alive, &third));
    assert_true(model_memory_take(machine->model, &third, MODEL_MEMORY_BYTES));
}

static void test_repair(void **state)
{
    struct machine *machine = *state;
    open_process(machine, 0, 77, 8);
    open_process(machine, 1, 77, 8);
    uint32_t group = machine->processes[0].group;
    machine->model->groups[group].contexts = 9;
    machine->model->groups[group].engines[0].count = 12345;
    machine->model->groups_end = 0;
    model_repair(machine->model);
    assert_int_equal(machine->model->groups[group].contexts, 2);
    assert_int_equal(machine->model->groups[group].engines[0].count, 0);
    assert_int_equal(machine->model->groups_end, group + 1);
    assert_about(run_chains(machine, 2, 1), chain_ns());
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_one_stream),
        TEST(test_streams_on_queues),
        TEST(test_slots_bound_all_clients),
        TEST(test_mps_clients_overlap),
        TEST(test_a_percentage_bounds_one_client),
        TEST(test_processes_take_turns),
        TEST(test_turns_do_not_depend_on_the_order),
        TEST(test_threads_overlap_within_their_turn),
        TEST(test_a_gone_process_fades),
        TEST(test_closing_gives_slices_back),
        TEST(test_work_beyond_the_ring),
        TEST(test_launch_path_is_shared),
        TEST(test_front_end_bounds_all_launches),
        TEST(test_graph_costs_one_launch),
        TEST(test_kernel_cost),
        TEST(test_memory_kernel_cost),
        TEST(test_large_grids_exclude_each_other),
        TEST(test_copy_engines),
        TEST(test_host_memory_is_shared),
        TEST(test_copy_fills_the_gap),
        TEST(test_many_copies_keep_their_order),
        TEST(test_pageable_staging),
        TEST(test_context_table),
        TEST(test_memory),
        TEST(test_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
