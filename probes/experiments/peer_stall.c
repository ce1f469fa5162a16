/*
 * Does a copy to another GPU, queued behind a kernel, hold up copies of other streams?
 *
 * Without peer access the driver stages such a copy through host memory, and the thread that
 * submits it takes part. Stream A gets a kernel and a copy, stream B a second copy, which has
 * nothing to wait for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "probes/experiments/holder.h"
#include "probes/outcome.h"
#include "probes/rows.h"
#include "probes/experiments/staging.h"

#define COPY_BYTES ((size_t)8 << 20)
#define LARGE_BYTES ((size_t)64 << 20)
#define CHUNK_BYTES ((size_t)2 << 20)

#define KERNEL_NS (20 * NS_PER_MS)
#define DONE_NS (10 * NS_PER_S)
#define LARGE_COPIES 5
#define LEAST_SAMPLES 5

enum way {
    WAY_ALONE,   /* the second copy only */
    WAY_DRIVER,  /* as the driver does it without peer access */
    WAY_PEER,    /* with peer access */
    WAY_STAGED,  /* the first copy out to the host, and then in: the second by the driver */
    WAY_CHUNKED, /* both in chunks through the host */
    WAY_LATE,    /* the first copy is submitted when its stream is idle */
};

enum metric { METRIC_SECOND, METRIC_SUBMIT_FIRST, METRIC_SUBMIT_SECOND, METRIC_LARGE };
enum { FIRST, SECOND, COPIES };

struct pair {
    struct probe_run *run;
    enum way way;
    struct probe_gpu sender, receiver;
    cuda_stream streams[COPIES];                  /* on the sender */
    cuda_device_pointer from[COPIES], to[COPIES]; /* LARGE_BYTES each */
    struct staging staging[COPIES];
    struct probe_holder holder;
};

static enum status enable_access(struct pair *pair)
{
    struct probe_run *run = pair->run;
    struct probe_gpu *gpus[] = {&pair->receiver, &pair->sender};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        struct probe_gpu *own = gpus[i], *other = gpus[1 - i];
        int can = 0;
        status = PROBE_CALL(run, device_can_access_peer, &can, own->device, other->device);
        if (status == STATUS_OK && !can)
            return status_set(STATUS_UNSUPPORTED,
                              "the two GPUs cannot reach each other's memory on this machine");
        if (status == STATUS_OK)
            status = probe_set_current(run, own->context);
        if (status == STATUS_OK)
            status = PROBE_CALL(run, ctx_enable_peer_access, other->context, 0);
    }
    return status;
}

static bool is_staged(const struct pair *pair, int which)
{
    return pair->way == WAY_CHUNKED || (pair->way == WAY_STAGED && which == FIRST);
}

static enum status submit(struct pair *pair, int which, size_t bytes)
{
    struct probe_run *run = pair->run;
    if (is_staged(pair, which))
        return staging_copy(&pair->staging[which], pair->to[which], pair->from[which], bytes,
                            pair->streams[which]);
    return PROBE_CALL(run, memcpy_peer_async, pair->to[which], pair->receiver.context,
                      pair->from[which], pair->sender.context, bytes, pair->streams[which]);
}

/* Asks a stream until it is idle. */
static enum status await_idle(struct pair *pair, int which)
{
    const struct cuda_driver *driver = &pair->run->driver;
    uint64_t deadline_ns = clock_now_ns() + DONE_NS;
    cuda_result result;
    while ((result = driver->stream_query(pair->streams[which])) == CUDA_NOT_READY) {
        if (clock_now_ns() > deadline_ns)
            return status_set(STATUS_TIMEOUT, "a copy was not done within %d s",
                              (int)(DONE_NS / NS_PER_S));
    }
    return cuda_check(driver, result, "cuStreamQuery");
}

/* -- what is needed ---------------------------------------------------------------------------- */

/* With the sender's context current, and again. */
static enum status open_copy(struct pair *pair, int which)
{
    struct probe_run *run = pair->run;
    enum status status = probe_new_stream(run, &pair->streams[which]);
    if (status == STATUS_OK)
        status = probe_allocate(run, &pair->from[which], LARGE_BYTES);
    if (status == STATUS_OK)
        status = probe_set_current(run, pair->receiver.context);
    if (status == STATUS_OK)
        status = probe_allocate(run, &pair->to[which], LARGE_BYTES);
    if (status == STATUS_OK)
        status = probe_set_current(run, pair->sender.context);
    if (status == STATUS_OK && is_staged(pair, which))
        status = staging_open(run, pair->sender.context, pair->receiver.context,
                              pair->way == WAY_CHUNKED ? CHUNK_BYTES : LARGE_BYTES, LARGE_BYTES,
                              &pair->staging[which]);
    return status;
}

