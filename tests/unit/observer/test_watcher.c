#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "observer/watcher.h"
#include "tests/unit/observer/client.h"

/* -- a clock and a client of ours ----------------------------------------------------------------
 */

static uint64_t now_ns = NS_PER_S;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    /* Who waits for a moment gets there. */
    now_ns += NS_PER_US;
    *out = (struct timespec){.tv_sec = (time_t)(now_ns / NS_PER_S),
                             .tv_nsec = (long)(now_ns % NS_PER_S)};
    return 0;
}

/* Another process of the program took the last one at the same moment. */
static bool was_taken;

struct mpsweep *client_open_next(void)
{
    return was_taken ? NULL : &handle;
}

int mpsweep_end(struct mpsweep *worker)
{
    (void)worker;
    return 1;
}

void mpsweep_fail(struct mpsweep *worker, const char *text)
{
    (void)worker;
    (void)text;
}

/* -- programs ------------------------------------------------------------------------------------
 */

static void take(enum call_kind kind, unsigned count, uint64_t bytes)
{
    const struct call call = {.kind = kind, .bytes = bytes};
    struct watcher *watcher = watcher_of_thread();
    for (unsigned i = 0; i < count && watcher; i++) {
        now_ns += 5 * NS_PER_US;
        watcher_take(watcher, &call);
    }
}

static void run(void (*iterate)(unsigned number))
{
    const struct tick tick = {.kind = TICK_AUTO};
    uint64_t end_ns = now_ns + 20 * NS_PER_S;
    for (unsigned i = 0; watcher_open(&tick, 0, 0) && now_ns < end_ns; i++) {
        iterate(i);
        now_ns += NS_PER_MS;
    }
}

/* Makes `shm` for a layout of that many threads. A process has one observer, so that each program
 * is a process. */
