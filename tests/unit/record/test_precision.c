#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/record/internal.h"
#include "orchestrator/results/internal.h"

static struct measurement measurement;
static struct point point;
static double throughputs[4], intervals[4], windows[4];

/* Makes rounds of 1 s, all equally certain. */
static void measured(unsigned rounds, double half_rel)
{
    measurement = (struct measurement){
        .rounds = rounds, .throughputs = throughputs, .intervals = intervals, .windows = windows};
    measurement.last.window_s = 1.0;
    measurement.last.window = (struct window){
        .settled = true,
        .interval = {.method = INTERVAL_BATCH_MEANS, .half_rel = half_rel, .batches = 20}};
    point = (struct point){.work.warmup_ns = 300000000};
    for (unsigned i = 0; i < rounds; i++) {
        throughputs[i] = 1000.0;
        intervals[i] = half_rel;
        windows[i] = 1.0;
    }
    for (int i = 0; i < 1000; i++)
        histogram_record(&measurement.last.latency, 1000000);
}

static json_t *recorded(double precision_rel)
{
    struct interval interval;
    json_t *record = json_object();
    measurement_interval(&measurement, &interval);
    record_add_precision(record, &point, &measurement, &interval, precision_rel);
    return record;
}

static double number(const json_t *record, const char *key)
{
    const json_t *value = json_object_get(json_object_get(record, "interval"), key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *only_warning(const json_t *record, const char *kind)
{
    const json_t *warnings = json_object_get(record, "warnings");
    assert_int_equal(json_array_size(warnings), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(warnings, 0), "kind")),
                        kind);
    return json_string_value(json_object_get(json_array_get(warnings, 0), "text"));
}

static void a_calm_point_has_no_warning(void **state)
{
    (void)state;
    measured(1, 0.005);
    measurement.last.window.drift_rel = 0.019;
    measurement.last.steady_from_s = 0.09;
    json_t *record = recorded(0.01);
    assert_int_equal(json_array_size(json_object_get(record, "warnings")), 0);
    assert_true(isnan(number(record, "needs_s")) && isnan(number(record, "needs_rounds")));
    assert_true(number(record, "batches") == 20.0);
    assert_true(
        json_is_null(json_object_get(json_object_get(record, "interval"), "between_rounds_rel")));
    json_decref(record);
}

static void drift_is_warned_of(void **state)
{
    (void)state;
    measured(1, 0.005);
    measurement.last.window.drift_rel = -0.042;
    json_t *record = recorded(0.01);
    assert_non_null(strstr(only_warning(record, "drift"), "throughput fell by 4.1% within"));
    json_decref(record);
}

static void what_was_left_out_is_warned_of(void **state)
{
    (void)state;
    measured(1, 0.005);
    measurement.last.steady_from_s = 0.04;
    measurement.last.window.before_rel = -0.12;
    json_t *record = recorded(0.01);
    assert_string_equal(only_warning(record, "unsteady"),
                        "throughput rose by 13.6% after the first 0.04 s of the window, which were "
                        "left out: give --warmup 0.34");
    assert_true(fabs(number(record, "recurring_s") - 0.32) < 1e-9);
    json_decref(record);
    measurement.last.window.settled = false;
    record = recorded(0.01);
    assert_non_null(strstr(only_warning(record, "unsteady"), "within the window, and may do so"));
    json_decref(record);
    /* And it is not ok, however narrow the interval. */
    assert_false(measurement_converged(&point, &measurement, 0.01));
    measurement.last.window.before_rel = -0.08;
    assert_true(measurement_converged(&point, &measurement, 0.01));
    record = recorded(0.01);
    assert_int_equal(json_array_size(json_object_get(record, "warnings")), 0);
    assert_true(number(record, "before_rel") == -0.08);
    json_decref(record);
}

