#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* cpu_set_t */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/bind/bind.h"

/* Two packages of 4 cores of 2 threads, numbered as Linux does: package 0 has CPUs 0-3 and their
 * siblings 8-11, package 1 has 4-7 and 12-15. A GPU below each package, and one at 0000:01:00.0 of
 * whose place the machine does not report. */
#define TWO_PACKAGES "topology-two-packages.xml"
#define GPU_0 "0000:3b:00.0"
#define GPU_1 "0000:af:00.0"
#define GPU_NOWHERE "0000:01:00.0"

/* One core of one thread, with a GPU at 0000:01:00.0. */
#define ONE_CORE "topology-one-core.xml"

#define MAX_WORKERS 64

static struct bind_topology *load(const char *name, const char *gpu, const char *allowed)
{
    const char *source = getenv("MPSWEEP_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/%s", source ? source : ".", name);
    struct bind_topology *topology = NULL;
    if (bind_topology_load_xml(path, &gpu, 1, allowed, &topology))
        fail_msg("%s", status_text());
    return topology;
}

static struct bind_topology *synthetic(const char *description, const char *allowed)
{
    struct bind_topology *topology = NULL;
    if (bind_topology_load_synthetic(description, 1, allowed, &topology))
        fail_msg("%s", status_text());
    return topology;
}

/* The plan as text: "0|8|1". threads: of a program's process. */
static const char *plan_of(const struct bind_topology *topology, enum bind_policy policy,
                           unsigned workers, unsigned threads)
{
    static char text[4096];
    static uint64_t masks[MAX_WORKERS + 1][BIND_WORDS];
    assert_true(workers <= MAX_WORKERS);
    memset(masks, 0xa5, sizeof masks);
    assert_int_equal(bind_plan(topology, policy, NULL, workers, threads, masks), STATUS_OK);
    text[0] = '\0';
    for (unsigned i = 0; i < workers; i++) {
        char one[256];
        bind_cpus_text(masks[i], one, sizeof one);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i ? "|" : "", one);
    }
    /* Nothing beyond the workers is written. */
    for (size_t i = 0; i < BIND_WORDS; i++)
        assert_true(masks[workers][i] == UINT64_C(0xa5a5a5a5a5a5a5a5));
    return text;
}

static const char *plan(const struct bind_topology *topology, enum bind_policy policy,
                        unsigned workers)
{
    return plan_of(topology, policy, workers, 0);
}

static const char *process_cpus(const struct bind_topology *topology, enum bind_policy policy)
{
    static char text[256];
    uint64_t mask[BIND_WORDS];
    bind_process_mask(topology, policy, 0, mask);
    return bind_cpus_text(mask, text, sizeof text);
}

static const char *describe(const struct bind_topology *topology, enum bind_policy policy)
{
    static char text[512];
    return bind_describe(topology, policy, text, sizeof text);
}

static void near_takes_cores_then_threads_of_the_gpus_package(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_1, NULL);
    assert_string_equal(plan(t, BIND_NEAR, 1), "4");
    assert_string_equal(plan(t, BIND_NEAR, 4), "4|5|6|7");
    assert_string_equal(plan(t, BIND_NEAR, 6), "4|5|6|7|12|13");
    assert_string_equal(plan(t, BIND_NEAR, 8), "4|5|6|7|12|13|14|15");
    assert_string_equal(process_cpus(t, BIND_NEAR), "4-7,12-15");
    assert_string_equal(describe(t, BIND_NEAR),
                        "near GPU 0000:af:00.0: package 1, CPUs 4-7,12-15 (4 cores, 8 threads)");
    bind_topology_free(t);

    t = load(TWO_PACKAGES, GPU_0, NULL);
    assert_string_equal(plan(t, BIND_NEAR, 5), "0|1|2|3|8");
    bind_topology_free(t);
}

static void near_does_not_share_single_cpus(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_0, NULL);
    assert_string_equal(plan(t, BIND_NEAR, 9),
                        "0-3,8-11|0-3,8-11|0-3,8-11|0-3,8-11|0-3,8-11|0-3,8-11|0-3,8-11|"
                        "0-3,8-11|0-3,8-11");
    bind_topology_free(t);
}

static void scatter_takes_packages_in_turn(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_1, NULL);
    assert_string_equal(plan(t, BIND_SCATTER, 3), "0|4|1");
    assert_string_equal(plan(t, BIND_SCATTER, 8), "0|4|1|5|2|6|3|7");
    assert_string_equal(plan(t, BIND_SCATTER, 11), "0|4|1|5|2|6|3|7|8|12|9");
    assert_string_equal(plan(t, BIND_SCATTER, 16), "0|4|1|5|2|6|3|7|8|12|9|13|10|14|11|15");
    assert_non_null(strstr(plan(t, BIND_SCATTER, 17), "0-15|0-15|"));
    assert_string_equal(process_cpus(t, BIND_SCATTER), "0-15");
    assert_string_equal(describe(t, BIND_SCATTER),
                        "scattered: packages 0,1, CPUs 0-15 (8 cores, 16 threads)");
    bind_topology_free(t);
}

