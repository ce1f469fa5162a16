/* The effects of the emulated driver, each there and switched off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "common/clock.h"
#include "emul/model/effects.h"
#include "tests/unit/emul/rig.h"

#define cuda rig_cuda

/* A timed launch takes four times the machine's launch_ns; see emul/cuda/launch.c. Long ones, so
 * that those of a sanitizer's build are not longer by themselves. */
#define LAUNCH_NS (4 * 30 * NS_PER_US)
#define BESIDE_PAGEABLE_NS (LAUNCH_NS * 15 / 10)
#define BESIDE_PINNED_NS (LAUNCH_NS * 12 / 10)
#define SLICE_NS (2 * NS_PER_MS)
#define FOREVER_NS (50 * NS_PER_S)

static struct rig rig;

/* -- the list ---------------------------------------------------------------------------------- */

static void test_list(void **state)
{
    (void)state;
    effects_off off = 99;
    assert_int_equal(effects_parse(NULL, &off), STATUS_OK);
    assert_int_equal(off, 0);
    assert_int_equal(effects_parse("-copy-block,-lazy-load,+copy-block", &off), STATUS_OK);
    assert_true(effect_is_on(off, EFFECT_COPY_BLOCK));
    assert_false(effect_is_on(off, EFFECT_LAZY_LOAD));
    assert_true(effect_is_on(off, EFFECT_PEER_STALL));
    assert_int_equal(effects_parse("-launch-delay,-copy-block,-context-admission,-peer-stall,"
                                   "-lazy-load,-launch-contention",
                                   &off),
                     STATUS_OK);
    assert_int_equal(off, (1U << EFFECT_COUNT) - 1);

    static const char *const bad[][2] = {
        {"-copy", "MPSWEEP_EMUL_EFFECTS: unknown effect 'copy'; there are launch-delay, "},
        {"-copy-blocks", "MPSWEEP_EMUL_EFFECTS: unknown effect 'copy-blocks'; there are "},
        {"copy-block", "MPSWEEP_EMUL_EFFECTS: 'copy-block' is not -NAME or +NAME"},
        {"-copy-block,,", "MPSWEEP_EMUL_EFFECTS: '' is not -NAME or +NAME"},
        {"-copy-block,", "MPSWEEP_EMUL_EFFECTS ends with a comma"},
        {"-", "MPSWEEP_EMUL_EFFECTS: unknown effect ''; there are "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        off = 99;
        assert_int_equal(effects_parse(bad[i][0], &off), STATUS_USAGE);
        if (strncmp(status_text(), bad[i][1], strlen(bad[i][1])) != 0)
            fail_msg("'%s': %s", bad[i][0], status_text());
        assert_int_equal(off, 99);
    }
}

static void body_refused(void)
{
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(CHECK_FAILED);
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), CUDA_INVALID_VALUE);
}

/* -- a copy in another thread ------------------------------------------------------------------ */

static int pageable[RIG_ELEMENTS];

/* A pageable copy that waits at the gate: the thread is in its call until the gate opens. */
static void *copy_at_gate(void *stream)
{
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(pageable, rig.a, RIG_BYTES, stream), 0);
    CHECK_EQUAL(pageable[5], 5);
    return NULL;
}

static void start_copy(pthread_t *thread)
{
    rig_close_gate(&rig, rig.other);
    CHECK_EQUAL(pthread_create(thread, NULL, copy_at_gate, rig.other), 0);
}

static void end_copy(pthread_t thread)
{
    rig_open_gate(&rig);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

/* As long as a launch is not delayed, the other thread may not have got there. */
static void await_delay(uint64_t at_least_ns)
{
    uint64_t deadline = clock_now_ns() + 20 * NS_PER_S;
    while (rig_shortest_launch_ns(&rig, rig.stream, 50) < at_least_ns)
        CHECK(clock_now_ns() < deadline);
}

/* -- launch-delay ------------------------------------------------------------------------------ */

static void *copy_pinned(void *unused)
{
    (void)unused;
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(rig_launch_delay(&rig, FOREVER_NS, 1, rig.other), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.a, RIG_BYTES, rig.other), 0);
    return NULL;
}