/* Of the level before: it cannot fall by more than that. */
static void a_change_is_a_share_of_what_was_before(void **state)
{
    static const struct {
        double before_rel;
        const char *text;
    } cases[] = {{1.5, "throughput fell by 60.0% within"},
                 {-0.5, "throughput rose by 100.0% within"},
                 {-1.0, "throughput rose from 0 within"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        measured(1, 0.005);
        measurement.last.window.settled = false;
        measurement.last.window.before_rel = cases[i].before_rel;
        json_t *record = recorded(0.01);
        assert_non_null(strstr(only_warning(record, "unsteady"), cases[i].text));
        json_decref(record);
    }
}

/* The same of a trend, which is a share of the mean: 1.27 is from 1.635 to 0.365. */
static void a_drift_is_a_share_of_what_was_before(void **state)
{
    static const struct {
        double drift_rel;
        const char *text;
    } cases[] = {{-1.27, "throughput fell by 77.7% within"},
                 {-2.4, "throughput fell by 100.0% within"},
                 {0.5, "throughput rose by 66.7% within"},
                 {2.1, "throughput rose from 0 within"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        measured(1, 0.005);
        measurement.last.window.drift_rel = cases[i].drift_rel;
        json_t *record = recorded(0.01);
        assert_non_null(strstr(only_warning(record, "drift"), cases[i].text));
        json_decref(record);
    }
}

/* A step looks like a trend, unless it was left out. */
static void a_change_has_one_warning(void **state)
{
    (void)state;
    measured(1, 0.005);
    measurement.last.window.settled = false;
    measurement.last.window.before_rel = 1.28;
    measurement.last.window.drift_rel = -1.27;
    json_t *record = recorded(0.01);
    assert_non_null(strstr(only_warning(record, "unsteady"), "throughput fell by 56.1% within"));
    assert_true(number(record, "drift_rel") == -1.27);
    json_decref(record);
    measurement.last.window.settled = true;
    record = recorded(0.01);
    assert_non_null(strstr(only_warning(record, "drift"), "throughput fell by 77.7% within"));
    json_decref(record);
}

static void outliers_are_warned_of(void **state)
{
    (void)state;
    measured(1, 0.005);
    for (int i = 0; i < 4; i++)
        histogram_record(&measurement.last.latency, 10000000);
    json_t *record = recorded(0.01);
    assert_int_equal(json_array_size(json_object_get(record, "warnings")), 0);
    json_decref(record);
    for (int i = 0; i < 4; i++)
        histogram_record(&measurement.last.latency, 10000000);
    record = recorded(0.01);
    assert_non_null(strstr(only_warning(record, "outliers"), "0.79% of the iterations"));
    json_decref(record);
}

static void expect_cause_observed(const struct round_observed *observed, const struct point *of,
                                  const char *cause)
{
    measured(1, 0.005);
    measurement.last.observed = *observed;
    for (int i = 0; i < 8; i++)
        histogram_record(&measurement.last.latency, 10000000);
    point = *of;
    json_t *record = recorded(0.01);
    const char *text = only_warning(record, "outliers");
    if (!strstr(text, cause))
        fail_msg("'%s' lacks '%s'", text, cause);
    json_decref(record);
}

static void expect_cause(const struct point *of, const char *cause)
{
    expect_cause_observed(&(struct round_observed){0}, of, cause);
}

/* What the observer takes for iterations may be the steps of a request. */
static void outliers_of_unlike_iterations_may_be_its_requests(void **state)
{
    const struct point over_mps = {.layout = LAYOUT_PROCESSES_MPS, .processes = 2, .threads = 1};
    (void)state;
    expect_cause_observed(&(struct round_observed){.what = "1 wait", .match = 0.6}, &over_mps,
                          "a request may have several of them");
    expect_cause_observed(&(struct round_observed){.what = "1 wait", .match = 1}, &over_mps,
                          "look for other work");
}

/* Layouts without MPS have time slices of their own. */
static void outliers_of_those_in_turns_are_their_time_slices(void **state)
{
    (void)state;
    expect_cause(&(struct point){.layout = LAYOUT_THREADS, .processes = 1, .threads = 2},
                 "look for other work");
    expect_cause(&(struct point){.layout = LAYOUT_PROCESSES, .processes = 1, .threads = 1},
                 "look for other work");
    expect_cause(&(struct point){.layout = LAYOUT_PROCESSES_MPS, .processes = 2, .threads = 1},
                 "look for other work");
    expect_cause(&(struct point){.layout = LAYOUT_PROCESSES, .processes = 2, .threads = 1},
                 "time slices, as the processes take turns");
    expect_cause(&(struct point){.layout = LAYOUT_HYBRID_TIMESLICED, .processes = 2, .threads = 2},
                 "time slices, as the processes take turns");
    expect_cause(
        &(struct point){
            .layout = LAYOUT_THREADS, .processes = 1, .threads = 2, .contexts = CONTEXTS_OWN},
        "time slices, as the contexts take turns");
}

static void workloads_of_a_mix_are_no_outliers_of_each_other(void **state)
{
    (void)state;
    static struct mix_work mix = {.workloads = {{.name = "quick"}, {.name = "long"}}};
    static struct round_workload workloads[2];
    measured(1, 0.005);
    for (int i = 0; i < 100; i++) {
        histogram_record(&measurement.last.latency, 10000000);
        histogram_record(&workloads[0].latency, 1000000);
        histogram_record(&workloads[1].latency, 10000000);
    }
    point.mix = &mix;
    measurement.last.workloads = workloads;
    measurement.last.workload_count = 2;
    json_t *record = recorded(0.01);
    assert_int_equal(json_array_size(json_object_get(record, "warnings")), 0);
    json_decref(record);
    histogram_record(&workloads[1].latency, 200000000);
    record = recorded(0.01);
    assert_non_null(strstr(only_warning(record, "outliers"), "0.99% of the iterations of long"));
    json_decref(record);
}

/* As a GPU deals them: in pairs, not in a row. */
static void scattered_multiprocessors_are_all_listed(void **state)
{
    (void)state;
    static struct round_worker worker;
    static struct round_process process;
    static struct percentiles percentiles;
    measured(1, 0.005);
    measurement.percentiles = &percentiles;
    for (unsigned i = 0; i < WORK_MULTIPROCESSORS / 64; i++)
        worker.multiprocessors[i] = UINT64_C(0x5555555555555555);
    point.processes = point.threads = 1;
    measurement.last.workers = &worker;
    measurement.last.processes = &process;
    json_t *record = record_point(&point, &measurement, 0.01);
    const char *list = json_string_value(json_object_get(
        json_array_get(json_object_get(record, "per_worker"), 0), "multiprocessors"));
    assert_non_null(list);
    assert_non_null(strstr(list, "0,2,4,"));
    assert_string_equal(list + strlen(list) - 8, ",508,510");
    json_decref(record);
}

/* The square-root law, with a tenth on top. */
static void says_what_it_would_take(void **state)
{
    (void)state;
    measured(1, 0.02);
    json_t *record = recorded(0.01);
    assert_true(fabs(number(record, "needs_s") - 4.4) < 1e-9);
    json_decref(record);
    /* Where the interval is not known, the law does not apply. */
    measured(1, INFINITY);
    measurement.last.window.interval.method = INTERVAL_UNKNOWN;
    record = recorded(0.01);
    assert_true(fabs(number(record, "needs_s") - 4.0) < 1e-9);
    json_decref(record);
    /* Nor where no precision was requested. */
    measured(1, INFINITY);
    record = recorded(INFINITY);
    assert_true(isnan(number(record, "needs_s")));
    json_decref(record);
    measured(4, 0.005);
    throughputs[0] = 1100.0;
    record = recorded(0.01);
    struct interval interval;
    measurement_interval(&measurement, &interval);
    assert_true(interval.half_rel > 0.05);
    assert_true(number(record, "needs_rounds") == interval_rounds_for(&interval, 0.01 / sqrt(1.1)));
    assert_true(fabs(number(record, "between_rounds_rel") - 0.048) < 0.002);
    assert_true(isnan(number(record, "needs_s")));
    json_decref(record);
}

static void no_99_9th_without_the_samples(void **state)
{
    (void)state;
    measured(1, 0.005);
    const struct percentiles rounds = {.us = {1000, 1000, 1000, 1000},
                                       .independent = {1000, 400, 300, 4000}};
    json_t *latency = record_latency(&measurement.last.latency, &rounds, 1);
    assert_true(json_is_null(json_object_get(latency, "p999")));
    assert_true(json_is_number(json_object_get(latency, "p99")));
    json_t *bounds = json_object_get(latency, "bounds");
    assert_true(json_is_null(json_object_get(bounds, "p999")));
    /* As sure as 300 independent ones. */
    assert_true(json_is_null(json_object_get(bounds, "p99")));
    assert_int_equal(json_array_size(json_object_get(bounds, "p90")), 2);
    json_decref(latency);
    for (int i = 0; i < 3000; i++)
        histogram_record(&measurement.last.latency, 1000000);
    latency = record_latency(&measurement.last.latency, NULL, 0);
    assert_true(json_number_value(json_object_get(latency, "p999")) == 1000.0);
    assert_true(json_is_null(json_object_get(json_object_get(latency, "bounds"), "p50")));
    json_decref(latency);
}

/* The caller frees it. */
static char *printed_warnings(const json_t *points)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    table_print_warnings(out, points);
    fclose(out);
    return text;
}

static void warnings_are_printed_once_and_aligned(void **state)
{
    (void)state;
    json_t *points = json_array();
    for (int i = 0; i < 3; i++) {
        json_t *record = json_pack("{s:s, s:i, s:i}", "layout", i ? "processes+mps" : "threads",
                                   "processes", i ? 16 : 1, "threads", 1);
        warnings_add(warnings_of(record), "few", "%d cores", 2);
        if (i < 2)
            warnings_add(warnings_of(record), "drift", "fell by %d%%", i);
        json_array_append_new(points, record);
    }
    char *text = printed_warnings(points);
    assert_string_equal(text, "\n"
                              "warning  3 points:           2 cores\n"
                              "warning  threads 1×1:        fell by 0%\n"
                              "warning  processes+mps 16×1: fell by 1%\n");
    free(text);
    json_array_clear(points);
    json_array_append_new(points, json_object());
    text = printed_warnings(points);
    assert_string_equal(text, "");
    free(text);
    json_decref(points);
    warnings_add(NULL, "none", "nowhere");
}

/* Points of one layout differ in what the table has columns of. */
static void a_warning_names_the_settings_that_vary(void **state)
{
    static const char *const memories[] = {"pinned", "pageable", "pageable"};
    static const double rates[] = {400.0, 400.0, 900.0};
    (void)state;
    json_t *points = json_array();
    for (int i = 0; i < 3; i++) {
        json_t *record = json_pack(
            "{s:s, s:i, s:i, s:s, s:s, s:i, s:b, s:{s:s, s:f}}", "layout", "threads", "processes",
            1, "threads", 1, "sync", "stream", "memory", memories[i], "connections", i ? 4 : 8,
            "connections_default", i == 0, "rate", "arrival", "constant", "offered_ips", rates[i]);
        warnings_add(warnings_of(record), "drift", "fell by %d%%", i);
        json_array_append_new(points, record);
    }
    char *text = printed_warnings(points);
    assert_string_equal(text, "\n"
                              "warning  threads 1×1, pinned, 400/s:             fell by 0%\n"
                              "warning  threads 1×1, pageable, 4 queues, 400/s: fell by 1%\n"
                              "warning  threads 1×1, pageable, 4 queues, 900/s: fell by 2%\n");
    free(text);
    json_decref(points);
}

static void of_several_rounds_the_best_counts(void **state)
{
    (void)state;
    const struct point of = {.work.iterations = 100};
    const struct round_fixed rounds[] = {
        {.begin_s = 2, .seconds = 5, .elapsed_s = 4, .throughput_ips = 50},
        {.begin_s = 1, .seconds = 3, .elapsed_s = 2, .throughput_ips = 100},
        {.begin_s = 3, .seconds = 4, .elapsed_s = 3, .throughput_ips = 75}};
    json_t *object = record_fixed(&of, rounds, 3);
    assert_int_equal(json_integer_value(json_object_get(object, "iterations_per_worker")), 100);
    assert_true(json_real_value(json_object_get(object, "throughput_ips")) == 100);
    assert_true(json_real_value(json_object_get(object, "begin_s")) == 1);
    assert_true(json_real_value(json_object_get(object, "seconds")) == 3);
    assert_true(json_real_value(json_object_get(object, "elapsed_mean_s")) == 2);
    assert_true(fabs(json_real_value(json_object_get(object, "latency_mean_us")) - 20000) < 1e-6);
    assert_int_equal(json_array_size(json_object_get(object, "rounds_ips")), 3);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_calm_point_has_no_warning),
        cmocka_unit_test(drift_is_warned_of),
        cmocka_unit_test(what_was_left_out_is_warned_of),
        cmocka_unit_test(a_change_is_a_share_of_what_was_before),
        cmocka_unit_test(a_drift_is_a_share_of_what_was_before),
        cmocka_unit_test(a_change_has_one_warning),
        cmocka_unit_test(outliers_are_warned_of),
        cmocka_unit_test(outliers_of_unlike_iterations_may_be_its_requests),
        cmocka_unit_test(outliers_of_those_in_turns_are_their_time_slices),
        cmocka_unit_test(scattered_multiprocessors_are_all_listed),
        cmocka_unit_test(workloads_of_a_mix_are_no_outliers_of_each_other),
        cmocka_unit_test(says_what_it_would_take),
        cmocka_unit_test(no_99_9th_without_the_samples),
        cmocka_unit_test(warnings_are_printed_once_and_aligned),
        cmocka_unit_test(a_warning_names_the_settings_that_vary),
        cmocka_unit_test(of_several_rounds_the_best_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
