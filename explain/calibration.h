/*
 * What a GPU, its driver and this machine can do for one kind of iteration, each figure measured by
 * a run in which nothing else can be the limit. All ceilings of a point are computed from these
 * (explain/ceilings.h); nothing here is assumed or taken from a data sheet.
 *
 * Rates are per second. A figure of 0 was not measured, and no ceiling is made from it.
 */
#pragma once

#include <stdbool.h>

#include "job/work.h"

/* Totals of several GPUs at once, of the figures of the same names below: a total of N GPUs that is
 * less than N times that of one is what they share of this machine. 0: not measured. */
struct calibration_all {
    unsigned gpus; /* 0: only one was measured */
    double h2d_bytes_per_s, d2h_bytes_per_s, both_bytes_per_s, pageable_bytes_per_s;
    double process_launches_per_s;
    double gpu_launches_per_s; /* of earlier calibrations, as those of one way alone */
};

/* A run of the iteration itself: what it did in one layout. A single process had a hardware queue
 * for each of up to 32 streams, several as many as they are given by default. */
struct calibration_run {
    bool mps;
    uint32_t processes, threads, streams;    /* at work; streams: of a thread, 1 or more */
    uint32_t memory, sync, launch, schedule; /* enums of job/work.h */
    double ips;
    double spread_rel; /* half of its window's 95% interval; of several two standard errors */
    double cpu_us;     /* of an iteration, 0: not known */
    double calls_us;   /* its thread in calls that copy and launch; 0: not known */
};

#define CALIBRATION_RUNS 48

struct calibration {
    struct work work; /* whose iteration it is for: see calibration_is_same_work() */

    /* All that were measured; none in calibrations of before there were any, which have the
     * figures below only. Predictions are made from these. */
    struct calibration_run runs[CALIBRATION_RUNS];
    unsigned run_count;

    /* One worker alone, pinned memory, by its way of launching: iterations/s, and the CPU time
     * that an iteration costs its thread when it waits asleep (schedule block). */
    double single_stream_ips, single_graph_ips;
    double single_stream_cpu_us, single_graph_cpu_us;
    /* What its calls that copy and launch take of one that waits awake; 0: not known. */
    double single_stream_calls_us, single_graph_calls_us;
    /* The same with pageable memory and a synchronisation before the copy out. */
    double single_pageable_ips;

    /* Launches of kernels that do next to nothing, kernels/s, of many threads of one process with a
     * hardware queue each; of many processes over MPS, 0 where there is no MPS; and as nodes of
     * graphs. */
    double process_launches_per_s;
    double gpu_launches_per_s;
    double graph_kernels_per_s;
    /* Iterations/s of one thread that polls many streams, each a graph of next to nothing: what it
     * does for them one after the other. */
    double polled_graphs_per_s;
    double polled_calls_us; /* its calls in each of them; 0: not known */
    /* Graphs of one such kernel, launches/s of one process: what its launch path lets through. Of
     * earlier calibrations, as h2d_bytes_per_s and d2h_bytes_per_s. */
    double process_graphs_per_s;

    /* Iterations/s if the GPU did nothing but the kernels' own work, as grids that fill it. */
    double arithmetic_ips;

    /* Of a described workload with steps of the host, iterations/s of one worker that does nothing
     * but launch its kernels: what of the host's steps the GPU does not work beside. 0: not known.
     */
    double kernels_ips;

    /* Turns of the host's work that a CPU with nothing beside it does in a millisecond
     * (common/host_work.h); 0: not known, of an iteration without such work. */
    double turns_per_ms;

    /* Bytes/s of pinned copies, alone and each way while both go on, and of pageable ones from as
     * many threads of one process as it takes (each way, both going on), pageable_workers. */
    double h2d_bytes_per_s, d2h_bytes_per_s, both_bytes_per_s;
    double pageable_bytes_per_s;
    unsigned pageable_workers; /* 0: not known, of calibrations of before it was */
    /* The same from more threads, which get in each other's way; 0: more do no less. */
    unsigned pageable_crowd_workers;
    double pageable_crowd_bytes_per_s;

