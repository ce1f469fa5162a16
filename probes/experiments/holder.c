#include "probes/experiments/holder.h"

#include "common/clock.h"

/* Until a stream that is idle otherwise gets to its kernel: the machine may be busy. */
#define BEGIN_NS (10 * NS_PER_S)

/* The kernel's own word is another as soon as it runs. */
#define NOT_BEGUN 3

/* What the kernel reads and writes: kernels/workload.cu. */
struct probe_holder_words {
    unsigned long long out[2];
    unsigned flag; /* not 0: end */
};

enum status probe_holder_open(struct probe_run *run, cuda_context context, cuda_function hold,
                              cuda_stream stream, struct probe_holder *out)
{
    void *words = NULL;
    cuda_device_pointer seen = 0;
    *out = (struct probe_holder){.run = run, .context = context, .hold = hold, .stream = stream};
    enum status status =
        PROBE_CALL(run, mem_host_alloc, &words, sizeof *out->words, CUDA_HOST_ALLOC_MAPPED);
    if (status != STATUS_OK)
        return status;
    out->words = words;
    status = PROBE_CALL(run, mem_host_get_device_pointer, &seen, words, 0);
    out->out = seen + offsetof(struct probe_holder_words, out);
    out->flag = seen + offsetof(struct probe_holder_words, flag);
    return status;
}

enum status probe_holder_launch(struct probe_holder *holder, unsigned blocks, unsigned threads,
                                uint64_t bound_ns)
{
    unsigned long long bound = bound_ns;
    void *parameters[] = {&holder->flag, &bound, &holder->out};
    __atomic_store_n(&holder->words->out[1], NOT_BEGUN, __ATOMIC_SEQ_CST);
    __atomic_store_n(&holder->words->flag, 0, __ATOMIC_SEQ_CST);
    enum status status = PROBE_CALL(holder->run, launch_kernel, holder->hold, blocks, 1, 1, threads,
                                    1, 1, 0, holder->stream, parameters, NULL);
    if (status == STATUS_OK)
        holder->running = true;
    return status;
}

enum status probe_holder_start(struct probe_holder *holder, unsigned blocks, unsigned threads,
                               uint64_t bound_ns)
{
    enum status status = probe_holder_end(holder);
    if (status == STATUS_OK)
        status = probe_holder_launch(holder, blocks, threads, bound_ns);
    uint64_t deadline_ns = clock_now_ns() + BEGIN_NS;
    while (status == STATUS_OK &&
           __atomic_load_n(&holder->words->out[1], __ATOMIC_SEQ_CST) == NOT_BEGUN) {
        if (clock_now_ns() > deadline_ns)
            return status_set(STATUS_TIMEOUT, "a kernel did not begin within %d s",
                              (int)(BEGIN_NS / NS_PER_S));
    }
    return status;
}

enum status probe_holder_end(struct probe_holder *holder)
{
    if (!holder->running)
        return STATUS_OK;
    __atomic_store_n(&holder->words->flag, 1, __ATOMIC_SEQ_CST);
    holder->running = false;
    return probe_synchronize(holder->run, holder->stream);
}

void probe_holder_close(struct probe_holder *holder)
{
    if (!holder->run)
        return;
    const struct cuda_driver *driver = &holder->run->driver;
    /* The samples are given already: errors change nothing. */
    driver->ctx_set_current(holder->context);
    probe_holder_end(holder);
    if (holder->words)
        driver->mem_free_host(holder->words);
    *holder = (struct probe_holder){0};
}
