/* What described workloads need of the emulated driver: their kernels, copies within the device,
 * and events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "tests/unit/emul/driver.h"

#define ELEMENTS 4096
#define BYTES (ELEMENTS * sizeof(int))

static struct emul_driver cuda;

static void assert_child(void (*body)(void))
{
    int status = run_child(body, NULL, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static struct {
    int in[ELEMENTS], out[ELEMENTS];
    cuda_device_pointer a, b;
    cuda_stream stream;
    cuda_module module;
    cuda_function compute, load, streaming;
} rig;

static void rig_init(void)
{
    emul_driver_start(&cuda);
    for (int i = 0; i < ELEMENTS; i++)
        rig.in[i] = i;
    CHECK_EQUAL(cuda.mem_alloc(&rig.a, BYTES), 0);
    CHECK_EQUAL(cuda.mem_alloc(&rig.b, BYTES), 0);
    CHECK_EQUAL(cuda.stream_create(&rig.stream, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(cuda.module_load_data(&rig.module, "image"), 0);
    CHECK_EQUAL(cuda.module_get_function(&rig.compute, rig.module, "mpsweep_compute"), 0);
    CHECK_EQUAL(cuda.module_get_function(&rig.load, rig.module, "mpsweep_load"), 0);
    CHECK_EQUAL(cuda.module_get_function(&rig.streaming, rig.module, "mpsweep_stream"), 0);
}

static cuda_result compute(int value, int elements, int steps)
{
    void *parameters[] = {&rig.a, &rig.b, &value, &elements, &steps};
    return cuda.launch_kernel(rig.compute, 5, 1, 1, 64, 1, 1, 0, rig.stream, parameters, NULL);
}

static cuda_result load(int value, int elements, int steps)
{
    unsigned vectors = 128;
    void *parameters[] = {&rig.a, &rig.b, &value, &elements, &steps, &rig.a, &vectors};
    return cuda.launch_kernel(rig.load, 5, 1, 1, 64, 1, 1, 0, rig.stream, parameters, NULL);
}

static cuda_result streaming(int value, unsigned long long vectors, unsigned long long total)
{
    void *parameters[] = {&rig.a, &rig.b, &value, &vectors, &total};
    return cuda.launch_kernel(rig.streaming, 160, 1, 1, 64, 1, 1, 0, rig.stream, parameters, NULL);
}

/* In, a kernel that is given, a copy back within the device, out: in the order of the stream. */
static void begin(void)
{
    memset(rig.out, 0xff, BYTES);
    CHECK_EQUAL(cuda.memcpy_htod_async(rig.a, rig.in, BYTES, rig.stream), 0);
}

static void end(int added, int elements)
{
    CHECK_EQUAL(cuda.memcpy_dtod_async(rig.a, rig.b, BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.a, BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    for (int i = 0; i < elements; i++)
        CHECK_EQUAL(rig.out[i], i + added);
}

static void body_results(void)
{
    rig_init();
    begin();
    CHECK_EQUAL(compute(3, 1024, 100), 0);
    end(3, 1024);
    begin();
    CHECK_EQUAL(load(4, 1024, 100), 0);
    end(4, 1024);
    begin();
    CHECK_EQUAL(streaming(5, ELEMENTS / 4, ELEMENTS / 4), 0);
    end(5, 1024); /* so much of it is computed */
    /* Round the buffer several times: the same result. */
    begin();
    CHECK_EQUAL(streaming(7, ELEMENTS / 4, 10 * ELEMENTS), 0);
    end(7, 1024);
}

static void body_graph(void)
{
    cuda_graph graph;
    cuda_graph_exec exec;
    rig_init();
    begin();
    CHECK_EQUAL(cuda.stream_begin_capture(rig.stream, CUDA_CAPTURE_MODE_THREAD_LOCAL), 0);
    CHECK_EQUAL(compute(3, ELEMENTS, 100), 0);
    CHECK_EQUAL(cuda.memcpy_dtod_async(rig.a, rig.b, BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_end_capture(rig.stream, &graph), 0);
    CHECK_EQUAL(cuda.graph_instantiate(&exec, graph, 0), 0);
    CHECK_EQUAL(cuda.graph_launch(exec, rig.stream), 0);
    CHECK_EQUAL(cuda.graph_launch(exec, rig.stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.a, BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_EQUAL(rig.out[i], i + 6);
}

/* Milliseconds of the device between two moments of the stream, which are the model's: exact. */
static float time_of(int steps, unsigned long long total)
{
    cuda_event from, to;
    float ms = -1.0f;
    CHECK_EQUAL(cuda.event_create(&from, 0), 0);
    CHECK_EQUAL(cuda.event_create(&to, 0), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, from, to), CUDA_INVALID_HANDLE);
    /* So long that what follows is launched while it runs. */
    CHECK_EQUAL(compute(1, 64, 22000000), 0);
    CHECK_EQUAL(cuda.event_record(from, rig.stream), 0);
    CHECK_EQUAL(total ? streaming(1, 64, total) : compute(1, 64, steps), 0);
    CHECK_EQUAL(cuda.event_record(to, rig.stream), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, from, to), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, from, to), 0);
    CHECK_EQUAL(cuda.event_destroy(from), 0);
    CHECK_EQUAL(cuda.event_destroy(to), 0);
    return ms;
}

static void body_time(void)
{
    rig_init();
    /* 20 us and 45 ns a step; 32 bytes a vector at 1 TB/s. */
    float ms = time_of(1000, 0);
    CHECK(ms > 0.0645f && ms < 0.0655f);
    ms = time_of(0, 1000000);
    CHECK(ms > 0.0515f && ms < 0.0525f);
}

static void body_wrong_use(void)
{
    rig_init();
    CHECK_EQUAL(cuda.memcpy_dtod_async(rig.a, rig.b, BYTES + 1, rig.stream), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.memcpy_dtod_async(rig.a, 4096, 4, rig.stream), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.event_record(NULL, rig.stream), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(streaming(1, ELEMENTS, ELEMENTS), 0); /* four times what is there */
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), CUDA_ILLEGAL_ADDRESS);
}

#define IN_A_CHILD(name)                                                                           \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        assert_child(body_##name);                                                                 \
    }
IN_A_CHILD(results)
IN_A_CHILD(graph)
IN_A_CHILD(time)
IN_A_CHILD(wrong_use)

/* The waits, and the time between them, are all within what the clock saw. */
static void body_lateness(void)
{
    char path[BUILT_PATH_BYTES];
    uint64_t of[6]; /* waits; planned, late, longest, between, capped: ns */
    uint64_t began_ns = clock_now_ns();
    rig_init();
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(compute(1, ELEMENTS, 100000), 0);
        CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    }
    uint64_t elapsed_ns = clock_now_ns() - began_ns;
    snprintf(path, sizeof path, "%s/%ld", getenv("MPSWEEP_EMUL_LATENESS"), (long)getpid());
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK_EQUAL(fread(of, sizeof *of, 6, file), 6);
    fclose(file);
    CHECK(of[0] >= 2);
    CHECK(of[1] > 0 && of[2] >= of[3] && of[4] > 0 && of[5] <= of[2]);
    CHECK(of[1] + of[2] + of[4] <= elapsed_ns);
}

static void test_lateness_is_counted_for_a_witness(void **state)
{
    (void)state;
    char folder[] = "/tmp/mpsweep-late.XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    int status = run_child(body_lateness, "MPSWEEP_EMUL_LATENESS", folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_wrong_use),
        cmocka_unit_test(test_lateness_is_counted_for_a_witness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
