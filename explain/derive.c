#include "explain/derive.h"

#include <math.h>
#include <stddef.h>

/* Less than this share of what fewer threads copy is more than chance. */
#define LESS 0.97

/* Of what as many threads would do that one alone shows: they do not hold each other up. */
#define UNDISTURBED 0.9

const struct calibration_run *derive_run(const struct calibration *calibration,
                                         const struct calibration_run *like)
{
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        if (run->mps == like->mps && run->processes == like->processes &&
            run->threads == like->threads && run->streams == like->streams &&
            run->memory == like->memory && run->sync == like->sync && run->launch == like->launch &&
            run->schedule == like->schedule)
            return run;
    }
    return NULL;
}

static const struct calibration_run *alone(const struct calibration *calibration,
                                           enum work_memory memory, enum work_launch launch,
                                           enum work_schedule schedule)
{
    const struct calibration_run like = {
        .processes = 1,
        .threads = 1,
        .streams = 1,
        .memory = memory,
        .sync = SYNC_STREAM,
        .launch = launch,
        .schedule = schedule,
    };
    return derive_run(calibration, &like);
}

static void take(const struct calibration_run *run, double *ips, double *cpu_us, double *calls_us)
{
    if (!run)
        return;
    if (ips)
        *ips = run->ips;
    if (cpu_us)
        *cpu_us = run->cpu_us;
    if (calls_us)
        *calls_us = run->calls_us;
}

/* What one process does with pageable copies that wait, from whatever number of threads does most;
 * 0 where these do not hold each other up: more of them might do more. */
static double most_waiting(const struct calibration *calibration, bool graph)
{
    const struct calibration_run *one =
        alone(calibration, MEMORY_PAGEABLE, graph ? LAUNCH_GRAPH : LAUNCH_STREAM, SCHEDULE_AUTO);
    double most = 0.0;
    bool held_up = false;
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        bool waits = graph ? run->launch == LAUNCH_GRAPH
                           : run->launch == LAUNCH_STREAM && run->sync == SYNC_NONE;
        if (run->processes == 1 && run->threads > 1 && run->memory == MEMORY_PAGEABLE && waits)
            if (run->ips > most) {
                most = run->ips;
                held_up = !one || most < UNDISTURBED * run->threads * one->ips;
            }
    }
    return held_up ? most : 0.0;
}

/* The smallest crowd of threads with a queue each. */
static void find_crowd(struct calibration *calibration)
{
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        if (run->mps || run->processes > 1 || run->threads < 2 || run->streams > 1 ||
            run->memory != MEMORY_PINNED || run->launch != LAUNCH_STREAM ||
            run->schedule != SCHEDULE_AUTO)
            continue;
        if (calibration->crowd_workers == 0 || run->threads < calibration->crowd_workers) {
            calibration->crowd_workers = run->threads;
            calibration->crowd_stream_ips = run->ips;
        }
    }
}

void derive_figures(struct calibration *calibration)
{
    const struct calibration *of = calibration;
    take(alone(of, MEMORY_PINNED, LAUNCH_STREAM, SCHEDULE_AUTO), &calibration->single_stream_ips,
         &calibration->single_spin_cpu_us, &calibration->single_stream_calls_us);
    take(alone(of, MEMORY_PINNED, LAUNCH_GRAPH, SCHEDULE_AUTO), &calibration->single_graph_ips,
         NULL, &calibration->single_graph_calls_us);
    take(alone(of, MEMORY_PAGEABLE, LAUNCH_STREAM, SCHEDULE_AUTO),
         &calibration->single_pageable_ips, NULL, NULL);
    take(alone(of, MEMORY_PINNED, LAUNCH_STREAM, SCHEDULE_BLOCK), NULL,
         &calibration->single_stream_cpu_us, NULL);
    take(alone(of, MEMORY_PINNED, LAUNCH_GRAPH, SCHEDULE_BLOCK), NULL,
         &calibration->single_graph_cpu_us, NULL);
    calibration->process_unsynced_ips = most_waiting(of, false);
    calibration->process_pageable_graph_ips = most_waiting(of, true);
    find_crowd(calibration);
}

void derive_staging(struct calibration *calibration, unsigned workers, double bytes_per_s)
{
    if (bytes_per_s > calibration->pageable_bytes_per_s) {
        calibration->pageable_bytes_per_s = bytes_per_s;
        calibration->pageable_workers = workers;
        calibration->pageable_crowd_workers = 0;
        calibration->pageable_crowd_bytes_per_s = 0.0;
    } else if (workers > calibration->pageable_workers &&
               bytes_per_s < LESS * calibration->pageable_bytes_per_s) {
        calibration->pageable_crowd_workers = workers;
        calibration->pageable_crowd_bytes_per_s = bytes_per_s;
    }
}
