/*
 * What a probe is: an experiment that asks whether one GPU operation delays another on this
 * machine, and what stops it.
 *
 * A probe is a row, struct probe, in a file of its own, and has a line in probes/registry.c. It has
 * arms: ways of doing the same thing, each of which is measured in fresh processes and compared
 * with its control. The orchestrator (orchestrator/probe/) reads rows and runs arms; the program
 * mpsweep-probe calls the function of one arm (probes/main.c), which gets a struct probe_run. The
 * verdict comes from the samples alone (probes/verdict.h).
 *
 * To write one: copy the smallest there is, write down the question, name the arms and their
 * controls, and write the function that measures. It
 *   1. opens what it needs (probe_gpu_open) and allocates everything,
 *   2. calls probe_begin(), which returns when all processes of the arm have come there and the
 *      orchestrator has proved that they are MPS clients, or none,
 *   3. measures for about run->measure_ns, giving each duration to probe_sample(),
 *   4. releases what it has, and returns.
 * Whatever may wait for something else must have a bound: a struct probe_watchdog
 * (probes/watchdog.h) releases it, and the sample counts as blocked. Nothing may stand between the
 * clock readings of a sample but the calls that are measured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "device/driver.h"
#include "probes/shm.h"
#include "probes/verdict.h"

enum probe_arm_flag {
    PROBE_ARM_OVER_MPS = 1, /* its processes are clients of the private daemon */
    PROBE_ARM_EXTRA = 2,    /* runs only where --arms names it, or all */
};

enum { PROBE_NOTES = 3 };

struct probe_run;
struct probe_outcome; /* probes/outcome.h */
struct probe_note;

struct probe_arm {
    const char *name;     /* unique in its probe: lower case, digits, '-' */
    const char *what;     /* the same in a few words, for the table */
    const char *control;  /* name of the arm that it is compared with; NULL: it is a control */
    unsigned flags;       /* enum probe_arm_flag */
    unsigned processes;   /* 0 counts as 1; at most PROBE_PROCESSES */
    unsigned connections; /* hardware queues of each process; 0: the driver's default */
    const char
        *environment;   /* "NAME=value" for its processes, over what they get anyway; or NULL */
    const char *series; /* the curve of the figure that it is a point of, at x; or NULL */
    double x;
    unsigned variant; /* for the function alone, as is */
    uint64_t number;  /* this, bytes or the like */
    /* Called once in each process of the arm, run->process is its number. When that of process
     * 0 has returned, or any has failed, probe_is_over() becomes true in the others.
     * STATUS_UNSUPPORTED: this driver or machine cannot do that, which is not a failure. */
    enum status (*run)(struct probe_run *run);
};

struct probe {
    const char *name;     /* as the command line has it */
    const char *question; /* one sentence */
    const char *method;   /* two or three */
    /* What the durations are, a few words each; the first is what arms are judged by. NULL after
     * the last. */
    const char *metrics[PROBE_METRICS + 1];
    /* A metric that is the same for all arms but for how fast their processes happen to be, which
     * is taken out of the first metric (probe_level() in probes/outcome.h); 0: none. */
    unsigned level_metric;
    /* The metric of the control that the first one of an arm is compared with; 0: the first, too.
     * Then arms can be their own controls. */
    unsigned control_metric;
    const char *xlabel;  /* of the figure, where arms have a series */
    unsigned gpus;       /* how many it needs, at most PROBE_GPUS */
    unsigned rounds;     /* fresh processes for each arm in each; --rounds overrides it */
    uint64_t measure_ns; /* of one arm in one round, about */
    const struct probe_arm *arms;
    size_t arm_count;
    const char *subject; /* the arm that the question is about */
    /* An effect matters that is at least so large in both: as a ratio of medians to the control,
     * and as a difference. */
    double matters_ratio;
    uint64_t matters_ns;
    const char *remedy; /* what to do where it is observed, a sentence */
    /* Arms that are the remedy, ended by NULL: the fastest of those measured gives the gain. */
    const char *const *remedies;
    /* What the verdict of an arm shows to be its limit, a word or two for the record; or NULL.
     * Called in the orchestrator. */
    const char *(*limit)(const struct probe_outcome *outcome, const struct probe_arm *arm,
                         enum probe_verdict verdict);
    /* What infers more from the samples, NULL after the last: makes a note of one sentence. False:
     * it has nothing to note. Called in the orchestrator. */
    bool (*infer[PROBE_NOTES + 1])(const struct probe_outcome *outcome, struct probe_note *note);
};

