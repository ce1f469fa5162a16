/*
 * Workloads that are described in words: the steps of one iteration, in order, on one stream.
 *
 *   copy-in SIZE [count=N]         host memory to the GPU
 *   copy-out SIZE [count=N]        the GPU to host memory
 *   device-copy SIZE [count=N]     within the GPU's memory
 *   kernel [blocks=N] [threads=N] [shared=SIZE] [count=N] and one of
 *          duration=TIME [bound=compute|cache|memory], cycles=N, bytes=SIZE
 *   synchronize                    wait until the GPU has done all before
 *   think TIME, busy TIME          the host sleeps, or uses that CPU time; the GPU goes on
 *   work TURNS                     the host does that many turns, of about a nanosecond each
 *   repeat N, end                  the steps between them are done N times
 *
 * SIZE has K, M or G, or KiB, MiB or GiB, for powers of 1024, TIME has ns, us, ms or s; '#' begins
 * a comment. The manual page mpsweep-workload(5) is the reference for users.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define WORKLOAD_STEPS 256     /* of a workload, and of all workloads of a mix together */
#define WORKLOAD_NAME_BYTES 32 /* with the NUL */
#define WORKLOAD_STEP_TEXT 128
#define WORKLOAD_DEPTH 4              /* of repeats, one within the other */
#define WORKLOAD_UNROLLED_MOST 100000 /* steps that an iteration goes through, */
#define WORKLOAD_CALLS_MOST 6400000   /* and with their counts */

/* What the grammar takes (docs/mpsweep-workload.5). The most shared memory is that of a block of
 * compute capability 9.0 to 10.3. */
#define WORKLOAD_SIZE_MULTIPLE 16
#define WORKLOAD_BLOCKS_MOST 1000000
#define WORKLOAD_THREADS_MOST 1024
#define WORKLOAD_SHARED_MOST (227 * 1024)
#define WORKLOAD_KERNEL_NS_LEAST UINT64_C(1000)
#define WORKLOAD_KERNEL_NS_MOST UINT64_C(1000000000)
#define WORKLOAD_HOST_NS_MOST UINT64_C(10000000000)
#define WORKLOAD_TURNS_MOST UINT64_C(10000000000)

enum step_kind {
    STEP_COPY_IN,
    STEP_COPY_OUT,
    STEP_DEVICE_COPY,
    STEP_COMPUTE, /* kernels: bound by arithmetic, */
    STEP_CACHE,   /* by the latency of the second-level cache, */
    STEP_MEMORY,  /* by the GPU's memory, */
    STEP_CYCLES,  /* and by the clock */
    STEP_SYNCHRONIZE,
    STEP_THINK,
    STEP_BUSY,
    STEP_WORK,
    STEP_REPEAT, /* marks: what is up to the end of it is done so often as amount has it */
    STEP_END,
};

/* Plain data, without padding: it lies in shared memory, and is compared byte by byte. */
struct workload_step {
    uint32_t kind;            /* enum step_kind */
    uint32_t count;           /* so often in a row */
    uint32_t blocks, threads; /* of a kernel: its grid, and GPU threads of a block */
    /* Bytes of a copy; bytes that a memory-bound kernel reads, and then writes; steps of the chain
     * of a compute-bound one, and of a cache-bound one, some of which are a load; GPU clock cycles;
     * nanoseconds of the host, or turns of its work; times of a repeat. 0 where asked_ns is not
     * and the GPU has not been asked yet what it takes. */
    uint64_t amount;
    uint64_t asked_ns; /* how long one such kernel is to take, 0: the amount was given */
    uint32_t shared;   /* of a kernel: bytes of shared memory of a block */
    uint32_t reserved; /* 0 */
};

enum workload_check { WORKLOAD_CHECK_POSSIBLE, WORKLOAD_CHECK_YES, WORKLOAD_CHECK_NO };

struct workload {
    char name[WORKLOAD_NAME_BYTES];
    struct workload_step steps[WORKLOAD_STEPS];
    unsigned count;
    enum workload_check check;
};

/* STATUS_USAGE with one line that names what would be right, from all of these. */

/* Letters, digits, '-' and '_'; no name of a built-in workload. Sets an empty workload. */
enum status workload_begin(const char *name, struct workload *out);

/* Adds the step that a text describes. */
enum status workload_add_step(struct workload *workload, const char *text);

/* "yes" or "no"; without it the output is checked where it can be. */
enum status workload_set_check(struct workload *workload, const char *text);

/* Whether all steps together make sense. */
enum status workload_end(const struct workload *workload);

/* What a kernel of a duration is bound by, as bound=; empty of any other step. */
const char *workload_bound_name(uint32_t kind);

/* The step as one would write it; defaults are left out. Returns out. */
const char *workload_step_text(const struct workload_step *step, char out[WORKLOAD_STEP_TEXT]);

/* Whether the host does it, and not the GPU; also of a mark. */
bool workload_step_is_host(const struct workload_step *step);
bool workload_step_is_kernel(const struct workload_step *step);
bool workload_step_is_mark(const struct workload_step *step);

/*
 * The steps of an iteration in the order in which a worker does them: those of a repeat as often as
 * it has them, and no marks. A walk begins with its steps and their count, and the rest 0.
 */
struct workload_walk {
    const struct workload_step *steps;
    unsigned count, at, depth;
    struct {
        unsigned begin;
        uint64_t left;
    } repeats[WORKLOAD_DEPTH];
};
/* The number of the next step; false: the iteration is over. */
bool workload_walk_next(struct workload_walk *walk, unsigned *number);

/* How often an iteration does step number `which`, its count and all repeats included. */
uint64_t workload_step_times(const struct workload_step *steps, unsigned which);

/*
 * What is known of the data as it goes through the steps: each iteration starts on side 0 of two
 * buffers, copies in and out are of the current side, kernels and device copies take the current
 * side to the other one, and a kernel adds 1 to what it works on. A kernel of cycles leaves all as
 * it is.
 */
struct workload_trace {
    uint64_t known_bytes; /* from the begin of the current side: what came in, plus `added` */
    uint32_t added;
    uint32_t side;
};

/* One execution of a step, not all of its count. */
void workload_trace_step(struct workload_trace *trace, const struct workload_step *step);

/* Bytes that one kernel works on, of either side: what a compute-bound one touches is as good as
 * nothing, and a memory-bound one goes round a buffer beyond any cache. Other steps: 0. */
uint64_t workload_worked_bytes(const struct workload_step *step);

/* Whether any of the steps brings something back that is known: what the checks rely on. */
bool workload_can_check(const struct workload_step *steps, unsigned count);