static void scatter_takes_caches_in_turn(void **state)
{
    (void)state;
    struct bind_topology *t = synthetic("package:2 [numa] l3:2 core:2 pu:2", NULL);
    assert_string_equal(plan(t, BIND_SCATTER, 8), "0|8|4|12|2|10|6|14");
    bind_topology_free(t);
}

static void scatter_goes_on_where_parts_are_uneven(void **state)
{
    (void)state;
    /* One core of package 0, three of package 1. */
    struct bind_topology *t = load(TWO_PACKAGES, NULL, "2,5-7");
    assert_string_equal(plan(t, BIND_SCATTER, 4), "2|5|6|7");
    bind_topology_free(t);
    /* Both threads of one core count as one core. */
    t = load(TWO_PACKAGES, NULL, "0,8,5,6");
    assert_string_equal(plan(t, BIND_SCATTER, 3), "0|5|6");
    assert_string_equal(plan(t, BIND_SCATTER, 4), "0|5|6|8");
    bind_topology_free(t);
}

static void processes_of_a_program_divide_whole_cores(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_1, NULL);
    assert_string_equal(plan_of(t, BIND_NEAR, 1, 1), "4-7,12-15");
    assert_string_equal(plan_of(t, BIND_NEAR, 2, 1), "4-5,12-13|6-7,14-15");
    assert_string_equal(plan_of(t, BIND_NEAR, 3, 1), "4,12|5,13|6,14");
    /* Threads divide the cores of their process. */
    assert_string_equal(plan_of(t, BIND_NEAR, 2, 2), "4-5,12-13|6-7,14-15");
    assert_string_equal(plan_of(t, BIND_NEAR, 3, 3), "4,12|5,13|6-7,14-15");
    assert_string_equal(plan_of(t, BIND_NEAR, 4, 2), "4,12|5,13|6,14|7,15");
    /* Without a core for each of its workers it is as with any others. */
    assert_string_equal(plan_of(t, BIND_NEAR, 6, 2), plan(t, BIND_NEAR, 6));
    assert_string_equal(plan_of(t, BIND_NEAR, 5, 1), "4|5|6|7|12");
    assert_string_equal(plan_of(t, BIND_NEAR, 9, 3), plan(t, BIND_NEAR, 9));
    /* Scattered ones begin where others do. */
    assert_string_equal(plan_of(t, BIND_SCATTER, 2, 1), "0-3,8-11|4-7,12-15");
    assert_string_equal(plan_of(t, BIND_NONE, 2, 1), "none|none");
    bind_topology_free(t);
    /* Only what may be used of a core. */
    t = load(TWO_PACKAGES, GPU_0, "0-2,8");
    assert_string_equal(plan_of(t, BIND_NEAR, 1, 1), "0-2,8");
    assert_string_equal(plan_of(t, BIND_NEAR, 2, 1), "0,8|1");
    bind_topology_free(t);
}

static void none_binds_nothing(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_0, NULL);
    assert_string_equal(plan(t, BIND_NONE, 2), "none|none");
    assert_string_equal(process_cpus(t, BIND_NONE), "0-15");
    assert_string_equal(describe(t, BIND_NONE), "not bound: CPUs 0-15 (8 cores, 16 threads)");
    assert_int_equal(bind_plan(t, BIND_NEAR, NULL, 0, 0, NULL), STATUS_OK);
    bind_topology_free(t);
}

static void only_allowed_cpus_are_used(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_0, "1,3,9,4-7");
    char text[128];
    assert_int_equal(bind_cpu_count(t), 7);
    assert_string_equal(bind_topology_summary(t, text, sizeof text),
                        "2 packages, 6 cores, 7 threads");
    assert_string_equal(plan(t, BIND_NEAR, 3), "1|3|9");
    assert_string_equal(plan(t, BIND_NEAR, 4), "1,3,9|1,3,9|1,3,9|1,3,9");
    assert_string_equal(plan(t, BIND_SCATTER, 7), "1|4|3|5|6|7|9");
    bind_topology_free(t);

    /* A second thread whose core's first is forbidden is that core's first for us. */
    t = load(TWO_PACKAGES, GPU_0, "8-11");
    assert_string_equal(plan(t, BIND_NEAR, 4), "8|9|10|11");
    bind_topology_free(t);
}

