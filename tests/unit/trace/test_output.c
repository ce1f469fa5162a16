/* What is printed and written about a trace: exact, since the traces are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/trace/made.h"
#include "trace/chrome.h"
#include "trace/gantt.h"
#include "trace/listing.h"
#include "trace/summary.h"

static struct summary made_summary(const struct timeline *timeline)
{
    struct summary summary;
    assert_int_equal(summary_make(timeline, &summary), STATUS_OK);
    return summary;
}

/* -- the summary ------------------------------------------------------------------------------- */

static void test_time_by_call_gaps_overlap_and_admission(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 2, 20, &buffer);
    made_copying(&buffer, 0, 0, true, TRACE_MEMORY_PINNED, 1, (double[]){0, 10},
                 (double[]){20, 40});
    made_call(&buffer, 0, 0, "cuLaunchKernel", 2, 10, 12);
    made_kernel(&buffer, 0, 13, 2, 30, 60);
    made_call(&buffer, 0, 1, "cuLaunchKernel", 3, 10, 18);
    made_kernel(&buffer, 0, 14, 3, 100, 110); /* 40 us after all else */
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.call_count, 2);
    assert_int_equal(summary.call_total_ns, 20000);
    /* Of equal times in the order of the alphabet. */
    assert_string_equal(summary.calls[0].name, "cuLaunchKernel");
    assert_int_equal(summary.calls[0].calls, 2);
    assert_int_equal(summary.calls[0].longest_ns, 8000);
    assert_int_equal(summary.kernels, 2);
    assert_int_equal(summary.copies, 1);
    assert_int_equal(summary.span_ns, 90000);
    assert_int_equal(summary.busy_ns, 50000);
    assert_int_equal(summary.kernel_ns, 40000);
    assert_int_equal(summary.copy_ns, 20000);
    assert_int_equal(summary.both_ns, 10000);
    assert_int_equal(summary.gaps, 1);
    assert_int_equal(summary.longest_gap_ns, 40000);
    assert_int_equal(summary.longest_gap_at_ns, MADE_BEGIN_NS + 60000);
    assert_int_equal(summary.streams, 2);
    assert_int_equal(summary.kernel_admission.count, 2);
    assert_int_equal((int)summary.kernel_admission.p50_ns, 18000);
    assert_int_equal((int)summary.kernel_admission.longest_ns, 82000);
    /* 99% of two are both of them. */
    assert_int_equal((int)summary.kernel_admission.p99_ns, 82000);
    assert_int_equal((int)summary.copy_admission.p50_ns, 10000);
    assert_int_equal(summary.kernel_admission.early, 0);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_time_in_calls_within_calls_counts_once(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(2, 2, 20, &buffer);
    /* Two within one, of which the second ends late, as clocks may disagree by a little. */
    made_call(&buffer, 0, 0, "cudaLaunchKernel", 1, 0, 10);
    made_call(&buffer, 0, 0, "cuModuleLoad", 2, 1, 3);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 1, 4, 11);
    /* Of other threads at the same time, and of the same one later. */
    made_call(&buffer, 0, 1, "cuLaunchKernel", 3, 2, 6);
    made_call(&buffer, 1, 0, "cuLaunchKernel", 4, 2, 7);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 5, 20, 22);
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.call_total_ns, 11000 + 4000 + 5000 + 2000);
    assert_string_equal(summary.calls[0].name, "cuLaunchKernel");
    assert_int_equal(summary.calls[0].total_ns, 7000 + 4000 + 5000 + 2000);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_a_memset_is_work_and_no_copy(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 20, &buffer);
    made_copying(&buffer, 0, 0, true, TRACE_MEMORY_PINNED, 1, (double[]){0, 10},
                 (double[]){20, 40});
    made_call(&buffer, 0, 0, "cuMemsetD8Async", 2, 10, 12);
    made_copy(&buffer, 0, 13, true, TRACE_MEMORY_UNKNOWN, 2, 40, 100);
    trace_buffer_records(&buffer, 0)[3].kind = TRACE_SET;
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.copies, 1);
    assert_int_equal(summary.sets, 1);
    assert_int_equal(summary.busy_ns, 80000);
    assert_int_equal(summary.copy_ns, 20000);
    assert_int_equal(summary.gaps, 0);
    assert_int_equal(summary.copy_admission.count, 1);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_beyond_a_cut_nothing_is_known_of_the_gpu(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 2, 4, &buffer);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 1, 0, 5);
    made_kernel(&buffer, 0, 13, 1, 10, 1000);
    made_copying(&buffer, 0, 1, true, TRACE_MEMORY_PINNED, 2, (double[]){20, 25},
                 (double[]){30, 50});
    made_call(&buffer, 0, 1, "cuLaunchKernel", 3, 110, 115);
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(timeline.full_at_ns, MADE_BEGIN_NS + 110000);
    assert_int_equal(summary.span_ns, 100000);
    assert_int_equal(summary.kernel_ns, 100000);
    assert_int_equal(summary.both_ns, 20000);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_work_may_begin_before_its_call_returns_and_a_graph_is_admitted_once(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 20, &buffer);
    made_call(&buffer, 0, 0, "cuGraphLaunch", 2, 0, 100);
    for (int i = 0; i < 5; i++)
        made_kernel(&buffer, 0, 13, 2, 50 + 10 * i, 59 + 10 * i);
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.kernel_admission.count, 1);
    assert_int_equal(summary.kernel_admission.early, 1);
    assert_int_equal((int)summary.kernel_admission.p50_ns, -50000);
    assert_int_equal(summary.stream_gap_ns, 4000);
    assert_int_equal(summary.longest_stream_gap_ns, 1000);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

