/* The emulated driver's callbacks, as one who observes a program by CUPTI sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/cupti.h"
#include "tests/unit/emul/rig.h"

#define cuda rig_cuda

static struct rig rig;
static struct cupti cupti;
static cupti_subscriber subscriber;

/* -- what was seen ----------------------------------------------------------------------------- */

#define SEEN_MOST 64
#define LONGEST 128

static struct seen {
    int site;
    uint32_t callback;
    struct cupti_callback_data data;
    char parameters[LONGEST]; /* as many bytes as the test asked for */
    uint64_t shared;
    cuda_result result; /* at exit */
    pthread_t thread;
} seen[SEEN_MOST];
static unsigned seen_count;
static size_t parameters_bytes;
static int user;

static void note(void *of, cupti_callback_domain domain, uint32_t callback, const void *at)
{
    const struct cupti_callback_data *data = at;
    CHECK(of == &user);
    CHECK_EQUAL(domain, CUPTI_DOMAIN_DRIVER);
    CHECK(seen_count < SEEN_MOST);
    struct seen *to = &seen[seen_count++];
    *to = (struct seen){.site = data->site, .callback = callback, .data = *data};
    to->thread = pthread_self();
    memcpy(to->parameters, data->parameters, parameters_bytes);
    if (data->site == CUPTI_SITE_ENTER)
        *data->shared = seen_count;
    else
        to->result = *(const cuda_result *)data->result;
    to->shared = *data->shared;
}

static uint32_t callback_of(const char *function)
{
    const char *name = NULL;
    for (uint32_t callback = 1;; callback++) {
        CHECK_EQUAL(cupti.get_callback_name(CUPTI_DOMAIN_DRIVER, callback, &name), 0);
        if (strcmp(name, function) == 0)
            return callback;
    }
}

static void enable(const char *function, bool on)
{
    CHECK_EQUAL(cupti.enable_callback(on, subscriber, CUPTI_DOMAIN_DRIVER, callback_of(function)),
                0);
}

static void load_cupti(void)
{
    char path[BUILT_PATH_BYTES];
    built_path("mpsweep-emulated-cuda.so", path);
    CHECK_EQUAL(cupti_load(path, &cupti), STATUS_OK);
    CHECK(cupti.subscribe != NULL && cupti.unsubscribe != NULL && cupti.enable_callback != NULL);
}

static void start(cupti_callback function)
{
    rig_start(&rig);
    load_cupti();
    CHECK_EQUAL(cupti.subscribe(&subscriber, function, &user), 0);
}

/* The call's entry and exit came, and nothing else. Returns the entry. */
static const struct seen *check_pair(const char *function, cuda_result result)
{
    CHECK_EQUAL(seen_count, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(seen[i].site, i == 0 ? CUPTI_SITE_ENTER : CUPTI_SITE_EXIT);
        CHECK_EQUAL(seen[i].callback, callback_of(function));
        CHECK(strcmp(seen[i].data.function, function) == 0);
        CHECK(pthread_equal(seen[i].thread, pthread_self()));
        CHECK_EQUAL(seen[i].shared, 1);
    }
    CHECK(memcmp(seen[0].parameters, seen[1].parameters, parameters_bytes) == 0);
    CHECK_EQUAL(seen[0].data.correlation, seen[1].data.correlation);
    CHECK(seen[0].data.correlation != 0);
    CHECK_EQUAL(seen[1].result, result);
    seen_count = 0;
    return seen;
}

/* -- subscriptions ----------------------------------------------------------------------------- */

