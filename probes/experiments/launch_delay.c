/*
 * Does a copy to the host in one thread make kernel launches in another thread slower? Thread B
 * launches empty kernels on a stream of its own, one at a time or in batches, and takes the time of
 * the call, while thread A, or another process, copies again and again.
 */
#include "common/clock.h"
#include "probes/experiments/copier.h"
#include "probes/rows.h"

#define WARM_UP 50
#define BATCH 32

/* The kernel that a copy of some arms comes after. */
#define WORK_NS (2 * NS_PER_MS)

enum { NOT_COUNTED = -1, METRIC_CALL, METRIC_PAUSED, METRICS };

enum variant {
    NOTHING = 0, /* no copies */
    PAGEABLE = 1,
    PINNED = 2,
    IN_PROCESS = 4, /* in another one */
    BATCHED = 8,
    AFTER_KERNEL = 16,
    SYNCED = 32,
};

/* The stream is idle before and after, so that no launch waits for room in its queue. */
static enum status sample(struct probe_run *run, const struct probe_gpu *gpu, cuda_stream stream,
                          unsigned launches, int metric)
{
    cuda_result result = CUDA_SUCCESS_;
    uint64_t begin_ns = clock_now_ns();
    for (unsigned i = 0; i < launches && result == CUDA_SUCCESS_; i++)
        result = run->driver.launch_kernel(gpu->empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    uint64_t end_ns = clock_now_ns();
    enum status status = cuda_check(&run->driver, result, "cuLaunchKernel");
    if (status == STATUS_OK)
        status = probe_synchronize(run, stream);
    if (status == STATUS_OK && metric != NOT_COUNTED)
        probe_sample(run, (unsigned)metric, (end_ns - begin_ns) / launches);
    return status;
}

/* Pauses the process or thread that copies. */
struct pause {
    _Atomic uint32_t *word, *done;
};

/* First with copies, and then while they pause: how fast a process is when it is left alone differs
 * from process to process by as much as what copies do to it. */
static enum status measure(struct probe_run *run, const struct probe_gpu *gpu, cuda_stream stream,
                           const struct pause *pause)
{
    unsigned launches = run->arm->variant & BATCHED ? BATCH : 1;
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < WARM_UP && status == STATUS_OK; i++)
        status = sample(run, gpu, stream, launches, NOT_COUNTED);
    for (int metric = METRIC_CALL; metric < METRICS && status == STATUS_OK; metric++) {
        if (pause->word && metric == METRIC_PAUSED)
            copier_pause(run, pause->word, pause->done);
        uint64_t until_ns = clock_now_ns() + run->measure_ns / METRICS;
        while (status == STATUS_OK && !probe_is_over(run) && clock_now_ns() < until_ns)
            status = sample(run, gpu, stream, launches, metric);
    }
    return status;
}

static enum status run_launching(struct probe_run *run, const struct probe_gpu *gpu,
                                 struct copier *copier, const struct pause *pause)
{
    cuda_stream stream = NULL;
    enum status status = probe_new_stream(run, &stream);
    if (status == STATUS_OK)
        status = probe_begin(run);
    if (status == STATUS_OK && copier)
        status = copier_start(copier);
    if (status == STATUS_OK)
        status = measure(run, gpu, stream, pause);
    if (copier) {
        enum status copied = copier_stop(copier);
        status = status == STATUS_OK ? copied : status;
    }
    probe_destroy_stream(run, stream);
    return status;
}

static enum status run_arm(struct probe_run *run)
{
    unsigned variant = run->arm->variant;
    bool copies = variant & (PAGEABLE | PINNED);
    bool here = copies && (run->process == 1 || !(variant & IN_PROCESS));
    _Atomic uint32_t *words = run->shm.header->words;
    const struct pause pause = {copies ? &words[0] : NULL, &words[1]};
    const struct copier_options options = {
        .pause = &words[0],
        .paused = &words[1],
        .bytes = run->arm->number,
        .pinned = variant & PINNED,
        .work_ns = variant & AFTER_KERNEL ? WORK_NS : 0,
        .synced = variant & SYNCED,
    };
    struct probe_gpu gpu;
    struct copier copier = {0};
    enum status status = probe_gpu_open(run, 0, true, &gpu);
    if (status == STATUS_OK && here)
        status = copier_open(run, &gpu, &options, &copier);
    if (status == STATUS_OK && run->process == 1) {
        status = probe_begin(run);
        if (status == STATUS_OK)
            status = copier_copy(&copier);
    } else if (status == STATUS_OK) {
        status = run_launching(run, &gpu, here ? &copier : NULL, &pause);
    }
    copier_close(&copier);
    probe_gpu_close(run, &gpu);
    return status;
}

#define ALONE(given_name, given_what, given_variant, given_flags)                                  \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .variant = (given_variant),                    \
        .flags = (given_flags), .run = run_arm                                                     \
    }