/* Thread 0's copy out waits for its kernel until 5000 us; each caller adds what the
 * others issue meanwhile. */
static void issue(const struct trace_buffer *buffer, enum trace_memory memory, double first_us,
                  double second_us)
{
    made_copying(buffer, 0, 0, false, memory, 1, (double[]){0, 5100}, (double[]){5000, 5100});
    made_copying(buffer, 0, 1, true, memory, 2, (double[]){1000, first_us + 100},
                 (double[]){first_us, first_us + 100});
    made_copying(buffer, 0, 2, true, memory, 3, (double[]){2000, second_us + 100},
                 (double[]){second_us, second_us + 100});
}

static void check_verdict(enum trace_memory memory, double first_us, double second_us,
                          uint64_t crossed, uint64_t waited, uint64_t overtook, const char *verdict)
{
    struct trace_buffer buffer;
    made_open(1, 3, 20, &buffer);
    issue(&buffer, memory, first_us, second_us);
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.pageable.crossed, crossed);
    assert_int_equal(summary.pageable.waited, waited);
    assert_int_equal(summary.pageable.overtook, overtook);
    assert_string_equal(summary_pageable_verdict(&summary.pageable), verdict);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_the_order_of_transfers_to_pageable_memory_is_told(void **state)
{
    (void)state;
    check_verdict(TRACE_MEMORY_PAGEABLE, 5100, 5200, 2, 2, 0, "complete in issue order");
    check_verdict(TRACE_MEMORY_PAGEABLE, 1000, 2000, 2, 0, 2, "do not complete in issue order");
    check_verdict(TRACE_MEMORY_PAGEABLE, 5100, 2000, 2, 1, 1, "do not complete in issue order");
    check_verdict(TRACE_MEMORY_PINNED, 1000, 2000, 0, 0, 0, "there are none");
}

/* It ends behind the other one's, but for its own kernel. */
static void test_a_transfer_that_waits_for_its_own_kernel_waits_for_no_transfer(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 2, 20, &buffer);
    made_copying(&buffer, 0, 0, false, TRACE_MEMORY_PAGEABLE, 1, (double[]){0, 5100},
                 (double[]){5000, 5100});
    made_call(&buffer, 0, 1, "cuLaunchKernel", 2, 1000, 1001);
    made_kernel(&buffer, 0, 14, 2, 1002, 6000);
    made_copying(&buffer, 0, 1, false, TRACE_MEMORY_PAGEABLE, 3, (double[]){1003, 6100},
                 (double[]){6000, 6100});
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.pageable.copies, 2);
    assert_int_equal(summary.pageable.crossed, 0);
    assert_int_equal(summary.pageable.waited, 0);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_one_that_overtakes_among_many_is_a_few(void **state)
{
    struct summary_pageable pageable = {.copies = 100, .crossed = 40, .waited = 38, .overtook = 2};
    (void)state;
    assert_string_equal(summary_pageable_verdict(&pageable),
                        "complete in issue order but for a few");
    pageable.overtook = 3;
    assert_string_equal(summary_pageable_verdict(&pageable), "mostly complete in issue order");
    pageable.overtook = 19;
    assert_string_equal(summary_pageable_verdict(&pageable), "mostly complete in issue order");
    pageable.overtook = 20;
    assert_string_equal(summary_pageable_verdict(&pageable), "do not complete in issue order");
    pageable.crossed = pageable.overtook = 0;
    assert_string_equal(summary_pageable_verdict(&pageable),
                        "none could begin while another was pending");
}

