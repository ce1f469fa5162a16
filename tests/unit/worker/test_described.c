/* The engine of described workloads: which calls it makes for which steps, and that a result that
 * is wrong or old does not go unseen. The driver is a table of functions: this one runs everything
 * at once, notes it, and can lose copies and kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/clock.h"
#include "tests/unit/worker/fake_memory.h"
#include "worker/engines/described.h"

/* A letter for each call: i, o, d copies; c, m, w kernels; s synchronise; ( ) capture; g graph. */
static struct {
    char calls[256];
    char lost; /* such a call does nothing */
    bool capturing;
    unsigned graphs;
    char recorded[8][64]; /* what each graph holds */
    int blocks, threads, shared, shared_allowed;
    unsigned long long total;
    cuda_device_pointer set;
    unsigned set_vectors;
} saw;

static bool noted(char letter)
{
    size_t length = strlen(saw.calls);
    assert_true(length + 1 < sizeof saw.calls);
    saw.calls[length] = letter;
    saw.calls[length + 1] = '\0';
    return !saw.capturing && letter != saw.lost;
}

static cuda_result fake_in(cuda_device_pointer to, const void *from, size_t bytes,
                           cuda_stream stream)
{
    (void)stream;
    if (noted('i'))
        memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS_;
}

static cuda_result fake_out(void *to, cuda_device_pointer from, size_t bytes, cuda_stream stream)
{
    (void)stream;
    if (noted('o'))
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS_;
}

static cuda_result fake_within(cuda_device_pointer to, cuda_device_pointer from, size_t bytes,
                               cuda_stream stream)
{
    (void)stream;
    assert_true(to != from);
    if (noted('d'))
        memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS_;
}

static cuda_result fake_synchronize(cuda_stream stream)
{
    (void)stream;
    noted('s');
    return CUDA_SUCCESS_;
}

static char compute, load, streaming, waiting; /* their addresses are functions */

static cuda_result fake_launch(cuda_function function, unsigned int grid_x, unsigned int grid_y,
                               unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                               unsigned int block_z, unsigned int shared_bytes, cuda_stream stream,
                               void **parameters, void **extra)
{
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)stream;
    (void)extra;
    const void *which = function;
    saw.blocks = (int)grid_x;
    saw.threads = (int)block_x;
    saw.shared = (int)shared_bytes;
    assert_true(shared_bytes <= 48 * 1024 || (int)shared_bytes <= saw.shared_allowed);
    if (which == &waiting) {
        saw.total = *(unsigned long long *)parameters[0];
        noted('w');
        return CUDA_SUCCESS_;
    }
    const int *from = (const int *)(uintptr_t) * (cuda_device_pointer *)parameters[0];
    int *to = (int *)(uintptr_t) * (cuda_device_pointer *)parameters[1];
    int value = *(int *)parameters[2];
    size_t elements = (size_t) * (int *)parameters[3];
    saw.total = (unsigned long long)*(int *)parameters[4];
    if (which == &load) {
        saw.set = *(cuda_device_pointer *)parameters[5];
        saw.set_vectors = *(unsigned *)parameters[6];
    }
    if (which == &streaming) {
        elements = *(unsigned long long *)parameters[3] * 4;
        saw.total = *(unsigned long long *)parameters[4];
    }
    if (noted(which == &streaming ? 'm' : which == &load ? 'l' : 'c'))
        for (size_t i = 0; i < elements; i++)
            to[i] = (int)((unsigned)from[i] + (unsigned)value);
    return CUDA_SUCCESS_;
}

/* A GPU whose blocks have up to 100 KiB, and with a cache of 40 MiB. */
static cuda_result fake_attribute(int *value, cuda_device_attribute attribute, cuda_device device)
{
    (void)device;
    if (attribute == CUDA_ATTRIBUTE_L2_CACHE_BYTES) {
        *value = 40 << 20;
        return CUDA_SUCCESS_;
    }
    assert_int_equal(attribute, CUDA_ATTRIBUTE_SHARED_MEMORY_OPTIN);
    *value = 100 * 1024;
    return CUDA_SUCCESS_;
}

