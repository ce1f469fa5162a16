/* Which copies and kernels an iteration makes, and that a copy that is lost does not go unseen. The
 * driver is a table of functions: this one runs everything at once, and can lose copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/worker/fake_memory.h"
#include "worker/engines/iteration.h"

static struct {
    unsigned in, out, kernels, waits; /* calls since they were zeroed */
    int elements;                     /* of the last kernel */
    bool lose_in, lose_out;
} driver_saw;

static cuda_result fake_in(cuda_device_pointer to, const void *from, size_t bytes,
                           cuda_stream stream)
{
    (void)stream;
    driver_saw.in++;
    if (!driver_saw.lose_in)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS_;
}

static cuda_result fake_out(void *to, cuda_device_pointer from, size_t bytes, cuda_stream stream)
{
    (void)stream;
    driver_saw.out++;
    if (!driver_saw.lose_out)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS_;
}

static cuda_result fake_synchronize(cuda_stream stream)
{
    (void)stream;
    driver_saw.waits++;
    return CUDA_SUCCESS_;
}

static cuda_result fake_launch(cuda_function function, unsigned int grid_x, unsigned int grid_y,
                               unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                               unsigned int block_z, unsigned int shared_bytes, cuda_stream stream,
                               void **parameters, void **extra)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
    (void)block_z, (void)shared_bytes, (void)stream, (void)extra;
    const int *from = (const int *)(uintptr_t) * (cuda_device_pointer *)parameters[0];
    int *to = (int *)(uintptr_t) * (cuda_device_pointer *)parameters[1];
    int value = *(int *)parameters[2];
    driver_saw.elements = *(int *)parameters[3];
    driver_saw.kernels++;
    for (int i = 0; i < driver_saw.elements; i++)
        to[i] = (int)((unsigned)from[i] + (unsigned)value);
    return CUDA_SUCCESS_;
}

struct rig {
    struct shm_header header;
    struct worker_process process;
    void *work; /* a struct iteration */
};

static struct rig *rig_new(unsigned copies, unsigned kernels, uint64_t worked_bytes,
                           unsigned memory)
{
    struct rig *rig = aligned_alloc(64, (sizeof *rig + 63) / 64 * 64);
    assert_non_null(rig);
    memset(rig, 0, sizeof *rig);
    rig->header.settings = (struct shm_settings){
        .memory = memory,
        .kernels = kernels,
        .blocks = 1,
        .threads_per_block = 32,
        .bytes = 8192,
        .worked_bytes = worked_bytes,
        .copies = copies,
    };
    rig->process.shm.header = &rig->header;
    rig->process.driver = (struct cuda_driver){
        .stream_create = fake_stream_create,
        .mem_alloc = fake_mem_alloc,
        .mem_free = fake_mem_free,
        .mem_host_alloc = fake_mem_host_alloc,
        .mem_free_host = fake_mem_free_host,
        .memcpy_htod_async = fake_in,
        .memcpy_dtoh_async = fake_out,
        .stream_synchronize = fake_synchronize,
        .launch_kernel = fake_launch,
    };
    memset(&driver_saw, 0, sizeof driver_saw);
    return rig;
}

static void rig_free(struct rig *rig)
{
    if (rig->work)
        builtin_engine.close(rig->work);
    free(rig);
}

static struct rig *opened(unsigned copies, unsigned kernels, uint64_t worked_bytes, unsigned memory)
{
    struct rig *rig = rig_new(copies, kernels, worked_bytes, memory);
    assert_int_equal(builtin_engine.open(&rig->process, &rig->process.context, NULL, &rig->work),
                     STATUS_OK);
    memset(&driver_saw, 0, sizeof driver_saw);
    return rig;
}

