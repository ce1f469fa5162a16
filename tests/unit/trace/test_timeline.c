/* Records on their way to the orchestrator, and what is made of those of several processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/trace/made.h"

/* -- the buffer -------------------------------------------------------------------------------- */

static void test_attached_memory_is_the_same(void **state)
{
    struct trace_buffer buffer, other;
    (void)state;
    made_open(2, 3, 10, &buffer);
    made_call(&buffer, 1, 2, "cuInit", 7, 1, 2);
    int fd = fcntl(buffer.fd, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(trace_buffer_attach(fd, &other), STATUS_OK);
    assert_int_equal(trace_buffer_count(&other, 0), 0);
    assert_int_equal(trace_buffer_count(&other, 1), 1);
    assert_int_equal(trace_buffer_records(&other, 1)[0].correlation, 7);
    assert_string_equal(trace_buffer_name(&other, 1, 0), "cuInit");
    assert_int_equal(trace_buffer_threads(&other, 1)[2].id, 102);
    trace_buffer_release(&other);
    trace_buffer_release(&buffer);
}

static void test_other_memory_is_refused(void **state)
{
    struct trace_buffer buffer, other = TRACE_BUFFER_EMPTY;
    (void)state;
    made_open(1, 1, 10, &buffer);
    assert_int_equal(trace_buffer_attach(-1, &other), STATUS_SYSTEM);
    buffer.header->version++;
    assert_int_equal(trace_buffer_attach(buffer.fd, &other), STATUS_PROTOCOL);
    buffer.header->version--;
    buffer.header->magic++;
    assert_int_equal(trace_buffer_attach(buffer.fd, &other), STATUS_PROTOCOL);
    buffer.header->magic--;
    buffer.header->record_bytes++;
    assert_int_equal(trace_buffer_attach(buffer.fd, &other), STATUS_PROTOCOL);
    buffer.header->record_bytes--;
    /* More than there is, which reading it would fault. */
    buffer.header->processes = 1000;
    assert_int_equal(trace_buffer_attach(buffer.fd, &other), STATUS_PROTOCOL);
    buffer.header->processes = 1;
    uint64_t length = buffer.header->length;
    buffer.header->length += 4096;
    assert_int_equal(trace_buffer_attach(buffer.fd, &other), STATUS_PROTOCOL);
    buffer.header->length = length;
    trace_buffer_release(&buffer);
}

static void test_what_a_process_says_is_kept_within_bounds(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 10, &buffer);
    made_call(&buffer, 0, 0, "cuInit", 1, 1, 2);
    struct trace_process *process = trace_buffer_process(&buffer, 0);
    atomic_store(&process->count, 1000);
    assert_int_equal(trace_buffer_count(&buffer, 0), 10);
    assert_string_equal(trace_buffer_name(&buffer, 0, 1), "?");
    process->name_count = 1000000;
    assert_string_equal(trace_buffer_name(&buffer, 0, 999999), "?");
    memset(process->names[3], 'x', sizeof process->names[3]);
    assert_int_equal(strlen(trace_buffer_name(&buffer, 0, 3)), TRACE_NAME_BYTES - 1);
    trace_buffer_release(&buffer);
}

static void test_names_are_kept_once_and_there_may_be_too_many(void **state)
{
    struct trace_buffer buffer;
    char name[32], longest[2 * TRACE_NAME_BYTES];
    (void)state;
    made_open(1, 1, 10, &buffer);
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(trace_buffer_intern(&buffer, 0, longest), 0);
    assert_int_equal(trace_buffer_intern(&buffer, 0, longest), 0);
    assert_int_equal(strlen(trace_buffer_name(&buffer, 0, 0)), TRACE_NAME_BYTES - 1);
    for (unsigned i = 1; i < TRACE_NAMES + 10; i++) {
        snprintf(name, sizeof name, "kernel %u", i);
        uint32_t number = trace_buffer_intern(&buffer, 0, name);
        assert_int_equal(number, i < TRACE_NAMES ? i : TRACE_NAMES - 1);
    }
    assert_string_equal(trace_buffer_name(&buffer, 0, TRACE_NAMES - 1), "(other)");
    assert_int_equal(trace_buffer_intern(&buffer, 0, "kernel 5"), 5);
    trace_buffer_release(&buffer);
}

/* -- merging ----------------------------------------------------------------------------------- */