static cuda_result fake_set_attribute(cuda_function function, cuda_function_attribute attribute,
                                      int value)
{
    assert_ptr_equal(function, (cuda_function)(void *)&streaming);
    assert_int_equal(attribute, CUDA_FUNCTION_DYNAMIC_SHARED);
    saw.shared_allowed = value;
    return CUDA_SUCCESS_;
}

static cuda_result fake_begin(cuda_stream stream, cuda_capture_mode mode)
{
    (void)stream, (void)mode;
    noted('(');
    saw.capturing = true;
    return CUDA_SUCCESS_;
}

static cuda_result fake_end(cuda_stream stream, cuda_graph *graph)
{
    (void)stream;
    const char *begin = strrchr(saw.calls, '(') + 1;
    saw.capturing = false;
    strcpy(saw.recorded[saw.graphs], begin);
    *graph = (cuda_graph)(void *)saw.recorded[saw.graphs++];
    noted(')');
    return CUDA_SUCCESS_;
}

static cuda_result fake_instantiate(cuda_graph_exec *exec, cuda_graph graph,
                                    unsigned long long flags)
{
    (void)flags;
    *exec = (cuda_graph_exec)(void *)graph;
    return CUDA_SUCCESS_;
}

static cuda_result fake_graph_launch(cuda_graph_exec exec, cuda_stream stream)
{
    (void)exec, (void)stream;
    noted('g');
    return CUDA_SUCCESS_;
}

static cuda_result fake_exec_destroy(cuda_graph_exec exec)
{
    assert_non_null(exec);
    return CUDA_SUCCESS_;
}

static cuda_result fake_graph_destroy(cuda_graph graph)
{
    assert_non_null(graph);
    return CUDA_SUCCESS_;
}

struct rig {
    struct shm_header header;
    struct worker_process process;
    struct shm_slot slot;
    void *work;
};

static struct rig *rig;

static int tear_down(void **state)
{
    (void)state;
    if (rig && rig->work)
        described_engine.close(rig->work);
    free(rig);
    rig = NULL;
    return 0;
}

/* The only program, after another one that is not to be run. */
static void rig_new(const char *const *steps, uint32_t memory, uint32_t launch, uint32_t check)
{
    struct workload workload;
    tear_down(NULL);
    memset(&saw, 0, sizeof saw);
    rig = aligned_alloc(64, (sizeof *rig + 63) / 64 * 64);
    assert_non_null(rig);
    memset(rig, 0, sizeof *rig);
    assert_int_equal(workload_begin("detect", &workload), STATUS_OK);
    for (; *steps; steps++)
        assert_int_equal(workload_add_step(&workload, *steps), STATUS_OK);
    struct shm_settings *settings = &rig->header.settings;
    settings->workload = WORKLOAD_DESCRIBED;
    settings->memory = memory;
    settings->launch = launch;
    settings->mix.count = 2;
    settings->mix.workloads[0] = (struct mix_workload){.name = "other", .count = 1};
    settings->mix.workloads[1] = (struct mix_workload){
        .name = "detect", .first = 1, .count = workload.count, .check = check};
    settings->mix.steps[0] = (struct workload_step){.kind = STEP_SYNCHRONIZE, .count = 1};
    memcpy(&settings->mix.steps[1], workload.steps, workload.count * sizeof workload.steps[0]);
    rig->slot.workload = 1;
    rig->process.shm.header = &rig->header;
    rig->process.context.compute = (cuda_function)(void *)&compute;
    rig->process.context.load = (cuda_function)(void *)&load;
    rig->process.context.streaming = (cuda_function)(void *)&streaming;
    rig->process.context.delay = (cuda_function)(void *)&waiting;
    rig->process.driver = (struct cuda_driver){
        .stream_create = fake_stream_create,
        .mem_alloc = fake_mem_alloc,
        .mem_free = fake_mem_free,
        .mem_host_alloc = fake_mem_host_alloc,
        .mem_free_host = fake_mem_free_host,
        .memcpy_htod_async = fake_in,
        .memcpy_dtoh_async = fake_out,
        .memcpy_dtod_async = fake_within,
        .stream_synchronize = fake_synchronize,
        .launch_kernel = fake_launch,
        .func_set_attribute = fake_set_attribute,
        .device_get_attribute = fake_attribute,
        .stream_begin_capture = fake_begin,
        .stream_end_capture = fake_end,
        .graph_instantiate = fake_instantiate,
        .graph_launch = fake_graph_launch,
        .graph_exec_destroy = fake_exec_destroy,
        .graph_destroy = fake_graph_destroy,
    };
    assert_int_equal(
        described_engine.open(&rig->process, &rig->process.context, &rig->slot, &rig->work),
        STATUS_OK);
}