/* All of them, in the order in which 'all' runs them; ended by NULL. */
extern const struct probe *const probes[];

/* NULL: there is no such probe, or arm. */
const struct probe *probe_find(const char *name);
const struct probe_arm *probe_arm_find(const struct probe *probe, const char *name);

static inline unsigned probe_arm_processes(const struct probe_arm *arm)
{
    return arm->processes ? arm->processes : 1;
}

/* -- for the functions of arms ---------------------------------------------------------------- */

struct probe_run {
    const struct probe *probe;
    const struct probe_arm *arm;
    unsigned process; /* of probe_arm_processes(arm) */
    uint64_t measure_ns;
    uint64_t seed;             /* the same in all processes of a round, another in the next round */
    struct cuda_driver driver; /* loaded and initialised; MPS or its absence is proved */
    struct probe_shm shm;
    int event_fd;
    bool begun;
};

/* A GPU as most arms use it: its primary context, current in the calling thread, and our module. */
struct probe_gpu {
    cuda_device device;
    cuda_context context;
    cuda_module module;
    cuda_function empty, hold; /* kernels/image.h */
};

/* GPU number index of run->probe->gpus. With module false nothing is loaded (module, empty and hold
 * are NULL). To be closed in every case; the context is released then. */
enum status probe_gpu_open(struct probe_run *run, unsigned index, bool module,
                           struct probe_gpu *out);
void probe_gpu_close(struct probe_run *run, struct probe_gpu *gpu);

/* Loads our module once more into the current context: another copy, with functions of its own. */
enum status probe_module_load(const struct probe_run *run, cuda_module *out);

/* Waits until every process of the arm is here and the orchestrator lets them go. To be called
 * exactly once by each. STATUS_INTERRUPTED: there is nothing to measure any more, return. */
enum status probe_begin(struct probe_run *run);

/* Whether to return now: process 0 has, or another has failed, or the time is over. Any thread. */
bool probe_is_over(const struct probe_run *run);

/* One duration of a metric; samples beyond PROBE_SAMPLES of a process are dropped. Any thread, but
 * not between two clock readings. */
void probe_sample(struct probe_run *run, unsigned metric, uint64_t ns);

/* One of a metric that was held until a watchdog let it go. */
void probe_blocked(struct probe_run *run, unsigned metric);

/* Makes a call of the driver, checked: `status = PROBE_CALL(run, mem_alloc, &pointer, bytes)`. */
#define PROBE_CALL(run, field, ...) CUDA_CALL(&(run)->driver, field, __VA_ARGS__)

/* Cycles of the first GPU's clock at its highest rate that take that long. */
enum status probe_cycles(const struct probe_run *run, uint64_t ns, unsigned long long *out);

/* The calls that most arms make, checked: make a context current, make a non-blocking stream, wait
 * for one, allocate on the GPU, launch one thread of a kernel without parameters. */
enum status probe_set_current(const struct probe_run *run, cuda_context context);
enum status probe_new_stream(const struct probe_run *run, cuda_stream *out);
enum status probe_synchronize(const struct probe_run *run, cuda_stream stream);
enum status probe_allocate(const struct probe_run *run, cuda_device_pointer *out, size_t bytes);
enum status probe_launch(const struct probe_run *run, cuda_function function, cuda_stream stream);

/* Destroys a stream, and releases memory of the GPU; either is fine if there is none. */
void probe_destroy_stream(const struct probe_run *run, cuda_stream stream);
void probe_release(const struct probe_run *run, cuda_device_pointer memory);
