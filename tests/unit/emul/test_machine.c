/* Machines described by text, and a model that follows them; with explicit times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emul/model/machine.h"

#define ORIGIN UINT64_C(2000000000)

static void test_every_name_sets_its_field(void **state)
{
    (void)state;
    struct model_machine got;
    const struct model_machine want = {
        .slots = 64,
        .launch_ns = 1,
        .graph_launch_ns = 2,
        .copy_call_ns = 3,
        .front_ns = 4,
        .graph_node_ns = 5,
        .kernel_ns = 6,
        .graph_kernel_ns = 7,
        .spin_ns = 8,
        .copy_latency_ns = 9,
        .h2d_mb_per_s = 10,
        .d2h_mb_per_s = 11,
        .pageable_mb_per_s = 12,
        .device_mb_per_s = 13,
        .host_mb_per_s = 20,
        .slice_ns = 130000,
        .queues = 14,
        .queues_mps = 15,
        .queues_most = 16,
        .cpu_ns = 17,
    };
    assert_int_equal(
        machine_parse("slots=64,launch_ns=1,graph_launch_ns=2,copy_call_ns=3,front_ns=4,"
                      "graph_node_ns=5,kernel_ns=6,graph_kernel_ns=7,spin_ns=8,copy_latency_ns=9,"
                      "h2d_mb_per_s=10,d2h_mb_per_s=11,pageable_mb_per_s=12,device_mb_per_s=13,"
                      "host_mb_per_s=20,"
                      "slice_ns=130000,queues=14,queues_mps=15,queues_most=16,cpu_ns=17",
                      &got),
        STATUS_OK);
    assert_memory_equal(&got, &want, sizeof want);
}

static void test_what_is_not_named_stays(void **state)
{
    (void)state;
    struct model_machine got, want = model_machine_default;
    assert_int_equal(machine_parse(NULL, &got), STATUS_OK);
    assert_memory_equal(&got, &want, sizeof want);
    assert_int_equal(machine_parse("", &got), STATUS_OK);
    assert_memory_equal(&got, &want, sizeof want);
    want.front_ns = 500;
    assert_int_equal(machine_parse("front_ns=500", &got), STATUS_OK);
    assert_memory_equal(&got, &want, sizeof want);
}

static void test_bad_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"slot=3", "unknown name 'slot'; there are slots, launch_ns, "},
        {"slotss=3", "unknown name 'slotss'"},
        {"=3", "unknown name ''"},
        {"slots", "'slots' is not NAME=NUMBER"},
        {"launch_ns=5,slots", "'slots' is not NAME=NUMBER"},
        {",slots=3", "'' is not NAME=NUMBER"},
        {"slots=3,,queues=3", "'' is not NAME=NUMBER"},
        {"slots=3,", "ends with a comma"},
        {"slots=", "'slots=': slots is a whole number from 1 to 64"},
        {"slots=0", "'slots=0': slots is a whole number from 1 to 64"},
        {"slots=65", "'slots=65'"},
        {"slots=-1", "'slots=-1'"},
        {"slots=+1", "'slots=+1'"},
        {"slots= 1", "'slots= 1'"},
        {"slots=1 ", "'slots=1 '"},
        {"slots=1k", "'slots=1k'"},
        {"slots=3.5", "'slots=3.5'"},
        {"slots=0x10", "'slots=0x10'"},
        {"slots=99999999999999999999999", "whole number"},
        {"front_ns=18446744073709551617", "whole number"},
        {"slice_ns=0", "slice_ns is a whole number from 100000 to 1000000000"},
        {"h2d_mb_per_s=0", "h2d_mb_per_s is a whole number from 1 to"},
        {"queues=33", "queues is a whole number from 1 to 32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model_machine got = {.slots = 7};
        assert_int_equal(machine_parse(cases[i].text, &got), STATUS_USAGE);
        if (strncmp(status_text(), EMUL_MACHINE_VARIABLE, strlen(EMUL_MACHINE_VARIABLE)) != 0 ||
            strstr(status_text(), cases[i].says) == NULL)
            fail_msg("'%s' is refused with: %s", cases[i].text, status_text());
        assert_int_equal(got.slots, 7);
    }
}

/* -- the model as described -------------------------------------------------------------------- */

#define PROCESSES 4

struct rig {
    struct model *model;
    struct model_process processes[PROCESSES];
    struct model_stream streams[PROCESSES];
    uint64_t host_ns[PROCESSES];
};

static bool always_alive(int32_t pid, uint64_t start_time)
{
    (void)pid, (void)start_time;
    return true;
}

/* All processes are clients of one MPS server. */
static void make(struct rig *rig, const char *machine, uint32_t slot_limit)
{
    memset(rig, 0, sizeof *rig);
    rig->model = calloc(1, sizeof *rig->model);
    assert_non_null(rig->model);
    assert_int_equal(machine_parse(machine, &rig->model->machine), STATUS_OK);
    for (int p = 0; p < PROCESSES; p++) {
        assert_true(model_context_open(rig->model, p + 1, 1, 77, 8, slot_limit, always_alive,
                                       &rig->processes[p]));
        model_stream_init(&rig->processes[p], &rig->streams[p]);
    }
}

static uint64_t launch(struct rig *rig, unsigned p, const struct model_work *work)
{
    return model_issue_launch(&(struct model_issue){rig->model, &rig->processes[p],
                                                    &rig->streams[p], ORIGIN, &rig->host_ns[p]},
                              work) -
           ORIGIN;
}