static void run_in_child(void (*iterate)(unsigned number), unsigned threads)
{
    const struct shm_settings settings = {0};
    int status = -1;
    assert_int_equal(shm_create(&settings, 1, threads, &shm), STATUS_OK);
    pid_t child = fork();
    if (child == 0) {
        run(iterate);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* What is taken for an iteration of a program that does that over and over, within 20 s, in a
 * layout of that many threads; "": none is known; "lost": it is no longer. */
static const char *iteration_of_threads(void (*iterate)(unsigned number), unsigned threads)
{
    static char words[SHM_TEXT_BYTES];
    run_in_child(iterate, threads);
    const struct shm_observer *seen = &shm_process_at(&shm, 0)->observer;
    bool found = atomic_load(&seen->state) == SHM_OBSERVED_ITERATION;
    shm_text_read(&seen->words, words);
    if (atomic_load(&seen->lost_ns) || !found)
        strcpy(words, atomic_load(&seen->lost_ns) ? "lost" : "");
    shm_release(&shm);
    return words;
}

static const char *iteration_of(void (*iterate)(unsigned number))
{
    return iteration_of_threads(iterate, 1);
}

static void answer(unsigned number)
{
    (void)number;
    take(CALL_COPY_IN, 1, 1000);
    take(CALL_LAUNCH, 20, 0);
    take(CALL_COPY_OUT, 1, 500);
    take(CALL_WAIT, 1, 0);
}

static void test_waits(void **state)
{
    (void)state;
    assert_string_equal(iteration_of(answer),
                        "1 wait, 20 launches, 1 copy in of 1000 bytes, 1 copy out of 500 bytes");
}

static void test_a_handle_that_another_process_took(void **state)
{
    (void)state;
    was_taken = true;
    run_in_child(answer, 1);
    was_taken = false;
    assert_string_equal(shm_slot_at(&shm, 0, 0)->error,
                        "has more processes or threads with iterations than the 1 thread of "
                        "the layout, and some would not count: start fewer, which record "
                        "needs, or give a layout with as many (for P processes -l "
                        "hybrid-timesliced:Px2, or more)");
    shm_release(&shm);
}

static void load_and_answer(unsigned number)
{
    take(CALL_LOAD, 1, 0);
    answer(number);
}

/* In every three hundredth, after its start. */
static void load_now_and_then(unsigned number)
{
    if (number < 40 || number % 300 == 0)
        take(CALL_LOAD, 3, 0);
    answer(number);
}

static void test_loads(void **state)
{
    (void)state;
    assert_string_equal(iteration_of(load_and_answer), "");
    assert_string_equal(iteration_of(load_now_and_then),
                        "1 wait, 20 launches, 1 copy in of 1000 bytes, 1 copy out of 500 bytes");
}

static void spin(unsigned number)
{
    (void)number;
    take(CALL_COPY_IN, 1, 1000);
    take(CALL_LAUNCH, 20, 0);
    take(CALL_POLL, 7, 0);
}

/* Its results are asked for once, and are there. */
static void poll_once(unsigned number)
{
    (void)number;
    take(CALL_COPY_IN, 1, 1000);
    take(CALL_LAUNCH, 20, 0);
    take(CALL_COPY_OUT, 1, 500);
    take(CALL_POLL, 1, 0);
}

static void test_polls(void **state)
{
    (void)state;
    assert_string_equal(iteration_of(spin), "1 poll, 20 launches, 1 copy in of 1000 bytes");
    assert_string_equal(iteration_of(poll_once), "1 poll, 20 launches, 1 copy in of 1000 bytes, "
                                                 "1 copy out of 500 bytes");
}

/* Two inputs a step, for each of which an allocator polls, some steps later. */
static void train(unsigned number)
{
    (void)number;
    take(CALL_COPY_IN, 1, 4096);
    take(CALL_POLL, 1, 0);
    take(CALL_COPY_IN, 1, 64);
    take(CALL_LAUNCH, 300, 0);
    take(CALL_POLL, 1, 0);
}

static void test_inputs(void **state)
{
    (void)state;
    assert_string_equal(iteration_of(train), "300 launches, 2 copies in of 4160 bytes");
}

/* One wait for ten or twenty steps: for the loss. */
static void train_pinned(unsigned number)
{
    take(CALL_COPY_IN, 1, 1 << 20);
    take(CALL_COPY_IN, 1, 2048);
    take(CALL_LAUNCH, 60, 0);
    if (number % 10 != 9)
        return;
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
}

/* The model before the labels: what is launched for one input is not what is for the other. */
static void train_labels_later(unsigned number)
{
    take(CALL_COPY_IN, 1, 1 << 20);
    take(CALL_LAUNCH, 20, 0);
    take(CALL_COPY_IN, 1, 2048);
    take(CALL_LAUNCH, 60, 0);
    if (number % 10 != 9)
        return;
    take(CALL_COPY_OUT, 3, 4);
    take(CALL_WAIT, 1, 0);
}

/* Gradients of four batches for a step. */
static void accumulate(unsigned number)
{
    for (unsigned i = 0; i < 4; i++) {
        take(CALL_COPY_IN, 1, 1 << 18);
        take(CALL_LAUNCH, 50, 0);
    }
    take(CALL_LAUNCH, 30, 0);
    if (number % 10 != 9)
        return;
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
}

/* Most of the work is another thread's. The first steps are slow, and for some seconds it waits for
 * nothing, so that launches stand for waits. */
static struct {
    sem_t asked, done;
    bool exists;
} backward;

static void *work_backward(void *unused)
{
    for (;;) {
        sem_wait(&backward.asked);
        take(CALL_LAUNCH, 40, 0);
        sem_post(&backward.done);
    }
    return unused;
}

static void train_backward(unsigned number)
{
    pthread_t thread;
    if (!backward.exists) {
        sem_init(&backward.asked, 0, 0);
        sem_init(&backward.done, 0, 0);
        backward.exists = pthread_create(&thread, NULL, work_backward, NULL) == 0;
    }
    take(CALL_COPY_IN, 1, 1 << 19);
    take(CALL_LAUNCH, 20, 0);
    sem_post(&backward.asked);
    sem_wait(&backward.done);
    if (number < 55)
        now_ns += 65 * NS_PER_MS;
    if (number < 55 || number % 20 != 19)
        return;
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
}

/* The same, but that it waits for each step, of which no two are alike. */
static void train_backward_anyhow(unsigned number)
{
    static uint32_t random = 5;
    random = random * 1664525 + 1013904223;
    take(CALL_LAUNCH, 1 + (random >> 16) % 300, 0);
    train_backward(number);
    take(CALL_WAIT, 1, 0);
}

/* One wait for eight pictures, which only their cutting has to itself. */
static void look_at_pictures(unsigned number)
{
    (void)number;
    for (int i = 0; i < 8; i++) {
        take(CALL_COPY_IN, 1, 1 << 20);
        take(CALL_LAUNCH, 5, 0);
    }
    take(CALL_LAUNCH, 200, 0);
    take(CALL_COPY_OUT, 1, 4096);
    take(CALL_WAIT, 1, 0);
}

/* Ten batches of an evaluation behind a hundred steps, then one wait for the loss. */
static void train_and_evaluate(unsigned number)
{
    take(CALL_COPY_IN, 1, 1 << 16);
    take(CALL_LAUNCH, 30, 0);
    if (number % 100 != 99)
        return;
    for (int i = 0; i < 10; i++) {
        take(CALL_COPY_IN, 1, 1 << 16);
        take(CALL_LAUNCH, 10, 0);
    }
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
}

/* A checkpoint after as many steps each time. */
static void train_and_keep_often(unsigned number)
{
    take(CALL_COPY_IN, 1, 1 << 16);
    take(CALL_LAUNCH, 30, 0);
    if (number % 10 != 9)
        return;
    take(CALL_COPY_OUT, number % 50 == 49 ? 8 : 1, number % 50 == 49 ? 1 << 20 : 4);
    take(CALL_WAIT, 1, 0);
}

/* A checkpoint now and then, of more bytes than a loss; and evaluations with a result each. */
static void train_and_keep(unsigned number)
{
    take(CALL_COPY_IN, 1, 1 << 16);
    take(CALL_LAUNCH, 30, 0);
    for (unsigned i = 0; i < 5 && number % 50 == 49; i++) {
        take(CALL_COPY_IN, 1, 1 << 16);
        take(CALL_LAUNCH, 8, 0);
        take(CALL_COPY_OUT, 1, 4);
        take(CALL_WAIT, 1, 0);
    }
    if (number % 10 == 9) {
        take(CALL_COPY_OUT, 1, 4);
        take(CALL_WAIT, 1, 0);
    }
    if (number % 300 == 299) {
        take(CALL_COPY_OUT, 4, 1 << 20);
        take(CALL_WAIT, 1, 0);
    }
}

/* Texts of any length, each padded to the longest of its batch. */
static void train_on_texts(unsigned number)
{
    static uint32_t random = 3;
    random = random * 1664525 + 1013904223;
    take(CALL_COPY_IN, 1, 10240 + (random >> 16) % 51200);
    take(CALL_LAUNCH, 30, 0);
    if (number % 25 != 24)
        return;
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
}

/* The weights of each layer come anew for each word. */
static void write_with_weights_in(unsigned number)
{
    (void)number;
    take(CALL_COPY_IN, 1, 8);
    take(CALL_LAUNCH, 2, 0);
    for (unsigned layer = 0; layer < 40; layer++) {
        take(CALL_COPY_IN, 2, 1 << 20);
        take(CALL_LAUNCH, 15, 0);
    }
    take(CALL_LAUNCH, 3, 0);
    take(CALL_COPY_OUT, 1, 8);
    take(CALL_WAIT, 1, 0);
}

static void test_steps_without_a_wait(void **state)
{
    (void)state;
    assert_string_equal(
        iteration_of(write_with_weights_in),
        "1 wait, 605 launches, 81 copies in of 83886088 bytes, 1 copy out of 8 bytes");
    assert_string_equal(iteration_of(train_pinned), "60 launches, 2 copies in of 1050624 bytes");
    assert_string_equal(iteration_of(train_labels_later),
                        "80 launches, 2 copies in of 1050624 bytes");
    assert_string_equal(iteration_of(accumulate), "230 launches, 4 copies in of 1048576 bytes");
    assert_string_equal(iteration_of(train_backward), "60 launches, 1 copy in of 524288 bytes");
    assert_string_equal(iteration_of(train_and_evaluate), "30 launches, 1 copy in of 65536 bytes");
    assert_string_equal(iteration_of(train_and_keep), "30 launches, 1 copy in of 65536 bytes");
    assert_string_equal(iteration_of(train_and_keep_often),
                        "30 launches, 1 copy in of 65536 bytes");
    const char *of_texts = iteration_of(train_on_texts);
    assert_memory_equal(of_texts, "30 launches, 1 copy in of ", 26);
    assert_non_null(strstr(of_texts, "on average"));
    assert_string_equal(
        iteration_of(look_at_pictures),
        "1 wait, 240 launches, 8 copies in of 8388608 bytes, 1 copy out of 4096 bytes");
}

/* Where each thread has iterations of its own, one has none that launches for another. */
static void test_a_thread_that_launches_for_another(void **state)
{
    (void)state;
    assert_string_equal(iteration_of_threads(answer, 2), iteration_of(answer));
    const char *of_both = iteration_of_threads(train_backward_anyhow, 2);
    assert_memory_equal(of_both, "1 wait, ", 8);
    assert_non_null(strstr(of_both, "on average"));
}

static void launch(unsigned number)
{
    (void)number;
    take(CALL_LAUNCH, 4, 0);
    take(CALL_HOST, 1, 0);
}

static void replay(unsigned number)
{
    (void)number;
    take(CALL_GRAPH, 1, 0);
}

/* Words of a text; the last one is followed by a short wait, and the next text begins late. */
static void write_texts(unsigned number)
{
    take(CALL_LAUNCH, 360, 0);
    take(CALL_COPY_OUT, 1, 8);
    take(CALL_WAIT, 1, 0);
    if (number % 60 != 59)
        return;
    take(CALL_LAUNCH, 13, 0);
    take(CALL_COPY_OUT, 1, 64);
    take(CALL_WAIT, 1, 0);
    now_ns += 200 * NS_PER_MS;
}

/* Steps with a result each, and a pause for the next data now and then. */
static void train_and_pause(unsigned number)
{
    take(CALL_COPY_IN, 1, 4096);
    take(CALL_LAUNCH, 300, 0);
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
    if (number % 500 == 499)
        now_ns += 2 * NS_PER_S;
}

/* Steps of an actor, each with a wait, and an update that needs none for 0.3 s. */
static void act_and_update(unsigned number)
{
    take(CALL_COPY_IN, 1, 4096);
    take(CALL_LAUNCH, 10, 0);
    take(CALL_COPY_OUT, 1, 128);
    take(CALL_WAIT, 1, 0);
    if (number % 500 != 499)
        return;
    take(CALL_LAUNCH, 50000, 0);
    take(CALL_COPY_OUT, 1, 4);
    take(CALL_WAIT, 1, 0);
}

static void test_a_pause_behind_a_short_wait(void **state)
{
    (void)state;
    assert_string_equal(iteration_of(act_and_update),
                        "1 wait, 10 launches, 1 copy in of 4096 bytes, 1 copy out of 128 bytes");
    assert_string_equal(iteration_of(train_and_pause),
                        "1 wait, 300 launches, 1 copy in of 4096 bytes, 1 copy out of 4 bytes");
    assert_string_equal(iteration_of(write_texts), "1 wait, 360 launches, 1 copy out of 8 bytes");
}

static void test_without_copies(void **state)
{
    (void)state;
    assert_string_equal(iteration_of(launch), "1 host function, 4 launches");
    assert_string_equal(iteration_of(replay), "1 graph launch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_a_handle_that_another_process_took),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_polls),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_without_copies),
        cmocka_unit_test(test_a_pause_behind_a_short_wait),
        cmocka_unit_test(test_steps_without_a_wait),
        cmocka_unit_test(test_a_thread_that_launches_for_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
