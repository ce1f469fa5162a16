/*
 * The interface of a workload plug-in for mpsweep: your own unit of work, measured in every layout.
 * Plain C; C++ and CUDA C++ take it, too. It needs no header of CUDA.
 *
 * A plug-in is a shared object that exports one symbol, mpsweep_workload, a struct of callbacks:
 *
 *     const struct mpsweep_workload mpsweep_workload = {
 *         MPSWEEP_WORKLOAD_ABI, sizeof(struct mpsweep_workload),
 *         describe, init, iterate, check, fini, completed,
 *     };
 *
 *     cc -O2 -shared -fPIC -o mine.so mine.c
 *     mpsweep sweep --workload ./mine.so --workload-options 'n=4096'
 *
 * examples/plugin/skeleton.c is one to copy.
 *
 * WORDS  A worker is one CUDA stream with one iteration in flight. A thread has S of them: one that
 * it waits for, or several that it polls (--streams). P processes have T threads each. An instance
 * is what a plug-in makes for one worker. An iteration is one unit of work.
 *
 * PROCESSES  The file is loaded (RTLD_NOW | RTLD_LOCAL) once by each worker process, and never
 * unloaded. It is loaded once more, before anything is measured, by a process without a GPU that
 * only calls describe. A process may serve several points one after the other: its instances are
 * then ended, and others made. Static variables are shared by the T x S workers of a process, and
 * by the instances that follow; variables of a thread by its S workers.
 *
 * ORDER OF CALLS  describe; then for each worker init, iterate, completed and check in turns, fini.
 * All calls for one instance come from one thread, never two at a time. fini is called once for
 * each init that succeeded, also after another callback failed, and not after an init that failed,
 * which must release what it had made. Instances of a process are made, run and ended beside each
 * other by its T threads: that takes MPSWEEP_WORKLOAD_THREAD_SAFE.
 *
 * STREAMS  With several streams a thread, the thread calls iterate for one instance while the work
 * of others is on the GPU, and the next callback for whichever has ended first. That takes
 * MPSWEEP_WORKLOAD_STREAM_SAFE: instances of one thread do not meet, and no callback between init
 * and fini waits, for all the others would wait with it. An iteration that needs the host on its
 * way has completed, which is called when what was enqueued has ended, and may enqueue more.
 *
 * CUDA  The device's primary context is current in every call but describe, and must be so when it
 * returns. It is the one that the CUDA runtime and its libraries use: cudaMalloc, cuBLAS, cuFFT
 * work, on device 0. The stream is a non-blocking one. Work on other streams is not waited for
 * unless the worker's own stream waits for it.
 *
 * WHAT IS TIMED  An iteration is iterate, which enqueues, mpsweep's wait for the stream
 * (cuStreamSynchronize, or cuStreamQuery with several streams), and completed where there is one.
 * Latency is from the call of iterate to the end of that; the phase "launch" is the time in iterate
 * and completed, "sync" the rest. check comes after that moment: it counts in the throughput and
 * not in the latency. init and fini are not timed. Before the start a few iterations are run that
 * count nowhere; so lazy initialisation does not count.
 *
 * GRAPHS  With --launch graph, iterate is called once without capture and checked, then once while
 * the stream is captured, and then not again: an iteration is a launch of that graph, and what
 * completed enqueues after it. That takes MPSWEEP_WORKLOAD_GRAPH_SAFE: iterate only enqueues,
 * always the same work on the same addresses.
 *
 * ERRORS  A callback that returns an int gives 0 for success; anything else fails the point, and
 * the sweep goes on with the next one. mpsweep_host.fail gives the reason. A crash, a hang, an exit
 * of the process fails the point, too.
 *
 * VERSIONS  abi comes first and stays first. What is added later goes to the end of a struct, whose
 * size shows what is there; abi is raised when anything else changes.
 */
#ifndef MPSWEEP_WORKLOAD_H
#define MPSWEEP_WORKLOAD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPSWEEP_WORKLOAD_ABI 1

/* Capabilities, as bits. */
enum {
    MPSWEEP_WORKLOAD_GRAPH_SAFE = 1,  /* iterate may be captured into a CUDA graph */
    MPSWEEP_WORKLOAD_THREAD_SAFE = 2, /* several threads of one process may have instances */
    MPSWEEP_WORKLOAD_CHECKS = 4,      /* check looks at the result; without it, it is not called */
    MPSWEEP_WORKLOAD_STREAM_SAFE = 8  /* several instances may live in one thread: none waits */
};