static void test_processes_are_merged_on_one_clock_and_work_is_tied_to_calls(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(2, 1, 10, &buffer);
    /* The same correlation in both, as CUPTI counts in each process. */
    made_kernel(&buffer, 0, 13, 5, 30, 40);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 5, 20, 22);
    made_call(&buffer, 1, 0, "cuLaunchKernel", 5, 10, 12);
    made_kernel(&buffer, 1, 13, 5, 11, 15);
    struct timeline timeline = made_merge(&buffer);
    assert_int_equal(timeline.count, 4);
    const uint32_t processes[] = {1, 1, 0, 0};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(timeline.events[i].process, processes[i]);
    assert_int_equal(timeline.events[1].call, 0);
    assert_int_equal(timeline.events[0].work, 1);
    assert_int_equal(timeline.events[3].call, 2);
    assert_int_equal(timeline.events[3].worker, 0);
    assert_int_equal(timeline.begin_ns, MADE_BEGIN_NS);
    assert_int_equal(timeline.end_ns, MADE_BEGIN_NS + 40000);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_work_belongs_to_the_drivers_call_within_the_runtimes(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 10, &buffer);
    made_call(&buffer, 0, 0, "cudaLaunchKernel", 5, 10, 20);
    trace_buffer_records(&buffer, 0)[0].kind = TRACE_RUNTIME_CALL;
    made_call(&buffer, 0, 0, "cuLaunchKernel", 5, 12, 18);
    made_kernel(&buffer, 0, 13, 5, 30, 40);
    struct timeline timeline = made_merge(&buffer);
    assert_string_equal(timeline.events[timeline.events[2].call].name, "cuLaunchKernel");
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_what_came_before_the_begin_is_left_out_with_its_work(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 10, &buffer);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 1, 0, 1);
    trace_buffer_records(&buffer, 0)[0].begin_ns -= 1;
    made_kernel(&buffer, 0, 13, 1, 5, 6);
    made_call(&buffer, 0, 0, "cuStreamSynchronize", 2, 1, 7);
    struct timeline timeline = made_merge(&buffer);
    assert_int_equal(timeline.count, 1);
    assert_int_equal(timeline.orphans, 1);
    assert_string_equal(timeline.events[0].name, "cuStreamSynchronize");
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_what_tidies_up_is_left_out_with_its_work(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 10, &buffer);
    trace_buffer_threads(&buffer, 0)[0].end_ns = MADE_BEGIN_NS + 10000;
    made_call(&buffer, 0, 0, "cuLaunchKernel", 1, 5, 6);
    made_kernel(&buffer, 0, 13, 1, 12, 13);
    made_call(&buffer, 0, 0, "cuMemcpyDtoHAsync", 2, 15, 16);
    made_copy(&buffer, 0, 13, false, TRACE_MEMORY_PINNED, 2, 17, 18);
    struct timeline timeline = made_merge(&buffer);
    assert_int_equal(timeline.count, 2);
    /* It came after the trace, and not before it. */
    assert_int_equal(timeline.orphans, 0);
    assert_string_equal(timeline.events[timeline.events[1].call].name, "cuLaunchKernel");
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_a_full_buffer_cuts_all_processes_at_one_moment(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(2, 1, 3, &buffer);
    for (unsigned i = 0; i < 5; i++)
        made_call(&buffer, 0, 0, "cuA", i, 10 * (i + 1), 10 * (i + 1) + 1);
    made_call(&buffer, 1, 0, "cuB", 1, 39, 39.5);
    made_call(&buffer, 1, 0, "cuB", 2, 40, 40.5);
    struct timeline timeline = made_merge(&buffer);
    /* The fourth call of process 0, at 40 us, did not fit. */
    assert_int_equal(timeline.full_at_ns, MADE_BEGIN_NS + 40000);
    assert_int_equal(timeline.count, 4);
    assert_int_equal(timeline.after_full, 3);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_iterations_stand_beside_the_events(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(2, 1, 10, &buffer);
    made_iteration(&buffer, 1, 0, 30, 40);
    made_call(&buffer, 0, 0, "cuA", 1, 21, 22);
    made_iteration(&buffer, 0, 0, 20, 25);
    made_iteration(&buffer, 0, 7, 50, 60);
    trace_buffer_mark(&buffer, 0, MADE_BEGIN_NS - 10, MADE_BEGIN_NS + 10);
    struct timeline timeline = made_merge(&buffer);
    assert_int_equal(timeline.count, 1);
    assert_int_equal(timeline.orphans, 0);
    assert_int_equal(timeline.iteration_count, 3);
    assert_int_equal(timeline.iterations[0].begin_ns, MADE_BEGIN_NS + 20000);
    assert_int_equal(timeline.iterations[0].worker, 0);
    assert_int_equal(timeline.iterations[1].process, 1);
    assert_int_equal(timeline.iterations[2].worker, TIMELINE_NONE);
    assert_int_equal(timeline.end_ns, MADE_BEGIN_NS + 60000);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_one_process_has_a_part(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    assert_int_equal(trace_buffer_create(2, 1, 10, &buffer), STATUS_OK);
    assert_true(trace_buffer_claim(&buffer, 1));
    assert_false(trace_buffer_claim(&buffer, 1));
    assert_true(trace_buffer_claim(&buffer, 0));
    assert_int_equal(atomic_load(&trace_buffer_process(&buffer, 0)->pid), getpid());
    trace_buffer_release(&buffer);
}

static void test_calls_after_the_last_iteration_are_left_out(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 2, 10, &buffer);
    trace_buffer_threads(&buffer, 0)[0].end_ns = MADE_BEGIN_NS + 50000;
    trace_buffer_threads(&buffer, 0)[1].end_ns = MADE_BEGIN_NS + 90000;
    made_call(&buffer, 0, 0, "cuLaunchKernel", 1, 49, 51);
    made_call(&buffer, 0, 0, "cuMemFree", 2, 50, 51);
    made_call(&buffer, 0, 1, "cuLaunchKernel", 3, 50, 51);
    /* Of no thread, while thread 1 is at work, and later. */
    made_call(&buffer, 0, 7, "cuA", 4, 89, 91);
    made_call(&buffer, 0, 7, "cuB", 5, 90, 91);
    struct timeline timeline = made_merge(&buffer);
    assert_int_equal(timeline.count, 3);
    for (uint32_t i = 0; i < timeline.count; i++)
        assert_true(strcmp(timeline.events[i].name, "cuLaunchKernel") == 0 ||
                    strcmp(timeline.events[i].name, "cuA") == 0);
    assert_int_equal(timeline.events[2].worker, TIMELINE_NONE);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_work_beside_other_work_of_its_stream_gets_another_lane(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 10, &buffer);
    made_call(&buffer, 0, 0, "cuGraphLaunch", 1, 0, 1);
    made_kernel(&buffer, 0, 13, 1, 10, 20);
    made_kernel(&buffer, 0, 13, 1, 15, 30); /* beside the first */
    made_kernel(&buffer, 0, 13, 1, 20, 25); /* adjoins it */
    made_kernel(&buffer, 0, 14, 1, 12, 25); /* another stream's */
    struct timeline timeline = made_merge(&buffer);
    const uint32_t lanes[] = {0, 0, 0, 1, 0};
    for (uint32_t i = 1; i < timeline.count; i++)
        assert_int_equal(timeline.events[i].lane, lanes[i]);
    /* All are of the one call, in their order. */
    assert_int_equal(timeline.events[0].work, 1);
    for (uint32_t i = 1; i < timeline.count; i++)
        assert_int_equal(timeline.events[i].next, i + 1 < timeline.count ? i + 1 : TIMELINE_NONE);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_records_that_end_before_they_begin_are_not_believed(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 10, &buffer);
    made_call(&buffer, 0, 0, "cuInit", 1, 10, 20);
    trace_buffer_records(&buffer, 0)[0].end_ns = MADE_BEGIN_NS;
    struct timeline timeline = made_merge(&buffer);
    assert_int_equal(timeline.count, 0);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

/* -- names ------------------------------------------------------------------------------------- */

static int names_asked;

static char *read_ker(const char *symbol)
{
    names_asked++;
    return strncmp(symbol, "ker", 3) == 0 ? strdup("kernel<1>()") : NULL;
}

static void test_kernels_may_get_other_names(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(2, 1, 10, &buffer);
    for (unsigned p = 0; p < 2; p++) {
        made_call(&buffer, p, 0, "kernel call", 5, 10, 20);
        made_kernel(&buffer, p, 13, 5, 30, 40);
        made_kernel(&buffer, p, 13, 5, 40, 50);
        made_kernel(&buffer, p, 13, 5, 50, 60);
        trace_buffer_records(&buffer, p)[3].name = trace_buffer_intern(&buffer, p, "other");
    }
    struct timeline timeline = made_merge(&buffer);
    names_asked = 0;
    timeline_rename(&timeline, read_ker);
    assert_int_equal(names_asked, 4);
    unsigned renamed = 0;
    for (uint32_t i = 0; i < timeline.count; i++) {
        const struct timeline_event *event = &timeline.events[i];
        if (event->symbol == NULL) {
            assert_string_not_equal(event->name, "kernel<1>()");
            continue;
        }
        renamed++;
        assert_int_equal(event->record.kind, TRACE_KERNEL);
        assert_string_equal(event->name, "kernel<1>()");
        assert_string_equal(event->symbol, "ker\"nel");
    }
    assert_int_equal(renamed, 4);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attached_memory_is_the_same),
        cmocka_unit_test(test_other_memory_is_refused),
        cmocka_unit_test(test_what_a_process_says_is_kept_within_bounds),
        cmocka_unit_test(test_names_are_kept_once_and_there_may_be_too_many),
        cmocka_unit_test(test_processes_are_merged_on_one_clock_and_work_is_tied_to_calls),
        cmocka_unit_test(test_work_belongs_to_the_drivers_call_within_the_runtimes),
        cmocka_unit_test(test_what_came_before_the_begin_is_left_out_with_its_work),
        cmocka_unit_test(test_what_tidies_up_is_left_out_with_its_work),
        cmocka_unit_test(test_a_full_buffer_cuts_all_processes_at_one_moment),
        cmocka_unit_test(test_iterations_stand_beside_the_events),
        cmocka_unit_test(test_one_process_has_a_part),
        cmocka_unit_test(test_calls_after_the_last_iteration_are_left_out),
        cmocka_unit_test(test_work_beside_other_work_of_its_stream_gets_another_lane),
        cmocka_unit_test(test_records_that_end_before_they_begin_are_not_believed),
        cmocka_unit_test(test_kernels_may_get_other_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