static void near_falls_back_where_none_near_is_allowed(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_1, "0-2");
    assert_string_equal(plan(t, BIND_NEAR, 3), "0|1|2");
    assert_string_equal(describe(t, BIND_NEAR),
                        "far from GPU 0000:af:00.0, whose CPUs are not allowed here: "
                        "package 0, CPUs 0-2 (3 cores, 3 threads)");
    bind_topology_free(t);
}

static void near_is_everything_where_the_gpu_is_not_found(void **state)
{
    (void)state;
    /* No GPU, one that is not there, nonsense, and one whose place is not known. */
    const char *const gpus[] = {NULL, "", "0000:99:00.0", "emulated", GPU_NOWHERE};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        struct bind_topology *t = load(TWO_PACKAGES, gpus[i], NULL);
        assert_string_equal(plan(t, BIND_NEAR, 9), "0|1|2|3|4|5|6|7|8");
        assert_string_equal(process_cpus(t, BIND_NEAR), "0-15");
        assert_string_equal(describe(t, BIND_NEAR), "which CPUs are near the GPU is not known: "
                                                    "CPUs 0-15 (8 cores, 16 threads)");
        bind_topology_free(t);
    }
}

static void a_gpu_is_found_however_its_address_is_written(void **state)
{
    (void)state;
    const char *const gpus[] = {"0000:AF:00.0", "00000000:AF:00.0", "af:00.0"};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        struct bind_topology *t = load(TWO_PACKAGES, gpus[i], NULL);
        assert_string_equal(plan(t, BIND_NEAR, 1), "4");
        bind_topology_free(t);
    }
}

static void a_single_core_serves_everybody(void **state)
{
    (void)state;
    struct bind_topology *t = load(ONE_CORE, "0000:01:00.0", NULL);
    char text[128];
    assert_string_equal(bind_topology_summary(t, text, sizeof text), "1 package, 1 core, 1 thread");
    assert_string_equal(plan(t, BIND_NEAR, 1), "0");
    assert_string_equal(plan(t, BIND_NEAR, 3), "0|0|0");
    assert_string_equal(plan(t, BIND_SCATTER, 2), "0|0");
    /* With one package, everything is near. */
    assert_string_equal(describe(t, BIND_NEAR),
                        "near GPU 0000:01:00.0: package 0, CPU 0 (1 core, 1 thread)");
    bind_topology_free(t);
}

static void machines_without_cores_or_packages_work(void **state)
{
    (void)state;
    struct bind_topology *t = synthetic("pu:4", NULL);
    char text[128];
    assert_string_equal(plan(t, BIND_NEAR, 4), "0|1|2|3");
    assert_string_equal(plan(t, BIND_SCATTER, 3), "0|1|2");
    assert_string_equal(bind_topology_summary(t, text, sizeof text), "4 cores, 4 threads");
    bind_topology_free(t);
}

static void limits_of_the_mask_are_kept(void **state)
{
    (void)state;
    /* The last CPU that fits ... */
    struct bind_topology *t = synthetic("package:2 group:32 core:32 pu:2", "4094-4095");
    assert_string_equal(plan(t, BIND_NEAR, 2), "4094|4095");
    bind_topology_free(t);
    /* ... and one more. */
    t = NULL;
    assert_int_equal(bind_topology_load_synthetic("package:17 core:241 pu:1", 1, NULL, &t),
                     STATUS_UNSUPPORTED);
    assert_string_equal(status_text(), "CPU '4096' is beyond the 4096 that a binding can name; "
                                       "start with fewer, as with taskset");
    assert_null(t);
    /* Those beyond that are not allowed do not matter. */
    t = synthetic("package:17 core:241 pu:1", "0-1");
    assert_int_equal(bind_cpu_count(t), 2);
    bind_topology_free(t);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct bind_topology *t = NULL;
    assert_int_equal(bind_topology_load_xml("/nonexistent.xml", NULL, 0, NULL, &t),
                     STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "cannot read the topology '/nonexistent.xml'");
    assert_int_equal(bind_topology_load_synthetic("nonsense:2", 1, NULL, &t), STATUS_USAGE);
    assert_int_equal(bind_topology_load_synthetic("pu:2", 1, "x", &t), STATUS_USAGE);
    assert_string_equal(status_text(), "'x' is not a list of CPUs");
    assert_int_equal(bind_topology_load_synthetic("pu:2", 1, "7", &t), STATUS_UNSUPPORTED);
    assert_string_equal(status_text(), "no CPU is allowed to this process");
    assert_null(t);
    bind_topology_free(NULL);
}

