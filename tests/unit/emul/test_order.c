/* The emulated driver: host functions, events, default streams, kernels that wait for a flag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "common/clock.h"
#include "tests/unit/emul/rig.h"

#define cuda rig_cuda

static struct rig rig;

static void check_out(int value)
{
    for (int i = 0; i < RIG_ELEMENTS; i++)
        CHECK_EQUAL(rig.out[i], i + value);
}

/* -- host functions ---------------------------------------------------------------------------- */

static char story[8];

static void tell_one(void *unused)
{
    (void)unused;
    CHECK_EQUAL(rig.out[0], -1);
    strcat(story, "1");
}

/* The copy before it has been made. */
static void tell_two(void *unused)
{
    (void)unused;
    check_out(7);
    strcat(story, "2");
}

static void call_cuda(void *result)
{
    cuda_device_pointer pointer;
    *(cuda_result *)result = cuda.mem_alloc(&pointer, 4);
}

static void body_host_functions(void)
{
    cuda_result from_within = 0;
    rig_start(&rig);
    rig_close_gate(&rig, rig.stream);
    CHECK_EQUAL(cuda.launch_host_func(rig.stream, tell_one, NULL), 0);
    CHECK_EQUAL(rig_launch_add(&rig, 7, rig.stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.launch_host_func(rig.stream, tell_two, NULL), 0);
    CHECK_EQUAL(cuda.launch_host_func(rig.stream, call_cuda, &from_within), 0);

    /* Another stream does not wait, and nothing here has gone on. */
    CHECK_EQUAL(rig_launch_empty(&rig, rig.other), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.other), 0);
    CHECK_EQUAL(cuda.stream_query(rig.other), 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), CUDA_NOT_READY);
    CHECK_EQUAL(rig.out[0], -1);
    CHECK_EQUAL(story[0], 0);

    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK(strcmp(story, "12") == 0);
    check_out(7);
    CHECK_EQUAL(from_within, CUDA_NOT_PERMITTED);
    CHECK_EQUAL(cuda.launch_host_func(rig.stream, NULL, NULL), CUDA_INVALID_VALUE);

    /* Destroyed while it has work, and the context waits for all. */
    memset(rig.out, 0xff, RIG_BYTES);
    rig_close_gate(&rig, rig.stream);
    CHECK_EQUAL(rig_launch_add(&rig, 9, rig.stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_destroy(rig.stream), 0);
    CHECK_EQUAL(rig.out[0], -1);
    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.ctx_synchronize(), 0);
    check_out(9);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

