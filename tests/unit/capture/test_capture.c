/* From a timeline to an iteration, from iterations to their median, and from that to a workload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/capture/internal.h"
#include "tests/unit/trace/made.h"

#define AT(us) (MADE_BEGIN_NS + (uint64_t)((us)*1000))

static struct trace_buffer buffer;
static struct timeline timeline;

static void end_trace(void)
{
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void near(double ns, double us)
{
    assert_true(fabs(ns / 1e3 - us) < 0.01);
}

/* Copy in, two kernels, a wait, a copy out, a wait; from 0 to 100 us. */
static void make_one(void)
{
    made_open(1, 1, 100, &buffer);
    made_call(&buffer, 0, 0, "cuMemcpyHtoDAsync", 1, 5, 6);
    made_copy(&buffer, 0, 13, true, TRACE_MEMORY_PINNED, 1, 7, 10);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 2, 6, 7);
    made_kernel(&buffer, 0, 13, 2, 10, 20);
    made_call(&buffer, 0, 0, "cuEventRecord", 3, 8, 9);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 4, 9, 10);
    made_kernel(&buffer, 0, 13, 4, 20, 31);
    made_call(&buffer, 0, 0, "cuStreamSynchronize", 5, 12, 31);
    made_call(&buffer, 0, 0, "cuStreamSynchronize", 6, 32, 33);
    made_call(&buffer, 0, 0, "cuMemcpyDtoHAsync", 7, 63, 64);
    made_copy(&buffer, 0, 13, false, TRACE_MEMORY_PINNED, 7, 65, 70);
    made_call(&buffer, 0, 0, "cuCtxSynchronize", 8, 64, 70);
    /* Of the next iteration. */
    made_call(&buffer, 0, 0, "cuLaunchKernel", 9, 101, 102);
    made_kernel(&buffer, 0, 13, 9, 103, 104);
    timeline = made_merge(&buffer);
}

static void test_an_iteration_is_work_waits_and_what_the_host_does_between(void **state)
{
    static const uint32_t kinds[] = {STEP_COPY_IN,     STEP_COMPUTE,  STEP_COMPUTE,
                                     STEP_SYNCHRONIZE, STEP_COPY_OUT, STEP_SYNCHRONIZE};
    static const double before_us[] = {5, 0, 2, 2, 32, 0}, took_us[] = {3, 10, 11, 0, 5, 0};
    struct captured_iteration one;
    (void)state;
    make_one();
    assert_int_equal(capture_iteration(&timeline, AT(0), AT(100), &one), STATUS_OK);
    assert_int_equal(one.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(one.steps[i].kind, kinds[i]);
        near(one.steps[i].before_ns, before_us[i]);
        near(one.steps[i].duration_ns, took_us[i]);
    }
    near(one.after_ns, 30);
    near(one.took_ns, 100);
    near(captured_wait_ns(&one), 25);
    near(captured_host_ns(&one), 71);
    assert_int_equal(one.steps[0].bytes, 1000);
    assert_int_equal(one.steps[1].blocks, 5);
    assert_int_equal(one.steps[1].threads, 64);
    captured_iteration_release(&one);
    end_trace();
}

static void test_polls_are_a_wait(void **state)
{
    struct captured_iteration one;
    (void)state;
    made_open(1, 1, 100, &buffer);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 1, 1, 2);
    made_kernel(&buffer, 0, 13, 1, 3, 50);
    for (unsigned i = 0; i < 4; i++) {
        made_call(&buffer, 0, 0, "cuStreamQuery", 2 + i, 12 + 10 * i, 13 + 10 * i);
        trace_buffer_records(&buffer, 0)[2 + i].result = 600;
    }
    made_call(&buffer, 0, 0, "cuStreamQuery", 9, 52, 53);
    timeline = made_merge(&buffer);
    assert_int_equal(capture_iteration(&timeline, AT(0), AT(60), &one), STATUS_OK);
    assert_int_equal(one.count, 2);
    assert_int_equal(one.steps[1].kind, STEP_SYNCHRONIZE);
    /* Up to the first question; between them the host waits. */
    near(one.steps[1].before_ns, 10);
    near(one.after_ns, 7);
    captured_iteration_release(&one);
    end_trace();
}

