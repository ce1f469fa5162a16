/*
 * Does a copy within the GPU's memory wait for a kernel of another context?
 *
 * The GPU runs one context at a time, and such a copy is work of the GPU itself, not of a copy
 * engine. So a copy in a second context has to wait until the first one's time slice is over, where
 * one in the same context begins at once.
 *
 * When the GPU begins is not visible from the host without a profiler. What is measured is the time
 * from the return of the copy call until the copy is seen to be done, by asking the stream again
 * and again; the same beside no kernel shows how much of it is the copy itself.
 */
#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/random.h"
#include "probes/experiments/holder.h"
#include "probes/outcome.h"
#include "probes/rows.h"

#define COPY_BYTES ((size_t)1 << 20)

/* Of the thread that this comes from. */
#define SMALL_BLOCKS 16
#define SMALL_THREADS 256

/* Two blocks of the largest size take every thread of a multiprocessor, on most GPUs; where they do
 * not, the second waits for the first. */
#define FULL_THREADS 1024
#define FULL_BLOCKS 2

/* A kernel is ended and started again before its bound could be seen. */
#define KERNEL_BOUND_NS (300 * NS_PER_MS)
#define KERNEL_AGE_NS (100 * NS_PER_MS)

/* Between two copies, at random: they are to meet a time slice anywhere. */
#define PAUSE_NS (3 * NS_PER_MS)

/* A copy that takes longer waits for the kernel's end, not for a slice: the arm ends the kernel,
 * at most HELD_MOST times. */
#define HELD_NS (25 * NS_PER_MS)
#define HELD_MOST 4

#define LEAST_SAMPLES 10

/* Multiprocessors of the green context that copies; the kernel has the others. */
#define GREEN_SMS 8

enum place {
    PLACE_SAME,     /* the kernel's context */
    PLACE_PRIORITY, /* the same, in a stream of the highest priority */
    PLACE_GREEN,    /* a green context each */
    PLACE_BEFORE,   /* a second context, made before the kernel began */
    PLACE_AFTER,    /* a second context, made while the kernel runs */
    PLACE_PROCESS,  /* another process */
};

/* What the GPU is busy with, and the metric of the copies beside it. */
enum load { LOAD_NONE, LOAD_SMALL, LOAD_FULL };
enum metric { METRIC_SMALL, METRIC_FULL, METRIC_ALONE };

/* Words of the shared memory, by which the process of the copies commands that of the kernels: it
 * sets the load that it wants, raises the number of commands, and waits for as many answers. */
enum word { WORD_LOAD, WORD_COMMANDS, WORD_ANSWERS };

struct side {
    struct probe_run *run;
    struct probe_gpu gpu;
    /* The kernels: here, or in another process. */
    bool remote;
    uint32_t commands;
    struct probe_holder holder;
    cuda_stream kernel_stream;
    unsigned full_blocks;
    enum load load;
    uint64_t load_since_ns;
    /* The copies. */
    cuda_context second; /* made here, and current for the copies; or NULL */
    cuda_stream copy_stream;
    cuda_device_pointer from, to;
    cuda_green_context greens[2];
    uint64_t random;
};

/* -- the kernels ------------------------------------------------------------------------------- */

static enum status open_kernels(struct side *side)
{
    struct probe_run *run = side->run;
    int sms = 0;
    enum status status = STATUS_OK;
    if (!side->full_blocks) {
        status = PROBE_CALL(run, device_get_attribute, &sms, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                            side->gpu.device);
        side->full_blocks = (unsigned)sms * FULL_BLOCKS;
    }
    if (status == STATUS_OK && !side->kernel_stream)
        status = probe_new_stream(run, &side->kernel_stream);
    return status == STATUS_OK ? probe_holder_open(run, side->gpu.context, side->gpu.hold,
                                                   side->kernel_stream, &side->holder)
                               : status;
}

/* With the context of the kernels current. */
static enum status set_load_here(struct side *side, enum load load)
{
    if (load == LOAD_SMALL)
        return probe_holder_start(&side->holder, SMALL_BLOCKS, SMALL_THREADS, KERNEL_BOUND_NS);
    if (load == LOAD_FULL)
        return probe_holder_start(&side->holder, side->full_blocks, FULL_THREADS, KERNEL_BOUND_NS);
    return probe_holder_end(&side->holder);
}