    /* One process with pageable memory, iterations/s from as many threads as it takes: launched by
     * stream without a synchronisation before the copy out, and as graphs. There a copy may hold
     * up all others of its process until its own stream gets to it. */
    double process_unsynced_ips, process_pageable_graph_ips;

    /* As single_stream_cpu_us, but with the driver's own choice, which is to wait awake (schedule
     * auto). */
    double single_spin_cpu_us;

    /* Pinned memory, launches by stream, one process with a queue for each of crowd_workers
     * threads, well below all other ceilings: what they lose there is the cost of launching beside
     * each other. */
    unsigned crowd_workers;
    double crowd_stream_ips;

    unsigned cpus; /* that the workers may use */
    unsigned sms;  /* multiprocessors of the GPU */

    struct calibration_all all; /* GPUs at once */
};

/* Finds what `gpus` GPUs have together of something that they share: the total, where it is less
 * than `gpus` times that of one by more than chance; 0 where each has its own, or it is not known.
 */
double calibration_shared(double one, double total, unsigned gpus);

/* Whether two works have the same iteration, however it is run: points with the same one share a
 * calibration. Of a described workload the works are those of explain/steps.h. */
bool calibration_is_same_work(const struct work *a, const struct work *b);

/* Figures that depend on less than the whole iteration: on nothing of it, on its bytes, or on what
 * a block of its kernels computes. Those in struct calibration_all of the same name go with them.
 */
enum calibration_part {
    CALIBRATION_PROCESS_LAUNCHES,
    CALIBRATION_GRAPH_KERNELS,
    CALIBRATION_POLLED_GRAPHS,
    CALIBRATION_GPU_LAUNCHES,
    CALIBRATION_ARITHMETIC,
    CALIBRATION_BOTH,
    CALIBRATION_PAGEABLE,
    CALIBRATION_PARTS
};

/* The figure's name in a results file. */
const char *calibration_part_name(enum calibration_part part);

/* Takes a part over, if it was measured there and is the same here: the works do not differ in what
 * it depends on, nor do CPUs, multiprocessors and the number of GPUs at once. Of the arithmetic it
 * is what the blocks compute that is the same: the figure is scaled to the
 * kernels and busy blocks that `to` has. False: nothing was done. That both are of the same GPU and
 * binding is for the caller to know. */
bool calibration_take(struct calibration *to, const struct calibration *from,
                      enum calibration_part part);

/* Gives each part that was not measured a value, so that calibration_take() finds it: to reckon
 * what will be there once a calibration has been made. */
void calibration_pretend(struct calibration *calibration);

/* Whether threads wait awake: with auto as one alone was seen to. CUDA spins there, or yields once
 * there are more contexts than CPUs; the emulated driver sleeps. */
bool calibration_waits_awake(const struct calibration *calibration, enum work_schedule schedule);

/* The share of a CPU that a thread needs that waits awake; 0: not known. */
double calibration_awake_cpus(const struct calibration *calibration);

/* Blocks of a kernel that get something to work on. */
unsigned long long calibration_busy_blocks(const struct work *work);

/* A calibration as a results file holds it, with notes about its figures. */
#define CALIBRATION_NOTES 16
#define CALIBRATION_NOTE_BYTES 256
#define CALIBRATION_BIND_BYTES 16
struct calibration_record {
    struct calibration figures;
    char bind[CALIBRATION_BIND_BYTES]; /* of the workers, as the option has it; "": not known */
    unsigned shared; /* bit n: part n was taken over from another one of the same file */
    double spread_rel[CALIBRATION_PARTS]; /* as struct calibration_run; 0: not known */
    double seconds;                       /* that it took itself */
    unsigned note_count;
    char notes[CALIBRATION_NOTES][CALIBRATION_NOTE_BYTES]; /* why a figure is 0, for one */
};