#define STEPS(...) ((const char *const[]){__VA_ARGS__, NULL})

static enum status run(struct iteration_times *times)
{
    saw.calls[0] = '\0';
    return engine_run(&described_engine, &rig->process, rig->work, times);
}

static void steps_become_calls(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("copy-in 64K", "kernel blocks=64 threads=256 cycles=100 count=2",
                  "kernel blocks=3 threads=32 bytes=64K", "device-copy 32K count=3", "synchronize",
                  "kernel bytes=16", "copy-out 32K", "copy-out 16 count=2"),
            MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run(&times), STATUS_OK);
        assert_string_equal(saw.calls, "iwwmdddsmooos");
        assert_true(times.end_ns >= times.begin_ns);
    }
    assert_int_equal(saw.total, 1);
    /* What the host has waited for last needs no further wait. */
    rig_new(STEPS("copy-in 64K", "copy-out 64K", "synchronize", "think 1us", "busy 1us"),
            MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "ios");
}

static void repeats_become_calls(void **state)
{
    (void)state;
    struct iteration_times times;
    /* An odd number of kernels: the sides are others each time. */
    const char *const *steps =
        STEPS("copy-in 64K", "repeat 2", "kernel blocks=3 threads=32 bytes=64K", "repeat 3",
              "device-copy 64K", "end", "copy-out 64K", "end", "kernel bytes=16");
    rig_new(steps, MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_YES);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(&times), STATUS_OK);
        assert_string_equal(saw.calls, "imdddomdddoms");
    }
    /* All times go to the same memory, and an error has the step as it stands in the file. */
    struct engine_buffer buffers[ENGINE_BUFFERS];
    described_buffers(rig->work, buffers);
    assert_int_equal(buffers[1].bytes, 64 << 10);
    saw.lost = 'm';
    assert_int_equal(run(&times), STATUS_WORKER);
    assert_non_null(strstr(status_text(), "wrong result of workload 'detect', step 7: "));
    rig_new(steps, MEMORY_PINNED, LAUNCH_GRAPH, WORKLOAD_CHECK_NO);
    assert_string_equal(saw.calls, "(imdddomdddom)");
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "gs");
}