/* The process of the kernels: sets the loads that it gets until there is nothing more. */
static enum status serve_loads(struct side *side)
{
    struct probe_shm_header *header = side->run->shm.header;
    for (uint32_t done = 1;; done++) {
        if (!probe_shm_wait(&side->run->shm, &header->words[WORD_COMMANDS], done))
            return STATUS_OK;
        enum load load = (enum load)atomic_load(&header->words[WORD_LOAD]);
        enum status status = set_load_here(side, load);
        if (status != STATUS_OK)
            return status;
        atomic_store(&header->words[WORD_ANSWERS], done);
        probe_shm_wake(&header->words[WORD_ANSWERS]);
    }
}

/* Leaves the context of the copies current. */
static enum status set_load(struct side *side, enum load load)
{
    struct probe_run *run = side->run;
    enum status status = STATUS_OK;
    if (side->remote) {
        struct probe_shm_header *header = run->shm.header;
        atomic_store(&header->words[WORD_LOAD], load);
        atomic_store(&header->words[WORD_COMMANDS], ++side->commands);
        probe_shm_wake(&header->words[WORD_COMMANDS]);
        if (!probe_shm_wait(&run->shm, &header->words[WORD_ANSWERS], side->commands))
            return status_set(STATUS_INTERRUPTED, "the other process has ended");
    } else {
        if (side->second)
            status = probe_set_current(run, side->gpu.context);
        if (status == STATUS_OK)
            status = set_load_here(side, load);
        if (status == STATUS_OK && side->second)
            status = probe_set_current(run, side->second);
    }
    side->load = load;
    side->load_since_ns = clock_now_ns();
    return status;
}

/* -- the copies -------------------------------------------------------------------------------- */

static enum status make_streams_green(struct side *side)
{
    struct probe_run *run = side->run;
    const struct cuda_driver *driver = &run->driver;
    cuda_resource all, parts[2] = {0};
    cuda_resource_descriptor descriptors[2];
    cuda_stream *streams[2] = {&side->copy_stream, &side->kernel_stream};
    unsigned groups = 1;
    if (!driver->device_get_resource || !driver->resource_split || !driver->resource_describe ||
        !driver->green_ctx_create || !driver->green_ctx_stream_create)
        return status_set(STATUS_UNSUPPORTED,
                          "this driver has no green contexts with streams of their own, which came "
                          "with CUDA 12.5");
    enum status status =
        PROBE_CALL(run, device_get_resource, side->gpu.device, &all, CUDA_RESOURCE_SM);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, resource_split, &parts[0], &groups, &all, &parts[1], 0, GREEN_SMS);
    if (status == STATUS_OK && parts[1].sm.smCount == 0)
        return status_set(STATUS_UNSUPPORTED, "this GPU is too small for two green contexts");
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = PROBE_CALL(run, resource_describe, &descriptors[i], &parts[i], 1);
        if (status == STATUS_OK)
            status = PROBE_CALL(run, green_ctx_create, &side->greens[i], descriptors[i],
                                side->gpu.device, CUDA_GREEN_CONTEXT_DEFAULT_STREAM);
        if (status == STATUS_OK)
            status = PROBE_CALL(run, green_ctx_stream_create, streams[i], side->greens[i],
                                CUDA_STREAM_NON_BLOCKING, 0);
    }
    side->full_blocks = parts[1].sm.smCount * FULL_BLOCKS;
    return status;
}

static enum status make_copy_stream(struct side *side, bool first)
{
    struct probe_run *run = side->run;
    int least = 0, greatest = 0;
    if (!first)
        return probe_new_stream(run, &side->copy_stream);
    enum status status = PROBE_CALL(run, ctx_get_stream_priority_range, &least, &greatest);
    if (status == STATUS_OK && least == greatest)
        return status_set(STATUS_UNSUPPORTED, "streams have no priorities here");
    return status == STATUS_OK ? PROBE_CALL(run, stream_create_with_priority, &side->copy_stream,
                                            CUDA_STREAM_NON_BLOCKING, greatest)
                               : status;
}

/* In the context that is current: stream and buffers, and a first copy, which may do what later
 * ones need not. */
static enum status open_copies(struct side *side, enum place place)
{
    struct probe_run *run = side->run;
    enum status status = STATUS_OK;
    if (!side->copy_stream)
        status = make_copy_stream(side, place == PLACE_PRIORITY);
    if (status == STATUS_OK)
        status = probe_allocate(run, &side->from, COPY_BYTES);
    if (status == STATUS_OK)
        status = probe_allocate(run, &side->to, COPY_BYTES);
    if (status == STATUS_OK)
        status =
            PROBE_CALL(run, memcpy_dtod_async, side->to, side->from, COPY_BYTES, side->copy_stream);
    return status == STATUS_OK ? probe_synchronize(run, side->copy_stream) : status;
}

