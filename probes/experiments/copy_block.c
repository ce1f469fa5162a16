/*
 * Does a copy to the host that waits for something hold up launches of other threads? Thread A
 * copies on a stream that waits for a host function; thread B launches an empty kernel on a stream
 * of its own, which has nothing to do with either. Where B's launch is what would let the host
 * function end, that is a deadlock; here a watchdog ends it.
 */
#include "common/clock.h"
#include "probes/rows.h"
#include "probes/experiments/waiting_copy.h"
#include "probes/watchdog.h"

/* How long a launch is left in a deadlock. */
#define BOUND_NS (100 * NS_PER_MS)

#define LEAST_SAMPLES 3
#define MOST_SAMPLES 100

#define PINNED 16u /* beside the kind of stream in an arm's variant */

static enum status sample(struct probe_run *run, const struct probe_gpu *gpu,
                          struct waiting_copy *copy, struct probe_watchdog *watchdog,
                          cuda_stream stream)
{
    enum status status = waiting_copy_begin(copy);
    if (status != STATUS_OK)
        return status;
    probe_watchdog_arm(watchdog, clock_now_ns() + BOUND_NS);
    uint64_t begin_ns = clock_now_ns();
    cuda_result result =
        run->driver.launch_kernel(gpu->empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    uint64_t end_ns = clock_now_ns();
    bool blocked = probe_watchdog_disarm(watchdog);
    enum status ended = waiting_copy_end(copy);
    status = cuda_check(&run->driver, result, "cuLaunchKernel");
    if (status == STATUS_OK)
        status = ended;
    if (status == STATUS_OK)
        status = probe_synchronize(run, stream);
    if (status != STATUS_OK)
        return status;
    probe_sample(run, 0, end_ns - begin_ns);
    if (blocked)
        probe_blocked(run, 0);
    return STATUS_OK;
}

static enum status measure(struct probe_run *run, const struct probe_gpu *gpu,
                           struct waiting_copy *copy, struct probe_watchdog *watchdog,
                           cuda_stream stream)
{
    enum status status = probe_launch(run, gpu->empty, stream);
    if (status == STATUS_OK)
        status = probe_begin(run);
    uint64_t until_ns = clock_now_ns() + run->measure_ns;
    for (unsigned i = 0; status == STATUS_OK && i < MOST_SAMPLES && !probe_is_over(run) &&
                         (i < LEAST_SAMPLES || clock_now_ns() < until_ns);
         i++)
        status = sample(run, gpu, copy, watchdog, stream);
    return status;
}

static enum status run_arm(struct probe_run *run)
{
    struct probe_gpu gpu;
    struct waiting_copy copy = {0};
    struct probe_watchdog *watchdog = NULL;
    cuda_stream stream = NULL;
    enum status status = probe_gpu_open(run, 0, true, &gpu);
    if (status == STATUS_OK)
        status = probe_new_stream(run, &stream);
    if (status == STATUS_OK)
        status = waiting_copy_open(run, &gpu, run->arm->number, run->arm->variant & PINNED,
                                   (enum waiting_copy_stream)(run->arm->variant & ~PINNED), &copy);
    if (status == STATUS_OK)
        status = probe_watchdog_new(waiting_copy_release, &copy, &watchdog);
    if (status == STATUS_OK)
        status = measure(run, &gpu, &copy, watchdog, stream);
    waiting_copy_close(&copy);
    probe_watchdog_free(watchdog);
    probe_destroy_stream(run, stream);
    probe_gpu_close(run, &gpu);
    return status;
}

#define ARM(given_name, given_what, given_control, given_variant, given_bytes, given_flags)        \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .variant = (given_variant), .number = (given_bytes), .flags = (given_flags),               \
        .run = run_arm                                                                             \
    }

static const struct probe_arm arms[] = {
    ARM("legacy-pageable", "pageable copy on the legacy default stream", "legacy-pinned",
        WAITING_COPY_LEGACY, 4, 0),
    ARM("per-thread-pageable", "pageable, the thread's default stream", "per-thread-pinned",
        WAITING_COPY_PER_THREAD, 4, 0),
    ARM("own-pageable", "pageable, a non-blocking stream", "own-pinned", WAITING_COPY_OWN, 4, 0),
    ARM("legacy-pinned", "pinned copy on the legacy default stream", NULL,
        WAITING_COPY_LEGACY | PINNED, 4, 0),
    ARM("per-thread-pinned", "pinned, the thread's default stream", NULL,
        WAITING_COPY_PER_THREAD | PINNED, 4, 0),
    ARM("own-pinned", "pinned, a non-blocking stream", NULL, WAITING_COPY_OWN | PINNED, 4, 0),
    ARM("legacy-pageable-1m", "pageable copy of 1 MiB, legacy default stream", "legacy-pinned",
        WAITING_COPY_LEGACY, 1 << 20, PROBE_ARM_EXTRA),
    ARM("own-pageable-1m", "pageable copy of 1 MiB, a non-blocking stream", "own-pinned",
        WAITING_COPY_OWN, 1 << 20, PROBE_ARM_EXTRA),
};

static const char *const remedies[] = {"own-pageable", "legacy-pinned", NULL};

const struct probe probe_copy_block = {
    .name = "copy-block",
    .question = "does a device-to-host copy that waits for an event hold up kernel launches of "
                "another thread on a stream that has nothing to do with it?",
    .method =
        "Thread A copies 4 bytes to the host on a stream that waits, through an event, for a host "
        "function that another thread has to let go. Meanwhile thread B launches an empty kernel "
        "on a "
        "non-blocking stream of its own; only then does it let the host function go. A launch "
        "that hangs is a deadlock: a watchdog lets the function go after 100 ms, and the launch "
        "counts as blocked.",
    .metrics = {"launch call"},
    .gpus = 1,
    .rounds = 3,
    .measure_ns = 200 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof *arms,
    .subject = "legacy-pageable",
    .matters_ratio = 2,
    .matters_ns = 1 * NS_PER_MS,
    .remedy = "copy to pinned memory, or on a non-blocking stream of its own: never to pageable "
              "memory on the legacy default stream while it may wait",
    .remedies = remedies,
};
