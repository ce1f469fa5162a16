/* A kernel that stays on the GPU until a flag is set, or until so much time has passed. */
#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"

/* How often the flag is looked at. */
#define LOOK_NS (20 * NS_PER_US)

static unsigned running[EMUL_DEVICES_MAX]; /* under the deferred mutex */

void hold_wait_idle(cuda_device device)
{
    deferred_lock();
    while (running[device] > 0)
        deferred_sleep();
    deferred_unlock();
}

static void count(cuda_device device, bool begins)
{
    deferred_lock();
    if (begins)
        running[device]++;
    else
        running[device]--;
    deferred_notify();
    deferred_unlock();
}

/* Either kind of memory will do, as on a GPU. */
static bool holds(const volatile void *start, uint64_t bytes)
{
    const void *plain = (const void *)(uintptr_t)start;
    return memory_list_holds(&process.host_memory, plain, bytes) ||
           memory_list_holds(&process.device_memory, plain, bytes);
}

static bool is_set(const volatile unsigned *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

/* What a program may look at while the kernel runs. */
static void tell(unsigned long long *out, unsigned long long what)
{
    if (out != NULL)
        __atomic_store_n(&out[1], what, __ATOMIC_RELEASE);
}

static void perform(cuda_stream stream, const struct operation *operation)
{
    const struct kernel_call *kernel = &operation->call.kernel;
    const volatile unsigned *flag = kernel->arguments.hold.flag;
    uint64_t bound_ns = kernel->arguments.hold.bound_ns;
    unsigned long long *out = kernel->arguments.hold.out;
    cuda_context context = stream->context;

    if (!holds(flag, sizeof *flag) || (out != NULL && !holds(out, 2 * sizeof *out))) {
        process_break(CUDA_ILLEGAL_ADDRESS);
        return;
    }
    struct model *model = process_lock_model(context);
    stream_begin_work(stream);
    uint64_t begin = model_hold_begin(model, &context->model, &stream->model, clock_now_ns());
    emul_state_unlock(process.state);
    cuda_result broken = process_sleep_until(begin);
    count(context->device, true);
    tell(out, 2);

    bool seen = is_set(flag);
    uint64_t now = clock_now_ns();
    while (!seen && broken == CUDA_SUCCESS_ && now - begin < bound_ns) {
        broken = process_sleep_until(now + LOOK_NS);
        seen = is_set(flag);
        now = clock_now_ns();
    }
    if (out != NULL) {
        out[0] = now - begin;
        tell(out, seen);
    }
    model = process_lock_model(context);
    model_hold_end(model, &context->model, &stream->model, now);
    stream_end_work(stream);
    emul_state_unlock(process.state);
    count(context->device, false);
}

cuda_result hold_issue(const struct kernel_call *kernel, cuda_stream stream)
{
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    copies_wait_launch();
    process_burn();
    deferred_is_needed(stream);
    struct model *model = process_lock_model(stream->context);
    uint64_t now = clock_now_ns();
    model_pay_launch(model, &stream->context->model, now, &process_host_ns,
                     model->machine.launch_ns);
    emul_state_unlock(process.state);
    cuda_result result =
        deferred_put(stream, &(struct operation){.perform = perform, .call.kernel = *kernel});
    process_end_launch(now);
    return result;
}