/* Sets *held if the copy had to be let go by ending the kernel. */
static enum status time_copy(struct side *side, enum metric metric, bool *held)
{
    struct probe_run *run = side->run;
    const struct cuda_driver *driver = &run->driver;
    cuda_result result =
        driver->memcpy_dtod_async(side->to, side->from, COPY_BYTES, side->copy_stream);
    uint64_t returned_ns = clock_now_ns(), now_ns;
    enum status status = cuda_check(driver, result, "cuMemcpyDtoDAsync");
    if (status != STATUS_OK)
        return status;
    do {
        now_ns = clock_now_ns();
        result = driver->stream_query(side->copy_stream);
    } while (result == CUDA_NOT_READY && now_ns < returned_ns + HELD_NS);
    uint64_t done_ns = clock_now_ns();
    *held = result == CUDA_NOT_READY;
    if (*held) {
        probe_blocked(run, metric);
        status = set_load(side, LOAD_NONE);
        if (status == STATUS_OK)
            status = probe_synchronize(run, side->copy_stream);
        done_ns = clock_now_ns();
    } else {
        status = cuda_check(driver, result, "cuStreamQuery");
    }
    if (status == STATUS_OK)
        probe_sample(run, metric, done_ns - returned_ns);
    return status;
}

static enum status time_copies(struct side *side, enum load load, enum metric metric,
                               uint64_t length_ns)
{
    uint64_t until_ns = clock_now_ns() + length_ns;
    unsigned samples = 0, held_count = 0;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !probe_is_over(side->run) && held_count < HELD_MOST &&
           (samples < LEAST_SAMPLES || clock_now_ns() < until_ns)) {
        bool held = false, is_old = clock_now_ns() > side->load_since_ns + KERNEL_AGE_NS;
        if (side->load != load || (load != LOAD_NONE && is_old))
            status = set_load(side, load);
        if (status != STATUS_OK)
            break;
        clock_sleep_until(clock_now_ns() + random_next(&side->random) % PAUSE_NS);
        status = time_copy(side, metric, &held);
        held_count += held;
        samples++;
    }
    return status;
}

/* -- the arms ---------------------------------------------------------------------------------- */

static enum status open_place(struct side *side, enum place place)
{
    enum status status = STATUS_OK;
    if (place == PLACE_GREEN)
        status = make_streams_green(side);
    if (status == STATUS_OK && !side->remote)
        status = open_kernels(side);
    if (status == STATUS_OK && place == PLACE_AFTER)
        status = set_load(side, LOAD_SMALL);
    if (status == STATUS_OK && (place == PLACE_BEFORE || place == PLACE_AFTER))
        status = PROBE_CALL(side->run, ctx_create, &side->second, 0, side->gpu.device);
    return status == STATUS_OK ? open_copies(side, place) : status;
}

static void close_place(struct side *side)
{
    const struct cuda_driver *driver = &side->run->driver;
    /* The samples are given already: errors change nothing. The kernel goes first, since giving
     * memory back may wait for it. */
    probe_holder_close(&side->holder);
    if (side->second)
        driver->ctx_set_current(side->second);
    probe_release(side->run, side->from);
    probe_release(side->run, side->to);
    probe_destroy_stream(side->run, side->copy_stream);
    if (side->second)
        driver->ctx_destroy(side->second);
    if (side->gpu.context)
        driver->ctx_set_current(side->gpu.context);
    probe_destroy_stream(side->run, side->kernel_stream);
    for (int i = 0; i < 2; i++)
        if (side->greens[i])
            driver->green_ctx_destroy(side->greens[i]);
    probe_gpu_close(side->run, &side->gpu);
}

static enum status run_arm(struct probe_run *run)
{
    enum place place = (enum place)run->arm->variant;
    struct side side = {.run = run, .random = run->seed};
    bool has_kernels = place != PLACE_PROCESS || run->process == 1;
    bool has_copies = run->process == 0;
    side.remote = place == PLACE_PROCESS && has_copies;
    enum status status = probe_gpu_open(run, 0, has_kernels, &side.gpu);
    if (status == STATUS_OK)
        status = has_copies ? open_place(&side, place) : open_kernels(&side);
    if (status == STATUS_OK)
        status = probe_begin(run);
    if (status == STATUS_OK && !has_copies)
        status = serve_loads(&side);
    if (status == STATUS_OK && has_copies)
        status = time_copies(&side, LOAD_SMALL, METRIC_SMALL, run->measure_ns / 2);
    if (status == STATUS_OK && has_copies)
        status = time_copies(&side, LOAD_FULL, METRIC_FULL, run->measure_ns / 4);
    if (status == STATUS_OK && has_copies)
        status = time_copies(&side, LOAD_NONE, METRIC_ALONE, run->measure_ns / 4);
    close_place(&side);
    return status;
}