static void this_machine_gives_what_affinity_allows(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);

    struct bind_topology *t = NULL;
    const char *nowhere = "0000:00:00.0";
    assert_int_equal(bind_topology_load(&nowhere, 1, &t), STATUS_OK);
    assert_int_equal(bind_cpu_count(t), CPU_COUNT(&before));
    bind_topology_free(t);

    int last = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before))
            last = cpu;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(bind_topology_load(NULL, 0, &t), STATUS_OK);
    char expected[32];
    snprintf(expected, sizeof expected, "%d|%d", last, last);
    assert_string_equal(plan(t, BIND_NEAR, 2), expected);
    bind_topology_free(t);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void cpus_text_lists_ranges_and_says_when_it_is_cut(void **state)
{
    (void)state;
    uint64_t mask[BIND_WORDS] = {0};
    char text[64], small[8];
    assert_string_equal(bind_cpus_text(mask, text, sizeof text), "none");
    mask[0] = 0x10f;
    assert_string_equal(bind_cpus_text(mask, text, sizeof text), "0-3,8");
    mask[0] |= UINT64_C(1) << 63;
    mask[1] = 1;
    mask[BIND_WORDS - 1] = UINT64_C(1) << 63;
    assert_string_equal(bind_cpus_text(mask, text, sizeof text), "0-3,8,63-64,4095");
    assert_string_equal(bind_cpus_text(mask, small, sizeof small), "0-3...");
    assert_string_equal(bind_cpus_text(mask, small, 2), ".");
}

/* The CPUs of all parts of 0-3,8,70. */
static const char *parts_of(unsigned parts)
{
    static char text[256];
    text[0] = '\0';
    for (unsigned part = 0; part < parts; part++) {
        uint64_t mask[BIND_WORDS] = {0x10f, 1 << 6};
        char one[64];
        size_t used = strlen(text);
        bind_part(mask, part, parts);
        snprintf(text + used, sizeof text - used, "%s%s", part ? "|" : "",
                 bind_cpus_text(mask, one, sizeof one));
    }
    return text;
}

static unsigned cpus_each(const struct bind_topology *topology, enum bind_policy policy,
                          unsigned workers, unsigned usable)
{
    static uint64_t masks[MAX_WORKERS][BIND_WORDS];
    assert_int_equal(bind_plan(topology, policy, NULL, workers, 1, masks), STATUS_OK);
    return bind_cpus_each(masks, workers, usable);
}

static void each_worker_has_its_part_of_the_cpus(void **state)
{
    (void)state;
    struct bind_topology *t = load(TWO_PACKAGES, GPU_0, NULL);
    /* Of 8 near CPUs, and of all 16. */
    assert_int_equal(cpus_each(t, BIND_NEAR, 2, 16), 4);
    assert_int_equal(cpus_each(t, BIND_NONE, 2, 16), 8);
    assert_int_equal(cpus_each(t, BIND_NEAR, 9, 16), 1);
    assert_int_equal(cpus_each(t, BIND_NONE, 3, 16), 5);
    /* A quota grants the time of fewer. */
    assert_int_equal(cpus_each(t, BIND_NEAR, 2, 6), 3);
    bind_topology_free(t);
}

static void parts_are_of_neighbours_and_alike(void **state)
{
    (void)state;
    assert_string_equal(parts_of(1), "0-3,8,70");
    assert_string_equal(parts_of(3), "0-1|2-3|8,70");
    assert_string_equal(parts_of(4), "0-1|2|3,8|70");
    assert_string_equal(parts_of(7), "0|1|2|3|8|70|none");
    uint64_t none[BIND_WORDS] = {0};
    char text[64];
    bind_part(none, 0, 2);
    assert_string_equal(bind_cpus_text(none, text, sizeof text), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_takes_cores_then_threads_of_the_gpus_package),
        cmocka_unit_test(near_does_not_share_single_cpus),
        cmocka_unit_test(scatter_takes_packages_in_turn),
        cmocka_unit_test(scatter_takes_caches_in_turn),
        cmocka_unit_test(scatter_goes_on_where_parts_are_uneven),
        cmocka_unit_test(processes_of_a_program_divide_whole_cores),
        cmocka_unit_test(none_binds_nothing),
        cmocka_unit_test(only_allowed_cpus_are_used),
        cmocka_unit_test(near_falls_back_where_none_near_is_allowed),
        cmocka_unit_test(near_is_everything_where_the_gpu_is_not_found),
        cmocka_unit_test(a_gpu_is_found_however_its_address_is_written),
        cmocka_unit_test(a_single_core_serves_everybody),
        cmocka_unit_test(machines_without_cores_or_packages_work),
        cmocka_unit_test(limits_of_the_mask_are_kept),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(this_machine_gives_what_affinity_allows),
        cmocka_unit_test(cpus_text_lists_ranges_and_says_when_it_is_cut),
        cmocka_unit_test(each_worker_has_its_part_of_the_cpus),
        cmocka_unit_test(parts_are_of_neighbours_and_alike),
    };
    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