static void test_kernels(void **state)
{
    (void)state;
    struct rig rig;
    make(&rig, "slots=2,launch_ns=100,front_ns=0,kernel_ns=7000,spin_ns=10,slice_ns=1000000000", 2);
    const struct model_machine *machine = &rig.model->machine;
    struct model_work kernel = model_kernel(machine, 5, 64, 300, 0, false);
    /* Two at once, the third behind the first. */
    assert_int_equal(launch(&rig, 0, &kernel), 100 + 10000);
    assert_int_equal(launch(&rig, 1, &kernel), 100 + 10000);
    assert_int_equal(launch(&rig, 2, &kernel), 100 + 20000);
    /* A grid larger than the GPU, in waves. */
    kernel = model_kernel(machine, 20, 64, 300, 0, false);
    assert_int_equal(kernel.slots, 2);
    assert_int_equal(kernel.duration_ns, 7000 + 2 * 3000);
    free(rig.model);

    make(&rig, "slots=64", 64);
    kernel = model_kernel(&rig.model->machine, 5000, 64, 0, 0, false);
    assert_int_equal(kernel.slots, 64);
    uint64_t first = launch(&rig, 0, &kernel);
    assert_int_equal(launch(&rig, 1, &kernel) - first, kernel.duration_ns);
    free(rig.model);
}

static void test_front_end(void **state)
{
    (void)state;
    struct rig rig;
    make(&rig, "front_ns=50000,launch_ns=10,kernel_ns=100", 32);
    struct model_work kernel = model_kernel(&rig.model->machine, 1, 1, 0, 0, false);
    for (unsigned p = 0; p < PROCESSES; p++)
        assert_int_equal(launch(&rig, p, &kernel), (p + 1) * 50000 + 100);
    free(rig.model);
}

static void test_graph_front_end(void **state)
{
    (void)state;
    struct rig rig;
    make(&rig, "graph_node_ns=40000,graph_launch_ns=10,graph_kernel_ns=100", 32);
    struct model_work works[3];
    for (unsigned i = 0; i < 3; i++)
        works[i] = model_kernel(&rig.model->machine, 1, 1, 0, 0, true);
    for (unsigned p = 0; p < PROCESSES; p++)
        assert_int_equal(
            model_issue_graph(&(struct model_issue){rig.model, &rig.processes[p], &rig.streams[p],
                                                    ORIGIN, &rig.host_ns[p]},
                              works, 3) -
                ORIGIN,
            (p + 1) * 3 * 40000 + 100);
    free(rig.model);
}

static void test_thread_cap(void **state)
{
    (void)state;
    struct rig rig;
    make(&rig, "slots=8,launch_ns=0,front_ns=0,kernel_ns=1000", 2);
    struct model_work kernel = model_kernel(&rig.model->machine, 40, 64, 0, 0, false);
    /* Eight slots' worth in two: four times as long, and beside those of three other clients. */
    for (unsigned p = 0; p < PROCESSES; p++)
        assert_int_equal(launch(&rig, p, &kernel), 4000);
    free(rig.model);
}

static void test_launch_paths(void **state)
{
    (void)state;
    struct rig rig;
    make(&rig, "launch_ns=30000,front_ns=0,kernel_ns=1", 32);
    struct model_work kernel = model_kernel(&rig.model->machine, 1, 1, 0, 0, false);
    struct model_stream second;
    uint64_t second_host_ns = 0;
    model_stream_init(&rig.processes[0], &second);
    assert_int_equal(launch(&rig, 0, &kernel), 30000 + 1);
    /* Another thread of the process waits for its launch path, another process does not. */
    assert_int_equal(model_issue_launch(&(struct model_issue){rig.model, &rig.processes[0], &second,
                                                              ORIGIN, &second_host_ns},
                                        &kernel) -
                         ORIGIN,
                     60000 + 1);
    assert_int_equal(launch(&rig, 1, &kernel), 30000 + 1);
    free(rig.model);
}

static void test_copies(void **state)
{
    (void)state;
    struct model_machine machine;
    assert_int_equal(machine_parse("h2d_mb_per_s=1000,d2h_mb_per_s=500,pageable_mb_per_s=100,"
                                   "copy_latency_ns=7",
                                   &machine),
                     STATUS_OK);
    assert_int_equal(model_copy(&machine, MODEL_TO_DEVICE, 1000000, false).duration_ns, 1000007);
    assert_int_equal(model_copy(&machine, MODEL_TO_HOST, 1000000, false).duration_ns, 2000007);
    assert_int_equal(model_copy(&machine, MODEL_TO_DEVICE, 1000000, true).duration_ns, 10000007);
    assert_int_equal(model_copy(&machine, MODEL_TO_HOST, 1000000, true).duration_ns, 10000007);
}

static void test_slices(void **state)
{
    (void)state;
    struct rig rig;
    make(&rig, "slice_ns=500000,launch_ns=0,front_ns=0,kernel_ns=0", 32);
    /* A second context beside the server's. */
    struct model_process other;
    struct model_stream stream;
    uint64_t host_ns = 0;
    assert_true(model_context_open(rig.model, 99, 1, 0, 8, 32, always_alive, &other));
    model_stream_init(&other, &stream);
    struct model_work kernel = model_kernel(&rig.model->machine, 1, 1, 0, 400000, false);
    assert_int_equal(launch(&rig, 0, &kernel), 400000);
    assert_int_equal(
        model_issue_launch(&(struct model_issue){rig.model, &other, &stream, ORIGIN, &host_ns},
                           &kernel) -
            ORIGIN,
        900000);
    free(rig.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_sets_its_field),
        cmocka_unit_test(test_what_is_not_named_stays),
        cmocka_unit_test(test_bad_texts_are_refused),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_front_end),
        cmocka_unit_test(test_graph_front_end),
        cmocka_unit_test(test_thread_cap),
        cmocka_unit_test(test_launch_paths),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