static void body_subscribes(void)
{
    cupti_subscriber other = NULL;
    const char *text = NULL;
    uint32_t init = 0;
    load_cupti();
    init = callback_of("cuInit");
    CHECK_EQUAL(cupti.subscribe(NULL, note, &user), CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.subscribe(&other, NULL, &user), CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.subscribe(&subscriber, note, &user), 0);
    CHECK_EQUAL(cupti.subscribe(&other, note, &user), CUPTI_MULTIPLE_SUBSCRIBERS);
    CHECK(other == NULL);
    CHECK_EQUAL(cupti.get_result_string(CUPTI_MULTIPLE_SUBSCRIBERS, &text), 0);
    CHECK(strcmp(text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED") == 0);

    CHECK_EQUAL(cupti.enable_callback(1, NULL, CUPTI_DOMAIN_DRIVER, init), CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_RUNTIME, init),
                CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, 0),
                CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, 100000),
                CUPTI_INVALID_PARAMETER);

    CHECK_EQUAL(cupti.unsubscribe(NULL), CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.unsubscribe(subscriber), 0);
    CHECK_EQUAL(cupti.unsubscribe(subscriber), CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, init),
                CUPTI_INVALID_PARAMETER);
    CHECK_EQUAL(cupti.subscribe(&other, note, &user), 0);
    CHECK_EQUAL(cupti.unsubscribe(other), 0);
}