static void kernels_get_their_grid_and_length(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("copy-in 4K", "kernel blocks=64 threads=256 duration=15us", "copy-out 4K"),
            MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_YES);
    described_engine.close(rig->work);
    rig->work = NULL;
    rig->header.settings.mix.steps[2].amount = 2900; /* as it was found out */
    assert_int_equal(
        described_engine.open(&rig->process, &rig->process.context, &rig->slot, &rig->work),
        STATUS_OK);
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "icos");
    assert_int_equal(saw.blocks, 64);
    assert_int_equal(saw.threads, 256);
    assert_int_equal(saw.total, 2900);
    rig_new(STEPS("kernel blocks=7 threads=96 bytes=1M"), MEMORY_PINNED, LAUNCH_STREAM,
            WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_int_equal(saw.blocks, 7);
    assert_int_equal(saw.threads, 96);
    assert_int_equal(saw.total, 65536);
    rig_new(STEPS("kernel cycles=12345"), MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_int_equal(saw.total, 12345);
}

static void kernels_bound_by_the_cache_load_from_one_set(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("copy-in 4K", "kernel duration=15us bound=cache count=2", "kernel bytes=4K",
                  "kernel blocks=8 threads=32 duration=9us bound=cache", "copy-out 4K"),
            MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "illmlos");
    /* A third of the cache. */
    assert_int_equal(saw.set_vectors, (40 << 20) / 16 / 3);
    assert_true(saw.set != 0);
}

static void pageable_copies_wait_before(void **state)
{
    (void)state;
    struct iteration_times times;
    const char *const *steps = STEPS("copy-in 64K", "kernel bytes=64K", "copy-out 64K");
    rig_new(steps, MEMORY_PAGEABLE, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "imso");
    rig->header.settings.sync = SYNC_NONE;
    described_engine.close(rig->work);
    rig->work = NULL;
    assert_int_equal(
        described_engine.open(&rig->process, &rig->process.context, &rig->slot, &rig->work),
        STATUS_OK);
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "imo");
    rig_new(steps, MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "imos");
}

static void graphs_are_cut_at_the_host(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("think 1us", "copy-in 64K", "kernel bytes=64K count=2", "synchronize", "busy 1us",
                  "kernel bytes=64K", "copy-out 64K"),
            MEMORY_PINNED, LAUNCH_GRAPH, WORKLOAD_CHECK_NO);
    assert_int_equal(saw.graphs, 2);
    assert_string_equal(saw.recorded[0], "imm");
    assert_string_equal(saw.recorded[1], "mo");
    assert_int_equal(run(&times), STATUS_OK);
    assert_string_equal(saw.calls, "gsgs");
    assert_int_equal(times.h2d_ns, 0);
    assert_int_equal(times.d2h_ns, 0);
    assert_int_equal(times.calls, 0);
}

