/*
 * In which order a driver does things: a program for a real GPU and for the emulated one, so that
 * the one is like the other in what the interference experiments rely on.
 *
 *   order_client [LIBRARY]
 *
 * Writes a line for each thing that is as expected to standard output. Ends with status 0, or 1 at
 * the first that is not, with a line on standard error; a call that never returns ends it by
 * SIGALRM.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/driver.h"
#include "kernels/image.h"

#define AT_MOST_S 60
#define GATE_S 20
#define BOUND_NS (10 * NS_PER_S)

static struct cuda_driver cuda;
static cuda_context context;
static cuda_function empty, hold;
static cuda_stream one, two;     /* non-blocking */
static cuda_stream first, later; /* blocking */
static cuda_event event;
static unsigned *flag;
static unsigned long long *out;
static sem_t gate;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "order_client: line %d: not so: %s\n", __LINE__, #condition);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define DO(call, ...)                                                                              \
    do {                                                                                           \
        if (cuda_check(&cuda, cuda.call(__VA_ARGS__), #call) != STATUS_OK) {                       \
            fprintf(stderr, "order_client: line %d: %s\n", __LINE__, status_text());               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void *pinned(size_t bytes)
{
    void *block;
    DO(mem_host_alloc, &block, bytes, CUDA_HOST_ALLOC_MAPPED | CUDA_HOST_ALLOC_PORTABLE);
    return block;
}

static void launch_empty(cuda_stream stream)
{
    DO(launch_kernel, empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

static void launch_hold(unsigned long long bound_ns, cuda_stream stream)
{
    cuda_device_pointer flag_there, out_there;
    DO(mem_host_get_device_pointer, &flag_there, flag, 0);
    DO(mem_host_get_device_pointer, &out_there, out, 0);
    void *parameters[] = {&flag_there, &bound_ns, &out_there};
    DO(launch_kernel, hold, 4, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

static void start(const char *library)
{
    cuda_module module;
    if (cuda_driver_load(library, &cuda) != STATUS_OK) {
        fprintf(stderr, "order_client: %s\n", status_text());
        exit(1);
    }
    DO(init, 0);
    DO(primary_ctx_retain, &context, 0);
    DO(ctx_set_current, context);
    DO(module_load_data, &module, kernels_ptx(NULL));
    DO(module_get_function, &empty, module, KERNELS_EMPTY);
    DO(module_get_function, &hold, module, KERNELS_HOLD);
    DO(stream_create, &one, CUDA_STREAM_NON_BLOCKING);
    DO(stream_create, &two, CUDA_STREAM_NON_BLOCKING);
    DO(stream_create, &first, 0);
    DO(stream_create, &later, 0);
    DO(event_create, &event, 0);
    flag = pinned(sizeof *flag);
    out = pinned(2 * sizeof *out);
    *flag = 1;
    out[0] = out[1] = 0;
    EXPECT(sem_init(&gate, 0, 0) == 0);
    /* What is launched for the first time may wait for all else. */
    launch_hold(1, one);
    launch_empty(two);
    launch_empty(CUDA_STREAM_PER_THREAD);
    launch_empty(NULL);
    DO(ctx_synchronize, );
}

/* -- kernels that wait ------------------------------------------------------------------------- */

static unsigned long long told(void)
{
    return __atomic_load_n(&out[1], __ATOMIC_ACQUIRE);
}

static void await_holding(void)
{
    uint64_t deadline = clock_now_ns() + GATE_S * NS_PER_S;
    while (told() != 2)
        EXPECT(clock_now_ns() < deadline);
}

static void check_hold(void)
{
    *flag = 0;
    out[1] = 0;
    launch_hold(BOUND_NS, one);
    await_holding();
    EXPECT(cuda.stream_query(one) == CUDA_NOT_READY);
    launch_empty(two);
    DO(stream_synchronize, two);
    EXPECT(told() == 2);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    DO(stream_synchronize, one);
    EXPECT(told() == 1 && out[0] < BOUND_NS);
    puts("a holding kernel ends when its flag is set");

    *flag = 0;
    launch_hold(20 * NS_PER_MS, one);
    DO(stream_synchronize, one);
    EXPECT(told() == 0 && out[0] >= 20 * NS_PER_MS);
    puts("or when its time is over");
}

/* -- host functions and events ----------------------------------------------------------------- */

static void wait_at_gate(void *unused)
{
    struct timespec until;
    (void)unused;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GATE_S;
    while (sem_timedwait(&gate, &until) != 0 && errno == EINTR) {
    }
}

static void close_gate(cuda_stream stream)
{
    DO(launch_host_func, stream, wait_at_gate, NULL);
}

static void open_gate(void)
{
    EXPECT(sem_post(&gate) == 0);
}

static void check_host_function(void)
{
    close_gate(one);
    DO(event_record, event, one);
    DO(stream_wait_event, two, event, 0);
    launch_empty(two);
    EXPECT(cuda.event_query(event) == CUDA_NOT_READY);
    EXPECT(cuda.stream_query(two) == CUDA_NOT_READY);
    open_gate();
    DO(event_synchronize, event);
    DO(stream_synchronize, two);
    EXPECT(cuda.event_query(event) == CUDA_SUCCESS_);
    puts("a host function holds its stream, and all that wait for its event");
}

/* -- default streams --------------------------------------------------------------------------- */

static void check_default_streams(void)
{
    close_gate(first);
    launch_empty(NULL);
    EXPECT(cuda.stream_query(NULL) == CUDA_NOT_READY);
    puts("the default stream waits for blocking ones");
    launch_empty(later);
    EXPECT(cuda.stream_query(later) == CUDA_NOT_READY);
    puts("blocking streams wait for the default one");
    launch_empty(CUDA_STREAM_PER_THREAD);
    EXPECT(cuda.stream_query(CUDA_STREAM_PER_THREAD) == CUDA_NOT_READY);
    puts("that of a thread is a blocking one");
    launch_empty(two);
    DO(stream_synchronize, two);
    EXPECT(cuda.stream_query(NULL) == CUDA_NOT_READY);
    puts("non-blocking streams do not wait");
    open_gate();
    DO(stream_synchronize, later);
    DO(stream_synchronize, CUDA_STREAM_PER_THREAD);
    DO(stream_synchronize, NULL);
}

/* -- contexts ---------------------------------------------------------------------------------- */

static void check_contexts(void)
{
    cuda_context second, current;
    cuda_device_pointer memory;
    cuda_stream stream;
    DO(ctx_create, &second, CUDA_SCHEDULE_BLOCK, 0);
    DO(ctx_get_current, &current);
    EXPECT(current == second);
    DO(mem_alloc, &memory, 4096);
    DO(stream_create, &stream, CUDA_STREAM_NON_BLOCKING);
    DO(memcpy_dtod_async, memory, memory + 2048, 2048, stream);
    DO(stream_synchronize, stream);
    DO(ctx_destroy, second);
    DO(ctx_set_current, context);
    puts("a context of one's own");
    if (cuda.device_get_resource == NULL || cuda.green_ctx_stream_create == NULL)
        return;

    cuda_resource all, part;
    cuda_resource_descriptor descriptor;
    cuda_green_context green;
    unsigned groups = 1;
    DO(device_get_resource, 0, &all, CUDA_RESOURCE_SM);
    DO(resource_split, &part, &groups, &all, NULL, 0, all.sm.smCount / 2);
    EXPECT(groups == 1 && part.sm.smCount >= all.sm.smCount / 2);
    EXPECT(part.sm.smCount <= all.sm.smCount);
    DO(resource_describe, &descriptor, &part, 1);
    DO(green_ctx_create, &green, descriptor, 0, CUDA_GREEN_CONTEXT_DEFAULT_STREAM);
    DO(green_ctx_stream_create, &stream, green, CUDA_STREAM_NON_BLOCKING, 0);
    DO(ctx_from_green_ctx, &second, green);
    DO(ctx_set_current, second);
    launch_empty(stream);
    DO(stream_synchronize, stream);
    DO(stream_destroy, stream);
    DO(ctx_set_current, context);
    DO(green_ctx_destroy, green);
    puts("a green context");
}

int main(int argc, char **argv)
{
    alarm(AT_MOST_S);
    start(argc > 1 ? argv[1] : NULL);
    check_hold();
    check_host_function();
    check_default_streams();
    check_contexts();
    DO(primary_ctx_release, 0);
    return 0;
}