/* What describe reports. mpsweep zeroes it and sets size; the texts are the plug-in's, in static
 * storage. */
struct mpsweep_description {
    uint32_t size;         /* bytes that mpsweep knows of this struct; write no more */
    uint32_t capabilities; /* the bits above */
    const char *name;      /* up to 63 printable ASCII characters, not empty; shown in results */
    const char *version;   /* the same, of the plug-in itself, as "1.2"; NULL: none */
    const char *error;     /* where describe fails: why, one line of up to 159 characters */
};

struct mpsweep_worker;

/* What mpsweep does for a plug-in. Callable from any thread between the begin of init and the end
 * of fini, log not within iterate. */
struct mpsweep_host {
    uint32_t size;

    /* One line for the user, on mpsweep's standard error; printf's format, up to 511 characters;
     * what is not printable ASCII becomes '?'. Not within iterate. */
    void (*log)(const struct mpsweep_worker *worker, const char *format, ...);

    /* Reports why a callback fails, which then returns non-zero; printf's format, one line, up to
     * 159 characters. Returns 1, for: return host->fail(...). With cuda_error, a CUresult or a
     * cudaError_t, its name and text are added, and an init that fails for want of memory makes the
     * point infeasible instead of failed; 0: it is not CUDA's. Of several calls the first counts,
     * and none of an init that succeeds.
     */
    int (*fail)(const struct mpsweep_worker *worker, int cuda_error, const char *format, ...);

    /* The entry point of the CUDA driver that mpsweep itself uses, by its exported name, such as
     * "cuMemcpyHtoDAsync_v2"; NULL if it has none. It is valid until fini has returned. A plug-in
     * may link with CUDA instead; with this it needs no toolkit, and runs on the emulated GPU, too.
     */
    void *(*cuda_symbol)(const struct mpsweep_worker *worker, const char *name);
};

/* What an instance is made for. mpsweep's, valid until fini has returned; it does not change. */
struct mpsweep_worker {
    uint32_t size;
    uint32_t process, processes;     /* which of how many, from 0 */
    uint32_t thread, threads;        /* of its process */
    uint32_t graph;                  /* 1: with --launch graph */
    const struct mpsweep_host *host; /* never NULL */
    const char *options;             /* text of --workload-options as given, "" without */
    void *context;                   /* CUcontext: the primary one, current */
    void *stream;                    /* CUstream, cudaStream_t: the worker's own */
    uint32_t index, streams;         /* of its thread: which of its streams, from 0, of how many */
};

/* The size of a struct covers all of its fields up to fini, or more that are newer. */
struct mpsweep_workload {
    uint32_t abi;  /* MPSWEEP_WORKLOAD_ABI */
    uint32_t size; /* sizeof(struct mpsweep_workload) */

    /* Required. What it is and can do with these options, the text of --workload-options, ""
     * without. Where they are wrong, it sets error and returns non-zero: the sweep does not begin.
     * No GPU, no context; it comes before any init, in each process, and gives the same answer
     * every time. */
    int (*describe)(const char *options, struct mpsweep_description *out);

    /* Required. Makes an instance: memory, handles, plans, input. *instance is the plug-in's own;
     * it may stay NULL, and is handed to the other callbacks. May wait for the GPU. */
    int (*init)(const struct mpsweep_worker *worker, void **instance);

    /* Required. Enqueues one iteration on the worker's stream, and returns without waiting for it.
     * It may wait, where the work needs that; it is then neither graph-safe nor stream-safe. */
    int (*iterate)(void *instance);

    /* With MPSWEEP_WORKLOAD_CHECKS: whether the result of the iteration that has just ended is
     * right; non-zero: it is wrong. The stream is idle. Keep it cheap: it takes no GPU time,
     * but the next iteration begins after it. */
    int (*check)(void *instance);

    /* Required. Releases everything that init made. The stream is idle, or its work has failed. */
    void (*fini)(void *instance);

    /* NULL: there is nothing to do. What iterate, or this, has enqueued has ended, and the stream
     * is idle: what the host does with the result, such as sending a reply, counts in the latency.
     * Where the iteration goes on, it enqueues more, sets *more, which is 0, to 1, and is called
     * again after that. Does not wait. */
    int (*completed)(void *instance, int *more);
};

/* The plug-in's own. Declared here so that its definition has the right name and visibility. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct mpsweep_workload mpsweep_workload;

#ifdef __cplusplus
}
#endif

#endif
