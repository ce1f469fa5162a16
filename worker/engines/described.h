/*
 * The engine of described workloads: the steps of a job file (job/workload_text.h) on one
 * worker's stream.
 *
 * Launched as graphs, the steps of the GPU between two steps of the host are one graph. At the end
 * of an iteration the host waits for all of it. What comes back is compared with what went in as
 * far as workload_trace_step() knows it, and up to DESCRIBED_CHECKED_INTS of each copy out: in
 * front, where the number of the iteration travels with the data.
 */
#pragma once

#include "worker/engines/engine.h"
#include "worker/engines/sampling.h"

#define DESCRIBED_CHECKED_INTS 1024

extern const struct engine described_engine;

struct described_step {
    struct workload_step step;
    unsigned number; /* of the workload's, which a repeat has several times */
    uint32_t side;   /* of the two buffers, before it */
    /* Of a copy out: where it goes, the same for all times of a repeat, and how many of its ints
     * are what came in plus added. */
    int *host;
    size_t checked;
    uint32_t added;
    /* With launch graph: of the first of a run of GPU steps, which ends before step number end. */
    unsigned end;
    struct worker_graph graph;
};

/* What cache-bound kernels load: a third of the second-level cache. A worker alone finds it there,
 * and one beside others has to wait for memory. */
struct described_set {
    cuda_device_pointer memory; /* 0: no kernel loads */
    unsigned vectors;
};

struct described {
    const struct worker_process *process;
    const struct worker_context *context;
    const struct mix_workload *workload;
    bool graphs, pinned, sync_before_out;
    bool shares_thread; /* with other streams */
    cuda_stream stream;
    cuda_device_pointer sides[2];
    struct described_set set;
    int *host_in;
    int *host_out; /* of all copies out, one behind the other */
    uint64_t in_bytes, out_bytes;
    unsigned serial;
    unsigned next; /* step of this iteration; 0: it begins */
    bool pending;  /* there is work in the stream that was not waited for */
    uint64_t left; /* of a step of the host, of which a part is done at a time */
    unsigned count;
    struct sampling sampling;
    unsigned sampled_from, sampled_to, launched; /* calls in this iteration */
    uint64_t call_ns[SAMPLING_CALLS_MOST];
    /* As an iteration goes through them, repeats unrolled. */
    struct described_step *steps;
};

/* Issues a step of the GPU as often as its count, to run or to capture it. */
enum status described_issue(struct described *described, const struct described_step *step);

/* To be called before a step's kernels are launched in that context. STATUS_INFEASIBLE: the GPU's
 * blocks have less shared memory. */
enum status described_allow_shared(const struct worker_process *process,
                                   const struct worker_context *context,
                                   const struct workload_step *step);

/* Makes what the step's kernels load, if they do and it is not there; the owner of the set frees
 * its memory. */
enum status described_set_open(const struct worker_process *process,
                               const struct workload_step *step, struct described_set *set);

/* One kernel of a step from one side to the other, both of which hold workload_worked_bytes(). */
cuda_result described_launch(const struct worker_process *process,
                             const struct worker_context *context, cuda_stream stream,
                             const struct workload_step *step, const struct described_set *set,
                             cuda_device_pointer from, cuda_device_pointer to);

/* described_open.c */
enum status described_open(const struct worker_process *process,
                           const struct worker_context *context, const struct shm_slot *slot,
                           void **out);
void described_close(void *work);
void described_buffers(const void *work, struct engine_buffer out[ENGINE_BUFFERS]);
