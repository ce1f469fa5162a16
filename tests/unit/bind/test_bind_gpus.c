/*
 * What must hold of every plan of workers on several GPUs, whatever the machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/unit/bind/bind_rig.h"

/* The core of each CPU, so that sharing can be seen; MOST_CORES where there is no such CPU. */
#define MOST_CORES 256
static unsigned core_of[WORK_CPUS];

static void find_cores(const struct bind_topology *t)
{
    for (unsigned cpu = 0; cpu < WORK_CPUS; cpu++)
        core_of[cpu] = MOST_CORES;
    unsigned count = 0;
    for (hwloc_obj_t core = NULL;
         (core = hwloc_get_next_obj_by_type(t->topology, HWLOC_OBJ_CORE, core)) != NULL; count++) {
        int cpu;
        assert_true(count < MOST_CORES);
        hwloc_bitmap_foreach_begin(cpu, core->cpuset) core_of[cpu] = count;
        hwloc_bitmap_foreach_end();
    }
}

static bool has(const uint64_t mask[BIND_WORDS], unsigned cpu)
{
    return (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

/* Hall's theorem: everybody can have a core if and only if no part of the GPUs has more workers
 * than the cores that are near any of that part. */
static bool cores_suffice(uint64_t (*near)[BIND_WORDS], unsigned gpus, unsigned workers_each)
{
    for (unsigned part = 1; part < 1U << gpus; part++) {
        bool seen[MOST_CORES] = {false};
        unsigned cores = 0;
        for (unsigned cpu = 0; cpu < RIG_WORKERS; cpu++)
            for (unsigned gpu = 0; gpu < gpus; gpu++)
                if ((part >> gpu & 1) && has(near[gpu], cpu) && !seen[core_of[cpu]]) {
                    seen[core_of[cpu]] = true;
                    cores++;
                }
        if (workers_each * (unsigned)__builtin_popcount(part) > cores)
            return false;
    }
    return true;
}

/* What must hold of every plan, whatever the machine. */
static void check_plan(const struct bind_topology *t, enum bind_policy policy, unsigned gpus,
                       unsigned workers)
{
    uint64_t sets[BIND_GPUS][BIND_WORDS];
    unsigned gpu_on[MOST_CORES], pinned_on[RIG_WORKERS] = {0}, workers_on[MOST_CORES] = {0};
    bool shares[BIND_GPUS] = {false};
    memset(gpu_on, 0xff, sizeof gpu_on);
    for (unsigned gpu = 0; gpu < gpus; gpu++)
        bind_process_mask(t, policy, gpu, sets[gpu]);
    for (unsigned i = 0; i < workers; i++) {
        unsigned gpu = rig_gpu_of[i];
        const bool whole = memcmp(rig_masks[i], sets[gpu], sizeof rig_masks[i]) == 0;
        /* One CPU of the GPU's set, or all of it. */
        assert_true(whole || rig_cpus_in(rig_masks[i]) == 1);
        for (size_t w = 0; w < BIND_WORDS; w++)
            assert_true((rig_masks[i][w] & ~sets[gpu][w]) == 0);
        shares[gpu] |= whole && rig_cpus_in(rig_masks[i]) > 1;
    }
    /* A set of one CPU is whole and single at once: it is shared if it has two workers. */
    for (unsigned i = 0; i < workers; i++)
        for (unsigned j = 0; j < i; j++)
            if (rig_cpus_in(sets[rig_gpu_of[i]]) == 1 &&
                memcmp(rig_masks[i], rig_masks[j], sizeof rig_masks[i]) == 0)
                shares[rig_gpu_of[i]] = shares[rig_gpu_of[j]] = true;
    for (unsigned i = 0; i < workers; i++)
        if (!shares[rig_gpu_of[i]]) {
            unsigned cpu = rig_first_in(rig_masks[i]), core = core_of[cpu];
            /* No other worker's CPU, and no other GPU's core. */
            assert_int_equal(pinned_on[cpu]++, 0);
            workers_on[core]++;
            assert_true(gpu_on[core] == UINT32_MAX || gpu_on[core] == rig_gpu_of[i]);
            gpu_on[core] = rig_gpu_of[i];
        }
    for (unsigned i = 0; i < workers; i++)
        for (unsigned cpu = 0; cpu < RIG_WORKERS && shares[rig_gpu_of[i]]; cpu++)
            if (has(rig_masks[i], cpu))
                assert_int_equal(gpu_on[core_of[cpu]], UINT32_MAX);
    /* A core for everybody wherever that is possible at all. */
    if (cores_suffice(sets, gpus, workers / gpus)) {
        for (unsigned gpu = 0; gpu < gpus; gpu++)
            assert_false(shares[gpu]);
        for (unsigned core = 0; core < MOST_CORES; core++)
            assert_true(workers_on[core] <= 1);
    }
    /* GPUs of the same place are treated alike. */
    for (unsigned a = 0; a < gpus; a++)
        for (unsigned b = 0; b < a; b++)
            if (memcmp(sets[a], sets[b], sizeof sets[a]) == 0)
                assert_int_equal(shares[a], shares[b]);
}

static unsigned random_below(unsigned limit)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((state >> 33) % limit);
}

/* Every third CPU or so, in runs; their numbers may have gaps. */
static void random_cpus(const struct rig_machine *machine, char *text, size_t size)
{
    struct bind_topology *t = rig_load(machine->file, "0", NULL);
    unsigned count = bind_count_of(t->topology, HWLOC_OBJ_PU), cpu = random_below(count);
    text[0] = '\0';
    do {
        for (unsigned last = cpu + random_below(12); cpu <= last && cpu < count; cpu++) {
            char number[16];
            snprintf(number, sizeof number, "%s%u", *text ? "," : "",
                     hwloc_get_obj_by_type(t->topology, HWLOC_OBJ_PU, cpu)->os_index);
            rig_add(text, size, number);
        }
        cpu += 1 + random_below(24);
    } while (cpu < count);
    bind_topology_free(t);
}

static void every_plan_is_fair_and_near(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 200; trial++) {
        const struct rig_machine *machine = &rig_machines[random_below(RIG_MACHINES)];
        unsigned gpus = 1 + random_below(machine->gpus);
        char which[17] = "", allowed[1024];
        random_cpus(machine, allowed, sizeof allowed);
        for (unsigned i = 0; i < gpus; i++)
            which[i] = random_below(8) ? RIG_DIGITS[random_below(machine->gpus)] : '?';
        struct bind_topology *t = rig_load(machine->file, which, random_below(2) ? allowed : NULL);
        find_cores(t);
        for (unsigned i = 0; i < 4; i++) {
            enum bind_policy policy = random_below(4) ? BIND_NEAR : BIND_SCATTER;
            unsigned threads = 1 + random_below(4), processes = 1 + random_below(64 / gpus);
            check_plan(t, policy, gpus, rig_plan(t, policy, gpus, processes, threads));
        }
        bind_topology_free(t);
    }
}

