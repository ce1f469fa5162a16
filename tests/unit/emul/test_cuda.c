/* The emulated driver through its entry points, as a program that uses CUDA sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "emul/model/state.h"
#include "tests/unit/emul/driver.h"

#define ELEMENTS 5632
#define BYTES (ELEMENTS * sizeof(int))
#define KERNELS 20
#define EXPECTED (KERNELS * (KERNELS - 1) / 2)

static struct emul_driver cuda;

static void assert_child(void (*body)(void), const char *variable, const char *value)
{
    int status = run_child(body, variable, value);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* -- what the driver reports ------------------------------------------------------------------- */

static void body_before_init(void)
{
    int value, version;
    cuda_context context;
    cuda_device_pointer pointer;
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.driver_get_version(&version), 0);
    CHECK_EQUAL(version, 13000);
    CHECK_EQUAL(cuda.device_get_count(&value), CUDA_NOT_INITIALIZED);
    CHECK_EQUAL(cuda.primary_ctx_retain(&context, 0), CUDA_NOT_INITIALIZED);
    CHECK_EQUAL(cuda.init(1), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.mem_alloc(&pointer, 1), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.primary_ctx_release(0), CUDA_INVALID_CONTEXT);
}

static void body_device(void)
{
    int value;
    size_t bytes;
    char text[64], two[2];
    cuda_device device;
    cuda_uuid uuid;
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.device_get_count(&value), 0);
    CHECK_EQUAL(value, 1);
    CHECK_EQUAL(cuda.device_get(&device, 0), 0);
    CHECK_EQUAL(cuda.device_get(&device, 1), CUDA_INVALID_DEVICE);
    CHECK_EQUAL(cuda.device_get_name(text, sizeof text, 0), 0);
    CHECK(strcmp(text, "mpsweep emulated GPU") == 0);
    CHECK_EQUAL(cuda.device_get_name(two, sizeof two, 0), 0);
    CHECK(strcmp(two, "m") == 0);
    CHECK_EQUAL(cuda.device_get_pci_bus_id(text, sizeof text, 0), 0);
    CHECK(strcmp(text, "ffff:00:00.0") == 0);
    CHECK_EQUAL(cuda.device_get_uuid(&uuid, 0), 0);
    CHECK(memcmp(uuid.bytes, "mpsweep-emulated", 16) == 0);
    CHECK_EQUAL(cuda.device_total_mem(&bytes, 0), 0);
    CHECK_EQUAL(bytes, 8LL << 30);
    CHECK_EQUAL(cuda.device_get_attribute(&value, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 0);
    CHECK_EQUAL(value, 32);
    CHECK_EQUAL(cuda.device_get_attribute(&value, CUDA_ATTRIBUTE_MPS_ENABLED, 0), 0);
    CHECK_EQUAL(value, 0);
    CHECK_EQUAL(cuda.device_get_attribute(&value, CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 0);
    CHECK_EQUAL(value, 9);
    CHECK_EQUAL(cuda.device_get_attribute(&value, 9999, 0), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.device_get_attribute(&value, CUDA_ATTRIBUTE_MPS_ENABLED, 3),
                CUDA_INVALID_DEVICE);
    CHECK_EQUAL(cuda.primary_ctx_set_flags(0, CUDA_SCHEDULE_BLOCK), 0);
}

static void body_errors(void)
{
    const char *text;
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.get_error_name(CUDA_OUT_OF_MEMORY, &text), 0);
    CHECK(strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    CHECK_EQUAL(cuda.get_error_string(CUDA_OUT_OF_MEMORY, &text), 0);
    CHECK(strcmp(text, "out of memory") == 0);
    CHECK_EQUAL(cuda.get_error_name(CUDA_SUCCESS_, &text), 0);
    CHECK(strcmp(text, "CUDA_SUCCESS") == 0);
    CHECK_EQUAL(cuda.get_error_string(35, &text), 0);
    CHECK(strstr(text, "the emulated GPU has no CUDA runtime") != NULL);
    CHECK_EQUAL(cuda.get_error_name(12345, &text), CUDA_INVALID_VALUE);
    CHECK(text == NULL);
    /* Every error of the table has both. */
#define CHECK_ERROR(ours, theirs, value)                                                           \
    if (strncmp(#theirs, "CUDA_", 5) == 0) {                                                       \
        CHECK_EQUAL(cuda.get_error_name(value, &text), 0);                                         \
        CHECK(strcmp(text, #theirs) == 0);                                                         \
        CHECK_EQUAL(cuda.get_error_string(value, &text), 0);                                       \
        CHECK(strlen(text) > 3);                                                                   \
    }
    CUDA_ABI_CONSTANTS(CHECK_ERROR)
}

/* -- work -------------------------------------------------------------------------------------- */

struct worker {
    int *in, *out;
    bool pinned;
    cuda_device_pointer a, b;
    cuda_stream stream;
    cuda_module module;
    cuda_function add, delay;
};

static void worker_init(struct worker *worker, bool pinned)
{
    *worker = (struct worker){.pinned = pinned};
    if (pinned) {
        void *in, *out;
        CHECK_EQUAL(cuda.mem_host_alloc(&in, BYTES, 0), 0);
        CHECK_EQUAL(cuda.mem_host_alloc(&out, BYTES, 0), 0);
        worker->in = in;
        worker->out = out;
    } else {
        worker->in = malloc(BYTES);
        worker->out = malloc(BYTES);
    }
    CHECK(worker->in != NULL && worker->out != NULL);
    for (int i = 0; i < ELEMENTS; i++)
        worker->in[i] = i;
    memset(worker->out, 0xff, BYTES);
    CHECK_EQUAL(cuda.mem_alloc(&worker->a, BYTES), 0);
    CHECK_EQUAL(cuda.mem_alloc(&worker->b, BYTES), 0);
    CHECK_EQUAL(cuda.stream_create(&worker->stream, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(cuda.module_load_data(&worker->module, "image"), 0);
    CHECK_EQUAL(cuda.module_get_function(&worker->add, worker->module, "mpsweep_add_constant"), 0);
    CHECK_EQUAL(cuda.module_get_function(&worker->delay, worker->module, "mpsweep_delay"), 0);
}

static void worker_release(struct worker *worker)
{
    CHECK_EQUAL(cuda.module_unload(worker->module), 0);
    CHECK_EQUAL(cuda.stream_destroy(worker->stream), 0);
    CHECK_EQUAL(cuda.mem_free(worker->a), 0);
    CHECK_EQUAL(cuda.mem_free(worker->b), 0);
    if (worker->pinned) {
        CHECK_EQUAL(cuda.mem_free_host(worker->in), 0);
        CHECK_EQUAL(cuda.mem_free_host(worker->out), 0);
    } else {
        free(worker->in);
        free(worker->out);
    }
}

static cuda_result launch_add(const struct worker *worker, cuda_device_pointer from,
                              cuda_device_pointer to, int value, int elements)
{
    int spin = 16;
    void *parameters[] = {&from, &to, &value, &elements, &spin};
    return cuda.launch_kernel(worker->add, 5, 1, 1, 64, 1, 1, 0, worker->stream, parameters, NULL);
}

static cuda_result launch_delay(const struct worker *worker, unsigned long long cycles)
{
    void *parameters[] = {&cycles};
    return cuda.launch_kernel(worker->delay, 1, 1, 1, 1, 1, 1, 0, worker->stream, parameters, NULL);
}

/* One iteration, or its capture. */
static void issue(const struct worker *worker)
{
    cuda_device_pointer from = worker->a, to = worker->b;
    CHECK_EQUAL(cuda.memcpy_htod_async(worker->a, worker->in, BYTES, worker->stream), 0);
    for (int k = 0; k < KERNELS; k++) {
        CHECK_EQUAL(launch_add(worker, from, to, k, ELEMENTS), 0);
        cuda_device_pointer swap = from;
        from = to;
        to = swap;
    }
    CHECK_EQUAL(cuda.memcpy_dtoh_async(worker->out, from, BYTES, worker->stream), 0);
}

static bool is_right(const struct worker *worker)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (worker->out[i] != i + EXPECTED)
            return false;
    return true;
}

static void body_iteration(void)
{
    struct worker worker;
    emul_driver_start(&cuda);
    for (int pinned = 0; pinned < 2; pinned++) {
        worker_init(&worker, pinned);
        issue(&worker);
        CHECK_EQUAL(cuda.stream_synchronize(worker.stream), 0);
        CHECK(is_right(&worker));
        CHECK_EQUAL(cuda.ctx_synchronize(), 0);
        worker_release(&worker);
    }
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
    CHECK_EQUAL(cuda.ctx_synchronize(), CUDA_INVALID_CONTEXT);
}

static void body_graph(void)
{
    struct worker worker;
    cuda_graph graph;
    cuda_graph_exec exec;
    emul_driver_start(&cuda);
    worker_init(&worker, true);
    CHECK_EQUAL(cuda.stream_end_capture(worker.stream, &graph), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.stream_begin_capture(NULL, CUDA_CAPTURE_MODE_THREAD_LOCAL),
                CUDA_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_EQUAL(cuda.stream_begin_capture(worker.stream, CUDA_CAPTURE_MODE_THREAD_LOCAL), 0);
    issue(&worker);
    CHECK_EQUAL(cuda.stream_synchronize(worker.stream), CUDA_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_EQUAL(cuda.stream_end_capture(worker.stream, &graph), 0);
    CHECK_EQUAL(worker.out[0], -1); /* capturing runs nothing */
    CHECK_EQUAL(cuda.graph_instantiate(&exec, graph, 0), 0);
    CHECK_EQUAL(cuda.graph_destroy(graph), 0);
    CHECK_EQUAL(cuda.graph_upload(exec, worker.stream), 0);
    for (int launch = 0; launch < 3; launch++) {
        memset(worker.out, 0xff, BYTES);
        CHECK_EQUAL(cuda.graph_launch(exec, worker.stream), 0);
        CHECK_EQUAL(cuda.stream_synchronize(worker.stream), 0);
        CHECK(is_right(&worker));
    }
    CHECK_EQUAL(cuda.graph_exec_destroy(exec), 0);
    worker_release(&worker);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

static void body_time(void)
{
    struct worker worker;
    emul_driver_start(&cuda);
    worker_init(&worker, true);
    uint64_t start = clock_now_ns();
    for (int k = 0; k < 3; k++)
        CHECK_EQUAL(launch_delay(&worker, 20 * NS_PER_MS), 0);
    CHECK_EQUAL(cuda.stream_synchronize(worker.stream), 0);
    CHECK(clock_now_ns() - start >= 60 * NS_PER_MS);

    /* A pageable copy back returns when it is done, a pinned one at once. */
    int pageable;
    start = clock_now_ns();
    CHECK_EQUAL(launch_delay(&worker, 1000 * NS_PER_MS), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(worker.out, worker.a, 4, worker.stream), 0);
    CHECK_EQUAL(cuda.stream_query(worker.stream), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(&pageable, worker.a, 4, worker.stream), 0);
    CHECK(clock_now_ns() - start >= 1000 * NS_PER_MS);
}

static void body_wrong_use(void)
{
    struct worker worker;
    cuda_device_pointer pointer;
    cuda_function function;
    cuda_stream stream;
    int value = 0;
    emul_driver_start(&cuda);
    worker_init(&worker, true);
    CHECK_EQUAL(cuda.module_load_data(&worker.module, NULL), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.module_get_function(&function, worker.module, "unheard_of"), CUDA_NOT_FOUND);
    CHECK_EQUAL(cuda.mem_alloc(&pointer, 0), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.mem_alloc(&pointer, (size_t)9 << 30), CUDA_OUT_OF_MEMORY);
    CHECK_EQUAL(cuda.mem_free(worker.a + 4), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.mem_free_host(&value), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.stream_create(&stream, 64), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.memcpy_htod_async(worker.a + 4, worker.in, BYTES, worker.stream),
                CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(worker.out, (uintptr_t)&value, 4, worker.stream),
                CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.launch_kernel(worker.delay, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                CUDA_INVALID_VALUE);
    CHECK_EQUAL(launch_add(&worker, worker.a, worker.b, 1, ELEMENTS), 0);
    CHECK_EQUAL(cuda.stream_synchronize(worker.stream), 0);

    /* A kernel that leaves its memory breaks the context for good. */
    CHECK_EQUAL(launch_add(&worker, worker.a, worker.b, 1, ELEMENTS + 1), 0);
    CHECK_EQUAL(cuda.stream_synchronize(worker.stream), CUDA_ILLEGAL_ADDRESS);
    CHECK_EQUAL(cuda.mem_alloc(&pointer, 4), CUDA_ILLEGAL_ADDRESS);
}

static void *run_thread(void *context)
{
    struct worker worker;
    cuda_device_pointer pointer;
    CHECK_EQUAL(cuda.mem_alloc(&pointer, 4), CUDA_INVALID_CONTEXT); /* each thread sets its own */
    CHECK_EQUAL(cuda.ctx_set_current(context), 0);
    worker_init(&worker, true);
    for (int i = 0; i < 20; i++) {
        issue(&worker);
        CHECK_EQUAL(cuda.stream_synchronize(worker.stream), 0);
        CHECK(is_right(&worker));
    }
    worker_release(&worker);
    return NULL;
}

static void body_threads(void)
{
    pthread_t threads[8];
    cuda_context context;
    emul_driver_start(&cuda);
    CHECK_EQUAL(cuda.ctx_get_current(&context), 0);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, run_thread, context), 0);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

static void test_before_init(void **state)
{
    (void)state;
    assert_child(body_before_init, NULL, NULL);
}

static void test_device(void **state)
{
    (void)state;
    assert_child(body_device, NULL, NULL);
}

static void test_errors(void **state)
{
    (void)state;
    assert_child(body_errors, NULL, NULL);
}

static void test_iteration(void **state)
{
    (void)state;
    assert_child(body_iteration, NULL, NULL);
}

static void test_graph(void **state)
{
    (void)state;
    assert_child(body_graph, NULL, NULL);
}

static void test_time(void **state)
{
    (void)state;
    assert_child(body_time, NULL, NULL);
}

static void test_wrong_use(void **state)
{
    (void)state;
    assert_child(body_wrong_use, NULL, NULL);
}

static void test_threads(void **state)
{
    (void)state;
    assert_child(body_threads, NULL, NULL);
}

/* -- faults ------------------------------------------------------------------------------------ */

static void body_corrupted(void)
{
    struct worker worker;
    emul_driver_start(&cuda);
    worker_init(&worker, true);
    for (int i = 1; i <= 3; i++) {
        issue(&worker);
        CHECK_EQUAL(cuda.stream_synchronize(worker.stream), 0);
        CHECK_EQUAL(is_right(&worker), i != 2);
    }
}

static void body_error_on_retain(void)
{
    cuda_context context;
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.primary_ctx_retain(&context, 0), CUDA_OUT_OF_MEMORY);
    CHECK_EQUAL(cuda.primary_ctx_retain(&context, 0), 0);
}

static void body_bad_list(void)
{
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(CHECK_FAILED);
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), CUDA_INVALID_VALUE);
}

static void test_faults(void **state)
{
    (void)state;
    const char *variable = "MPSWEEP_EMULATED_FAULT";
    assert_child(body_corrupted, variable, "cuMemcpyDtoHAsync#2=corrupt");
    assert_child(body_error_on_retain, variable, "cuDevicePrimaryCtxRetain=error:2");
    assert_child(body_bad_list, variable, "cuFantasy=crash");
    assert_child(body_iteration, variable, "cuLaunchKernel=crash@4"); /* for another process */

    int status = run_child(body_iteration, variable, "cuLaunchKernel#10=exit:7");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);

    status = run_child(body_iteration, variable, "cuLaunchKernel#10=crash");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static int hang_fd;

static void body_hanging(void)
{
    struct worker worker;
    emul_driver_start(&cuda);
    worker_init(&worker, true);
    CHECK_EQUAL(write(hang_fd, "x", 1), 1);
    cuda.stream_synchronize(worker.stream);
    CHECK_EQUAL(write(hang_fd, "y", 1), 1);
}

static void test_hang(void **state)
{
    (void)state;
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    hang_fd = ends[1];
    pid_t child = start_child(body_hanging, "MPSWEEP_EMULATED_FAULT", "cuStreamSynchronize=hang");
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(child, SIGTERM);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* it never came back from the call */
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* -- shared state ------------------------------------------------------------------------------ */

static void test_state_is_checked(void **state)
{
    (void)state;
    int fd;
    struct emul_state *shared;
    assert_int_equal(emul_state_create(&fd), STATUS_OK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(emul_state_attach(fd, &shared), STATUS_OK);

    shared->version++;
    struct emul_state *other;
    assert_int_equal(emul_state_attach(fd, &other), STATUS_PROTOCOL);
    shared->version--;
    shared->magic++;
    assert_int_equal(emul_state_attach(fd, &other), STATUS_PROTOCOL);
    shared->magic--;
    shared->length++;
    assert_int_equal(emul_state_attach(fd, &other), STATUS_PROTOCOL);
    shared->length--;
    munmap(shared, sizeof *shared);
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(emul_state_attach(fd, &other), STATUS_PROTOCOL);
    close(fd);
    assert_int_equal(emul_state_attach(fd, &other), STATUS_SYSTEM);
}

static void body_bad_descriptor(void)
{
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(CHECK_FAILED);
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), CUDA_INVALID_VALUE);
}

static void test_bad_descriptor(void **state)
{
    (void)state;
    assert_child(body_bad_descriptor, "MPSWEEP_EMULATED_FD", "");
    assert_child(body_bad_descriptor, "MPSWEEP_EMULATED_FD", "0x");
    assert_child(body_bad_descriptor, "MPSWEEP_EMULATED_FD", "3");
    assert_child(body_bad_descriptor, "MPSWEEP_EMULATED_FD", "-1 1");
    assert_child(body_bad_descriptor, "MPSWEEP_EMULATED_FD", "3 4 5");
    assert_child(body_bad_descriptor, "MPSWEEP_EMULATED_FD", "999999 1");
}

static struct emul_state *held;

static void body_dies_with_the_lock(void)
{
    emul_state_lock(held);
    _exit(0);
}

/* A process that dies within the state leaves it usable, for those who hold it mapped and for new
 * ones. */
static void test_holder_dies(void **state)
{
    (void)state;
    int fd;
    char number[32];
    assert_int_equal(emul_state_create(&fd), STATUS_OK);
    assert_int_equal(emul_state_attach(fd, &held), STATUS_OK);
    run_child(body_dies_with_the_lock, NULL, NULL);
    snprintf(number, sizeof number, "%d %d", fd, (int)getpid());
    assert_child(body_iteration, "MPSWEEP_EMULATED_FD", number);
    run_child(body_dies_with_the_lock, NULL, NULL);
    assert_non_null(emul_state_lock(held));
    emul_state_unlock(held);

    /* One that dies in the middle of its work is forgotten when the next one comes. */
    run_child(body_threads, NULL, NULL);
    munmap(held, sizeof *held);
    close(fd);
}

static void body_takes_memory_and_dies(void)
{
    cuda_device_pointer pointer;
    size_t left, total;
    emul_driver_start(&cuda);
    CHECK_EQUAL(cuda.mem_get_info(&left, &total), 0);
    CHECK_EQUAL(total, (size_t)8 << 30);
    CHECK_EQUAL(left, total);
    CHECK_EQUAL(cuda.mem_alloc(&pointer, (size_t)5 << 30), 0);
    CHECK_EQUAL(cuda.mem_alloc(&pointer, (size_t)5 << 30), CUDA_OUT_OF_MEMORY);
    CHECK_EQUAL(cuda.mem_get_info(&left, &total), 0);
    CHECK_EQUAL(left, (size_t)3 << 30);
    CHECK_EQUAL(cuda.mem_get_info(NULL, &total), CUDA_INVALID_VALUE);
}

static void test_memory_of_the_dead(void **state)
{
    (void)state;
    int fd;
    char number[32];
    assert_int_equal(emul_state_create(&fd), STATUS_OK);
    snprintf(number, sizeof number, "%d %d", fd, (int)getpid());
    for (int i = 0; i < 3; i++)
        assert_child(body_takes_memory_and_dies, "MPSWEEP_EMULATED_FD", number);
    close(fd);
}

int main(void)
{
    /* No daemon of this machine is to be met by accident. */
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_init),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_iteration),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_wrong_use),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_state_is_checked),
        cmocka_unit_test(test_bad_descriptor),
        cmocka_unit_test(test_holder_dies),
        cmocka_unit_test(test_memory_of_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
