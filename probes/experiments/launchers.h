/*
 * Workers that launch kernels: threads of a process, each with a stream of its own, where wanted
 * with a context of its own, or a graph in the place of single launches.
 *
 * launchers_run() is the whole function of an arm. It opens all workers, starts their threads,
 * which prepare, lets them measure once the arm begins, and closes them when all have ended.
 */
#pragma once

#include <pthread.h>

#include "probes/probe.h"

#define LAUNCHERS_MOST 48

enum launchers_kind { LAUNCHERS_STREAMS, LAUNCHERS_CONTEXTS, LAUNCHERS_GRAPHS };

struct launchers;

struct launcher {
    struct launchers *all;
    unsigned index;       /* of the options' count */
    cuda_context context; /* an own one, or NULL */
    cuda_module module;
    cuda_function kernel;
    cuda_stream stream;
    cuda_graph graph;
    cuda_graph_exec exec; /* of LAUNCHERS_GRAPHS, else NULL */
    pthread_t thread;
    bool started;
    enum status status; /* of the thread, once it has ended, with */
    char error[256];
};

struct launchers_options {
    enum launchers_kind kind;
    unsigned count;         /* at most LAUNCHERS_MOST */
    const char *kernel;     /* kernels/image.h; one block of 32 threads */
    void **parameters;      /* of the kernel, or NULL; must live as long as the run */
    unsigned graph_kernels; /* in a graph of LAUNCHERS_GRAPHS */
    /* In the worker's thread, its context current: before the arm begins, and after. What fails in
     * one worker ends the arm. */
    enum status (*prepare)(struct launcher *launcher);
    enum status (*measure)(struct launcher *launcher);
    /* Releases what prepare made, its context current; all threads have ended. May be NULL; called
     * for workers that have not prepared, too. */
    void (*close)(struct launcher *launcher);
    void *data; /* theirs */
};

struct launchers {
    struct probe_run *run;
    const struct launchers_options *options;
    struct probe_gpu gpu;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned ready; /* under the lock, as the next */
    enum { START_WAIT, START_GO, START_QUIT } start;
    struct launcher each[LAUNCHERS_MOST];
};

/* Runs the arm, as above. Errors are those of the first launcher that failed. */
enum status launchers_run(struct probe_run *run, const struct launchers_options *options);

/* One launch: of a kernel, or of the graph. */
cuda_result launcher_launch(const struct launcher *launcher);
