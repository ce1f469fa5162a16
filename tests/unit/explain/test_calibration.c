/* Calibrations to and from JSON, and the points that they are made from. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "explain/calibration_json.h"
#include "explain/derive.h"
#include "orchestrator/calibrate/points.h"

static struct calibration_record example(void)
{
    struct calibration_record record = {
        .figures =
            {
                .work = {.workload = WORKLOAD_DELAY,
                         .kernels = 1,
                         .blocks = 2,
                         .threads_per_block = 3,
                         .spin = 4,
                         .bytes = 5ULL << 40,
                         .delay_cycles = 6000000000000},
                .single_stream_ips = 1.5,
                .single_graph_ips = 2.5,
                .single_stream_cpu_us = 3.5,
                .single_graph_cpu_us = 4.5,
                .single_stream_calls_us = 3.25,
                .single_graph_calls_us = 4.25,
                .single_pageable_ips = 5.5,
                .process_launches_per_s = 6.5,
                .gpu_launches_per_s = 7.5,
                .graph_kernels_per_s = 8.5,
                .process_graphs_per_s = 8.25,
                .polled_graphs_per_s = 8.75,
                .polled_calls_us = 9.25,
                .arithmetic_ips = 9.5,
                .kernels_ips = 9.75,
                .h2d_bytes_per_s = 5.5e10,
                .d2h_bytes_per_s = 11.5,
                .both_bytes_per_s = 12.5,
                .pageable_bytes_per_s = 13.5,
                .process_unsynced_ips = 14.5,
                .process_pageable_graph_ips = 15.5,
                .single_spin_cpu_us = 16.5,
                .crowd_stream_ips = 17.5,
                .crowd_workers = 18,
                .cpus = 19,
                .sms = 20,
                .runs = {{.processes = 1,
                          .threads = 2,
                          .streams = 3,
                          .memory = MEMORY_PAGEABLE,
                          .sync = SYNC_NONE,
                          .launch = LAUNCH_GRAPH,
                          .schedule = SCHEDULE_BLOCK,
                          .ips = 1000.5,
                          .spread_rel = 0.25,
                          .cpu_us = 3.5,
                          .calls_us = 3.25},
                         {.mps = true, .processes = 4, .threads = 1, .streams = 1, .ips = 7.5}},
                .run_count = 2,
            },
        .spread_rel = {[CALIBRATION_ARITHMETIC] = 0.125},
        .bind = "scatter",
        .shared = 1U << CALIBRATION_GPU_LAUNCHES | 1U << CALIBRATION_BOTH,
        .seconds = 21.5,
        .note_count = 2,
        .notes = {"one", "two × 2"},
    };
    return record;
}

static void assert_same(const struct calibration_record *a, const struct calibration_record *b)
{
    assert_memory_equal(&a->figures, &b->figures, sizeof a->figures);
    assert_string_equal(a->bind, b->bind);
    assert_int_equal(a->shared, b->shared);
    assert_memory_equal(a->spread_rel, b->spread_rel, sizeof a->spread_rel);
    assert_true(a->seconds == b->seconds);
    assert_int_equal(a->note_count, b->note_count);
    for (unsigned i = 0; i < a->note_count; i++)
        assert_string_equal(a->notes[i], b->notes[i]);
}

static void test_a_record_comes_back(void **state)
{
    (void)state;
    struct calibration_record record = example(), back;
    json_t *json = calibration_to_json(&record);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "type")), "calibration");
    json_t *shared = json_pack("[s, s]", "gpu_launches_per_s", "both_bytes_per_s");
    assert_true(json_equal(json_object_get(json, "shared"), shared));
    json_decref(shared);
    /* As it is written and read. */
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(json);
    json = json_loads(text, 0, NULL);
    free(text);
    assert_int_equal(calibration_from_json(json, &back), STATUS_OK);
    assert_same(&record, &back);
    json_decref(json);
}

static void test_what_is_no_number_is_not_known(void **state)
{
    (void)state;
    struct calibration_record record = example(), back;
    record.figures.runs[0].spread_rel = INFINITY;
    record.figures.arithmetic_ips = NAN;
    json_t *json = calibration_to_json(&record);
    assert_non_null(json);
    assert_int_equal(calibration_from_json(json, &back), STATUS_OK);
    assert_true(back.figures.runs[0].spread_rel == 0.0);
    assert_true(back.figures.arithmetic_ips == 0.0);
    json_decref(json);
}

