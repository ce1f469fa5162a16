#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "shm/shm.h"

static struct shm shm;

static int begin(void **state)
{
    (void)state;
    const struct shm_settings settings = {.kernels = 7, .slice_ns = 1000};
    return shm_create(&settings, 3, 2, &shm) == STATUS_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    shm_release(&shm);
    return 0;
}

static void attached_sees_the_same(void **state)
{
    (void)state;
    struct shm other;
    assert_int_equal(shm_attach(dup(shm.fd), &other), STATUS_OK);
    assert_int_equal(other.header->settings.kernels, 7);
    shm_slot_at(&shm, 2, 1)->iterations = 99;
    assert_int_equal(shm_slot_at(&other, 2, 1)->iterations, 99);
    assert_int_equal(atomic_load(&shm_process_at(&other, 2)->mps), -1);
    shm_release(&other);
}

static void slots_are_aligned_and_apart(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        for (unsigned t = 0; t < 2; t++) {
            char *slot = (char *)shm_slot_at(&shm, p, t);
            assert_int_equal((uintptr_t)slot % 64, 0);
            assert_true(slot + sizeof(struct shm_slot) <= (char *)shm.header + shm.header->length);
        }
    }
    assert_true(shm_slot_at(&shm, 0, 1) + 1 == shm_slot_at(&shm, 1, 0));
}

/* Whatever is not exactly ours is refused: each row spoils one field. */
static void strangers_are_refused(void **state)
{
    (void)state;
    struct shm other;
    const struct shm_header good = *shm.header;
    struct shm_header *header = shm.header;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        change;                                                                                    \
        assert_int_equal(shm_attach(shm.fd, &other), STATUS_PROTOCOL);                             \
        memcpy(header, &good, sizeof good);                                                        \
    } while (0)
    REFUSED(header->magic = 0);
    REFUSED(header->version++);
    REFUSED(header->length--);
    REFUSED(header->slot_bytes++);
    REFUSED(header->process_bytes++);
    REFUSED(header->header_bytes--);
    REFUSED(header->processes = 0);
    REFUSED(header->processes = 4);
    REFUSED(header->threads = UINT32_MAX);
    REFUSED(header->processes = UINT32_MAX);
#undef REFUSED
    int small = memfd_create("small", MFD_CLOEXEC);
    assert_int_equal(shm_attach(small, &other), STATUS_PROTOCOL);
    assert_int_equal(ftruncate(small, 100000), 0);
    assert_int_equal(shm_attach(small, &other), STATUS_PROTOCOL);
    close(small);
    assert_int_equal(shm_attach(-1, &other), STATUS_SYSTEM);
}

static uint64_t units(const struct shm_slot *slot, unsigned first, unsigned last)
{
    uint64_t sum = 0;
    for (unsigned i = first; i < last; i++)
        sum += atomic_load(&slot->slices[i]);
    return sum;
}

static void an_iteration_is_credited_where_it_ran(void **state)
{
    (void)state;
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    shm_slot_credit(slot, 0, 1000, 100, 900); /* within one slice */
    assert_int_equal(units(slot, 0, 1), SHM_ITERATION_UNITS);
    slot = shm_slot_at(&shm, 0, 1);
    shm_slot_credit(slot, 0, 1000, 500, 2500); /* a quarter, a half, a quarter */
    assert_int_equal(units(slot, 0, 1), SHM_ITERATION_UNITS / 4);
    assert_int_equal(units(slot, 1, 2), SHM_ITERATION_UNITS / 2);
    assert_int_equal(units(slot, 2, 3), SHM_ITERATION_UNITS / 4);
    slot = shm_slot_at(&shm, 1, 0);
    for (unsigned i = 0; i < 777; i++) /* odd lengths: not a unit is lost */
        shm_slot_credit(slot, 0, 1000, i * 1357, (i + 1) * 1357);
    assert_int_equal(units(slot, 0, SHM_SLICES), 777 * SHM_ITERATION_UNITS);
    slot = shm_slot_at(&shm, 2, 0);
    shm_slot_credit(slot, 5000, 1000, 3000, 4999); /* before the origin: nowhere */
    shm_slot_credit(slot, 5000, 1000, 4999, 5000);
    assert_int_equal(units(slot, 0, SHM_SLICES), 0);
    shm_slot_credit(slot, 5000, 1000, 4500, 6500); /* a quarter before it */
    assert_int_equal(units(slot, 0, 1), SHM_ITERATION_UNITS / 2);
    assert_int_equal(units(slot, 1, 2), SHM_ITERATION_UNITS / 4);
    slot = shm_slot_at(&shm, 1, 1);
    shm_slot_credit(slot, 0, 1000, 0, (SHM_SLICES + 5) * UINT64_C(1000)); /* runs over the end */
    assert_in_range(units(slot, 0, SHM_SLICES), SHM_ITERATION_UNITS * 9 / 10, SHM_ITERATION_UNITS);
    shm_slot_credit(slot, 0, 1000, (SHM_SLICES + 5) * UINT64_C(1000),
                    (SHM_SLICES + 6) * UINT64_C(1000));
}

