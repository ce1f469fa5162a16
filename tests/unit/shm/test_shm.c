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

static void the_last_text_is_read(void **state)
{
    (void)state;
    static struct shm_text text;
    char longer[SHM_TEXT_BYTES + 10] = "", read[SHM_TEXT_BYTES];
    shm_text_read(&text, read);
    assert_string_equal(read, "");
    shm_text_publish(&text, "one\033");
    shm_text_publish(&text, "two\033");
    shm_text_read(&text, read);
    assert_string_equal(read, "two?");
    memset(longer, 'a', sizeof longer - 1);
    shm_text_publish(&text, longer);
    shm_text_read(&text, read);
    assert_int_equal(strlen(read), SHM_TEXT_BYTES - 1);
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
    REFUSED(header->processes_most = 4);
    REFUSED(header->processes_most = 0);
    REFUSED(header->processes_most = UINT32_MAX);
    REFUSED(header->slots_most = 1);
    REFUSED(header->slots_most = UINT32_MAX);
    REFUSED(header->threads = 0);
    REFUSED(header->threads = 3);
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

/* Invariant R3. */
/* Invariant R3. */
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
    assert_int_equal(slot->state, SHM_STATE_FAILED);
}

/* What a worker process does between assignments. */
static void *serve_all(void *argument)
{
    unsigned index = *(unsigned *)argument;
    uint32_t finished = 0, assignment;
    while ((assignment = shm_assignment_wait(&shm, finished)) != SHM_DISMISSED) {
        for (unsigned t = 0; index < shm.header->processes && t < shm.header->threads; t++) {
            struct shm_slot *slot = shm_slot_at(&shm, index, t);
            slot->iterations += assignment * 100 + shm.header->settings.kernels;
            atomic_store(&slot->state, SHM_STATE_DONE);
        }
        finished = assignment;
        atomic_store(&shm_process_at(&shm, index)->parked, finished);
    }
    return NULL;
}

static void wait_parked(void)
{
    uint64_t deadline_ns = clock_now_ns() + 60 * NS_PER_S;
    while (!shm_parked(&shm, 0)) {
        assert_true(clock_now_ns() < deadline_ns);
        clock_sleep_until(clock_now_ns() + NS_PER_MS / 10);
    }
}

static void assign(unsigned kernels, unsigned processes, unsigned threads)
{
    const struct shm_settings settings = {.kernels = kernels, .slice_ns = 1000};
    shm_reset(&shm, &settings, processes, threads);
    shm_assign(&shm);
}

