#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "worker/engines/buffers.h"
#include "worker/engines/described.h"

/* Follows the data through the steps. Returns the bytes of a side, and of all copies in and out. */
static void lay_out(struct described *described, uint64_t *side, uint64_t *in, uint64_t *out)
{
    struct workload_trace trace = {0};
    struct described_step *before[WORKLOAD_STEPS] = {0};
    unsigned kernels = 0;
    *side = *in = *out = 0;
    for (unsigned i = 0; i < described->count; i++) {
        struct described_step *at = &described->steps[i];
        const struct workload_step *step = &at->step;
        bool copies = !workload_step_is_host(step) && !workload_step_is_kernel(step);
        uint64_t bytes = copies ? step->amount : workload_worked_bytes(step);
        if (bytes > *side)
            *side = bytes;
        if (step->kind == STEP_COPY_IN && bytes > *in)
            *in = bytes;
        at->side = trace.side;
        if (step->kind == STEP_COPY_OUT) {
            uint64_t known = trace.known_bytes < bytes ? trace.known_bytes : bytes;
            at->checked = known / sizeof(int);
            if (at->checked > DESCRIBED_CHECKED_INTS)
                at->checked = DESCRIBED_CHECKED_INTS;
            if (described->workload->check == WORKLOAD_CHECK_NO)
                at->checked = 0;
            at->added = trace.added;
            /* What an earlier time of a repeat has brought is overwritten. */
            if (before[at->number])
                before[at->number]->checked = 0;
            else
                *out += bytes;
            before[at->number] = at;
        }
        if (workload_step_is_kernel(step))
            kernels += step->count;
        for (uint32_t n = 0; n < step->count; n++)
            workload_trace_step(&trace, step);
    }
    sampling_init(&described->sampling, described->graphs ? 1 : kernels,
                  sampling_measure_cost_ns());
}

static enum status alloc_all(struct described *described)
{
    uint64_t side, in, out;
    lay_out(described, &side, &in, &out);
    described->in_bytes = in;
    described->out_bytes = out;
    enum status status = worker_buffer_new(described->process, in, &described->host_in);
    if (status == STATUS_OK)
        status = worker_buffer_new(described->process, out, &described->host_out);
    for (int i = 0; i < 2 && status == STATUS_OK && side > 0; i++)
        status =
            CUDA_CALL(&described->process->driver, mem_alloc, &described->sides[i], (size_t)side);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < in / sizeof(int) && i < DESCRIBED_CHECKED_INTS; i++)
        described->host_in[i] = (int)i;
    int *host = described->host_out, *of_step[WORKLOAD_STEPS] = {0};
    for (unsigned i = 0; i < described->count; i++) {
        struct described_step *at = &described->steps[i];
        if (at->step.kind != STEP_COPY_OUT)
            continue;
        if (!of_step[at->number]) {
            of_step[at->number] = host;
            host += at->step.amount / sizeof(int);
        }
        at->host = of_step[at->number];
    }
    return STATUS_OK;
}

static enum status capture(struct described *described, struct described_step *first)
{
    enum status status = worker_graph_begin(described->process, described->stream);
    if (status != STATUS_OK)
        return status;
    for (const struct described_step *at = first;
         at < described->steps + first->end && status == STATUS_OK; at++)
        status = described_issue(described, at);
    return worker_graph_end(described->process, described->stream, status, &first->graph);
}

static enum status capture_all(struct described *described)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < described->count && status == STATUS_OK;) {
        struct described_step *first = &described->steps[i++];
        if (workload_step_is_host(&first->step))
            continue;
        while (i < described->count && !workload_step_is_host(&described->steps[i].step))
            i++;
        first->end = i;
        status = capture(described, first);
    }
    return status;
}

static enum status unroll(struct described *described, const struct workload_step *steps)
{
    const struct workload_walk begin = {.steps = steps, .count = described->workload->count};
    struct workload_walk walk = begin;
    unsigned count = 0, number;
    while (count <= WORKLOAD_UNROLLED_MOST && workload_walk_next(&walk, &number))
        count++;
    if (count > WORKLOAD_UNROLLED_MOST)
        return status_set(STATUS_PROTOCOL, "a workload goes through more than %d steps",
                          WORKLOAD_UNROLLED_MOST);
    described->steps = calloc(count ? count : 1, sizeof *described->steps);
    if (!described->steps)
        return status_set(STATUS_MEMORY, "out of host memory");
    described->count = count;
    walk = begin;
    for (struct described_step *at = described->steps; workload_walk_next(&walk, &number); at++) {
        at->step = steps[number];
        at->number = number;
    }
    return STATUS_OK;
}

enum status described_open(const struct worker_process *process,
                           const struct worker_context *context, const struct shm_slot *slot,
                           void **out)
{
    const struct shm_settings *settings = &process->shm.header->settings;
    if (slot->workload >= settings->mix.count || settings->mix.count > MIX_MOST)
        return status_set(STATUS_PROTOCOL, "a worker was given workload %u of %u", slot->workload,
                          settings->mix.count);
    const struct mix_workload *workload = &settings->mix.workloads[slot->workload];
    if (workload->first > WORKLOAD_STEPS || workload->count > WORKLOAD_STEPS - workload->first)
        return status_set(STATUS_PROTOCOL, "a workload has %u steps", workload->count);
    struct described *described = calloc(1, sizeof *described);
    if (!described)
        return status_set(STATUS_MEMORY, "out of host memory");
    described->process = process;
    described->context = context;
    described->workload = workload;
    described->graphs = settings->launch == LAUNCH_GRAPH;
    described->shares_thread = shm_streams(process->shm.header) > 1;
    described->pinned = settings->memory == MEMORY_PINNED;
    described->sync_before_out =
        !described->pinned && !described->graphs && settings->sync == SYNC_STREAM;
    clock_sleep_exactly();
    enum status status = unroll(described, &settings->mix.steps[workload->first]);
    if (status == STATUS_OK)
        status = CUDA_CALL(&process->driver, stream_create, &described->stream,
                           CUDA_STREAM_NON_BLOCKING);
    for (unsigned i = 0; i < described->count && status == STATUS_OK; i++)
        status = described_allow_shared(process, context, &described->steps[i].step);
    for (unsigned i = 0; i < described->count && status == STATUS_OK; i++)
        status = described_set_open(process, &described->steps[i].step, &described->set);
    if (status == STATUS_OK)
        status = alloc_all(described);
    if (status == STATUS_OK && described->graphs)
        status = capture_all(described);
    if (status != STATUS_OK) {
        described_close(described);
        return status;
    }
    *out = described;
    return STATUS_OK;
}

void described_buffers(const void *work, struct engine_buffer out[ENGINE_BUFFERS])
{
    const struct described *described = work;
    out[0] = (struct engine_buffer){described->host_in, (size_t)described->in_bytes};
    out[1] = (struct engine_buffer){described->host_out, (size_t)described->out_bytes};
}

void described_close(void *work)
{
    struct described *described = work;
    const struct cuda_driver *driver = &described->process->driver;
    for (unsigned i = 0; i < described->count; i++)
        worker_graph_free(described->process, &described->steps[i].graph);
    for (int i = 0; i < 2; i++)
        if (described->sides[i])
            driver->mem_free(described->sides[i]);
    if (described->set.memory)
        driver->mem_free(described->set.memory);
    worker_buffer_free(described->process, described->host_in, described->in_bytes);
    worker_buffer_free(described->process, described->host_out, described->out_bytes);
    if (described->stream)
        driver->stream_destroy(described->stream);
    free(described->steps);
    free(described);
}