static void few_workers_of_many_gpus_each_have_a_core(void **state)
{
    (void)state;
    struct bind_topology *t = rig_load("dgx-a100", "01234567", NULL);
    find_cores(t);
    for (unsigned gpus = 1; gpus <= 8; gpus++)
        for (unsigned workers = 1; workers <= 64; workers += 1 + workers / 8)
            for (unsigned policy = BIND_NEAR; policy <= BIND_SCATTER; policy++)
                check_plan(t, policy, gpus, rig_plan(t, policy, gpus, workers, 1));
    bind_topology_free(t);
}

/* GPUs without workers leave their cores to the others, as if they were not there. */
static void idle_gpus_take_nothing(void **state)
{
    (void)state;
    char alone[256] = "", beside[256] = "";
    struct bind_topology *one = rig_load("dgx-h100", "1", NULL),
                         *all = rig_load("dgx-h100", "0123", NULL);
    unsigned workers = 30;
    for (unsigned i = 0; i < workers; i++)
        rig_gpu_of[i] = 0;
    assert_int_equal(bind_plan(one, BIND_NEAR, NULL, workers, 0, rig_masks), STATUS_OK);
    rig_add_gpu(one, BIND_NEAR, 0, workers, alone, sizeof alone);
    for (unsigned i = 0; i < workers; i++)
        rig_gpu_of[i] = 1;
    assert_int_equal(bind_plan(all, BIND_NEAR, rig_gpu_of, workers, 0, rig_masks), STATUS_OK);
    rig_add_gpu(all, BIND_NEAR, 1, workers, beside, sizeof beside);
    assert_string_equal(alone, "0..29@0");
    assert_string_equal(beside, alone);
    bind_topology_free(one);
    bind_topology_free(all);
}

/* The first GPU needs few cores, the second many: it gets what the first leaves. */
static void uneven_needs_are_met(void **state)
{
    (void)state;
    char text[256] = "";
    struct bind_topology *t = rig_load("dgx-h100", "01", NULL);
    for (unsigned i = 0; i < 50; i++)
        rig_gpu_of[i] = i % 10 == 0 ? 0 : 1;
    assert_int_equal(bind_plan(t, BIND_NEAR, rig_gpu_of, 50, 0, rig_masks), STATUS_OK);
    rig_add_gpu(t, BIND_NEAR, 0, 50, text, sizeof text);
    rig_add(text, sizeof text, " ");
    rig_add_gpu(t, BIND_NEAR, 1, 50, text, sizeof text);
    assert_string_equal(text, "0..4@0 11..55@0");
    bind_topology_free(t);
}

static void wrong_gpus_are_refused(void **state)
{
    (void)state;
    struct bind_topology *t = rig_load("vm", "01", NULL);
    const unsigned third = 2;
    assert_int_equal(bind_plan(t, BIND_NEAR, &third, 1, 0, rig_masks), STATUS_USAGE);
    assert_string_equal(status_text(), "worker 0 is for GPU 2 of 2");
    bind_topology_free(t);
    t = NULL;
    assert_int_equal(bind_topology_load_synthetic("pu:2", 65, NULL, &t), STATUS_UNSUPPORTED);
    assert_string_equal(status_text(),
                        "65 GPUs are more than the 64 that a binding can distinguish");
    assert_null(t);
    /* The most there may be. */
    assert_int_equal(bind_topology_load_synthetic("core:64 pu:1", 64, NULL, &t), STATUS_OK);
    char text[64] = "";
    unsigned workers = rig_plan(t, BIND_NEAR, 64, 1, 1);
    rig_add_gpu(t, BIND_NEAR, 63, workers, text, sizeof text);
    assert_string_equal(text, "63@-");
    bind_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_fair_and_near),
        cmocka_unit_test(few_workers_of_many_gpus_each_have_a_core),
        cmocka_unit_test(idle_gpus_take_nothing),
        cmocka_unit_test(uneven_needs_are_met),
        cmocka_unit_test(wrong_gpus_are_refused),
    };
    return cmocka_run_group_tests_name("bind_gpus", tests, NULL, NULL);
}