static void test_calls_at_the_same_moment_have_no_order_and_processes_none_either(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(2, 2, 20, &buffer);
    made_copying(&buffer, 0, 0, true, TRACE_MEMORY_PAGEABLE, 1, (double[]){0, 300},
                 (double[]){200, 300});
    made_copying(&buffer, 0, 1, true, TRACE_MEMORY_PAGEABLE, 2, (double[]){10, 200},
                 (double[]){100, 200});
    made_copying(&buffer, 1, 0, true, TRACE_MEMORY_PAGEABLE, 1, (double[]){50, 150},
                 (double[]){60, 150});
    struct timeline timeline = made_merge(&buffer);
    struct summary summary = made_summary(&timeline);
    assert_int_equal(summary.pageable.copies, 3);
    assert_int_equal(summary.pageable.crossed, 0);
    summary_release(&summary);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static char *printed(const struct timeline *timeline,
                     void (*print)(FILE *out, const struct timeline *timeline))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    print(out, timeline);
    fclose(out);
    return text;
}

static void print_summary(FILE *out, const struct timeline *timeline)
{
    struct summary summary = made_summary(timeline);
    summary_print(out, timeline, &summary);
    summary_release(&summary);
}

static void contains(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("not there: %s\nin: %s", words, text);
}

static void test_the_summary_says_who_waited_for_whom_and_what_is_missing(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 3, 20, &buffer);
    issue(&buffer, TRACE_MEMORY_PAGEABLE, 5100, 5200);
    trace_buffer_process(&buffer, 0)->dropped = 17;
    trace_buffer_process(&buffer, 0)->timeless = 3;
    atomic_store(&trace_buffer_process(&buffer, 0)->complete, 0);
    struct timeline timeline = made_merge(&buffer);
    char *text = printed(&timeline, print_summary);
    contains(text, "transfers to and from pageable memory complete in issue order: of 2 that could "
                   "begin while");
    contains(text, "longest: [copy in] of process 0 thread 1 waited 4.1 ms for one that takes "
                   "100.0 us, behind [copy out] of process 0 thread 0");
    contains(text, "CUPTI dropped 17 records");
    contains(text, "3 records without times");
    contains(text, "process 0 did not deliver all");
    free(text);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_nothing_is_no_reason_to_divide_by_it(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 20, &buffer);
    struct timeline timeline = made_merge(&buffer);
    char *text = printed(&timeline, print_summary);
    contains(text, "0 calls, 0 kernels");
    assert_null(strstr(text, "nan"));
    free(text);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

/* -- listings ---------------------------------------------------------------------------------- */

static void test_the_listings(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 20, &buffer);
    made_copying(&buffer, 0, 0, true, TRACE_MEMORY_PAGEABLE, 1, (double[]){0, 10},
                 (double[]){2, 10});
    made_call(&buffer, 0, 9, "cuLaunchKernel", 2, 10, 12);
    made_kernel(&buffer, 0, 13, 2, 30.5, 60);
    struct timeline timeline = made_merge(&buffer);
    char *text = printed(&timeline, listing_print_gpu);
    contains(text, "    0.002000         8.000            -           -    -       -       -     "
                   "1000B     0.12 pageable device ");
    contains(text, "    0.030500        29.500        5x1x1      64x1x1    0      0B      0B");
    assert_null(strstr(text, "cuLaunch"));
    free(text);
    text = printed(&timeline, listing_print_calls);
    contains(text, "    0.000000        10.000       0      0     13  cuMemcpyHtoDAsync ([copy "
                   "in])\n");
    contains(text, "    0.010000         2.000       0      -     13  cuLaunchKernel (ker\"nel)\n");
    free(text);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

/* -- the file for viewers ---------------------------------------------------------------------- */

static json_t *as_json(const struct timeline *timeline)
{
    char *text = NULL;
    size_t bytes = 0;
    json_error_t error;
    FILE *out = open_memstream(&text, &bytes);
    json_t *other = json_pack("{s:s}", "mpsweep", "x");
    assert_int_equal(chrome_write(out, timeline, "a \"GPU\"", other), STATUS_OK);
    json_decref(other);
    fclose(out);
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s in line %d of: %s", error.text, error.line, text);
    free(text);
    return root;
}

static json_t *find_slice(const json_t *events, const char *name)
{
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i);
        const char *kind = json_string_value(json_object_get(event, "ph"));
        if (strcmp(kind, "X") == 0 &&
            strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
            return event;
    }
    fail_msg("no slice '%s'", name);
    return NULL;
}

