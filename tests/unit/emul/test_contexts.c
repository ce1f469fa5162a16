/* The emulated driver: contexts of a program's own, green ones, several devices, lazy loading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/clock.h"
#include "tests/unit/emul/rig.h"

#define cuda rig_cuda

static struct rig rig;

static void body_contexts(void)
{
    cuda_context second, current;
    cuda_stream stream;
    cuda_module module;
    cuda_function add;
    cuda_device_pointer memory, more;
    size_t before, left, total;
    int least = 1, greatest = 1;
    rig_start(&rig);
    CHECK_EQUAL(cuda.mem_get_info(&before, &total), 0);
    CHECK_EQUAL(cuda.ctx_get_stream_priority_range(&least, &greatest), 0);
    CHECK(least == 0 && greatest < 0);

    CHECK_EQUAL(cuda.ctx_create(&second, CUDA_SCHEDULE_BLOCK, 1), CUDA_INVALID_DEVICE);
    CHECK_EQUAL(cuda.ctx_create(&second, CUDA_SCHEDULE_BLOCK, 0), 0);
    CHECK_EQUAL(cuda.ctx_get_current(&current), 0);
    CHECK(current == second && second != rig.context);
    CHECK_EQUAL(cuda.mem_alloc(&memory, 1 << 20), 0);
    CHECK_EQUAL(cuda.mem_alloc(&more, 1 << 20), 0);
    CHECK_EQUAL(cuda.mem_get_info(&left, &total), 0);
    CHECK_EQUAL(left, before - (2 << 20));

    /* Streams and functions belong to a context, memory is everybody's. */
    CHECK_EQUAL(rig_launch_empty(&rig, NULL), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(cuda.module_load_data(&module, "image"), 0);
    CHECK_EQUAL(cuda.module_get_function(&add, module, "mpsweep_add_constant"), 0);
    CHECK_EQUAL(cuda.memcpy_dtod_async(memory, rig.a, RIG_BYTES, rig.stream), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(cuda.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(cuda.memcpy_dtod_async(memory, rig.a, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, memory, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.ctx_synchronize(), 0);
    CHECK(memcmp(rig.out, rig.in, RIG_BYTES) == 0);

    /* What is destroyed gives its memory back, and later use of it is an error. */
    CHECK_EQUAL(cuda.ctx_destroy(rig.context), CUDA_INVALID_CONTEXT); /* a primary one */
    CHECK_EQUAL(cuda.ctx_destroy(NULL), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.ctx_destroy(second), 0);
    CHECK_EQUAL(cuda.ctx_get_current(&current), 0);
    CHECK(current == NULL);
    CHECK_EQUAL(cuda.ctx_synchronize(), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.ctx_set_current(second), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.ctx_destroy(second), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(cuda.mem_get_info(&left, &total), 0);
    CHECK_EQUAL(left, before);
    CHECK_EQUAL(cuda.mem_free(memory), CUDA_INVALID_VALUE);
    CHECK_EQUAL(rig_launch_empty(&rig, rig.stream), 0);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

static double timed_delay_ms(cuda_stream stream)
{
    cuda_event begin, end;
    float ms;
    CHECK_EQUAL(cuda.event_create(&begin, 0), 0);
    CHECK_EQUAL(cuda.event_create(&end, 0), 0);
    CHECK_EQUAL(cuda.event_record(begin, stream), 0);
    CHECK_EQUAL(rig_launch_delay(&rig, 10 * NS_PER_MS, 160, stream), 0);
    CHECK_EQUAL(cuda.event_record(end, stream), 0);
    CHECK_EQUAL(cuda.event_synchronize(end), 0);
    CHECK_EQUAL(cuda.event_elapsed_time(&ms, begin, end), 0);
    return ms;
}

static void body_green(void)
{
    cuda_resource all, parts[8], rest;
    cuda_resource_descriptor descriptor;
    cuda_green_context green;
    cuda_context context;
    cuda_stream stream;
    unsigned groups = 0;
    rig_start(&rig);
    CHECK_EQUAL(cuda.device_get_resource(0, &all, CUDA_RESOURCE_SM), 0);
    CHECK_EQUAL(all.type, CUDA_RESOURCE_SM);
    CHECK_EQUAL(all.sm.smCount, 32);
    CHECK_EQUAL(cuda.resource_split(NULL, &groups, &all, NULL, 0, 5), 0);
    CHECK_EQUAL(groups, 4);
    groups = 1;
    CHECK_EQUAL(cuda.resource_split(parts, &groups, &all, &rest, 0, 9), 0);
    CHECK(groups == 1 && parts[0].sm.smCount == 16 && rest.sm.smCount == 16);
    groups = 8;
    CHECK_EQUAL(cuda.resource_split(parts, &groups, &rest, &rest, 0, 8), 0);
    CHECK(groups == 2 && parts[1].sm.smCount == 8 && rest.type == 0);
    CHECK_EQUAL(cuda.resource_split(parts, &groups, &rest, NULL, 0, 8), CUDA_INVALID_VALUE);

    CHECK_EQUAL(cuda.resource_describe(&descriptor, &parts[0], 1), 0);
    CHECK_EQUAL(cuda.green_ctx_create(&green, descriptor, 0, 0), CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.green_ctx_create(&green, descriptor, 0, CUDA_GREEN_CONTEXT_DEFAULT_STREAM), 0);
    CHECK_EQUAL(cuda.ctx_from_green_ctx(&context, green), 0);
    CHECK_EQUAL(cuda.green_ctx_stream_create(&stream, green, CUDA_STREAM_NON_BLOCKING, 0), 0);

    /* Memory and functions are the primary context's; it works, but on a quarter of the GPU. */
    CHECK_EQUAL(rig_launch_add(&rig, 4, stream), 0);
    CHECK_EQUAL(cuda.ctx_set_current(context), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    CHECK_EQUAL(rig.out[9], 13);
    CHECK(timed_delay_ms(stream) >= 40);
    CHECK(timed_delay_ms(rig.stream) >= 10);
    CHECK_EQUAL(cuda.green_ctx_destroy(green), 0);
    CHECK_EQUAL(cuda.green_ctx_destroy(green), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, rig.stream), 0);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
    CHECK_EQUAL(cuda.ctx_synchronize(), CUDA_INVALID_CONTEXT); /* the green one's is gone, too */
}

static void body_devices(void)
{
    int count = 0, can = 2;
    cuda_uuid uuids[2];
    char bus[2][32];
    cuda_context other;
    cuda_device_pointer there;
    cuda_stream stream;
    rig_start(&rig);
    CHECK_EQUAL(cuda.device_get_count(&count), 0);
    CHECK_EQUAL(count, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(cuda.device_get_uuid(&uuids[i], i), 0);
        CHECK_EQUAL(cuda.device_get_pci_bus_id(bus[i], sizeof bus[i], i), 0);
    }
    CHECK(memcmp(&uuids[0], &uuids[1], sizeof *uuids) != 0);
    CHECK(strcmp(bus[0], "ffff:00:00.0") == 0 && strcmp(bus[1], "ffff:01:00.0") == 0);
    CHECK_EQUAL(cuda.device_can_access_peer(&can, 0, 1), 0);
    CHECK_EQUAL(can, 1);
    CHECK_EQUAL(cuda.device_can_access_peer(&can, 0, 0), 0);
    CHECK_EQUAL(can, 0);
    CHECK_EQUAL(cuda.device_can_access_peer(&can, 0, 2), CUDA_INVALID_DEVICE);
    CHECK_EQUAL(cuda.primary_ctx_retain(&other, 2), CUDA_INVALID_DEVICE);

    CHECK_EQUAL(cuda.primary_ctx_retain(&other, 1), 0);
    CHECK_EQUAL(cuda.ctx_set_current(other), 0);
    CHECK_EQUAL(cuda.mem_alloc(&there, RIG_BYTES), 0);
    CHECK_EQUAL(cuda.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(cuda.memcpy_peer_async(there, rig.context, rig.a, other, RIG_BYTES, stream),
                CUDA_INVALID_VALUE);
    CHECK_EQUAL(cuda.memcpy_peer_async(there, other, rig.a, rig.context, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, there, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    CHECK(memcmp(rig.out, rig.in, RIG_BYTES) == 0);

    CHECK_EQUAL(cuda.ctx_disable_peer_access(rig.context), CUDA_PEER_ACCESS_NOT_ENABLED);
    CHECK_EQUAL(cuda.ctx_enable_peer_access(other, 0), CUDA_INVALID_CONTEXT);
    CHECK_EQUAL(cuda.ctx_enable_peer_access(rig.context, 0), 0);
    CHECK_EQUAL(cuda.ctx_enable_peer_access(rig.context, 0), CUDA_PEER_ACCESS_ALREADY_ENABLED);
    memset(rig.out, 0xff, RIG_BYTES);
    CHECK_EQUAL(rig_launch_add(&rig, 1, NULL), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(cuda.memcpy_dtod_async(there, rig.b, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, there, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    CHECK(rig.out[0] != -1);
    CHECK_EQUAL(cuda.ctx_disable_peer_access(rig.context), 0);
    CHECK_EQUAL(cuda.primary_ctx_release(1), 0);
    CHECK_EQUAL(cuda.primary_ctx_release(0), 0);
}

static void body_refused(void)
{
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(CHECK_FAILED);
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), CUDA_INVALID_VALUE);
}

static void check_loading(cuda_loading_mode expected)
{
    cuda_loading_mode mode;
    emul_driver_start(&cuda);
    CHECK_EQUAL(cuda.module_get_loading_mode(&mode), 0);
    CHECK_EQUAL(mode, expected);
    CHECK_EQUAL(cuda.module_get_loading_mode(NULL), CUDA_INVALID_VALUE);
}

static void body_lazy(void)
{
    check_loading(CUDA_LOADING_LAZY);
}

static void body_eager(void)
{
    check_loading(CUDA_LOADING_EAGER);
}

static void test_contexts(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_contexts, ""), 0);
}

static void test_green(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_green, ""), 0);
}

static void test_devices(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_devices, "MPSWEEP_EMUL_DEVICES=2"), 0);
    assert_int_equal(rig_run(body_refused, "MPSWEEP_EMUL_DEVICES=0"), 0);
    assert_int_equal(rig_run(body_refused, "MPSWEEP_EMUL_DEVICES=9"), 0);
    assert_int_equal(rig_run(body_refused, "MPSWEEP_EMUL_DEVICES=2x"), 0);
}

static void test_loading_mode(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_lazy, ""), 0);
    assert_int_equal(rig_run(body_lazy, "CUDA_MODULE_LOADING=LAZY"), 0);
    assert_int_equal(rig_run(body_eager, "CUDA_MODULE_LOADING=EAGER"), 0);
}

int main(void)
{
    /* No daemon of this machine is to be met by accident. */
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    unsetenv("CUDA_MODULE_LOADING");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_green),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_loading_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