/* Of the runtime, without calls of the driver within them. */
static void test_a_copy_that_waits_and_a_question_that_does_not(void **state)
{
    static const uint32_t kinds[] = {STEP_COPY_IN, STEP_SYNCHRONIZE, STEP_COMPUTE};
    struct captured_iteration one;
    (void)state;
    made_open(1, 1, 100, &buffer);
    made_call(&buffer, 0, 0, "cudaMemcpy", 1, 1, 9);
    made_copy(&buffer, 0, 13, true, TRACE_MEMORY_PAGEABLE, 1, 3, 8);
    made_call(&buffer, 0, 0, "cudaLaunchKernel", 2, 10, 11);
    made_kernel(&buffer, 0, 13, 2, 12, 20);
    made_call(&buffer, 0, 0, "cudaEventQuery", 3, 21, 22);
    timeline = made_merge(&buffer);
    assert_int_equal(capture_iteration(&timeline, AT(0), AT(30), &one), STATUS_OK);
    assert_int_equal(one.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(one.steps[i].kind, kinds[i]);
    assert_true(one.steps[0].pageable);
    near(one.steps[2].before_ns, 1);
    near(one.after_ns, 19);
    captured_iteration_release(&one);
    end_trace();
}

/* Alone in its call it is host time; beside another one its call's host time is that one's. */
static void test_a_copy_of_nothing_is_no_step(void **state)
{
    struct captured_iteration one;
    (void)state;
    made_open(1, 1, 100, &buffer);
    made_call(&buffer, 0, 0, "cudaMemcpy", 1, 1, 2);
    made_copy(&buffer, 0, 13, true, TRACE_MEMORY_PAGEABLE, 1, 1, 2);
    trace_buffer_records(&buffer, 0)[1].bytes = 0;
    made_call(&buffer, 0, 0, "cudaGraphLaunch", 2, 10, 11);
    made_copy(&buffer, 0, 13, true, TRACE_MEMORY_PINNED, 2, 12, 13);
    trace_buffer_records(&buffer, 0)[3].bytes = 0;
    made_kernel(&buffer, 0, 13, 2, 13, 20);
    timeline = made_merge(&buffer);
    assert_int_equal(capture_iteration(&timeline, AT(0), AT(30), &one), STATUS_OK);
    assert_int_equal(one.count, 1);
    assert_int_equal(one.steps[0].kind, STEP_COMPUTE);
    near(one.steps[0].before_ns, 10);
    captured_iteration_release(&one);
    end_trace();
}

static struct captured_iteration made(size_t count, const double durations_us[], double took_us)
{
    struct captured_iteration one = {.count = count, .took_ns = took_us * 1e3};
    one.steps = calloc(count + 1, sizeof *one.steps);
    assert_non_null(one.steps);
    for (size_t i = 0; i < count; i++)
        one.steps[i] = (struct captured_step){.kind = STEP_COMPUTE,
                                              .name = "a",
                                              .blocks = 4,
                                              .threads = 64,
                                              .duration_ns = durations_us[i] * 1e3};
    return one;
}

static void test_one_outlier_changes_nothing(void **state)
{
    const double usual[] = {10, 20}, slow[] = {900, 20}, more[] = {10, 20, 30};
    struct captured_iteration iterations[] = {made(3, more, 60), made(2, usual, 30),
                                              made(2, slow, 920), made(2, usual, 31),
                                              made(2, usual, 29)};
    struct captured_iteration median;
    size_t alike;
    (void)state;
    assert_int_equal(capture_median(iterations, 5, &median, &alike), STATUS_OK);
    assert_int_equal(alike, 4);
    assert_int_equal(median.count, 2);
    near(median.steps[0].duration_ns, 10);
    near(median.took_ns, 30.5);
    captured_iteration_release(&median);
    /* All different: the one of median length. */
    assert_int_equal(capture_median(iterations, 2, &median, &alike), STATUS_OK);
    assert_int_equal(alike, 1);
    assert_int_equal(median.count, 2);
    captured_iteration_release(&median);
    for (size_t i = 0; i < 5; i++)
        captured_iteration_release(&iterations[i]);
}

static struct captured_workload describe(const struct captured_iteration *one, bool busy)
{
    const struct capture_choice choice = {
        .name = "mine", .host_scale = 1.0, .busy = busy, .turns_per_ns = 1.1};
    struct captured_workload out;
    assert_int_equal(capture_describe(one, &choice, &out), STATUS_OK);
    return out;
}

static void check_steps(const struct captured_workload *out, const char *const *texts, size_t count)
{
    char text[WORKLOAD_STEP_TEXT];
    assert_int_equal(out->workload.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(workload_step_text(&out->workload.steps[i], text), texts[i]);
}

/* Where it can keep other blocks off a multiprocessor. */
static void test_shared_memory_that_matters(void **state)
{
    const double durations[] = {10, 40, 90};
    static const char *const steps[] = {"kernel blocks=4 threads=64 shared=96K duration=10us",
                                        "kernel blocks=4 threads=64 duration=40us",
                                        "kernel blocks=4 threads=64 shared=227K duration=90us"};
    (void)state;
    struct captured_iteration one = made(3, durations, 140);
    one.steps[0].shared = 96 * 1024 - 8;
    one.steps[1].shared = 1024;
    one.steps[2].shared = 300 * 1024;
    struct captured_workload out = describe(&one, true);
    check_steps(&out, steps, 3);
    captured_iteration_release(&one);
}

static void test_steps_of_the_grammar(void **state)
{
    const double durations[] = {10, 10.5, 11, 40, 0.4, 30};
    static const char *const busy[] = {"kernel blocks=4 threads=64 duration=10.5us count=3",
                                       "work 330000", "kernel blocks=4 threads=64 duration=40us",
                                       "kernel blocks=4 threads=64 cycles=1", "copy-out 1008"};
    static const char *const think[] = {"kernel blocks=4 threads=64 duration=10.5us count=3",
                                        "think 300us",
                                        "kernel blocks=4 threads=64 duration=40us",
                                        "kernel blocks=4 threads=64 cycles=1",
                                        "copy-out 1008",
                                        "synchronize",
                                        "think 500us"};
    (void)state;
    struct captured_iteration one = made(6, durations, 1000);
    one.steps[3].before_ns = 300e3;
    one.steps[5] = (struct captured_step){.kind = STEP_COPY_OUT, .bytes = 1001, .pageable = true};
    struct captured_workload out = describe(&one, true);
    check_steps(&out, busy, 5);
    assert_true(out.pageable);
    assert_false(out.graph);
    assert_int_equal(out.merged, 0);
    assert_int_equal(out.others, 1);
    captured_iteration_release(&one);
    /* A wait with host time behind it stays; one at the end is left out. */
    one = made(7, (const double[]){10, 10.5, 11, 40, 0.4, 30, 0}, 1000);
    one.steps[3].before_ns = 300e3;
    one.steps[5] = (struct captured_step){.kind = STEP_COPY_OUT, .bytes = 1001};
    one.steps[6] = (struct captured_step){.kind = STEP_SYNCHRONIZE};
    one.after_ns = 500e3;
    out = describe(&one, false);
    check_steps(&out, think, 7);
    one.after_ns = 1e3;
    out = describe(&one, false);
    check_steps(&out, think, 5);
    captured_iteration_release(&one);
}

static void test_too_many_steps_are_put_together(void **state)
{
    double durations[400];
    char names[400][8];
    (void)state;
    for (unsigned i = 0; i < 400; i++)
        durations[i] = i % 2 ? 5 : 15;
    struct captured_iteration one = made(400, durations, 4000);
    for (unsigned i = 0; i < 400; i++) {
        snprintf(names[i], sizeof names[i], "k%u", i);
        one.steps[i].name = names[i];
    }
    /* The grammar takes half of them as they are. */
    one.count = 200;
    struct captured_workload out = describe(&one, true);
    assert_int_equal(out.merged, 0);
    assert_int_equal(out.workload.count, 200);
    one.count = 400;
    out = describe(&one, true);
    uint64_t kernels = 0, total_ns = 0;
    assert_true(out.merged > 0);
    assert_false(out.folded);
    for (unsigned i = 0; i < out.workload.count; i++) {
        kernels += out.workload.steps[i].count;
        total_ns += out.workload.steps[i].count * out.workload.steps[i].asked_ns;
    }
    assert_int_equal(kernels, 400);
    assert_in_range(total_ns, 3990000, 4010000);
    captured_iteration_release(&one);
}

/* A copy in, words of a kernel, layers of three kernels and another one, and a copy out. Every
 * other word is slower, and the last kernel has more and more blocks. */
static struct captured_iteration spoken(unsigned words, unsigned layers)
{
    static const char *const names[] = {"norm", "multiply", "multiply", "first", "last"};
    static const double durations_us[] = {5, 20, 40, 3, 9};
    double none[600] = {0};
    unsigned last = 3 * layers + 1;
    struct captured_iteration one = made((last + 1) * words + 2, none, 1500);
    struct captured_step *step = one.steps;
    *step++ = (struct captured_step){.kind = STEP_COPY_IN, .bytes = 4096};
    for (unsigned word = 0; word < words; word++) {
        for (unsigned k = 0; k <= last; k++, step++) {
            unsigned which = k == 0 ? 3 : k == last ? 4 : (k - 1) % 3;
            step->name = names[which];
            step->blocks = 4 + (which == 4 ? word : 0);
            step->duration_ns = durations_us[which] * (word % 2 ? 1.2e3 : 0.8e3);
        }
    }
    *step = (struct captured_step){.kind = STEP_COPY_OUT, .bytes = 16};
    return one;
}

static void test_what_comes_again_is_a_repeat(void **state)
{
    static const char *const kernels[] = {
        "copy-in 4K",
        "repeat 8",
        "kernel blocks=4 threads=64 duration=3us",
        "repeat 21",
        "kernel blocks=4 threads=64 duration=5us",
        "kernel blocks=4 threads=64 duration=20us",
        "kernel blocks=4 threads=64 duration=40us",
        "end",
        "kernel blocks=8 threads=64 duration=9us",
        "end",
        "copy-out 16",
    };
    static const char *const with_host[] = {
        "copy-in 4K",
        "repeat 8",
        "kernel blocks=4 threads=64 duration=3us",
        "repeat 21",
        "kernel blocks=4 threads=64 duration=5us",
        "kernel blocks=4 threads=64 duration=20us",
        "think 30.1us",
        "kernel blocks=4 threads=64 duration=40us",
        "end",
        "kernel blocks=8 threads=64 duration=9us",
        "end",
        "copy-out 16",
    };
    static const char *const with_work[] = {
        "copy-in 4K",
        "repeat 8",
        "kernel blocks=4 threads=64 duration=3us",
        "work 7700",
        "repeat 21",
        "kernel blocks=4 threads=64 duration=5us",
        "kernel blocks=4 threads=64 duration=20us",
        "work 33100",
        "kernel blocks=4 threads=64 duration=40us",
        "end",
        "kernel blocks=8 threads=64 duration=9us",
        "end",
        "copy-out 16",
    };
    (void)state;
    struct captured_iteration one = spoken(5, 3);
    struct captured_workload out = describe(&one, false);
    /* There are few enough without, or without one in the other. */
    assert_false(out.folded);
    assert_int_equal(out.workload.count, 57);
    captured_iteration_release(&one);
    one = spoken(8, 3);
    out = describe(&one, false);
    assert_true(out.folded);
    assert_int_equal(out.workload.count, 1 + 1 + 11 + 1 + 1);
    captured_iteration_release(&one);
    one = spoken(8, 21);
    out = describe(&one, false);
    assert_true(out.folded);
    assert_int_equal(out.merged, 0);
    check_steps(&out, kernels, sizeof kernels / sizeof kernels[0]);
    /* Host times: what is a share of the iteration with all times, and what is none. */
    for (unsigned word = 0; word < 8; word++) {
        struct captured_step *first = &one.steps[1 + 65 * word];
        first->before_ns = word > 0 ? 8e3 : 0.0;
        for (unsigned layer = 0; layer < 21; layer++) {
            first[1 + 3 * layer].before_ns = 0.1e3;
            first[3 + 3 * layer].before_ns = word % 2 ? 50e3 : 10e3;
        }
    }
    one.after_ns = 8e3;
    out = describe(&one, false);
    check_steps(&out, with_host, sizeof with_host / sizeof with_host[0]);
    /* No sleep is as short as what the host computes. */
    out = describe(&one, true);
    check_steps(&out, with_work, sizeof with_work / sizeof with_work[0]);
    captured_iteration_release(&one);
}

/* Equal kernels in a row are one with a count, and no repeat of two of them. */
static void test_equal_kernels_are_no_repeat(void **state)
{
    static const char *const names[] = {"x", "y", "z"};
    char others[20][8];
    double durations[250];
    (void)state;
    for (unsigned i = 0; i < 250; i++)
        durations[i] = i < 220 ? (i % 11 < 10 ? 20 : 90) : i % 3 ? 7 : 3;
    struct captured_iteration one = made(250, durations, 9000);
    for (unsigned i = 0; i < 20; i++)
        snprintf(others[i], sizeof others[i], "k%u", i);
    for (unsigned i = 0; i < 250; i++)
        one.steps[i].name = i < 220 ? others[i / 11] : names[i % 3];
    struct captured_workload out = describe(&one, true);
    assert_true(out.folded);
    assert_int_equal(out.merged, 0);
    assert_int_equal(out.workload.count, 2 * 20 + 5);
    assert_int_equal(out.workload.steps[0].count, 10);
    assert_int_equal(out.workload.steps[40].kind, STEP_REPEAT);
    assert_int_equal(out.workload.steps[40].amount, 10);
    captured_iteration_release(&one);
}

static void test_an_iteration_without_work_is_none(void **state)
{
    const struct capture_choice choice = {.name = "mine", .host_scale = 1.0};
    struct captured_iteration one = made(1, (const double[]){0}, 100);
    struct captured_workload out;
    (void)state;
    one.steps[0].kind = STEP_SYNCHRONIZE;
    assert_int_equal(capture_describe(&one, &choice, &out), STATUS_NOT_FOUND);
    captured_iteration_release(&one);
}

static void test_a_window_of_the_workload_has_several_iterations(void **state)
{
    static const struct point program = {.work.workload = WORKLOAD_PROGRAM};
    static const struct point workload = {.work.workload = WORKLOAD_DESCRIBED};
    struct capture capture = {.limits = {.duration_ns = 300, .max_duration_ns = 30000}};
    (void)state;
    capture.program_ns = 2.0;
    assert_int_equal(capture_first_limits(&capture, &workload).duration_ns, 300);
    capture.program_ns = 600.0;
    assert_int_equal(capture_first_limits(&capture, &workload).duration_ns, 6000);
    assert_int_equal(capture_first_limits(&capture, &program).duration_ns, 300);
    capture.program_ns = 20000.0;
    assert_int_equal(capture_first_limits(&capture, &workload).duration_ns, 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_iteration_is_work_waits_and_what_the_host_does_between),
        cmocka_unit_test(test_polls_are_a_wait),
        cmocka_unit_test(test_a_copy_that_waits_and_a_question_that_does_not),
        cmocka_unit_test(test_a_copy_of_nothing_is_no_step),
        cmocka_unit_test(test_one_outlier_changes_nothing),
        cmocka_unit_test(test_shared_memory_that_matters),
        cmocka_unit_test(test_steps_of_the_grammar),
        cmocka_unit_test(test_too_many_steps_are_put_together),
        cmocka_unit_test(test_what_comes_again_is_a_repeat),
        cmocka_unit_test(test_equal_kernels_are_no_repeat),
        cmocka_unit_test(test_an_iteration_without_work_is_none),
        cmocka_unit_test(test_a_window_of_the_workload_has_several_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
