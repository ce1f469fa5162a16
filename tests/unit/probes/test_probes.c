#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "probes/probe.h"
#include "probes/verdict.h"
#include "probes/watchdog.h"
#include "probes/shm.h"

/* -- the rows ---------------------------------------------------------------------------------- */

static void every_row_is_whole(void **unused)
{
    (void)unused;
    for (size_t p = 0; probes[p]; p++) {
        const struct probe *probe = probes[p];
        assert_ptr_equal(probe_find(probe->name), probe);
        assert_true(strlen(probe->question) > 20 &&
                    probe->question[strlen(probe->question) - 1] == '?');
        assert_true(strlen(probe->method) > 20 && strlen(probe->remedy) > 10);
        assert_true(probe->gpus >= 1 && probe->gpus <= PROBE_GPUS);
        assert_true(probe->rounds >= 2 && probe->rounds <= PROBE_ROUNDS);
        assert_true(probe->measure_ns > 0 && probe->measure_ns < NS_PER_S);
        assert_true(probe->matters_ratio > 1);
        assert_non_null(probe->metrics[0]);
        assert_null(probe->metrics[PROBE_METRICS]);
        for (const char *const *remedy = probe->remedies; remedy && *remedy; remedy++)
            assert_non_null(probe_arm_find(probe, *remedy));
    }
    assert_null(probe_find("nothing-like-it"));
}

static void every_arm_has_a_control_that_is_one(void **unused)
{
    (void)unused;
    for (size_t p = 0; probes[p]; p++) {
        for (unsigned m = 0; m <= probes[p]->control_metric; m++)
            assert_non_null(probes[p]->metrics[m]);
        const struct probe_arm *subject = probe_arm_find(probes[p], probes[p]->subject);
        assert_non_null(subject);
        assert_non_null(subject->control);
        assert_false(subject->flags & PROBE_ARM_EXTRA);
        for (size_t a = 0; a < probes[p]->arm_count; a++) {
            const struct probe_arm *arm = &probes[p]->arms[a];
            assert_ptr_equal(probe_arm_find(probes[p], arm->name), arm);
            assert_non_null(arm->run);
            assert_true(strspn(arm->name, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
                        strlen(arm->name));
            assert_true(strcmp(arm->name, "all") != 0 && strlen(arm->name) < 40);
            assert_true(probe_arm_processes(arm) <= PROBE_PROCESSES);
            assert_true(!arm->series || (arm->x > 0 && probes[p]->xlabel));
            if (!arm->control)
                continue;
            const struct probe_arm *control = probe_arm_find(probes[p], arm->control);
            assert_non_null(control);
            /* Of one that is its own control another metric is. */
            assert_true(control == arm ? probes[p]->control_metric > 0 : !control->control);
            /* An arm that runs by itself must not have one that does not. */
            assert_true(arm->flags & PROBE_ARM_EXTRA || !(control->flags & PROBE_ARM_EXTRA));
        }
    }
}

/* -- the shared memory ------------------------------------------------------------------------- */

static void what_is_attached_is_what_was_made(void **unused)
{
    (void)unused;
    struct probe_shm made = PROBE_SHM_NONE, attached = PROBE_SHM_NONE;
    assert_int_equal(probe_shm_create(3, &made), STATUS_OK);
    assert_int_equal(probe_shm_attach(dup(made.fd), &attached), STATUS_OK);
    assert_int_equal(attached.header->processes, 3);
    struct probe_shm_process *process = probe_shm_process(&attached, 2);
    process->samples_ns[PROBE_METRICS - 1][PROBE_SAMPLES - 1] = 42;
    assert_int_equal(probe_shm_process(&made, 2)->samples_ns[PROBE_METRICS - 1][PROBE_SAMPLES - 1],
                     42);
    /* More than fit are dropped. */
    atomic_store(&process->counts[1], PROBE_SAMPLES + 5);
    assert_int_equal(probe_shm_count(&made, 2, 1), PROBE_SAMPLES);
    assert_int_equal(probe_shm_count(&made, 2, 0), 0);
    probe_shm_release(&attached);
    probe_shm_release(&made);
    probe_shm_release(&made);
}

static void what_is_not_ours_is_refused(void **unused)
{
    (void)unused;
    struct probe_shm made = PROBE_SHM_NONE, attached = PROBE_SHM_NONE;
    assert_int_equal(probe_shm_attach(-1, &attached), STATUS_SYSTEM);
    int empty = memfd_create("empty", MFD_CLOEXEC);
    assert_int_equal(probe_shm_attach(empty, &attached), STATUS_PROTOCOL);
    assert_int_equal(ftruncate(empty, 1 << 20), 0);
    assert_int_equal(probe_shm_attach(empty, &attached), STATUS_PROTOCOL);
    close(empty);
    assert_int_equal(probe_shm_create(1, &made), STATUS_OK);
    struct probe_shm_header *header = made.header;
    const struct {
        void *at;
        size_t bytes;
    } fields[] = {
        {&header->magic, sizeof header->magic},
        {&header->version, sizeof header->version},
        {&header->length, sizeof header->length},
        {&header->process_bytes, sizeof header->process_bytes},
        {&header->processes, sizeof header->processes},
        {&header->gpus, sizeof header->gpus},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        unsigned char kept[8];
        memcpy(kept, fields[i].at, fields[i].bytes);
        memset(fields[i].at, 0x5a, fields[i].bytes);
        assert_int_equal(probe_shm_attach(made.fd, &attached), STATUS_PROTOCOL);
        memcpy(fields[i].at, kept, fields[i].bytes);
    }
    probe_shm_release(&made);
}

static void nobody_waits_after_the_end(void **unused)
{
    (void)unused;
    struct probe_shm shm = PROBE_SHM_NONE;
    assert_int_equal(probe_shm_create(1, &shm), STATUS_OK);
    probe_shm_open_gate(&shm);
    assert_true(probe_shm_wait(&shm, &shm.header->gate, 1));
    probe_shm_end(&shm);
    assert_false(probe_shm_wait(&shm, &shm.header->gate, 1));
    assert_false(probe_shm_wait(&shm, &shm.header->words[0], 1));
    probe_shm_release(&shm);
}

/* -- watchdogs --------------------------------------------------------------------------------- */

static void release(void *argument)
{
    atomic_fetch_add((_Atomic unsigned *)argument, 1);
}

static void a_watchdog_releases_when_it_is_time(void **unused)
{
    (void)unused;
    _Atomic unsigned released = 0;
    struct probe_watchdog *watchdog = NULL;
    assert_int_equal(probe_watchdog_new(release, &released, &watchdog), STATUS_OK);
    probe_watchdog_arm(watchdog, clock_now_ns() + NS_PER_MS);
    while (atomic_load(&released) == 0)
        ;
    assert_true(probe_watchdog_disarm(watchdog));
    /* Armed again it has not released yet, and disarmed it does not. */
    probe_watchdog_arm(watchdog, clock_now_ns() + 3600 * NS_PER_S);
    assert_false(probe_watchdog_disarm(watchdog));
    assert_int_equal(atomic_load(&released), 1);
    probe_watchdogs_release();
    assert_int_equal(atomic_load(&released), 2);
    probe_watchdog_free(watchdog);
    probe_watchdogs_release();
    assert_int_equal(atomic_load(&released), 2);
    probe_watchdog_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(every_arm_has_a_control_that_is_one),
        cmocka_unit_test(what_is_attached_is_what_was_made),
        cmocka_unit_test(what_is_not_ours_is_refused),
        cmocka_unit_test(nobody_waits_after_the_end),
        cmocka_unit_test(a_watchdog_releases_when_it_is_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
