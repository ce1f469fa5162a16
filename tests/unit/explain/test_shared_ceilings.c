/* Ceilings of points of several GPUs: what each has, and what they share. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "explain/binding.h"
#include "explain/calibration_json.h"
#include "explain/ceilings.h"
#include "explain/internal.h"
#include "explain/predict.h"
#include "explain/remedy.h"
#include "tests/unit/explain/h200.h"
#include "tests/unit/explain/reason.h"

/* Far more CPUs than workers. */
static struct calibration machine(void)
{
    struct calibration calibration = h200;
    calibration.cpus = 256;
    return calibration;
}

static struct explain_point point_of(unsigned gpus, unsigned processes, unsigned threads)
{
    return (struct explain_point){
        .mps = processes > 1,
        .gpus = gpus,
        .processes = processes,
        .threads = threads,
        .connections = 32,
        .work = h200.work,
    };
}

static enum ceiling_kind limit_of(const struct explain_point *point,
                                  const struct calibration *calibration, double *ips)
{
    struct ceilings ceilings;
    struct binding binding;
    ceilings_compute(point, calibration, &ceilings);
    binding_find(point, calibration, &ceilings, &binding);
    *ips = ceilings.ips[binding.kind];
    return binding.kind;
}

static void gpus_that_share_nothing_do_so_many_times_one(void **state)
{
    (void)state;
    const struct calibration calibration = machine();
    const struct explain_point layouts[] = {
        point_of(1, 1, 8),
        point_of(1, 1, 48),
        point_of(1, 32, 1),
        {.processes = 4, .threads = 12, .connections = 8, .work = h200.work},
        {.processes = 1,
         .threads = 16,
         .connections = 8,
         .memory = MEMORY_PAGEABLE,
         .sync = SYNC_NONE,
         .work = h200.work},
        {.processes = 1, .threads = 64, .launch = LAUNCH_GRAPH, .work = h200.work},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct explain_point one = layouts[i], four = layouts[i];
        four.gpus = 4;
        struct ceilings of_one, of_four;
        ceilings_compute(&one, &calibration, &of_one);
        ceilings_compute(&four, &calibration, &of_four);
        for (int kind = 0; kind < CEILING_KINDS; kind++) {
            double times = kind == CEILING_CPUS ? 1.0 : 4.0;
            if (fabs(of_four.ips[kind] - times * of_one.ips[kind]) > 1e-6 * of_four.ips[kind])
                fail_msg("layout %zu: %s is %.1f of four and %.1f of one", i,
                         ceiling_name((enum ceiling_kind)kind), of_four.ips[kind],
                         of_one.ips[kind]);
        }
        assert_true(of_four.ips[CEILING_HOST_COPIES] == 0.0);
        double ratio = predict_ips(&four, &calibration) / predict_ips(&one, &calibration);
        /* Of a line for the CPUs there is only one. */
        if (ratio < 3.8 || ratio > 4.0 + 1e-9)
            fail_msg("layout %zu: four GPUs are predicted to do %.3f times one", i, ratio);
    }
}

/* As on a machine where copies of both GPUs go through one switch. */
static struct calibration behind_a_switch(void)
{
    struct calibration calibration = machine();
    calibration.all = (struct calibration_all){
        .gpus = 2,
        .h2d_bytes_per_s = 1.95 * h200.h2d_bytes_per_s,
        .d2h_bytes_per_s = 1.95 * h200.d2h_bytes_per_s,
        .both_bytes_per_s = 1.3 * h200.both_bytes_per_s,
        .pageable_bytes_per_s = 2.0 * h200.pageable_bytes_per_s,
        .process_launches_per_s = 2.0 * h200.process_launches_per_s,
        .gpu_launches_per_s = 2.0 * h200.gpu_launches_per_s,
    };
    calibration.arithmetic_ips = 1e6;
    calibration.work.bytes = 100 * h200.work.bytes;
    return calibration;
}