static void test_what_an_iteration_does(void **state)
{
    (void)state;
    static const struct {
        unsigned copies, kernels, memory, in, out;
        uint64_t worked_bytes;
        int elements;
    } cases[] = {
        {COPIES_BOTH, 1, MEMORY_PINNED, 1, 1, 0, 32},
        {COPIES_BOTH, 4, MEMORY_PAGEABLE, 1, 1, 0, 32},
        {COPIES_BOTH, 5, MEMORY_PINNED, 1, 1, 16, 4},
        {COPIES_BOTH, 2, MEMORY_PINNED, 1, 1, 8192, 2048},
        {COPIES_BOTH, 3, MEMORY_PINNED, 1, 1, 65536, 16384}, /* more than is copied */
        {COPIES_BOTH, 0, MEMORY_PINNED, 1, 1, 0, 0},
        {COPIES_IN, 0, MEMORY_PINNED, 1, 0, 0, 0},
        {COPIES_IN, 2, MEMORY_PAGEABLE, 1, 0, 0, 32},
        {COPIES_OUT, 0, MEMORY_PINNED, 0, 1, 0, 0},
        {COPIES_OUT, 0, MEMORY_PAGEABLE, 0, 1, 0, 0},
        {COPIES_NONE, 7, MEMORY_PINNED, 0, 0, 65536, 16384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig *rig =
            opened(cases[i].copies, cases[i].kernels, cases[i].worked_bytes, cases[i].memory);
        for (unsigned n = 1; n <= 3; n++) {
            struct iteration_times times;
            if (engine_run(&builtin_engine, &rig->process, rig->work, &times) != STATUS_OK)
                fail_msg("case %zu: %s", i, status_text());
            assert_int_equal(driver_saw.in, n * cases[i].in);
            assert_int_equal(driver_saw.out, n * cases[i].out);
            assert_int_equal(driver_saw.kernels, n * cases[i].kernels);
            assert_int_equal(driver_saw.waits, n); /* nothing is left to the next iteration */
        }
        assert_int_equal(driver_saw.elements, cases[i].elements);
        rig_free(rig);
    }
}

static void test_without_a_copy_out_a_pageable_iteration_waits(void **state)
{
    (void)state;
    struct rig *rig = rig_new(COPIES_IN, 1, 0, MEMORY_PAGEABLE);
    struct iteration_times times;
    rig->header.settings.sync = SYNC_NONE;
    assert_int_equal(builtin_engine.open(&rig->process, &rig->process.context, NULL, &rig->work),
                     STATUS_OK);
    memset(&driver_saw, 0, sizeof driver_saw);
    assert_int_equal(engine_run(&builtin_engine, &rig->process, rig->work, &times), STATUS_OK);
    assert_int_equal(driver_saw.waits, 1);
    rig_free(rig);
}

static void test_lost_copies_are_seen(void **state)
{
    (void)state;
    static const struct {
        unsigned copies, kernels;
        bool lose_in, lose_out;
    } cases[] = {
        {COPIES_BOTH, 4, true, false}, {COPIES_BOTH, 4, false, true}, {COPIES_BOTH, 0, true, false},
        {COPIES_BOTH, 0, false, true}, {COPIES_OUT, 0, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig *rig = opened(cases[i].copies, cases[i].kernels, 0, MEMORY_PINNED);
        struct iteration_times times;
        /* The first goes well, so that there is an output to be left over. */
        assert_int_equal(engine_run(&builtin_engine, &rig->process, rig->work, &times), STATUS_OK);
        driver_saw.lose_in = cases[i].lose_in;
        driver_saw.lose_out = cases[i].lose_out;
        assert_int_equal(engine_run(&builtin_engine, &rig->process, rig->work, &times),
                         STATUS_WORKER);
        assert_non_null(strstr(status_text(), "wrong result"));
        rig_free(rig);
    }
}

/* What nothing checks is set all the same: each iteration adds to it. */
static void test_without_a_copy_out_what_is_expected_is_known(void **state)
{
    (void)state;
    mallopt(M_PERTURB, 0x5a);
    struct rig *rig = opened(COPIES_IN, 4, 0, MEMORY_PINNED);
    struct iteration_times times;
    mallopt(M_PERTURB, 0);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(engine_run(&builtin_engine, &rig->process, rig->work, &times), STATUS_OK);
        const struct iteration *iteration = rig->work;
        assert_int_equal(iteration->expected[0], iteration->serial);
    }
    rig_free(rig);
}

static void test_what_has_no_known_output_is_refused(void **state)
{
    (void)state;
    struct rig *rig = rig_new(COPIES_OUT, 1, 0, MEMORY_PINNED);
    assert_int_equal(builtin_engine.open(&rig->process, &rig->process.context, NULL, &rig->work),
                     STATUS_USAGE);
    free(rig);
    rig = rig_new(COPIES_NONE, 1, UINT64_C(1) << 40, MEMORY_PINNED);
    assert_int_equal(builtin_engine.open(&rig->process, &rig->process.context, NULL, &rig->work),
                     STATUS_USAGE);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_an_iteration_does),
        cmocka_unit_test(test_without_a_copy_out_a_pageable_iteration_waits),
        cmocka_unit_test(test_lost_copies_are_seen),
        cmocka_unit_test(test_without_a_copy_out_what_is_expected_is_known),
        cmocka_unit_test(test_what_has_no_known_output_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