static void body_single_calls(void)
{
    start(note);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK_EQUAL(seen_count, 0); /* nothing is enabled yet */
    enable("cuStreamSynchronize", true);
    enable("cuStreamSynchronize", true);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    CHECK_EQUAL(seen_count, 0);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    check_pair("cuStreamSynchronize", CUDA_SUCCESS_);

    enable("cuStreamQuery", true);
    enable("cuStreamSynchronize", false);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK_EQUAL(seen_count, 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    check_pair("cuStreamQuery", CUDA_SUCCESS_);

    /* The next subscriber begins with nothing. */
    CHECK_EQUAL(cupti.unsubscribe(subscriber), 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    CHECK_EQUAL(cupti.subscribe(&subscriber, note, &user), 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    CHECK_EQUAL(seen_count, 0);
}

/* -- what a callback gets ---------------------------------------------------------------------- */

static void body_results(void)
{
    start(note);
    enable("cuMemAlloc_v2", true);
    enable("cuCtxSetCurrent", true);
    cuda_device_pointer memory;
    CHECK_EQUAL(cuda.mem_alloc(&memory, 0), CUDA_INVALID_VALUE);
    const struct seen *failed = check_pair("cuMemAlloc_v2", CUDA_INVALID_VALUE);
    CHECK(failed->data.context == rig.context);
    CHECK(failed->data.context_number != 0);
    CHECK(failed->data.symbol == NULL);
    uint32_t before = failed->data.correlation;
    CHECK_EQUAL(cuda.mem_alloc(&memory, 16), 0);
    CHECK(check_pair("cuMemAlloc_v2", CUDA_SUCCESS_)->data.correlation != before);
    /* The context is that of the moment. */
    CHECK_EQUAL(cuda.ctx_set_current(NULL), 0);
    check_pair("cuCtxSetCurrent", CUDA_SUCCESS_);
    CHECK(seen[0].data.context == rig.context && seen[1].data.context == NULL);
    CHECK_EQUAL(seen[1].data.context_number, 0);
}

/* Every call of the table gives its callbacks: none is left out. */
static void body_all_calls(void)
{
    start(note);
    const char *name;
    for (uint32_t callback = 1;
         cupti.get_callback_name(CUPTI_DOMAIN_DRIVER, callback, &name) == CUPTI_SUCCESS_;
         callback++)
        CHECK_EQUAL(cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, callback), 0);
    /* Without a context and with arguments that are all zero most do nothing. */
    CHECK_EQUAL(cuda.ctx_set_current(NULL), 0);
    seen_count = 0;
#define CALL_WITHOUT(field, symbol, version, need, parameters)                                     \
    {                                                                                              \
        cuda_result (*call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,  \
                            uint64_t, uint64_t, uint64_t, uint64_t);                               \
        memcpy(&call, &cuda.field, sizeof call);                                                   \
        cuda_result result = call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);                                \
        check_pair(#symbol, result);                                                               \
    }
    CUDA_DRIVER_SYMBOLS(CALL_WITHOUT)
}

#define CHECK_PARAMETERS(type, function, call, ...)                                                \
    do {                                                                                           \
        const struct type wanted_ = {__VA_ARGS__};                                                 \
        parameters_bytes = sizeof wanted_;                                                         \
        enable(function, true);                                                                    \
        CHECK_EQUAL(call, 0);                                                                      \
        enable(function, false);                                                                   \
        const struct seen *entry_ = check_pair(function, CUDA_SUCCESS_);                           \
        CHECK(memcmp(entry_->parameters, &wanted_, sizeof wanted_) == 0);                          \
        CHECK(entry_->data.symbol == NULL);                                                        \
        parameters_bytes = 0;                                                                      \
    } while (0)

static void body_copies(void)
{
    start(note);
    cuda_stream stream = rig.stream;
    uintptr_t in = (uintptr_t)rig.in, out = (uintptr_t)rig.out;
    CHECK_PARAMETERS(cupti_copy_parameters, "cuMemcpyHtoDAsync_v2",
                     cuda.memcpy_htod_async(rig.a, rig.in, 64, stream), rig.a, in, 64, stream);
    CHECK_PARAMETERS(cupti_copy_parameters, "cuMemcpyDtoDAsync_v2",
                     cuda.memcpy_dtod_async(rig.b, rig.a, 128, stream), rig.b, rig.a, 128, stream);
    CHECK_PARAMETERS(cupti_copy_parameters, "cuMemcpyDtoHAsync_v2",
                     cuda.memcpy_dtoh_async(rig.out, rig.b, 32, stream), out, rig.b, 32, stream);
    CHECK_PARAMETERS(cupti_peer_copy_parameters, "cuMemcpyPeerAsync",
                     cuda.memcpy_peer_async(rig.a, rig.context, rig.b, rig.context, 96, stream),
                     rig.a, rig.context, rig.b, rig.context, 96, stream);
    /* Observed calls do their work. */
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    CHECK_EQUAL(rig.out[7], 7);
    CHECK_EQUAL(rig.out[8], -1);
}

static void body_waits(void)
{
    cuda_event event;
    start(note);
    CHECK_EQUAL(cuda.event_create(&event, 0), 0);
    CHECK_PARAMETERS(cupti_event_parameters, "cuEventRecord", cuda.event_record(event, rig.stream),
                     event, rig.stream);
    CHECK_PARAMETERS(cupti_wait_parameters, "cuStreamWaitEvent",
                     cuda.stream_wait_event(rig.other, event, 0), rig.other, event);
    CHECK_PARAMETERS(cupti_stream_parameters, "cuStreamSynchronize",
                     cuda.stream_synchronize(rig.other), rig.other);
    /* Of these, the event only. */
    enable("cuEventSynchronize", true);
    parameters_bytes = sizeof event;
    CHECK_EQUAL(cuda.event_synchronize(event), 0);
    CHECK(memcmp(check_pair("cuEventSynchronize", CUDA_SUCCESS_)->parameters, &event,
                 sizeof event) == 0);
    parameters_bytes = 0;
    enable("cuCtxSynchronize", true); /* it has none */
    CHECK_EQUAL(cuda.ctx_synchronize(), 0);
    check_pair("cuCtxSynchronize", CUDA_SUCCESS_);
}

static void body_graph(void)
{
    cuda_graph graph;
    cuda_graph_exec exec;
    start(note);
    CHECK_EQUAL(cuda.stream_begin_capture(rig.stream, CUDA_CAPTURE_MODE_THREAD_LOCAL), 0);
    CHECK_EQUAL(rig_launch_add(&rig, 1, rig.stream), 0);
    CHECK_EQUAL(cuda.stream_end_capture(rig.stream, &graph), 0);
    CHECK_EQUAL(cuda.graph_instantiate(&exec, graph, 0), 0);
    CHECK_PARAMETERS(cupti_graph_parameters, "cuGraphLaunch", cuda.graph_launch(exec, rig.stream),
                     exec, rig.stream);
}

static void body_launches(void)
{
    start(note);
    enable("cuLaunchKernel", true);
    parameters_bytes = sizeof(struct cupti_launch_parameters);
    CHECK_EQUAL(rig_launch_delay(&rig, 1, 3, rig.stream), 0);
    const struct seen *at = check_pair("cuLaunchKernel", CUDA_SUCCESS_);
    CHECK(strcmp(at->data.symbol, "mpsweep_delay") == 0);
    struct cupti_launch_parameters launch;
    memcpy(&launch, at->parameters, sizeof launch);
    CHECK(launch.function == rig.delay && launch.stream == rig.stream);
    CHECK(launch.grid[0] == 3 && launch.grid[1] == 1 && launch.grid[2] == 1);
    CHECK(launch.block[0] == 64 && launch.block[1] == 1 && launch.block[2] == 1);
    CHECK_EQUAL(launch.shared_bytes, 0);
    CHECK_EQUAL(rig_launch_empty(&rig, rig.other), 0);
    at = check_pair("cuLaunchKernel", CUDA_SUCCESS_);
    CHECK(strcmp(at->data.symbol, "mpsweep_empty") == 0);
}

/* The entry points exist twice in the process; the calls stay with the driver that was called. */
static void body_beside_another(void)
{
    char path[BUILT_PATH_BYTES];
    built_path("tests/unit/device/fake_cuda.so", path);
    CHECK(dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL);
    start(note);
    enable("cuStreamSynchronize", true);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    check_pair("cuStreamSynchronize", CUDA_SUCCESS_);
}

/* -- beside the activity API ------------------------------------------------------------------- */

static uint64_t records[1 << 12];
static size_t records_bytes;

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *buffer = (uint8_t *)records;
    *bytes = sizeof records;
    *most = 0;
}

static void take_buffer(cuda_context context, uint32_t stream, uint8_t *buffer, size_t bytes,
                        size_t valid_bytes)
{
    (void)context, (void)stream, (void)buffer, (void)bytes;
    records_bytes = valid_bytes;
}

static void body_correlation(void)
{
    start(note);
    CHECK_EQUAL(cupti.register_buffers(give_buffer, take_buffer), 0);
    CHECK_EQUAL(cupti.enable(CUPTI_KIND_DRIVER), 0);
    enable("cuStreamQuery", true);
    CHECK_EQUAL(cuda.stream_synchronize(rig.stream), 0);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    CHECK_EQUAL(cuda.event_query(NULL), CUDA_INVALID_HANDLE);
    CHECK_EQUAL(cupti.disable(CUPTI_KIND_DRIVER), 0);
    CHECK_EQUAL(cupti.flush_all(CUPTI_FLUSH_FORCED), 0);
    uint32_t correlation = check_pair("cuStreamQuery", CUDA_SUCCESS_)->data.correlation;

    static const char *const names[] = {"cuStreamSynchronize", "cuStreamQuery", "cuEventQuery"};
    cupti_activity *record = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(cupti.next_record((uint8_t *)records, records_bytes, &record), 0);
        const struct cupti_call_record *call = (const void *)record;
        CHECK_EQUAL(call->callback, callback_of(names[i]));
        CHECK_EQUAL(call->correlation == correlation, i == 1);
    }
    CHECK_EQUAL(cupti.next_record((uint8_t *)records, records_bytes, &record),
                CUPTI_MAX_LIMIT_REACHED);
}