static void each_assignment_is_served_once_and_leaves_nothing(void **state)
{
    (void)state;
    pthread_t threads[3];
    unsigned index[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, serve_all, &index[i]), 0);
    shm_assign(&shm);
    wait_parked();
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(shm_slot_at(&shm, i / 2, i % 2)->iterations, 107);
    /* Fewer processes, each with fewer threads: the places of the slots stay. */
    for (uint32_t number = 2; number < 200; number++) {
        assign(number, 2, 1);
        wait_parked();
        assert_int_equal(shm_slot_at(&shm, 0, 0)->iterations, number * 101);
        assert_int_equal(shm_slot_at(&shm, 1, 0)->iterations, number * 101);
        assert_int_equal(shm_slot_at(&shm, 0, 1)->iterations, 107);
        assert_int_equal(shm_slot_at(&shm, 2, 0)->iterations, 107);
    }
    assign(1, 3, 2);
    wait_parked();
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(shm_slot_at(&shm, i / 2, i % 2)->iterations, 20001);
    shm_dismiss(&shm);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void an_assignment_begins_anew(void **state)
{
    (void)state;
    shm_assign(&shm);
    struct shm_slot *slot = shm_slot_at(&shm, 1, 1);
    struct shm_process *process = shm_process_at(&shm, 1);
    slot->cpus[3] = 1;
    shm_slot_credit(slot, 0, 1000, 100, 900);
    histogram_record(&slot->latency, 77);
    atomic_store(&slot->completed, 5);
    shm_slot_fail(slot, STATUS_CUDA, 700, "first");
    atomic_store(&slot->held, 1);
    atomic_store(&slot->opened, SHM_OPENED_BEGUN);
    shm.header->keeps = 1;
    atomic_store(&process->pid, 44);
    atomic_store(&process->mps, 1);
    atomic_store(&process->sms, 66);
    atomic_store(&process->parked, 1);
    process->cpus[0] = 3;
    shm_gate_open(&shm, 5);
    shm_stop(&shm, 9);
    const struct shm_settings settings = {.kernels = 8, .slice_ns = 2000};
    shm_reset(&shm, &settings, 3, 2);
    static const struct shm_slot untouched;
    /* A program's thread has its handle still. */
    assert_int_equal(atomic_load(&slot->opened), SHM_OPENED_TAKEN);
    atomic_store(&slot->opened, SHM_OPENED_NOT);
    assert_memory_equal(slot, &untouched, sizeof untouched);
    assert_int_equal(shm.header->keeps, 0);
    assert_int_equal(atomic_load(&process->mps), -1);
    assert_int_equal(atomic_load(&process->sms), 0);
    assert_int_equal(process->cpus[0], 0);
    /* The process itself goes on, and has not seen the assignment yet. */
    assert_int_equal(atomic_load(&process->pid), 44);
    assert_int_equal(atomic_load(&process->parked), 1);
    assert_int_equal(shm.header->settings.kernels, 8);
    assert_int_equal(atomic_load(&shm.header->gate), SHM_GATE_CLOSED);
    assert_int_equal(atomic_load(&shm.header->stop), 0);
    assert_true(atomic_load(&shm.header->window_end_ns) == UINT64_MAX);
    assert_int_equal(atomic_load(&shm.header->assignment), 1);
}

static void parked_are_those_that_finished_the_last_assignment(void **state)
{
    (void)state;
    shm_assign(&shm);
    assert_false(shm_parked(&shm, 0));
    for (unsigned p = 0; p < 3; p++)
        atomic_store(&shm_process_at(&shm, p)->parked, 1);
    assert_true(shm_parked(&shm, 0));
    assign(7, 1, 2);
    assert_false(shm_parked(&shm, 0));
    /* Those without a part park, too, and are asked for by themselves. */
    atomic_store(&shm_process_at(&shm, 2)->parked, 2);
    assert_true(shm_parked(&shm, 2));
    assert_false(shm_parked(&shm, 1));
    atomic_store(&shm_process_at(&shm, 1)->parked, 2);
    assert_true(shm_parked(&shm, 1));
    assert_false(shm_parked(&shm, 0));
    assert_true(shm_parked(&shm, 3));
    shm_dismiss(&shm);
    assert_int_equal(shm_assignment_wait(&shm, 2), SHM_DISMISSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attached_sees_the_same, begin, end),
        cmocka_unit_test_setup_teardown(slots_are_aligned_and_apart, begin, end),
        cmocka_unit_test(the_last_text_is_read),
        cmocka_unit_test_setup_teardown(strangers_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(an_iteration_is_credited_where_it_ran, begin, end),
        cmocka_unit_test_setup_teardown(slices_make_room_for_work_of_any_length, begin, end),
        cmocka_unit_test_setup_teardown(slices_are_aligned_to_the_longest, begin, end),
        cmocka_unit_test_setup_teardown(who_has_finished_waits_for_the_stop, begin, end),
        cmocka_unit_test_setup_teardown(the_gate_lets_all_in_at_the_start, begin, end),
        cmocka_unit_test_setup_teardown(a_stop_frees_those_at_the_gate, begin, end),
        cmocka_unit_test_setup_teardown(the_first_error_stays, begin, end),
        cmocka_unit_test_setup_teardown(each_assignment_is_served_once_and_leaves_nothing, begin,
                                        end),
        cmocka_unit_test_setup_teardown(an_assignment_begins_anew, begin, end),
        cmocka_unit_test_setup_teardown(parked_are_those_that_finished_the_last_assignment, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
