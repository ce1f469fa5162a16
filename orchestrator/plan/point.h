/*
 * What a point is, in numbers and in words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "job/point.h"
#include "orchestrator/plan/placeholders.h"

/* Whether its processes are clients of MPS. */
bool point_over_mps(const struct point *point);

/* Whether it is a program of the user's. */
bool point_is_program(const struct point *point);

/* Whether --tick was given for it, and would end iterations that are found. */
bool point_has_tick(const struct point *point);

/* Whether that is a server, which mpsweep sends requests. */
bool point_is_server(const struct point *point);

/* Whether the words of a program, its command and its requests, have a placeholder. */
bool point_uses_placeholder(const struct point *point, enum placeholder placeholder);

/* Whether it is one of the program's own, which the options of the workload describe. */
bool point_is_builtin(const struct point *point);

/* Whether iterations have planned starts, at a rate that is given or searched. */
bool point_is_open(const struct point *point);

/* GPUs of a point, and processes and workers on all of them. Process number p is on GPU number p %
 * point_gpus(), and there it is number p / point_gpus(): so the first processes of a point that has
 * more of them are a point of fewer on the same GPUs. Shares of clients go by the latter number. */
unsigned point_gpus(const struct point *point);
unsigned point_processes(const struct point *point);
unsigned point_streams(const struct point *point); /* of one thread */
unsigned point_slots(const struct point *point);   /* workers of one process */
unsigned point_workers(const struct point *point);
unsigned point_gpu_of(const struct point *point, unsigned process);
unsigned point_number_on_gpu(const struct point *point, unsigned process);

/* MPS daemons that it needs: 0 without MPS. */
unsigned point_daemons(const struct point *point);

/* Whether the last worker of a point begins, with --stagger, before its warm-up and a window of
 * that length are over; 0: before the window begins, in which every worker must count. With fixed
 * work it always does. In an open loop requests would wait for a worker that has yet to begin.
 * STATUS_USAGE names what is wrong. */
enum status point_check_stagger(const struct point *point, uint64_t window_ns);

/* Queues that a process has: the setting, or the driver's default. */
unsigned point_connections(const struct point *point);

/* Its workload's word. */
const char *point_workload(const struct point *point);

/* "hybrid 8×2, pageable, no sync, graph" with only what differs from the defaults, and room for it
 * at its longest. */
#define POINT_DESCRIPTION 2048
void point_describe(const struct point *point, char *text, size_t size);