static void test_equal_works_have_equal_texts(void **state)
{
    (void)state;
    struct calibration_record record = example();
    json_t *whole = calibration_to_json(&record);
    json_t *same = calibration_work_to_json(&record.figures.work);
    record.figures.work.bytes++;
    json_t *other = calibration_work_to_json(&record.figures.work);
    assert_true(json_equal(json_object_get(whole, "work"), same));
    assert_false(json_equal(json_object_get(whole, "work"), other));
    json_decref(whole);
    json_decref(same);
    json_decref(other);
}

static void test_broken_records(void **state)
{
    (void)state;
    /* A change of the example: the value at a key, or at a key within "work". */
    static const struct {
        bool in_work;
        const char *key, *value; /* NULL: taken out */
        const char *says;        /* NULL: it can be read */
    } cases[] = {
        {false, "work", NULL, "a calibration's 'workload' is missing or unknown"},
        {false, "work", "[]", "a calibration's 'workload' is missing or unknown"},
        {true, "workload", "\"none\"", "a calibration's 'workload' is missing or unknown"},
        {true, "workload", "1", "a calibration's 'workload' is missing or unknown"},
        {true, "kernels", NULL, "a calibration's 'kernels' is missing"},
        {true, "blocks", "-1", "a calibration's 'blocks' is not a whole number in range"},
        {true, "threads_per_block", "1.5",
         "a calibration's 'threads_per_block' is not a whole number in range"},
        {true, "spin", "4294967296", "a calibration's 'spin' is not a whole number in range"},
        {true, "bytes", "\"x\"", "a calibration's 'bytes' is not a whole number in range"},
        {true, "delay_cycles", "null",
         "a calibration's 'delay_cycles' is not a whole number in range"},
        {false, "arithmetic_ips", "-1", "a calibration's 'arithmetic_ips' is not a number from 0"},
        {false, "arithmetic_ips", "null",
         "a calibration's 'arithmetic_ips' is not a number from 0"},
        {false, "arithmetic_ips", "12", NULL},
        {false, "arithmetic_ips", NULL, NULL},
        {false, "cpus", "1.0", "a calibration's 'cpus' is not a whole number in range"},
        {false, "cpus", NULL, NULL},
        {false, "bind", "1", "a calibration's 'bind' is not a text"},
        {false, "runs", NULL, NULL},
        {false, "runs", "{}", "a calibration's 'runs' are not an array"},
        {false, "runs", "[{}]", "a calibration's 'processes' is missing"},
        {false, "runs", "[{\"processes\":1,\"threads\":1,\"streams\":1,\"ips\":1}]",
         "a calibration's 'memory' of a run is missing or unknown"},
        {false, "runs",
         "[{\"processes\":1,\"threads\":1,\"streams\":1,\"ips\":1,\"memory\":\"fast\"}]",
         "a calibration's 'memory' of a run is missing or unknown"},
        {false, "bind", NULL, NULL},
        {false, "shared", "{}", "a calibration's 'shared' is not an array"},
        {false, "shared", "[\"of another version\", 1]", NULL},
        {false, "shared", NULL, NULL},
        {false, "seconds", "\"1\"", "a calibration's 'seconds' is not a number from 0"},
        {false, "notes", "{}", "a calibration's 'notes' are not an array"},
        {false, "notes", "[1]", "a calibration's 'notes' are not texts"},
        {false, "notes", NULL, NULL},
        {false, "of another version", "{}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct calibration_record record = example(), back = {.note_count = 77};
        json_t *json = calibration_to_json(&record);
        json_t *at = cases[i].in_work ? json_object_get(json, "work") : json;
        if (cases[i].value)
            json_object_set_new(at, cases[i].key,
                                json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(at, cases[i].key);
        enum status status = calibration_from_json(json, &back);
        if (cases[i].says) {
            assert_int_equal(status, STATUS_USAGE);
            assert_string_equal(status_text(), cases[i].says);
            assert_int_equal(back.note_count, 77);
        } else if (status != STATUS_OK) {
            fail_msg("%s: %s", cases[i].key, status_text());
        }
        json_decref(json);
    }
    struct calibration_record back;
    assert_int_equal(calibration_from_json(NULL, &back), STATUS_USAGE);
}

static void test_too_many_notes(void **state)
{
    (void)state;
    struct calibration_record record = example(), back;
    json_t *json = calibration_to_json(&record);
    json_t *notes = json_object_get(json, "notes");
    char lengthy[2 * CALIBRATION_NOTE_BYTES];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    for (unsigned i = 0; i < CALIBRATION_NOTES; i++)
        json_array_append_new(notes, json_string(lengthy));
    assert_int_equal(calibration_from_json(json, &back), STATUS_OK);
    assert_int_equal(back.note_count, CALIBRATION_NOTES);
    assert_int_equal(strlen(back.notes[CALIBRATION_NOTES - 1]), CALIBRATION_NOTE_BYTES - 1);
    json_decref(json);
}

/* -- what is taken over ------------------------------------------------------------------------ */

static struct calibration whole(void)
{
    struct calibration figures = {
        .work = {.workload = WORKLOAD_CHAIN,
                 .kernels = 10,
                 .blocks = 5,
                 .threads_per_block = 64,
                 .spin = 3072,
                 .bytes = 1 << 20},
        .cpus = 16,
        .sms = 132,
        .all.gpus = 2,
    };
    calibration_pretend(&figures);
    figures.arithmetic_ips = 1000;
    figures.polled_calls_us = 0.25;
    figures.pageable_workers = 2;
    figures.pageable_crowd_workers = 8;
    figures.pageable_crowd_bytes_per_s = 0.5;
    return figures;
}

/* The parts that a calibration for this would have of one that is whole. */
static unsigned taken(struct calibration *to, const struct calibration *from)
{
    unsigned parts = 0;
    for (unsigned part = 0; part < CALIBRATION_PARTS; part++)
        parts |= (unsigned)calibration_take(to, from, part) << part;
    return parts;
}

#define COPIES (1U << CALIBRATION_BOTH | 1U << CALIBRATION_PAGEABLE)
#define ARITHMETIC (1U << CALIBRATION_ARITHMETIC)
#define EVERY_PART ((1U << CALIBRATION_PARTS) - 1)
#define WITH_ALL (COPIES | 1U << CALIBRATION_PROCESS_LAUNCHES)

static void test_what_a_part_depends_on(void **state)
{
    (void)state;
    const struct calibration from = whole();
    static const struct {
        struct {
            unsigned workload, kernels, blocks, threads_per_block, spin;
            uint64_t bytes, delay_cycles;
        } work;
        unsigned parts, cpus, sms, gpus;
        double arithmetic; /* where it is taken */
    } cases[] = {
        {{0, 10, 5, 64, 3072, 1 << 20, 0}, EVERY_PART, 16, 132, 2, 1000},
        {{0, 40, 5, 64, 3072, 1 << 20, 0}, EVERY_PART, 16, 132, 2, 250},
        /* 16 vectors a KiB: 64 KiB keep one block of the five busy. */
        {{0, 10, 5, 64, 3072, 64 << 10, 0}, EVERY_PART & ~COPIES, 16, 132, 2, 5000},
        {{0, 10, 10, 64, 3072, 1 << 20, 0}, EVERY_PART, 16, 132, 2, 500},
        {{0, 10, 5, 32, 3072, 1 << 20, 0}, EVERY_PART & ~ARITHMETIC, 16, 132, 2, 0},
        {{0, 10, 5, 64, 1, 1 << 20, 0}, EVERY_PART & ~ARITHMETIC, 16, 132, 2, 0},
        {{0, 0, 5, 64, 3072, 1 << 20, 0}, EVERY_PART & ~ARITHMETIC, 16, 132, 2, 0},
        {{WORKLOAD_DELAY, 10, 5, 64, 3072, 1 << 20, 9}, EVERY_PART & ~ARITHMETIC, 16, 132, 2, 0},
        {{0, 10, 5, 64, 3072, 1 << 20, 0}, 0, 8, 132, 2, 0},
        {{0, 10, 5, 64, 3072, 1 << 20, 0}, 0, 16, 66, 2, 0},
        {{0, 10, 5, 64, 3072, 1 << 20, 0}, EVERY_PART & ~WITH_ALL, 16, 132, 4, 1000},
        {{0, 10, 5, 64, 3072, 1 << 20, 0}, EVERY_PART, 16, 132, 0, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct calibration to = {.work = {.workload = cases[i].work.workload,
                                          .kernels = cases[i].work.kernels,
                                          .blocks = cases[i].work.blocks,
                                          .threads_per_block = cases[i].work.threads_per_block,
                                          .spin = cases[i].work.spin,
                                          .bytes = cases[i].work.bytes,
                                          .delay_cycles = cases[i].work.delay_cycles},
                                 .cpus = cases[i].cpus,
                                 .sms = cases[i].sms,
                                 .all.gpus = cases[i].gpus};
        unsigned parts = taken(&to, &from);
        if (parts != cases[i].parts)
            fail_msg("case %zu: %#x instead of %#x", i, parts, cases[i].parts);
        assert_float_equal(to.arithmetic_ips, cases[i].arithmetic, 1e-9);
        assert_true(to.both_bytes_per_s == (parts & 1U << CALIBRATION_BOTH ? 1.0 : 0.0));
        bool polled = parts & 1U << CALIBRATION_POLLED_GRAPHS;
        assert_true(to.polled_calls_us == (polled ? 0.25 : 0.0));
        bool staging = parts & 1U << CALIBRATION_PAGEABLE;
        assert_int_equal(to.pageable_workers, staging ? 2 : 0);
        assert_int_equal(to.pageable_crowd_workers, staging ? 8 : 0);
        assert_true(to.pageable_crowd_bytes_per_s == (staging ? 0.5 : 0.0));
        bool all = cases[i].gpus > 1 && parts & 1U << CALIBRATION_PROCESS_LAUNCHES;
        assert_true(to.all.process_launches_per_s == (all ? 1.0 : 0.0));
    }
}

static void test_what_was_not_measured_is_not_taken(void **state)
{
    (void)state;
    struct calibration from = whole(), to = from;
    from.gpu_launches_per_s = 0.0;
    from.all.both_bytes_per_s = 0.0;
    assert_int_equal(taken(&to, &from),
                     EVERY_PART & ~(1U << CALIBRATION_GPU_LAUNCHES | 1U << CALIBRATION_BOTH));
}

/* -- points ------------------------------------------------------------------------------------ */

static struct point like(unsigned blocks, unsigned threads_per_block, uint64_t bytes)
{
    return (struct point){
        .layout = LAYOUT_HYBRID,
        .processes = 3,
        .threads = 4,
        .connections = 5,
        .bind = BIND_SCATTER,
        .work = {.memory = MEMORY_PAGEABLE,
                 .sync = SYNC_NONE,
                 .launch = LAUNCH_GRAPH,
                 .schedule = SCHEDULE_YIELD,
                 .kernels = 220,
                 .blocks = blocks,
                 .threads_per_block = threads_per_block,
                 .spin = 3072,
                 .bytes = bytes,
                 .iterations = 99},
    };
}

static void test_one_worker_alone(void **state)
{
    (void)state;
    struct point from = like(5, 64, 1408 << 10), point = calibrate_single(&from);
    assert_int_equal(point_workers(&point), 1);
    assert_false(point_over_mps(&point));
    assert_int_equal(point.connections, 32);
    assert_int_equal(point.bind, BIND_SCATTER);
    assert_int_equal(point.work.memory, MEMORY_PINNED);
    assert_int_equal(point.work.launch, LAUNCH_STREAM);
    assert_int_equal(point.work.copies, COPIES_BOTH);
    assert_int_equal(point.work.iterations, 0);
    assert_int_equal(point.work.kernels, 220);
    assert_int_equal(point.work.spin, 3072);
}

static void test_filling_grids(void **state)
{
    (void)state;
    static const struct {
        unsigned blocks, threads;
        uint64_t bytes;
        unsigned fill;
        double share;
    } cases[] = {
        /* 2 × 2048 GPU threads a multiprocessor, */
        {5, 64, 1408 << 10, 132 * 64, 132 * 64 / 5.0},
        {5, 1024, 1408 << 10, 132 * 4, 132 * 4 / 2.0}, /* 1408 vectors keep 2 blocks busy */
        /* or 128 blocks. */
        {5, 1, 1408 << 10, 132 * 128, 132 * 128 / 5.0},
        {100000, 64, 1 << 30, 132 * 64, 132 * 64 / 16384.0},
        {5, 64, 1024, 132 * 64, 132 * 64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct point from = like(cases[i].blocks, cases[i].threads, cases[i].bytes);
        double share;
        const struct calibration known = {.sms = 132};
        struct point point = calibrate_arithmetic(&from, &known, &share, NULL);
        assert_int_equal(point.work.blocks, cases[i].fill);
        /* Four kernels of an iteration's 220. */
        assert_float_equal(share * 220 / 4, cases[i].share, 1e-6);
        /* Each GPU thread has a vector. */
        assert_int_equal(point.work.worked_bytes, (uint64_t)cases[i].fill * cases[i].threads * 16);
        assert_int_equal(point.work.spin, 3072);
        assert_int_equal(point.work.copies, COPIES_NONE);
    }
}

static void test_other_loads(void **state)
{
    (void)state;
    struct point from = like(5, 64, 1408 << 10);
    struct point point = calibrate_launches(&from, LAUNCH_GRAPH);
    assert_int_equal(point.work.launch, LAUNCH_GRAPH);
    assert_int_equal(point.work.copies, COPIES_NONE);
    assert_int_equal(point.work.spin, 0);
    calibrate_set_processes(&point, LAYOUT_PROCESSES_MPS, 9);
    assert_int_equal(point.processes, 9);
    assert_int_equal(point.threads, 1);
    assert_true(point_over_mps(&point));
    assert_int_equal(point.work.schedule, SCHEDULE_BLOCK);
    calibrate_set_processes(&point, LAYOUT_PROCESSES, 2);
    assert_int_equal(point.processes, 2);
    assert_false(point_over_mps(&point));
    assert_int_equal(point.connections, 0);

    point = calibrate_copies(&from, COPIES_OUT, MEMORY_PAGEABLE, NULL);
    assert_int_equal(point.work.kernels, 0);
    assert_int_equal(point.work.copies, COPIES_OUT);
    assert_int_equal(point.work.memory, MEMORY_PAGEABLE);
    assert_int_equal(point.work.bytes, 1408 << 10);
}

/* Of a described workload: copies in and out of 3 and 1 MiB, kernels of both kinds, and the host.
 */
static struct mix_work described(void)
{
    static const char *const texts[] = {
        "copy-in 3M",
        "kernel blocks=2 threads=64 cycles=1000 count=4",
        "synchronize",
        "busy 100us",
        "device-copy 1K count=2",
        "kernel blocks=264 threads=1024 bytes=16M count=3",
        "copy-out 512K count=2",
        "think 1ms",
        "work 10000",
    };
    struct mix_work mix = {.count = 1};
    struct workload workload;
    assert_int_equal(workload_begin("detect", &workload), STATUS_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(workload_add_step(&workload, texts[i]), STATUS_OK);
    mix.workloads[0] = (struct mix_workload){.count = workload.count, .weight = 1};
    memcpy(mix.steps, workload.steps, sizeof mix.steps);
    return mix;
}

static void test_a_described_workload(void **state)
{
    (void)state;
    struct mix_work mix = described(), other = mix;
    struct point point = {.processes = 1, .threads = 8, .mix = &mix};
    struct work work, differs;
    point.work.workload = WORKLOAD_DESCRIBED;
    assert_true(calibrate_work(&point, &work));
    assert_int_equal(work.kernels, 4 + 2 + 3);
    assert_int_equal(work.bytes, 2 << 20);
    assert_int_equal(work.busy_ns, 100000);
    assert_int_equal(work.turns, 10000);
    assert_int_equal(work.think_ns, 1000000);
    /* Other steps are another iteration, though they take as many launches and bytes. */
    point.mix = &other;
    assert_true(calibrate_work(&point, &differs));
    assert_true(calibration_is_same_work(&work, &differs));
    other.steps[1].blocks = 3;
    assert_true(calibrate_work(&point, &differs));
    assert_false(calibration_is_same_work(&work, &differs));
    /* Of a mix, a plug-in and a program there is none. */
    other.count = 2;
    assert_false(calibrate_work(&point, &differs));
    point.mix = NULL;
    assert_false(calibrate_work(&point, &differs));
    /* It comes back from a file. */
    struct calibration_record record = {.figures.work = work}, back;
    json_t *json = calibration_to_json(&record);
    assert_int_equal(calibration_from_json(json, &back), STATUS_OK);
    assert_true(calibration_is_same_work(&back.figures.work, &work));
    assert_int_equal(back.figures.work.think_ns, 1000000);
    assert_int_equal(back.figures.work.turns, 10000);
    json_decref(json);
}

static void test_loads_of_a_described_workload(void **state)
{
    (void)state;
    struct mix_work mix = described(), room;
    struct point from = {.processes = 1, .threads = 8, .mix = &mix};
    double share;
    from.work.workload = WORKLOAD_DESCRIBED;
    assert_true(calibrate_work(&from, &from.work));
    assert_ptr_equal(calibrate_single(&from).mix, &mix);
    assert_null(calibrate_launches(&from, LAUNCH_STREAM).mix);

    struct point copies = calibrate_copies(&from, COPIES_BOTH, MEMORY_PAGEABLE, &room);
    assert_ptr_equal(copies.mix, &room);
    assert_int_equal(copies.work.bytes, 2 << 20);
    assert_int_equal(room.workloads[0].count, 2);
    assert_int_equal(room.steps[0].kind, STEP_COPY_IN);
    assert_int_equal(room.steps[1].kind, STEP_COPY_OUT);
    assert_int_equal(room.workloads[0].check, WORKLOAD_CHECK_NO);

    calibrate_kernels(&from, &room);
    assert_int_equal(room.workloads[0].count, 3);
    assert_memory_equal(&room.steps[2], &mix.steps[5], sizeof room.steps[2]);

    /* Kernels of four iterations: 16 of 2 blocks are one of 32, and what fills the GPU is as it
     * was. */
    struct calibration known = {.sms = 132, .single_stream_ips = 800};
    struct point kernels = calibrate_arithmetic(&from, &known, &share, &room);
    assert_ptr_equal(kernels.mix, &room);
    assert_float_equal(share, 4, 1e-9);
    assert_int_equal(kernels.work.launch, LAUNCH_GRAPH);
    assert_int_equal(room.workloads[0].count, 3);
    assert_int_equal(room.steps[0].count, 1);
    assert_int_equal(room.steps[0].blocks, 32);
    assert_int_equal(room.steps[0].amount, 1000);
    assert_int_equal(room.steps[1].count, 8);
    assert_int_equal(room.steps[2].count, 12);
    assert_int_equal(room.steps[2].blocks, 264);
    assert_int_equal(room.steps[2].amount, 16 << 20);
    /* Long ones are not made longer. */
    known.single_stream_ips = 100;
    calibrate_arithmetic(&from, &known, &share, &room);
    assert_float_equal(share, 1, 1e-9);
    assert_int_equal(room.steps[0].blocks, 8);
    assert_int_equal(room.steps[2].count, 3);
}

static void test_copies_that_hold_none_up(void **state)
{
    (void)state;
    struct calibration figures = {
        .runs = {{.processes = 1,
                  .threads = 1,
                  .streams = 1,
                  .memory = MEMORY_PAGEABLE,
                  .sync = SYNC_STREAM,
                  .ips = 100},
                 {.processes = 1,
                  .threads = 8,
                  .streams = 1,
                  .memory = MEMORY_PAGEABLE,
                  .sync = SYNC_NONE,
                  .ips = 400}},
        .run_count = 2,
    };
    derive_figures(&figures);
    assert_float_equal(figures.process_unsynced_ips, 400, 1e-9);
    /* As much as eight that have nothing to do with each other: that is not a ceiling. */
    figures.runs[1].ips = 790;
    derive_figures(&figures);
    assert_float_equal(figures.process_unsynced_ips, 0, 1e-9);
    /* Without one alone it is not known. */
    figures.runs[0].memory = MEMORY_PINNED;
    derive_figures(&figures);
    assert_float_equal(figures.process_unsynced_ips, 790, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_comes_back),
        cmocka_unit_test(test_what_is_no_number_is_not_known),
        cmocka_unit_test(test_equal_works_have_equal_texts),
        cmocka_unit_test(test_broken_records),
        cmocka_unit_test(test_too_many_notes),
        cmocka_unit_test(test_what_a_part_depends_on),
        cmocka_unit_test(test_what_was_not_measured_is_not_taken),
        cmocka_unit_test(test_one_worker_alone),
        cmocka_unit_test(test_filling_grids),
        cmocka_unit_test(test_other_loads),
        cmocka_unit_test(test_a_described_workload),
        cmocka_unit_test(test_loads_of_a_described_workload),
        cmocka_unit_test(test_copies_that_hold_none_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