static double number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static char *read_name(const char *symbol)
{
    return strcmp(symbol, "ker\"nel") == 0 ? strdup("kernel<1>(\"int\")") : NULL;
}

static void test_a_kernel_that_got_another_name_keeps_its_own_as_symbol(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 20, &buffer);
    made_call(&buffer, 0, 0, "cuLaunchKernel", 2, 10, 12);
    made_kernel(&buffer, 0, 13, 2, 30, 60);
    struct timeline timeline = made_merge(&buffer);
    json_t *root = as_json(&timeline);
    json_t *slice = find_slice(json_object_get(root, "traceEvents"), "ker\"nel");
    assert_null(json_object_get(json_object_get(slice, "args"), "symbol"));
    json_decref(root);
    timeline_rename(&timeline, read_name);
    root = as_json(&timeline);
    slice = find_slice(json_object_get(root, "traceEvents"), "kernel<1>(\"int\")");
    json_t *symbol = json_object_get(json_object_get(slice, "args"), "symbol");
    assert_string_equal(json_string_value(symbol), "ker\"nel");
    json_decref(root);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_calls_within_calls_nest_and_adjoining_slices_stay_apart(void **state)
{
    struct trace_buffer buffer;
    (void)state;
    made_open(1, 1, 20, &buffer);
    made_call(&buffer, 0, 0, "cudaMalloc", 1, 529.379, 664.108);
    trace_buffer_records(&buffer, 0)[0].kind = TRACE_RUNTIME_CALL;
    /* Ends later than what it is in, as no call does. */
    made_call(&buffer, 0, 0, "cuMemAlloc", 2, 600, 664.5);
    made_call(&buffer, 0, 0, "cuInit", 3, 664.108, 700);
    struct timeline timeline = made_merge(&buffer);
    json_t *root = as_json(&timeline);
    const json_t *events = json_object_get(root, "traceEvents");
    const json_t *outer = find_slice(events, "cudaMalloc"),
                 *inner = find_slice(events, "cuMemAlloc");
    const json_t *next = find_slice(events, "cuInit");
    assert_true(number(inner, "ts") + number(inner, "dur") <
                number(outer, "ts") + number(outer, "dur"));
    /* As viewers compute it: 529.379 + 134.729 is more than 664.108 in floating point. */
    assert_true(529.379 + 134.729 > 664.108);
    assert_true(number(outer, "ts") + number(outer, "dur") < number(next, "ts"));
    assert_true(fabs(number(outer, "dur") - 134.729) < 0.001);
    json_decref(root);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_arrows_go_from_calls_to_their_work(void **state)
{
    struct trace_buffer buffer;
    unsigned starts = 0, ends = 0;
    (void)state;
    made_open(2, 1, 20, &buffer);
    made_call(&buffer, 1, 0, "cuLaunchKernel", 2, 10, 12);
    made_kernel(&buffer, 1, 13, 2, 30.5, 60);
    struct timeline timeline = made_merge(&buffer);
    json_t *root = as_json(&timeline);
    const json_t *events = json_object_get(root, "traceEvents");
    const json_t *call = find_slice(events, "cuLaunchKernel"),
                 *work = find_slice(events, "ker\"nel");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *kind = json_string_value(json_object_get(event, "ph"));
        const json_t *slice = strcmp(kind, "s") == 0 ? call : strcmp(kind, "f") == 0 ? work : NULL;
        if (!slice)
            continue;
        starts += slice == call;
        ends += slice == work;
        assert_int_equal(number(event, "pid"), number(slice, "pid"));
        assert_int_equal(number(event, "tid"), number(slice, "tid"));
        assert_true(number(event, "ts") == number(slice, "ts"));
    }
    assert_int_equal(starts, 1);
    assert_int_equal(ends, 1);
    assert_true(number(call, "pid") != number(work, "pid"));
    json_decref(root);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

/* -- the picture ------------------------------------------------------------------------------- */

static void test_the_picture_joins_what_cannot_be_told_apart(void **state)
{
    struct trace_buffer buffer;
    char *text = NULL;
    size_t bytes = 0;
    uint32_t left_out = 7;
    (void)state;
    made_open(1, 1, 5000, &buffer);
    for (unsigned i = 0; i < 1000; i++) {
        made_call(&buffer, 0, 0, "cuLaunchKernel", i + 1, i, i + 0.1);
        made_kernel(&buffer, 0, 13, i + 1, i + 0.2, i + 0.8);
    }
    made_call(&buffer, 0, 0, "cuStreamSynchronize", 2000, 1000, 100000);
    struct timeline timeline = made_merge(&buffer);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(gantt_write(out, &timeline, &left_out), STATUS_OK);
    fclose(out);
    assert_int_equal(left_out, 0);
    contains(text, "n_rows = 2\n");
    contains(text, "labels[1] = 'process 0 thread 0: calls'\nlabels[2] = 'stream 13'\n");
    contains(text, "\n1 0.000000 0.999100 0\n");
    contains(text, "\n2 0.000200 0.999800 5\n");
    contains(text, "\n1 1.000000 100.000000 3\n");
    free(text);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_the_picture_has_the_directions_of_copies_and_of_their_calls(void **state)
{
    struct trace_buffer buffer;
    char *text = NULL;
    size_t bytes = 0;
    uint32_t left_out = 0;
    (void)state;
    made_open(1, 1, 100, &buffer);
    made_copying(&buffer, 0, 0, true, TRACE_MEMORY_PINNED, 1, (double[]){0, 1000},
                 (double[]){500, 900});
    made_copying(&buffer, 0, 0, false, TRACE_MEMORY_PINNED, 2, (double[]){1000, 2000},
                 (double[]){1500, 1900});
    made_call(&buffer, 0, 0, "cuMemcpyAsync", 3, 2000, 3000);
    made_copy(&buffer, 0, 13, true, TRACE_MEMORY_PINNED, 3, 2500, 2900);
    made_call(&buffer, 0, 0, "cuMemcpyDtoDAsync", 4, 3000, 4000);
    struct timeline timeline = made_merge(&buffer);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(gantt_write(out, &timeline, &left_out), STATUS_OK);
    fclose(out);
    contains(text, "\n1 0.000000 1.000000 1\n");
    contains(text, "\n1 1.000000 2.000000 2\n");
    contains(text, "\n1 2.000000 3.000000 1\n");
    contains(text, "\n1 3.000000 4.000000 4\n");
    contains(text, "\n2 0.500000 0.900000 6\n");
    contains(text, "\n2 1.500000 1.900000 7\n");
    contains(text, "\n2 2.500000 2.900000 6\n");
    free(text);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_there_are_rows_for_the_first_workers_only(void **state)
{
    struct trace_buffer buffer;
    char *text = NULL;
    size_t bytes = 0;
    uint32_t left_out = 0;
    (void)state;
    made_open(1, 100, 5000, &buffer);
    struct timeline timeline = made_merge(&buffer);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(gantt_write(out, &timeline, &left_out), STATUS_USAGE);
    timeline_release(&timeline);
    for (unsigned i = 0; i < 100; i++)
        made_call(&buffer, 0, i, "cuInit", i + 1, i, i + 1);
    timeline = made_merge(&buffer);
    assert_int_equal(gantt_write(out, &timeline, &left_out), STATUS_OK);
    fclose(out);
    assert_int_equal(left_out, 100 - GANTT_ROWS_MOST);
    assert_null(strstr(text, "thread 64"));
    assert_null(strstr(text, "\n65 "));
    free(text);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_by_call_gaps_overlap_and_admission),
        cmocka_unit_test(test_time_in_calls_within_calls_counts_once),
        cmocka_unit_test(test_a_memset_is_work_and_no_copy),
        cmocka_unit_test(test_beyond_a_cut_nothing_is_known_of_the_gpu),
        cmocka_unit_test(test_work_may_begin_before_its_call_returns_and_a_graph_is_admitted_once),
        cmocka_unit_test(test_the_order_of_transfers_to_pageable_memory_is_told),
        cmocka_unit_test(test_a_transfer_that_waits_for_its_own_kernel_waits_for_no_transfer),
        cmocka_unit_test(test_one_that_overtakes_among_many_is_a_few),
        cmocka_unit_test(test_calls_at_the_same_moment_have_no_order_and_processes_none_either),
        cmocka_unit_test(test_the_summary_says_who_waited_for_whom_and_what_is_missing),
        cmocka_unit_test(test_nothing_is_no_reason_to_divide_by_it),
        cmocka_unit_test(test_the_listings),
        cmocka_unit_test(test_a_kernel_that_got_another_name_keeps_its_own_as_symbol),
        cmocka_unit_test(test_calls_within_calls_nest_and_adjoining_slices_stay_apart),
        cmocka_unit_test(test_arrows_go_from_calls_to_their_work),
        cmocka_unit_test(test_the_picture_joins_what_cannot_be_told_apart),
        cmocka_unit_test(test_the_picture_has_the_directions_of_copies_and_of_their_calls),
        cmocka_unit_test(test_there_are_rows_for_the_first_workers_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