/* -- notes ------------------------------------------------------------------------------------- */

/* A shorter wait is not a time slice: any copy may take this much longer than another. */
#define SLICE_LEAST_US 200.0

/* A copy at a random moment waits for the rest of a slice, which is evenly spread, or, where a
 * slice begins when a copy waits, for a whole one: either way the longest waits are as long as a
 * slice. The last twentieth is left to other causes. */
static bool note_slice(const struct probe_outcome *outcome, struct probe_note *note)
{
    static const char *const names[] = {"second-before", "second-after", "process"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double alone = probe_outcome_quantile_us(outcome, names[i], METRIC_ALONE, 0.5);
        double half = probe_outcome_quantile_us(outcome, names[i], METRIC_SMALL, 0.5) - alone;
        double most = probe_outcome_quantile_us(outcome, names[i], METRIC_SMALL, 0.95) - alone;
        /* What copies take longer for beside no kernel is not a slice. */
        double others = probe_outcome_quantile_us(outcome, names[i], METRIC_ALONE, 0.95) - alone;
        if (!(most > SLICE_LEAST_US + others))
            continue;
        snprintf(note->text, sizeof note->text,
                 "time slices of about %.2g ms: in arm %s half of the copies waited for %.2g ms or "
                 "more, one in twenty for %.2g ms or more",
                 most / 1e3, names[i], fmax(half, 0) / 1e3, most / 1e3);
        note->quantity = "time_slice_us";
        note->value = most;
        return true;
    }
    return false;
}

/* What keeps out even work of the same context is another effect than time slices. */
static bool note_full(const struct probe_outcome *outcome, struct probe_note *note)
{
    double small = probe_outcome_quantile_us(outcome, "same", METRIC_SMALL, 0.5);
    double full = probe_outcome_quantile_us(outcome, "same", METRIC_FULL, 0.5);
    if (!(full > small + SLICE_LEAST_US))
        return false;
    snprintf(note->text, sizeof note->text,
             "beside a kernel that fills the GPU a copy of the same context waits, too: %.3g ms, "
             "where a copy that waits for longer than %d ms is let go by ending the kernel",
             full / 1e3, (int)(HELD_NS / NS_PER_MS));
    return true;
}

#define ARM(given_name, given_what, given_control, given_variant, given_flags)                     \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .variant = (given_variant), .flags = (given_flags),                                        \
        .processes = (given_variant) == PLACE_PROCESS ? 2 : 1, .run = run_arm                      \
    }

static const struct probe_arm arms[] = {
    ARM("same", "in the kernel's context", NULL, PLACE_SAME, 0),
    ARM("priority", "the same, stream of high priority", "same", PLACE_PRIORITY, 0),
    ARM("green", "a green context each", "same", PLACE_GREEN, 0),
    ARM("second-before", "in a second context, made before", "same", PLACE_BEFORE, 0),
    ARM("second-after", "in a second context, made beside it", "same", PLACE_AFTER, 0),
    ARM("process", "in another process", "same", PLACE_PROCESS, 0),
    ARM("process-mps", "in another process, over MPS", "same", PLACE_PROCESS, PROBE_ARM_OVER_MPS),
};

static const char *const remedies[] = {"same", "process-mps", "green", NULL};

const struct probe probe_context_admission = {
    .name = "context-admission",
    .question = "does a copy within the GPU's memory wait for a kernel of another context?",
    .method =
        "Copies of 1 MiB beside a kernel of 16 blocks, one that fills the GPU, and none. "
        "The time is that from the return of the copy call until the stream is seen to be idle.",
    .metrics = {"copy beside 16 blocks", "copy beside a full GPU", "copy alone", NULL},
    .gpus = 1,
    .rounds = 3,
    .measure_ns = 320 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof arms[0],
    .subject = "second-before",
    .matters_ratio = 1.5,
    .matters_ns = 200 * NS_PER_US,
    .remedy = "copy in a stream of the kernel's own context, in a green context, or in a process "
              "over MPS; contexts of their own take turns",
    .remedies = remedies,
    .infer = {note_slice, note_full},
};