static void body_launch_delay(void)
{
    pthread_t thread;
    rig_start(&rig);
    uint64_t alone = rig_shortest_launch_ns(&rig, rig.stream, 200);
    CHECK(alone >= LAUNCH_NS && alone < BESIDE_PINNED_NS);
    start_copy(&thread);
    await_delay(BESIDE_PAGEABLE_NS);
    end_copy(thread);
    CHECK(rig_shortest_launch_ns(&rig, rig.stream, 200) < BESIDE_PINNED_NS);

    CHECK_EQUAL(pthread_create(&thread, NULL, copy_pinned, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    uint64_t beside = rig_shortest_launch_ns(&rig, rig.stream, 200);
    CHECK(beside >= BESIDE_PINNED_NS && beside < BESIDE_PAGEABLE_NS);
}

static void body_no_launch_delay(void)
{
    pthread_t thread;
    rig_start(&rig);
    CHECK_EQUAL(pthread_create(&thread, NULL, copy_pinned, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK(rig_shortest_launch_ns(&rig, rig.stream, 200) < BESIDE_PINNED_NS);
}

/* -- copy-block -------------------------------------------------------------------------------- */

static _Atomic uint64_t launches;
static _Atomic bool stop_launching;

static void *launch_on(void *unused)
{
    (void)unused;
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    for (; !stop_launching; launches++)
        CHECK_EQUAL(rig_launch_empty(&rig, rig.stream), 0);
    return NULL;
}

/* Whether launches come to a stop, compared with more of them. */
static bool launches_stop(void)
{
    uint64_t enough = launches + 20000, seen = launches, since = clock_now_ns();
    while (launches < enough) {
        uint64_t now = clock_now_ns(), count = launches;
        if (count != seen) {
            seen = count;
            since = now;
        } else if (now - since > 2 * NS_PER_S)
            return true;
        clock_sleep_until(now + NS_PER_MS);
    }
    return false;
}

/* The copy waits on this stream for what another one waits for. */
static bool copy_stops_launches(cuda_stream stream)
{
    pthread_t copying, launching;
    cuda_event event;
    cuda_stream held;
    stop_launching = false;
    CHECK_EQUAL(cuda.stream_create(&held, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(cuda.event_create(&event, CUDA_EVENT_DISABLE_TIMING), 0);
    rig_close_gate(&rig, held);
    CHECK_EQUAL(cuda.event_record(event, held), 0);
    CHECK_EQUAL(cuda.stream_wait_event(stream, event, 0), 0);
    CHECK_EQUAL(pthread_create(&copying, NULL, copy_at_gate, stream), 0);
    CHECK_EQUAL(pthread_create(&launching, NULL, launch_on, NULL), 0);
    bool stopped = launches_stop();
    end_copy(copying);
    stop_launching = true;
    CHECK_EQUAL(pthread_join(launching, NULL), 0); /* they go on again */
    CHECK_EQUAL(cuda.stream_destroy(held), 0);
    return stopped;
}

static void body_copy_block(void)
{
    rig_start(&rig);
    CHECK(copy_stops_launches(NULL));
    CHECK(!copy_stops_launches(rig.other)); /* a stream of its own does no harm */
}

static void body_no_copy_block(void)
{
    rig_start(&rig);
    CHECK(!copy_stops_launches(NULL));
}

/* -- context-admission ------------------------------------------------------------------------- */

#define COPIES 20

/* How many copies may be late on a busy computer before one is not. */
#define PATIENCE 1000

/* Nanoseconds of a copy within the device. */
static uint64_t copy_within(cuda_stream stream)
{
    uint64_t begin = clock_now_ns();
    CHECK_EQUAL(cuda.memcpy_dtod_async(rig.b, rig.a, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    return clock_now_ns() - begin;
}

/* Whether a copy ends before a time slice has. */
static bool one_is_short(cuda_stream stream)
{
    for (int i = 0; i < PATIENCE; i++)
        if (copy_within(stream) < SLICE_NS)
            return true;
    return false;
}

/* Returns a stream of a second context, while a kernel of the first waits for its flag. */
static cuda_stream hold_beside_second(void)
{
    cuda_context second;
    cuda_stream stream;
    rig_start(&rig);
    CHECK_EQUAL(cuda.ctx_create(&second, 0, 0), 0);
    CHECK_EQUAL(cuda.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK(one_is_short(stream));

    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(rig_launch_hold(&rig, FOREVER_NS, rig.stream), 0);
    rig_wait_holding(&rig);
    CHECK(one_is_short(rig.other)); /* the same context does not wait */
    CHECK_EQUAL(cuda.ctx_set_current(second), 0);
    return stream;
}

static void body_context_admission(void)
{
    cuda_stream stream = hold_beside_second();
    uint64_t sum_ns = 0;
    for (int i = 0; i < COPIES; i++)
        sum_ns += copy_within(stream);
    rig_set_flag(&rig);
    CHECK(sum_ns >= (COPIES - 1) * SLICE_NS);
}

static void body_no_context_admission(void)
{
    bool is_short = one_is_short(hold_beside_second());
    rig_set_flag(&rig);
    CHECK(is_short);
}

/* -- peer-stall -------------------------------------------------------------------------------- */

/* Whether a peer copy behind a kernel that waits keeps that of another stream from its end. */
static bool peer_stalls(bool access)
{
    cuda_context other;
    cuda_device_pointer there, too;
    rig_start(&rig);
    CHECK_EQUAL(cuda.primary_ctx_retain(&other, 1), 0);
    CHECK_EQUAL(cuda.ctx_set_current(other), 0);
    CHECK_EQUAL(cuda.mem_alloc(&there, RIG_BYTES), 0);
    CHECK_EQUAL(cuda.mem_alloc(&too, RIG_BYTES), 0);
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    if (access)
        CHECK_EQUAL(cuda.ctx_enable_peer_access(other, 0), 0);
    CHECK_EQUAL(rig_launch_hold(&rig, FOREVER_NS, rig.stream), 0);
    CHECK_EQUAL(cuda.memcpy_peer_async(there, other, rig.a, rig.context, RIG_BYTES, rig.stream), 0);
    CHECK_EQUAL(cuda.memcpy_peer_async(too, other, rig.a, rig.context, RIG_BYTES, rig.other), 0);
    uint64_t deadline = clock_now_ns() + 2 * NS_PER_S;
    cuda_result ready;
    do
        ready = cuda.stream_query(rig.other);
    while (ready == CUDA_NOT_READY && clock_now_ns() < deadline);
    CHECK_EQUAL(cuda.stream_query(rig.stream), CUDA_NOT_READY);
    rig_set_flag(&rig);
    CHECK_EQUAL(cuda.stream_synchronize(rig.other), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, too, RIG_BYTES, rig.other), CUDA_SUCCESS_);
    CHECK_EQUAL(cuda.ctx_synchronize(), 0);
    CHECK_EQUAL(rig.out[7], 7);
    return ready == CUDA_NOT_READY;
}

static void body_peer_stall(void)
{
    CHECK(peer_stalls(false));
}

static void body_no_peer_stall(void)
{
    CHECK(!peer_stalls(false));
}

static void body_peer_access(void)
{
    CHECK(!peer_stalls(true));
}

/* -- lazy-load --------------------------------------------------------------------------------- */

static sem_t launched;

static void *launch_first(void *unused)
{
    (void)unused;
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(rig_launch_delay(&rig, 1, 1, rig.stream), 0);
    CHECK_EQUAL(sem_post(&launched), 0);
    return NULL;
}

/* Whether the first launch of a kernel waits for the copy; that it returns is seen for sure. */
static bool first_launch_waits(void)
{
    pthread_t copying, launching;
    rig_start(&rig);
    CHECK_EQUAL(sem_init(&launched, 0, 0), 0);
    start_copy(&copying);
    await_delay(BESIDE_PAGEABLE_NS);
    CHECK_EQUAL(pthread_create(&launching, NULL, launch_first, NULL), 0);
    bool returned = rig_wait_post(&launched, 500 * NS_PER_MS);
    end_copy(copying);
    CHECK_EQUAL(pthread_join(launching, NULL), 0);
    return !returned;
}

static void body_lazy_load(void)
{
    CHECK(first_launch_waits());
}

static void body_no_lazy_load(void)
{
    CHECK(!first_launch_waits());
}

/* -- launch-contention ------------------------------------------------------------------------- */

#define THREADS 4
#define LAUNCHES 5
#define LONG_LAUNCH_NS (4 * NS_PER_MS) /* on a machine whose launch_ns is a millisecond */

static void *launch_some(void *times)
{
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    for (int i = 0; i < *(int *)times; i++)
        CHECK_EQUAL(rig_launch_empty(&rig, rig.stream), 0);
    return NULL;
}

static uint64_t launch_together(int count, int times)
{
    pthread_t threads[THREADS];
    uint64_t begin = clock_now_ns();
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, launch_some, &times), 0);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    return clock_now_ns() - begin;
}

static void body_launch_contention(void)
{
    rig_start(&rig);
    CHECK(launch_together(THREADS, LAUNCHES) >= THREADS * LAUNCHES * LONG_LAUNCH_NS);
}

/* Two launches are sooner over than one after the other; a busy computer may need many attempts to
 * show it. */
static void body_no_launch_contention(void)
{
    rig_start(&rig);
    for (int attempt = 0; attempt < 1000; attempt++)
        if (launch_together(2, 1) < 2 * LONG_LAUNCH_NS)
            return;
    CHECK(!"launches are made one after the other");
}

/* -- the tests --------------------------------------------------------------------------------- */

/* On this machine. */
#define TEST_EFFECT(name, effect, machine)                                                         \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        assert_int_equal(rig_run(body_##name, machine), 0);                                        \
        assert_int_equal(rig_run(body_no_##name, machine " " EMUL_EFFECTS_VARIABLE "=-" effect),   \
                         0);                                                                       \
    }
#define USUAL "MPSWEEP_EMUL_DEVICES=1"
#define TWO_DEVICES "MPSWEEP_EMUL_DEVICES=2"
#define LONG_LAUNCHES "MPSWEEP_EMULATED_MACHINE=launch_ns=30000"
TEST_EFFECT(launch_delay, "launch-delay", LONG_LAUNCHES)
TEST_EFFECT(copy_block, "copy-block", USUAL)
TEST_EFFECT(context_admission, "context-admission", USUAL)
TEST_EFFECT(peer_stall, "peer-stall", TWO_DEVICES)
TEST_EFFECT(lazy_load, "lazy-load", LONG_LAUNCHES)
TEST_EFFECT(launch_contention, "launch-contention", "MPSWEEP_EMULATED_MACHINE=launch_ns=1000000")

/* What helps but switching it off. */
static void test_remedies(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_peer_access, TWO_DEVICES), 0);
    assert_int_equal(rig_run(body_no_lazy_load, LONG_LAUNCHES " CUDA_MODULE_LOADING=EAGER"), 0);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_refused, EMUL_EFFECTS_VARIABLE "=-fantasy"), 0);
}

int main(void)
{
    /* No daemon of this machine is to be met by accident. */
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    unsetenv("CUDA_MODULE_LOADING");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_launch_delay),
        cmocka_unit_test(test_copy_block),
        cmocka_unit_test(test_context_admission),
        cmocka_unit_test(test_peer_stall),
        cmocka_unit_test(test_lazy_load),
        cmocka_unit_test(test_launch_contention),
        cmocka_unit_test(test_remedies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