/* Slices of fixed work: lengthened as the work goes on, and nothing is lost. */
static void slices_make_room_for_work_of_any_length(void **state)
{
    (void)state;
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    uint64_t last_ns = 0, step_ns = 700, iterations = 0;
    for (; last_ns < SHM_SLICES * UINT64_C(1000) * 5; iterations++) {
        uint64_t to_ns = last_ns + step_ns;
        shm_slot_make_room(slot, 0, 1000, to_ns);
        shm_slot_credit(slot, 0, UINT64_C(1000) << slot->slice_shift, last_ns, to_ns);
        last_ns = to_ns;
    }
    assert_int_equal(slot->slice_shift, 3); /* 8 is the power of two above 5 */
    assert_int_equal(units(slot, 0, SHM_SLICES), iterations * SHM_ITERATION_UNITS);
    /* They run at an even pace, and so every slice that is full has the same. */
    uint64_t full = last_ns / 8000;
    for (uint64_t i = 0; i < full; i++)
        assert_in_range(atomic_load(&slot->slices[i]), SHM_ITERATION_UNITS * 8000 / 700 - 100,
                        SHM_ITERATION_UNITS * 8000 / 700 + 100);
    /* What was before the origin needs no room, and what just fits neither. */
    slot = shm_slot_at(&shm, 0, 1);
    shm_slot_make_room(slot, UINT64_MAX / 2, 1000, 5);
    shm_slot_make_room(slot, 500, 1000, 499 + SHM_SLICES * UINT64_C(1000));
    assert_int_equal(slot->slice_shift, 0);
    shm_slot_make_room(slot, 500, 1000, 500 + SHM_SLICES * UINT64_C(1000));
    assert_int_equal(slot->slice_shift, 1);
}

static void slices_are_aligned_to_the_longest(void **state)
{
    (void)state;
    struct shm_slot *shortest = shm_slot_at(&shm, 0, 0), *longest = shm_slot_at(&shm, 2, 1);
    for (unsigned i = 0; i < 8; i++)
        shm_slot_credit(shortest, 0, 1000, i * 1000, (i + 1) * 1000 - 1);
    longest->slice_shift = 2;
    atomic_store(&longest->slices[3], 5);
    shm_align_slices(&shm);
    assert_int_equal(shm.header->settings.slice_ns, 4000);
    assert_int_equal(units(shortest, 0, 1), 4 * SHM_ITERATION_UNITS);
    assert_int_equal(units(shortest, 1, 2), 4 * SHM_ITERATION_UNITS);
    assert_int_equal(units(shortest, 0, SHM_SLICES), 8 * SHM_ITERATION_UNITS);
    assert_int_equal(units(longest, 3, 4), 5);
    shm_align_slices(&shm); /* they are */
    assert_int_equal(shm.header->settings.slice_ns, 4000);
}

static void *finished(void *argument)
{
    (void)argument;
    shm_stop_wait(&shm);
    return atomic_load(&shm.header->stop) ? &shm : NULL;
}

static void who_has_finished_waits_for_the_stop(void **state)
{
    (void)state;
    pthread_t thread;
    void *stopped;
    shm_gate_open(&shm, 1);
    assert_int_equal(pthread_create(&thread, NULL, finished, NULL), 0);
    shm_stop(&shm, 0);
    pthread_join(thread, &stopped);
    assert_ptr_equal(stopped, &shm);
    shm_stop_wait(&shm); /* at once */
}

static void *waiter(void *argument)
{
    uint64_t *started_ns = argument;
    *started_ns = shm_gate_wait(&shm) ? clock_now_ns() : 0;
    return NULL;
}

static void the_gate_lets_all_in_at_the_start(void **state)
{
    (void)state;
    pthread_t threads[4];
    uint64_t started_ns[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, waiter, &started_ns[i]), 0);
    uint64_t start_ns = clock_now_ns() + 5 * NS_PER_MS;
    shm_gate_open(&shm, start_ns);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(started_ns[i] >= start_ns);
    }
}

static void a_stop_frees_those_at_the_gate(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t started_ns = 1;
    assert_int_equal(pthread_create(&thread, NULL, waiter, &started_ns), 0);
    shm_stop(&shm, 0);
    pthread_join(thread, NULL);
    assert_int_equal(started_ns, 0);
}

static void the_first_error_stays(void **state)
{
    (void)state;
    struct shm_slot *slot = shm_slot_at(&shm, 0, 0);
    shm_slot_fail(slot, STATUS_CUDA, 700, "first");
    shm_slot_fail(slot, STATUS_SYSTEM, 0, "second");
    assert_string_equal(slot->error, "first");
    assert_int_equal(slot->cuda_error, 700);
    assert_int_equal(slot->status, STATUS_CUDA);
    assert_string_equal(shm_state_name(slot->state), "failed");
    assert_string_equal(shm_state_name(77), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attached_sees_the_same, begin, end),
        cmocka_unit_test_setup_teardown(slots_are_aligned_and_apart, begin, end),
        cmocka_unit_test_setup_teardown(strangers_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(an_iteration_is_credited_where_it_ran, begin, end),
        cmocka_unit_test_setup_teardown(slices_make_room_for_work_of_any_length, begin, end),
        cmocka_unit_test_setup_teardown(slices_are_aligned_to_the_longest, begin, end),
        cmocka_unit_test_setup_teardown(who_has_finished_waits_for_the_stop, begin, end),
        cmocka_unit_test_setup_teardown(the_gate_lets_all_in_at_the_start, begin, end),
        cmocka_unit_test_setup_teardown(a_stop_frees_those_at_the_gate, begin, end),
        cmocka_unit_test_setup_teardown(the_first_error_stays, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