/* Copies once in the way of the arm, and compares what has arrived: nothing is measured that does
 * not do its work. */
static enum status prove_copy(struct pair *pair, int which)
{
    struct probe_run *run = pair->run;
    const size_t words = COPY_BYTES / sizeof(uint32_t);
    uint32_t *sent = malloc(COPY_BYTES), *got = calloc(words, sizeof *got);
    enum status status = sent && got ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < words && status == STATUS_OK; i++)
        sent[i] = (uint32_t)(i * 2654435761u) + (uint32_t)which;
    if (status == STATUS_OK)
        status = PROBE_CALL(run, memcpy_htod_async, pair->from[which], sent, COPY_BYTES,
                            pair->streams[which]);
    if (status == STATUS_OK)
        status = submit(pair, which, COPY_BYTES);
    if (status == STATUS_OK)
        status = await_idle(pair, which);
    if (status == STATUS_OK)
        status = probe_set_current(run, pair->receiver.context);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, memcpy_dtoh_async, got, pair->to[which], COPY_BYTES, NULL);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, ctx_synchronize);
    if (status == STATUS_OK)
        status = probe_set_current(run, pair->sender.context);
    if (status == STATUS_OK && memcmp(sent, got, COPY_BYTES) != 0)
        status = status_set(STATUS_WORKER, "copy %d brought other bytes than were sent", which + 1);
    free(sent);
    free(got);
    return status;
}

static enum status open_pair(struct pair *pair)
{
    struct probe_run *run = pair->run;
    enum status status = probe_gpu_open(run, 1, false, &pair->receiver);
    if (status == STATUS_OK)
        status = probe_gpu_open(run, 0, true, &pair->sender);
    if (status == STATUS_OK && pair->way == WAY_PEER)
        status = enable_access(pair);
    for (int which = 0; which < COPIES && status == STATUS_OK; which++) {
        status = open_copy(pair, which);
        if (status == STATUS_OK)
            status = prove_copy(pair, which);
    }
    return status == STATUS_OK ? probe_holder_open(run, pair->sender.context, pair->sender.hold,
                                                   pair->streams[FIRST], &pair->holder)
                               : status;
}

static void close_pair(struct pair *pair)
{
    const struct cuda_driver *driver = &pair->run->driver;
    /* The samples are given already: errors change nothing. */
    probe_holder_close(&pair->holder);
    for (int which = 0; which < COPIES; which++) {
        staging_close(&pair->staging[which]);
        if (pair->sender.context)
            driver->ctx_set_current(pair->sender.context);
        probe_destroy_stream(pair->run, pair->streams[which]);
        probe_release(pair->run, pair->from[which]);
        if (pair->receiver.context)
            driver->ctx_set_current(pair->receiver.context);
        probe_release(pair->run, pair->to[which]);
    }
    probe_gpu_close(pair->run, &pair->sender);
    probe_gpu_close(pair->run, &pair->receiver);
}

/* -- what is measured -------------------------------------------------------------------------- */

static enum status time_second(struct pair *pair)
{
    struct probe_run *run = pair->run;
    bool has_kernel = pair->way != WAY_ALONE, late = pair->way == WAY_LATE;
    uint64_t begin_ns = clock_now_ns();
    enum status status =
        has_kernel ? probe_holder_launch(&pair->holder, 1, 32, KERNEL_NS) : STATUS_OK;
    uint64_t first_ns = clock_now_ns();
    if (status == STATUS_OK && has_kernel && !late)
        status = submit(pair, FIRST, COPY_BYTES);
    uint64_t second_ns = clock_now_ns();
    if (status == STATUS_OK)
        status = submit(pair, SECOND, COPY_BYTES);
    uint64_t submitted_ns = clock_now_ns();
    if (status == STATUS_OK)
        status = await_idle(pair, SECOND);
    uint64_t done_ns = clock_now_ns();
    if (status != STATUS_OK)
        return status;
    probe_sample(run, METRIC_SECOND, done_ns - begin_ns);
    probe_sample(run, METRIC_SUBMIT_SECOND, submitted_ns - second_ns);
    status = await_idle(pair, FIRST);
    if (status == STATUS_OK && late) {
        first_ns = clock_now_ns();
        status = submit(pair, FIRST, COPY_BYTES);
        second_ns = clock_now_ns();
    }
    if (status == STATUS_OK && has_kernel)
        probe_sample(run, METRIC_SUBMIT_FIRST, second_ns - first_ns);
    pair->holder.running = false;
    return status == STATUS_OK ? await_idle(pair, FIRST) : status;
}