static void copies_that_gpus_share_are_the_limit(void **state)
{
    (void)state;
    const struct calibration calibration = behind_a_switch();
    struct explain_point point = point_of(2, 1, 64);
    double ips;
    point.launch = LAUNCH_GRAPH;
    point.work = calibration.work;
    double together = 1.3 * h200.both_bytes_per_s / (double)point.work.bytes;
    assert_int_equal(CEILING_HOST_COPIES, limit_of(&point, &calibration, &ips));
    assert_float_equal(together, ips, 1e-6 * together);
    double predicted = predict_ips(&point, &calibration);
    assert_true(predicted <= together && predicted > 0.9 * together);
    struct ceilings ceilings;
    struct binding binding;
    char reason[1024];
    ceilings_compute(&point, &calibration, &ceilings);
    binding_find(&point, &calibration, &ceilings, &binding);
    binding_reason(&binding, &ceilings, &point, &calibration, reason, sizeof reason);
    assert_non_null(strstr(reason, "one GPU alone copies 39.5 GB/s each way at once, but 2 at once "
                                   "only 51.3 GB/s together"));
    assert_string_equal("host copies shared by GPUs", ceiling_title(CEILING_HOST_COPIES, &point));
    /* No option lifts it. */
    struct remedy remedy;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_int_equal(REMEDY_NONE, remedy.kind);
    assert_non_null(strstr(remedy.advice, "copy fewer bytes"));
    /* One GPU has its copy engines for itself; more GPUs than were measured have no figure. */
    point.gpus = 1;
    assert_int_not_equal(CEILING_HOST_COPIES, limit_of(&point, &calibration, &ips));
    point.gpus = 4;
    ceilings_compute(&point, &calibration, &ceilings);
    assert_true(ceilings.ips[CEILING_HOST_COPIES] == 0.0);
}

static void what_a_few_percent_are_missing_of_is_not_shared(void **state)
{
    (void)state;
    assert_true(calibration_shared(10.0, 19.0, 2) == 0.0);
    assert_true(calibration_shared(10.0, 17.0, 2) == 17.0);
    assert_true(calibration_shared(10.0, 17.0, 1) == 0.0);
    assert_true(calibration_shared(0.0, 17.0, 2) == 0.0);
    assert_true(calibration_shared(10.0, 0.0, 2) == 0.0);
}

static void launches_that_gpus_share_are_the_limit(void **state)
{
    (void)state;
    struct calibration calibration = behind_a_switch();
    calibration.work = h200.work;
    calibration.all.process_launches_per_s = 1.2 * h200.process_launches_per_s;
    calibration.all.gpu_launches_per_s = 1.5 * h200.gpu_launches_per_s;
    struct explain_point threads = point_of(2, 1, 16), processes = point_of(2, 16, 1);
    double ips;
    assert_int_equal(CEILING_HOST_LAUNCH, limit_of(&threads, &calibration, &ips));
    assert_float_equal(1.2 * h200.process_launches_per_s / 220, ips, 0.1);
    assert_int_equal(CEILING_HOST_LAUNCH, limit_of(&processes, &calibration, &ips));
    assert_float_equal(1.5 * h200.gpu_launches_per_s / 220, ips, 0.1);
    struct remedy remedy;
    remedy_find(&threads, &calibration, NULL, &remedy);
    assert_int_equal(REMEDY_GRAPH, remedy.kind);
    char reason[1024];
    reason_of(CEILING_HOST_LAUNCH, &threads, &calibration, reason);
    assert_non_null(strstr(reason, "all GPUs together take 1.21 million kernels/s"));
    /* More processes a GPU get more through: then it does not limit them. */
    calibration.all.gpu_launches_per_s = 2.0 * h200.gpu_launches_per_s;
    assert_int_not_equal(CEILING_HOST_LAUNCH, limit_of(&processes, &calibration, &ips));
}

