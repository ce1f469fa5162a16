#include "tests/unit/emul/rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "common/clock.h"

struct emul_driver rig_cuda;

static void *pinned(size_t bytes)
{
    void *block;
    CHECK_EQUAL(rig_cuda.mem_host_alloc(&block, bytes, CUDA_HOST_ALLOC_MAPPED), 0);
    memset(block, 0, bytes);
    return block;
}

void rig_start(struct rig *rig)
{
    emul_driver_start(&rig_cuda);
    CHECK_EQUAL(rig_cuda.ctx_get_current(&rig->context), 0);
    CHECK_EQUAL(rig_cuda.module_load_data(&rig->module, "image"), 0);
    struct {
        cuda_function *function;
        const char *name;
    } kernels[] = {{&rig->add, "mpsweep_add_constant"},
                   {&rig->delay, "mpsweep_delay"},
                   {&rig->empty, "mpsweep_empty"},
                   {&rig->hold, "mpsweep_hold"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        CHECK_EQUAL(rig_cuda.module_get_function(kernels[i].function, rig->module, kernels[i].name),
                    0);
    CHECK_EQUAL(rig_cuda.stream_create(&rig->stream, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(rig_cuda.stream_create(&rig->other, CUDA_STREAM_NON_BLOCKING), 0);
    CHECK_EQUAL(rig_cuda.mem_alloc(&rig->a, RIG_BYTES), 0);
    CHECK_EQUAL(rig_cuda.mem_alloc(&rig->b, RIG_BYTES), 0);
    rig->in = pinned(RIG_BYTES);
    rig->out = pinned(RIG_BYTES);
    rig->flag = pinned(sizeof *rig->flag);
    rig->held = pinned(2 * sizeof *rig->held);
    for (int i = 0; i < RIG_ELEMENTS; i++)
        rig->in[i] = i;
    memset(rig->out, 0xff, RIG_BYTES);
    CHECK_EQUAL(sem_init(&rig->gate, 0, 0), 0);
    CHECK_EQUAL(rig_cuda.memcpy_htod_async(rig->a, rig->in, RIG_BYTES, rig->stream), 0);
    CHECK_EQUAL(rig_launch_empty(rig, rig->stream), 0); /* loads it */
    CHECK_EQUAL(rig_cuda.stream_synchronize(rig->stream), 0);
}

cuda_result rig_launch_add(const struct rig *rig, int value, cuda_stream stream)
{
    cuda_device_pointer from = rig->a, to = rig->b;
    int elements = RIG_ELEMENTS, spin = 1;
    void *parameters[] = {&from, &to, &value, &elements, &spin};
    return rig_cuda.launch_kernel(rig->add, 1, 1, 1, 64, 1, 1, 0, stream, parameters, NULL);
}

cuda_result rig_launch_delay(const struct rig *rig, uint64_t ns, unsigned blocks,
                             cuda_stream stream)
{
    unsigned long long cycles = ns;
    void *parameters[] = {&cycles};
    return rig_cuda.launch_kernel(rig->delay, blocks, 1, 1, 64, 1, 1, 0, stream, parameters, NULL);
}

cuda_result rig_launch_empty(const struct rig *rig, cuda_stream stream)
{
    return rig_cuda.launch_kernel(rig->empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

cuda_result rig_launch_hold(const struct rig *rig, uint64_t bound_ns, cuda_stream stream)
{
    cuda_device_pointer flag, out;
    CHECK_EQUAL(rig_cuda.mem_host_get_device_pointer(&flag, rig->flag, 0), 0);
    CHECK_EQUAL(rig_cuda.mem_host_get_device_pointer(&out, rig->held, 0), 0);
    unsigned long long bound = bound_ns;
    void *parameters[] = {&flag, &bound, &out};
    return rig_cuda.launch_kernel(rig->hold, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

void rig_wait_holding(const struct rig *rig)
{
    uint64_t deadline = clock_now_ns() + 20 * NS_PER_S;
    while (__atomic_load_n(&rig->held[1], __ATOMIC_ACQUIRE) != 2) {
        CHECK(clock_now_ns() < deadline);
        clock_sleep_until(clock_now_ns() + 100 * NS_PER_US);
    }
}

void rig_set_flag(struct rig *rig)
{
    __atomic_store_n(rig->flag, 1, __ATOMIC_RELEASE);
}

static void wait_at_gate(void *gate)
{
    while (sem_wait(gate) != 0)
        CHECK_EQUAL(errno, EINTR);
}

void rig_close_gate(struct rig *rig, cuda_stream stream)
{
    CHECK_EQUAL(rig_cuda.launch_host_func(stream, wait_at_gate, &rig->gate), 0);
}

void rig_open_gate(struct rig *rig)
{
    CHECK_EQUAL(sem_post(&rig->gate), 0);
}

uint64_t rig_shortest_launch_ns(const struct rig *rig, cuda_stream stream, int launches)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < launches; i++) {
        uint64_t begin = clock_now_ns();
        CHECK_EQUAL(rig_launch_empty(rig, stream), 0);
        uint64_t took = clock_now_ns() - begin;
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

bool rig_wait_post(sem_t *post, uint64_t at_most_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + at_most_ns;
    until.tv_sec += (time_t)(ns / NS_PER_S);
    until.tv_nsec = (long)(ns % NS_PER_S);
    while (sem_timedwait(post, &until) != 0)
        if (errno == ETIMEDOUT)
            return false;
    return true;
}

/* Sets or takes back each NAME=VALUE of the list. */
static void set_variables(const char *variables, bool on)
{
    char list[256], *rest = list, *item;
    snprintf(list, sizeof list, "%s", variables);
    while ((item = strsep(&rest, " ")) != NULL && *item != '\0') {
        char *value = strchr(item, '=');
        *value++ = '\0';
        if (on)
            setenv(item, value, 1);
        else
            unsetenv(item);
    }
}

int rig_run(void (*body)(void), const char *variables)
{
    set_variables(variables, true);
    int status = run_child(body, NULL, NULL);
    set_variables(variables, false);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