/* -- callbacks that take their time ------------------------------------------------------------ */

static void call_again(void *of, cupti_callback_domain domain, uint32_t callback, const void *data)
{
    (void)of, (void)domain, (void)callback, (void)data;
    seen_count++;
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
}

static void body_nested(void)
{
    start(call_again);
    enable("cuStreamQuery", true);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    CHECK_EQUAL(seen_count, 2);
    CHECK_EQUAL(cuda.stream_query(rig.stream), 0);
    CHECK_EQUAL(seen_count, 4);
}

static sem_t entered, released;
static int blocks_at;

static void block(void *of, cupti_callback_domain domain, uint32_t callback, const void *at)
{
    const struct cupti_callback_data *data = at;
    (void)of, (void)domain, (void)callback;
    if (data->site != blocks_at)
        return;
    CHECK_EQUAL(sem_post(&entered), 0);
    CHECK(rig_wait_post(&released, 20 * NS_PER_S));
}

static void *copy(void *unused)
{
    (void)unused;
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(cuda.memcpy_htod_async(rig.a, rig.in, RIG_BYTES, rig.other), 0);
    return NULL;
}

/* Whatever another thread does meanwhile ends; a lock that the held one had would be met. */
static void check_blocked(int site)
{
    pthread_t held;
    cuda_context context;
    cuda_device_pointer memory;
    cuda_stream stream;
    cuda_event event;
    cupti_subscriber other;
    static int pageable[RIG_ELEMENTS];
    blocks_at = site;
    CHECK_EQUAL(sem_init(&entered, 0, 0), 0);
    CHECK_EQUAL(sem_init(&released, 0, 0), 0);
    enable("cuMemcpyHtoDAsync_v2", true);
    CHECK_EQUAL(pthread_create(&held, NULL, copy, NULL), 0);
    CHECK(rig_wait_post(&entered, 20 * NS_PER_S));

    enable("cuMemcpyHtoDAsync_v2", false);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.memcpy_htod_async(rig.a, pageable, RIG_BYTES, rig.stream), 0);
    CHECK_EQUAL(rig_launch_add(&rig, 1, rig.other), 0);
    CHECK_EQUAL(rig_launch_empty(&rig, NULL), 0);
    CHECK_EQUAL(cuda.memcpy_dtoh_async(rig.out, rig.b, RIG_BYTES, rig.other), 0);
    CHECK_EQUAL(cuda.event_create(&event, 0), 0);
    CHECK_EQUAL(cuda.event_record(event, rig.other), 0);
    CHECK_EQUAL(cuda.event_synchronize(event), 0);
    CHECK_EQUAL(cuda.event_destroy(event), 0);
    CHECK_EQUAL(cuda.ctx_synchronize(), 0);
    CHECK_EQUAL(cuda.mem_alloc(&memory, 64), 0);
    CHECK_EQUAL(cuda.mem_free(memory), 0);
    CHECK_EQUAL(cuda.stream_create(&stream, 0), 0);
    CHECK_EQUAL(cuda.stream_destroy(stream), 0);
    CHECK_EQUAL(cuda.ctx_create(&context, 0, 0), 0);
    CHECK_EQUAL(cuda.ctx_destroy(context), 0);
    CHECK_EQUAL(cuda.ctx_set_current(rig.context), 0);
    CHECK_EQUAL(cupti.subscribe(&other, note, &user), CUPTI_MULTIPLE_SUBSCRIBERS);

    CHECK_EQUAL(sem_post(&released), 0);
    CHECK_EQUAL(pthread_join(held, NULL), 0);
}

static void body_blocked(void)
{
    start(block);
    check_blocked(CUPTI_SITE_ENTER);
    check_blocked(CUPTI_SITE_EXIT);
}

/* -- all ----------------------------------------------------------------------------------------
 */

#define TEST(name)                                                                                 \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        assert_int_equal(rig_run(body_##name, ""), 0);                                             \
    }

TEST(subscribes)
TEST(single_calls)
TEST(results)
TEST(all_calls)
TEST(copies)
TEST(waits)
TEST(graph)
TEST(launches)
TEST(beside_another)
TEST(correlation)
TEST(nested)
TEST(blocked)

int main(void)
{
    /* No daemon of this machine is to be met by accident. */
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subscribes),     cmocka_unit_test(test_single_calls),
        cmocka_unit_test(test_results),        cmocka_unit_test(test_all_calls),
        cmocka_unit_test(test_copies),         cmocka_unit_test(test_waits),
        cmocka_unit_test(test_graph),          cmocka_unit_test(test_launches),
        cmocka_unit_test(test_beside_another), cmocka_unit_test(test_correlation),
        cmocka_unit_test(test_nested),         cmocka_unit_test(test_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