static void the_cpus_are_there_once(void **state)
{
    (void)state;
    struct calibration calibration = machine();
    calibration.cpus = 16;
    /* A core for each of one GPU's workers, but not of four GPUs'. */
    struct explain_point one = point_of(1, 16, 1), four = point_of(4, 16, 1);
    struct ceilings of_one, of_four;
    one.schedule = four.schedule = SCHEDULE_SPIN;
    ceilings_compute(&one, &calibration, &of_one);
    ceilings_compute(&four, &calibration, &of_four);
    assert_true(of_four.ips[CEILING_CPUS] < of_one.ips[CEILING_CPUS]);
    char reason[1024];
    reason_of(CEILING_CPUS, &four, &calibration, reason);
    assert_non_null(strstr(reason, "16 CPUs for 64 workers"));
    /* Asleep they do better, and then it is the work on CPUs itself that has to become less. */
    struct remedy remedy;
    double ips;
    calibration.gpu_launches_per_s = calibration.process_launches_per_s = 1e8;
    assert_int_equal(CEILING_CPUS, limit_of(&four, &calibration, &ips));
    remedy_find(&four, &calibration, NULL, &remedy);
    assert_int_equal(REMEDY_BLOCK, remedy.kind);
    four.schedule = SCHEDULE_BLOCK;
    calibration.single_stream_cpu_us = 3000;
    assert_int_equal(CEILING_CPUS, limit_of(&four, &calibration, &ips));
    assert_float_equal(16 * 1e6 / 3000, ips, 1e-6);
    remedy_find(&four, &calibration, NULL, &remedy);
    assert_int_equal(REMEDY_NONE, remedy.kind);
    assert_non_null(strstr(remedy.advice, "fewer a GPU do as much"));
}

static void no_more_workers_are_advised_than_can_be_had(void **state)
{
    (void)state;
    struct calibration calibration = machine();
    calibration.cpus = 4096;
    struct explain_point point = point_of(16, 1, 64);
    struct remedy remedy;
    point.launch = LAUNCH_GRAPH;
    point.schedule = SCHEDULE_BLOCK;
    point.work.kernels = 1;
    calibration.work = point.work;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_true(ceiling_workers(&remedy.point) <= 1024);
    point.gpus = 1;
    remedy_find(&point, &calibration, NULL, &remedy);
    assert_int_equal(REMEDY_WORKERS, remedy.kind);
    assert_int_equal(128, ceiling_workers(&remedy.point));
}

static void a_calibration_of_several_comes_back_from_its_record(void **state)
{
    (void)state;
    struct calibration_record record = {.figures = behind_a_switch(), .seconds = 1.0}, back;
    json_t *json = calibration_to_json(&record);
    assert_int_equal(STATUS_OK, calibration_from_json(json, &back));
    assert_memory_equal(&record.figures.all, &back.figures.all, sizeof back.figures.all);
    /* What makes no sense is named. */
    json_object_set_new(json_object_get(json, "all_gpus"), "h2d_bytes_per_s", json_string("x"));
    assert_int_equal(STATUS_USAGE, calibration_from_json(json, &back));
    json_decref(json);
    record.figures.all = (struct calibration_all){0};
    json = calibration_to_json(&record);
    assert_null(json_object_get(json, "all_gpus"));
    assert_int_equal(STATUS_OK, calibration_from_json(json, &back));
    assert_int_equal(0, back.figures.all.gpus);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_that_share_nothing_do_so_many_times_one),
        cmocka_unit_test(copies_that_gpus_share_are_the_limit),
        cmocka_unit_test(what_a_few_percent_are_missing_of_is_not_shared),
        cmocka_unit_test(launches_that_gpus_share_are_the_limit),
        cmocka_unit_test(the_cpus_are_there_once),
        cmocka_unit_test(no_more_workers_are_advised_than_can_be_had),
        cmocka_unit_test(a_calibration_of_several_comes_back_from_its_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
