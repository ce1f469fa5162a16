/* How a process splits the multiprocessors: by which size, and what a driver may refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "worker/engines/partition.h"

#define ALL 132

static struct worker_process process;

/* A driver that rounds sizes up to a multiple of 8, as an H200's. */
static unsigned asked_size, asked_count;

static cuda_result get_resource(cuda_device device, cuda_resource *resource,
                                cuda_resource_type type)
{
    (void)device;
    *resource = (cuda_resource){.type = type, .sm.smCount = ALL};
    return CUDA_SUCCESS_;
}

static cuda_result split(cuda_resource *parts, unsigned *groups, const cuda_resource *input,
                         cuda_resource *remaining, unsigned flags, unsigned least)
{
    (void)remaining;
    (void)flags;
    unsigned size = (least + 7) / 8 * 8, most = input->sm.smCount / size;
    asked_size = least;
    asked_count = *groups;
    if (most == 0)
        return CUDA_INVALID_VALUE;
    *groups = *groups < most ? *groups : most;
    for (unsigned i = 0; i < *groups; i++)
        parts[i].sm.smCount = size;
    return CUDA_SUCCESS_;
}

static cuda_result describe(cuda_resource_descriptor *descriptor, cuda_resource *resources,
                            unsigned count)
{
    (void)descriptor;
    (void)resources;
    (void)count;
    return CUDA_UNKNOWN;
}

static cuda_result create(cuda_green_context *green, cuda_resource_descriptor descriptor,
                          cuda_device device, unsigned flags)
{
    (void)green;
    (void)descriptor;
    (void)device;
    (void)flags;
    return CUDA_UNKNOWN;
}

static cuda_result destroy(cuda_green_context green)
{
    (void)green;
    return CUDA_SUCCESS_;
}

static cuda_result to_context(cuda_context *context, cuda_green_context green)
{
    (void)context;
    (void)green;
    return CUDA_UNKNOWN;
}

static cuda_result no_text(cuda_result result, const char **text)
{
    (void)result;
    (void)text;
    return CUDA_INVALID_VALUE;
}

/* A process whose threads have these numbers, with two streams each. */
static void give(const uint32_t *numbers, unsigned threads)
{
    const struct shm_settings settings = {.streams = 2};
    if (process.shm.header)
        shm_release(&process.shm);
    assert_int_equal(shm_create(&settings, 1, 2 * threads, &process.shm), STATUS_OK);
    shm_reset(&process.shm, &settings, 1, threads);
    for (unsigned i = 0; i < 2 * threads; i++)
        shm_slot_at(&process.shm, 0, i)->partition = numbers[i / 2];
    process.driver = (struct cuda_driver){
        .get_error_name = no_text,
        .get_error_string = no_text,
        .device_get_resource = get_resource,
        .resource_split = split,
        .resource_describe = describe,
        .green_ctx_create = create,
        .green_ctx_destroy = destroy,
        .ctx_from_green_ctx = to_context,
    };
    asked_size = asked_count = 0;
}

#define GIVE(...)                                                                                  \
    do {                                                                                           \
        const uint32_t numbers[] = {__VA_ARGS__};                                                  \
        give(numbers, sizeof numbers / sizeof *numbers);                                           \
    } while (0)

static void assert_infeasible(const char *text)
{
    assert_int_equal(partition_split(&process), STATUS_INFEASIBLE);
    assert_string_equal(status_text(), text);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint32_t numbers[3];
        unsigned size, count;
    } cases[] = {
        {{16, 16, 16}, 16, 3}, {{96, 16, 16}, 16, 8}, {{40, 24, 8}, 8, 9}, {{48, 24, 48}, 24, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        give(cases[i].numbers, 3);
        assert_int_equal(partition_split(&process), STATUS_OK);
        assert_int_equal(asked_size, cases[i].size);
        assert_int_equal(asked_count, cases[i].count);
        assert_int_equal(process.part_size, cases[i].size);
    }
    GIVE(0, 0);
    assert_int_equal(partition_split(&process), STATUS_OK);
    assert_int_equal(asked_count, 0);
    assert_null(process.parts);
}

static void test_refusals(void **state)
{
    (void)state;
    GIVE(40, 60);
    assert_infeasible("sm-partition: this GPU has no parts of 20 multiprocessors, but of 24");
    GIVE(64, 64, 64);
    assert_infeasible("sm-partition: a process takes 192 multiprocessors, and this GPU has 128 to "
                      "give in parts of 64");
    GIVE(136);
    assert_infeasible("sm-partition: this GPU has no parts of 136 multiprocessors, but 132 in all");
    GIVE(8);
    process.driver.green_ctx_create = NULL;
    assert_infeasible("sm-partition takes green contexts, which came with CUDA 12.4: this driver "
                      "has none");
    /* Without partitions it is not needed. */
    GIVE(0);
    process.driver.green_ctx_create = NULL;
    assert_int_equal(partition_split(&process), STATUS_OK);
    shm_release(&process.shm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
