#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/process_tree.h"
#include "recording/cpu.h"

static cpu_set_t allowed;
static int first_cpu;

static int begin(void **state)
{
    (void)state;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return -1;
    while (!CPU_ISSET(first_cpu, &allowed))
        first_cpu++;
    return 0;
}

static int end(void **state)
{
    (void)state;
    return sched_setaffinity(0, sizeof allowed, &allowed);
}

static void only(int cpu, uint64_t cpus[WORK_CPUS / 64])
{
    cpus[cpu / 64] = UINT64_C(1) << cpu % 64;
}

/* A thread that is there, at both barriers, while others are bound. */
static pthread_barrier_t barriers[2];

static void *stand_by(void *argument)
{
    pthread_barrier_wait(&barriers[0]);
    pthread_barrier_wait(&barriers[1]);
    return sched_getaffinity(0, sizeof(cpu_set_t), argument) == 0 ? argument : NULL;
}

/* Binds by the function while another thread stands by; how many CPUs both have then. */
static void counts(void (*bind)(const uint64_t *), const uint64_t *cpus, int *own, int *others)
{
    pthread_t thread;
    cpu_set_t set;
    void *result;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_barrier_init(&barriers[i], NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, stand_by, &set), 0);
    pthread_barrier_wait(&barriers[0]);
    bind(cpus);
    pthread_barrier_wait(&barriers[1]);
    pthread_join(thread, &result);
    assert_non_null(result);
    *others = CPU_COUNT(&set);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    *own = CPU_COUNT(&set);
    for (int i = 0; i < 2; i++)
        pthread_barrier_destroy(&barriers[i]);
}

static void bind_one(const uint64_t *cpus)
{
    assert_int_equal(cpu_bind_thread(cpus), 0);
}

static void bind_all(const uint64_t *cpus)
{
    assert_int_equal(process_bind_threads(getpid(), cpus, WORK_CPUS / 8), 0);
}

static void one_thread_or_all_of_them(void **state)
{
    (void)state;
    uint64_t cpus[WORK_CPUS / 64] = {0};
    int own, others, all = CPU_COUNT(&allowed);
    only(first_cpu, cpus);
    if (all < 2)
        skip();
    counts(bind_one, cpus, &own, &others);
    assert_int_equal(own, 1);
    assert_int_equal(others, all);
    assert_int_equal(end(state), 0);
    counts(bind_all, cpus, &own, &others);
    assert_int_equal(own, 1);
    assert_int_equal(others, 1);
}

static void an_empty_mask_changes_nothing(void **state)
{
    (void)state;
    static const uint64_t none[WORK_CPUS / 64];
    int own, others;
    counts(bind_one, none, &own, &others);
    assert_int_equal(own, CPU_COUNT(&allowed));
    assert_int_equal(others, own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_thread_or_all_of_them, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_mask_changes_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