/* A pageable copy and a graph launch behind one. */
static void body_deferred_kinds(void)
{
    int pageable[RIG_ELEMENTS];
    cuda_graph graph;
    cuda_graph_exec exec;
    rig_start(&rig);
    CHECK_EQUAL(cuda.stream_begin_capture(rig.stream, CUDA_CAPTURE_MODE_THREAD_LOCAL), 0);
    CHECK_EQUAL(rig_launch_add(&rig, 3, rig.stream), 0);
    CHECK_EQUAL(rig_launch_hold(&rig, NS_PER_MS, rig.stream), CUDA_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_EQUAL(cuda.stream_end_capture(rig.stream, &graph), 0);
    CHECK_EQUAL(cuda.graph_instantiate(&exec, graph, 0), 0);
    CHECK_EQUAL(cuda.graph_destroy(graph), 0);

    rig_close_gate(&rig, rig.stream);
    CHECK_EQUAL(cuda.graph_launch(exec, rig.stream), 0);
    CHECK_EQUAL(cuda.graph_exec_destroy(exec), 0); /* it goes when it has run */
    CHECK_EQUAL(cuda.memcpy_dtod_async(rig.a, rig.b, RIG_BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), CUDA_NOT_READY);
    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(pageable, rig.a, RIG_BYTES, rig.stream), 0);
    for (int i = 0; i < RIG_ELEMENTS; i++)
        CHECK_EQUAL(pageable[i], i + 3);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

/* -- events ------------------------------------------------------------------------------------ */

static void body_events(void)
{
    cuda_event begin, end, untimed;
    float ms = 0;
    rig_start(&rig);
    CHECK_EQUAL(cuda.event_create(&begin, 0), 0);
    CHECK_EQUAL(cuda.event_create(&end, CUDA_EVENT_BLOCKING_SYNC), 0);
    CHECK_EQUAL(cuda.event_create(&untimed, CUDA_EVENT_DISABLE_TIMING), 0);
    CHECK_EQUAL(cuda.event_create(&untimed, 64), CUDA_INVALID_VALUE);

    /* Not recorded yet: nothing to wait for, and no time. */
    CHECK_EQUAL(cuda.event_query(end), 0);
    CHECK_EQUAL(cuda.event_synchronize(end), 0);
    CHECK_EQUAL(cuda.stream_wait_event(rig.other, end, 0), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, begin, end), CUDA_INVALID_HANDLE);

    CHECK_EQUAL(cuda.event_record(begin, rig.stream), 0);
    CHECK_EQUAL(rig_launch_delay(&rig, 300 * NS_PER_MS, 1, rig.stream), 0);
    CHECK_EQUAL(cuda.event_record(end, rig.stream), 0);
    CHECK_EQUAL(cuda.event_query(end), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, begin, end), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.stream_wait_event(rig.other, end, 0), 0);
    CHECK_EQUAL(cuda.stream_query(rig.other), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.event_synchronize(end), 0);
    CHECK_EQUAL(cuda.event_query(end), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, begin, end), 0);
    CHECK(ms >= 300 && ms < 10000);
    CHECK_EQUAL(cuda.event_record(untimed, rig.stream), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, begin, untimed), CUDA_INVALID_HANDLE);

    /* Behind a host function: what is waited for is what was recorded when it was waited for. */
    rig_close_gate(&rig, rig.stream);
    CHECK_EQUAL(cuda.event_record(end, rig.stream), 0);
    CHECK_EQUAL(cuda.event_query(end), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.stream_wait_event(rig.other, end, 0), 0);
    CHECK_EQUAL(rig_launch_add(&rig, 5, rig.other), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, rig.other), 0);
    rig_close_gate(&rig, rig.stream);
    CHECK_EQUAL(cuda.event_record(end, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_query(rig.other), CUDA_NOT_READY);
    CHECK_EQUAL(rig.out[0], -1);
    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.stream_synchronize(rig.other), 0);
    check_out(5);
    CHECK_EQUAL(cuda.event_query(end), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.event_destroy(end), 0);
    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

/* -- default streams --------------------------------------------------------------------------- */

