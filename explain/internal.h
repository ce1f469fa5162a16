/*
 * Shared by the files of the room: the parts of ceilings, from which the throughput is predicted
 * (predict.c, network.c, curve.c), the binding ceiling is found (binding.c), remedies are chosen
 * (remedy.c), and reasons are written (words.c); and the words of a remedy.
 */
#pragma once

#include "explain/ceilings.h"
#include "explain/remedy.h"

/* -- ceilings.c -- */

/* "copies to the GPU": what workers wait for at this ceiling; NULL: there is no line. */
const char *ceiling_line(enum ceiling_kind kind);

/* Iterations/s of one worker alone with this launch style and memory; 0: not known. Where the
 * figure of pageable memory is missing it is that of pinned memory, which is never below. */
double ceiling_single_ips(const struct explain_point *point, const struct calibration *calibration);

/* Bytes/s of pageable copies of a process of the point, each way; 0: not known. */
double ceiling_pageable_bytes(const struct explain_point *point,
                              const struct calibration *calibration);

/* Launches/s that the GPU takes; 0: not known. What one process reached it takes in any case. */
double ceiling_gpu_launches(const struct calibration *calibration);

/* What the host computes in an iteration, its turns at the speed that the calibration measured. */
double ceiling_busy_s(const struct work *work, const struct calibration *calibration);

/* What the host computes and sleeps in an iteration of a described workload while the GPU has
 * nothing of it to do; and with its copies all that is neither kernels nor launches, of one worker
 * alone. */
double ceiling_host_steps_s(const struct work *work, const struct calibration *calibration);
double ceiling_beside_kernels_s(const struct work *work, const struct calibration *calibration);

/* Whether threads of a process have to share hardware queues, in which rows of kernels hold each
 * other up: those of a graph do not, nor does one kernel, which leaves its queue as it starts. */
bool ceiling_shares_queues(const struct explain_point *point);

/* Of an iteration, that its row of kernels holds its queue at least. */
#define CEILING_HELD_LEAST 0.1

/* Of a GPU, iterations/s of threads of which `active` of each process have a queue, which they hold
 * for all of an iteration but the host's steps; 0: not known. */
double ceiling_rows_ips(const struct explain_point *point, const struct calibration *calibration,
                        unsigned active);

/* A process's turn for one iteration where processes take turns, without what pageable copies add;
 * 0: not known. */
double ceiling_turn_s(const struct explain_point *point, const struct calibration *calibration);

/* Seconds of an iteration for which a thread that polls serves no other stream; 0: not known. */
double ceiling_polling_s(const struct explain_point *point, const struct calibration *calibration);

/* Streams of a process, each with an iteration in flight. */
unsigned ceiling_streams(const struct explain_point *point);

/* Threads of a point, and workers, which are streams, on all of its GPUs. */
unsigned ceiling_threads(const struct explain_point *point);
unsigned ceiling_workers(const struct explain_point *point);

/* Seconds of an iteration in what the GPUs share, its copies and its launches; 0: they share
 * nothing, or it is not known. A calibration of fewer GPUs than the point has does not contain it.
 */
double ceiling_host_copies_s(const struct explain_point *point,
                             const struct calibration *calibration);
double ceiling_host_launch_s(const struct explain_point *point,
                             const struct calibration *calibration);

/* Launches/s of the threads of a process that share hardware queues and launch in turns. */
double ceiling_turn_launches(const struct explain_point *point,
                             const struct calibration *calibration);

/* Whether turns are at least as likely as rows (ceiling_turns_chance()). */
bool ceiling_takes_turns(const struct explain_point *point, const struct calibration *calibration);

/* Workers of a process that get on at the same time. */
unsigned ceiling_active_threads(const struct explain_point *point,
                                const struct calibration *calibration);

/* Share of the GPU's multiprocessors that all processes together may use, at most 1. */
double ceiling_thread_share(const struct explain_point *point);

/* -- remedy_words.c -- */

/* Writes the options and the advice of a remedy that changes a point: its kind and point are set.
 */
void remedy_describe(const struct explain_point *before, struct remedy *remedy);