#define BESIDE(given_name, given_what, given_control, given_variant, given_bytes, given_flags)     \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .variant = (given_variant), .number = (given_bytes), .flags = (given_flags),               \
        .processes = (given_variant)&IN_PROCESS ? 2 : 1, .run = run_arm                            \
    }
#define SIZED(given_name, given_series, given_variant, given_bytes, given_flags)                   \
    {                                                                                              \
        .name = (given_name), .what = (given_series), .control = "alone",                          \
        .variant = (given_variant), .number = (given_bytes), .flags = (given_flags),               \
        .series = (given_series), .x = (given_bytes), .run = run_arm                               \
    }

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static const struct probe_arm arms[] = {
    ALONE("alone", "no copies", NOTHING, 0),
    SIZED("pageable-4k", "pageable copies, another thread", PAGEABLE, 4 * KIB, PROBE_ARM_EXTRA),
    SIZED("pageable-64k", "pageable copies, another thread", PAGEABLE, 64 * KIB, 0),
    SIZED("pageable-1m", "pageable copies, another thread", PAGEABLE, 1 * MIB, PROBE_ARM_EXTRA),
    SIZED("pageable-16m", "pageable copies, another thread", PAGEABLE, 16 * MIB, PROBE_ARM_EXTRA),
    SIZED("pageable-256m", "pageable copies, another thread", PAGEABLE, 256 * MIB, 0),
    SIZED("pinned-4k", "pinned copies, another thread", PINNED, 4 * KIB, PROBE_ARM_EXTRA),
    SIZED("pinned-64k", "pinned copies, another thread", PINNED, 64 * KIB, PROBE_ARM_EXTRA),
    SIZED("pinned-1m", "pinned copies, another thread", PINNED, 1 * MIB, PROBE_ARM_EXTRA),
    SIZED("pinned-16m", "pinned copies, another thread", PINNED, 16 * MIB, PROBE_ARM_EXTRA),
    SIZED("pinned-256m", "pinned copies, another thread", PINNED, 256 * MIB, 0),
    BESIDE("after-kernel", "pageable 1 MiB, each after a kernel of 2 ms", "alone",
           PAGEABLE | AFTER_KERNEL, 1 * MIB, 0),
    BESIDE("after-sync", "the same, synchronised before the copy", "alone",
           PAGEABLE | AFTER_KERNEL | SYNCED, 1 * MIB, 0),
    BESIDE("process-256m", "pageable copies in another process", "alone", PAGEABLE | IN_PROCESS,
           256 * MIB, 0),
    BESIDE("mps-256m", "the same, both over MPS", "alone-mps", PAGEABLE | IN_PROCESS, 256 * MIB,
           PROBE_ARM_OVER_MPS),
    BESIDE("process-1m", "pageable copies of 1 MiB in another process", "alone",
           PAGEABLE | IN_PROCESS, 1 * MIB, PROBE_ARM_EXTRA),
    BESIDE("mps-1m", "the same, both over MPS", "alone-mps", PAGEABLE | IN_PROCESS, 1 * MIB,
           PROBE_ARM_OVER_MPS | PROBE_ARM_EXTRA),
    ALONE("alone-mps", "no copies, over MPS", NOTHING, PROBE_ARM_OVER_MPS),
    BESIDE("batch-256m", "pageable copies, launches in batches of 32", "alone-batch",
           PAGEABLE | BATCHED, 256 * MIB, 0),
    BESIDE("batch-1m", "pageable copies of 1 MiB, batches of 32", "alone-batch", PAGEABLE | BATCHED,
           1 * MIB, PROBE_ARM_EXTRA),
    ALONE("alone-batch", "no copies, launches in batches of 32", BATCHED, 0),
};

static const char *const remedies[] = {"pinned-256m", "pinned-1m", "process-256m", "mps-256m",
                                       NULL};

const struct probe probe_launch_delay = {
    .name = "launch-delay",
    .question = "does a device-to-host copy in one thread make kernel launches in another thread "
                "slower?",
    .method =
        "Thread B launches an empty kernel on a stream of its own, waits for it, and again, "
        "and takes the time of each launch call (in batches, of 32 calls together), while "
        "thread A, or another process, copies to the host again and again. In turns with that "
        "the copies pause; what is left between processes then is taken out.",
    .metrics = {"launch call", "launch call, copies paused"},
    .level_metric = METRIC_PAUSED,
    .xlabel = "bytes of a copy",
    .gpus = 1,
    .rounds = 6,
    .measure_ns = 160 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof *arms,
    .subject = "pageable-256m",
    .matters_ratio = 1.1,
    .matters_ns = 200,
    .remedy = "copy to pinned memory, or move the copies to another process",
    .remedies = remedies,
};