static void body_default_streams(void)
{
    cuda_stream one, two;
    rig_start(&rig);
    CHECK_EQUAL(cuda.stream_create(&one, 0), 0);
    CHECK_EQUAL(cuda.stream_create_with_priority(&two, 0, -1), 0);

    /* The default stream comes after a blocking one, and before the next one. */
    rig_close_gate(&rig, one);
    CHECK_EQUAL(cuda.stream_query(NULL), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.stream_query(two), 0);
    CHECK_EQUAL(rig_launch_add(&rig, 1, NULL), 0);
    CHECK_EQUAL(cuda.stream_query(CUDA_STREAM_LEGACY), CUDA_NOT_READY);
    CHECK_EQUAL(rig_launch_empty(&rig, two), 0);
    CHECK_EQUAL(cuda.stream_query(two), CUDA_NOT_READY);
    /* That of a thread is a blocking one, too. */
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, CUDA_STREAM_PER_THREAD), 0);
    CHECK_EQUAL(cuda.stream_query(CUDA_STREAM_PER_THREAD), CUDA_NOT_READY);
    /* A non-blocking one goes its own way. */
    CHECK_EQUAL(rig_launch_empty(&rig, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK_EQUAL(rig.out[0], -1);
    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.stream_synchronize(CUDA_STREAM_PER_THREAD), 0);
    check_out(1);
    CHECK_EQUAL(cuda.stream_synchronize(two), 0);
    CHECK_EQUAL(cuda.stream_synchronize(NULL), 0);

    /* The same of work whose end is known. */
    uint64_t begin = clock_now_ns();
    CHECK_EQUAL(rig_launch_delay(&rig, 300 * NS_PER_MS, 1, one), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, NULL), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, two), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK_EQUAL(cuda.stream_query(two), CUDA_NOT_READY);
    CHECK_EQUAL(cuda.stream_synchronize(two), 0);
    CHECK(clock_now_ns() - begin >= 300 * NS_PER_MS);

    CHECK_EQUAL(cuda.stream_destroy(NULL), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(cuda.stream_destroy(CUDA_STREAM_PER_THREAD), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

static void *use_own_stream(void *unused)
{
    (void)unused;
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, CUDA_STREAM_PER_THREAD), 0);
    CHECK_EQUAL(cuda.stream_synchronize(CUDA_STREAM_PER_THREAD), 0);
    return NULL;
}

/* Each thread has one of its own. */
static void body_per_thread(void)
{
    pthread_t thread;
    rig_start(&rig);
    rig_close_gate(&rig, CUDA_STREAM_PER_THREAD);
    CHECK_EQUAL(pthread_create(&thread, NULL, use_own_stream, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(cuda.stream_query(CUDA_STREAM_PER_THREAD), CUDA_NOT_READY);
    rig_open_gate(&rig);
    CHECK_EQUAL(cuda.stream_synchronize(CUDA_STREAM_PER_THREAD), 0);

    /* A context that is made anew has another. */
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
    CHECK_EQUAL(cuda.primary_ctx_retain(&rig.context, 0), 0);
    CHECK_EQUAL(cuda.stream_query(CUDA_STREAM_PER_THREAD), 0);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

/* -- kernels that wait ------------------------------------------------------------------------- */

static void body_hold(void)
{
    unsigned long long stray = 0x1000, bound = 1, none = 0;
    void *parameters[] = {&stray, &bound, &none};
    rig_start(&rig);
    CHECK_EQUAL(rig_launch_hold(&rig, 50 * NS_PER_S, rig.stream), 0);
    rig_wait_holding(&rig);
    CHECK_EQUAL(rig_launch_add(&rig, 2, rig.stream), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, rig.other), 0); /* it does not take the GPU */
    CHECK_EQUAL(cuda.stream_synchronize(rig.other), 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), CUDA_NOT_READY);
    rig_set_flag(&rig);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    check_out(2);
    CHECK_EQUAL(rig.held[1], 1);

    *rig.flag = 0;
    CHECK_EQUAL(rig_launch_hold(&rig, 20 * NS_PER_MS, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK(rig.held[0] >= 20 * NS_PER_MS);
    CHECK_EQUAL(rig.held[1], 0);

    CHECK_EQUAL(cuda.launch_kernel(rig.hold, 1, 1, 1, 1, 1, 1, 0, rig.stream, parameters, NULL), 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), CUDA_ILLEGAL_ADDRESS);
}

/* -- the tests --------------------------------------------------------------------------------- */

#define TEST(name)                                                                                 \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        assert_int_equal(rig_run(body_##name, ""), 0);                                             \
    }
TEST(host_functions)
TEST(deferred_kinds)
TEST(events)
TEST(default_streams)
TEST(per_thread)
TEST(hold)

int main(void)
{
    /* No daemon of this machine is to be met by accident. */
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_functions), cmocka_unit_test(test_deferred_kinds),
        cmocka_unit_test(test_events),         cmocka_unit_test(test_default_streams),
        cmocka_unit_test(test_per_thread),     cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