/* By the way of the first copy. */
static enum status time_large(struct pair *pair)
{
    enum status status = STATUS_OK;
    for (int i = 0; i <= LARGE_COPIES && status == STATUS_OK; i++) {
        uint64_t begin_ns = clock_now_ns();
        status = submit(pair, FIRST, LARGE_BYTES);
        if (status == STATUS_OK)
            status = await_idle(pair, FIRST);
        uint64_t done_ns = clock_now_ns();
        /* The first may do what later ones need not. */
        if (status == STATUS_OK && i > 0)
            probe_sample(pair->run, METRIC_LARGE, done_ns - begin_ns);
    }
    return status;
}

static enum status run_arm(struct probe_run *run)
{
    struct pair pair = {.run = run, .way = (enum way)run->arm->variant};
    enum status status = open_pair(&pair);
    if (status == STATUS_OK)
        status = probe_begin(run);
    uint64_t until_ns = clock_now_ns() + run->measure_ns;
    for (unsigned n = 0; status == STATUS_OK && !probe_is_over(run) &&
                         (n < LEAST_SAMPLES || clock_now_ns() < until_ns);
         n++)
        status = time_second(&pair);
    if (status == STATUS_OK && pair.way != WAY_ALONE && pair.way != WAY_LATE)
        status = time_large(&pair);
    close_pair(&pair);
    return status;
}

/* -- notes ------------------------------------------------------------------------------------- */

static bool note_rates(const struct probe_outcome *outcome, struct probe_note *note)
{
    static const char *const names[][2] = {{"peer-off", "the driver's own staging"},
                                           {"staged", "out and then in"},
                                           {"chunked", "in chunks"},
                                           {"peer-on", "peer access"}};
    struct text text = {.at = note->text, .size = sizeof note->text};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double us = probe_outcome_median_us(outcome, names[i][0], METRIC_LARGE);
        if (us > 0)
            text_append(&text, "%s %s %.3g GB/s",
                        text.length ? "," : "a copy of 64 MiB, alone:", names[i][1],
                        (double)LARGE_BYTES / us / 1e3);
    }
    return text.length > 0;
}

static bool note_call(const struct probe_outcome *outcome, struct probe_note *note)
{
    double off = probe_outcome_median_us(outcome, "peer-off", METRIC_SUBMIT_FIRST);
    if (!(off > 1e3))
        return false;
    snprintf(note->text, sizeof note->text,
             "the call that queues the first copy keeps its thread for %.3g ms, about as long as "
             "the kernel takes (%d ms)",
             off / 1e3, (int)(KERNEL_NS / NS_PER_MS));
    return true;
}

#define ARM(given_name, given_what, given_control, given_variant)                                  \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .variant = (given_variant), .run = run_arm                                                 \
    }

static const struct probe_arm arms[] = {
    ARM("alone", "the second copy alone", NULL, WAY_ALONE),
    ARM("peer-off", "both by the driver, without peer access", "alone", WAY_DRIVER),
    ARM("peer-on", "both by the driver, with peer access", "alone", WAY_PEER),
    ARM("staged", "the first out to pinned memory, then in", "alone", WAY_STAGED),
    ARM("chunked", "both in chunks through pinned memory", "alone", WAY_CHUNKED),
    ARM("delayed", "the first not before its stream is idle", "alone", WAY_LATE),
};

static const char *const remedies[] = {"peer-on", "chunked", "staged", "delayed", NULL};

const struct probe probe_peer_stall = {
    .name = "peer-stall",
    .question =
        "does a copy to another GPU, queued behind a kernel, hold up another stream's copy?",
    .method =
        "Stream A gets a kernel of 20 ms and a copy of 8 MiB to the second GPU, stream B such a "
        "copy, too. The time is that from the kernel's launch until stream B's copy is done.",
    .metrics = {"second copy done", "first copy's call", "second copy's call",
                "64 MiB copied alone", NULL},
    .gpus = 2,
    .rounds = 3,
    .measure_ns = 300 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof arms[0],
    .subject = "peer-off",
    .matters_ratio = 2.0,
    .matters_ns = 5 * NS_PER_MS,
    .remedy = "enable peer access where the machine allows it; elsewhere copy in chunks through "
              "pinned memory, tied together by events, or submit a copy when its stream is idle",
    .remedies = remedies,
    .infer = {note_rates, note_call},
};