static void what_is_lost_is_seen(void **state)
{
    (void)state;
    struct iteration_times times;
    for (const char *lost = "imdo"; *lost; lost++) {
        rig_new(STEPS("copy-in 64K", "kernel bytes=64K", "device-copy 64K", "kernel bytes=64K",
                      "copy-out 64K"),
                MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
        assert_int_equal(run(&times), STATUS_OK);
        assert_int_equal(run(&times), STATUS_OK);
        saw.lost = *lost;
        assert_int_equal(run(&times), STATUS_WORKER);
        assert_non_null(
            strstr(status_text(), "wrong result of workload 'detect', step 5: element "));
    }
    saw.lost = 'o';
    rig_new(STEPS("copy-in 64K", "copy-out 64K"), MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_NO);
    saw.lost = 'o';
    assert_int_equal(run(&times), STATUS_OK); /* as ordered */
}

static void what_is_not_known_is_not_checked(void **state)
{
    (void)state;
    struct iteration_times times;
    /* Only the first 48 bytes of what comes back came in; and nothing at all. */
    rig_new(STEPS("copy-in 64K", "device-copy 48", "copy-out 64K"), MEMORY_PINNED, LAUNCH_STREAM,
            WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    const struct described *described = rig->work;
    assert_int_equal(described->steps[2].checked, 12);
    rig_new(STEPS("kernel bytes=64K", "copy-out 64K"), MEMORY_PINNED, LAUNCH_STREAM,
            WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    /* Whatever their size, so much of each. */
    rig_new(STEPS("copy-in 1M", "copy-out 1M"), MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_YES);
    described = rig->work;
    assert_int_equal(described->steps[1].checked, DESCRIBED_CHECKED_INTS);
}

static void the_host_takes_its_time(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("copy-in 64K", "think 3ms", "busy 2ms", "work 1000"), MEMORY_PINNED,
            LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_true(times.end_ns - times.begin_ns >= 5 * NS_PER_MS);
    /* It is not a phase of the GPU. */
    assert_true(times.h2d_ns + times.launch_ns + times.sync_ns + times.d2h_ns + 5 * NS_PER_MS <=
                times.end_ns - times.begin_ns);
}

/* In parts, between which other streams go on: it is one iteration nevertheless. */
static void a_host_that_shares_its_thread_begins_once(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("busy 2ms", "copy-in 64K"), MEMORY_PINNED, LAUNCH_STREAM,
            WORKLOAD_CHECK_POSSIBLE);
    struct described *described = rig->work;
    described->shares_thread = true;
    unsigned serial = described->serial;
    assert_int_equal(run(&times), STATUS_OK);
    assert_int_equal(described->serial, serial + 1);
    assert_true(times.end_ns - times.begin_ns >= 2 * NS_PER_MS);
}

static void kernels_get_their_shared_memory(void **state)
{
    (void)state;
    struct iteration_times times;
    rig_new(STEPS("kernel bytes=1M shared=48K"), MEMORY_PINNED, LAUNCH_STREAM,
            WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_int_equal(saw.shared, 48 * 1024);
    assert_int_equal(saw.shared_allowed, 0);
    /* Another step of fewer does not take it back. */
    rig_new(STEPS("kernel bytes=1M shared=64K", "kernel bytes=1M shared=96K",
                  "kernel bytes=1M shared=64K"),
            MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    assert_int_equal(run(&times), STATUS_OK);
    assert_int_equal(saw.shared, 64 * 1024);
    assert_int_equal(saw.shared_allowed, 100 * 1024);
    described_engine.close(rig->work);
    rig->work = NULL;
    rig->header.settings.mix.steps[1].shared = 101 * 1024;
    assert_int_equal(
        described_engine.open(&rig->process, &rig->process.context, &rig->slot, &rig->work),
        STATUS_INFEASIBLE);
    assert_string_equal(
        status_text(),
        "a block has up to 102400 bytes of shared memory on this GPU, and not 103424");
}

static void a_wrong_program_is_refused(void **state)
{
    (void)state;
    rig_new(STEPS("copy-in 64K"), MEMORY_PINNED, LAUNCH_STREAM, WORKLOAD_CHECK_POSSIBLE);
    void *work = NULL;
    rig->slot.workload = 2;
    assert_int_equal(described_engine.open(&rig->process, &rig->process.context, &rig->slot, &work),
                     STATUS_PROTOCOL);
    rig->slot.workload = 1;
    rig->header.settings.mix.workloads[1].count = WORKLOAD_STEPS;
    assert_int_equal(described_engine.open(&rig->process, &rig->process.context, &rig->slot, &work),
                     STATUS_PROTOCOL);
    assert_null(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(steps_become_calls, tear_down),
        cmocka_unit_test_teardown(repeats_become_calls, tear_down),
        cmocka_unit_test_teardown(kernels_get_their_grid_and_length, tear_down),
        cmocka_unit_test_teardown(kernels_bound_by_the_cache_load_from_one_set, tear_down),
        cmocka_unit_test_teardown(pageable_copies_wait_before, tear_down),
        cmocka_unit_test_teardown(graphs_are_cut_at_the_host, tear_down),
        cmocka_unit_test_teardown(what_is_lost_is_seen, tear_down),
        cmocka_unit_test_teardown(what_is_not_known_is_not_checked, tear_down),
        cmocka_unit_test_teardown(the_host_takes_its_time, tear_down),
        cmocka_unit_test_teardown(a_host_that_shares_its_thread_begins_once, tear_down),
        cmocka_unit_test_teardown(kernels_get_their_shared_memory, tear_down),
        cmocka_unit_test_teardown(a_wrong_program_is_refused, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
