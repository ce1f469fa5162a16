/*
 * Shared by the files that make a point's record: each adds the fields of one feature, and what it
 * warns of. Without memory fields are missing.
 */
#pragma once

#include "orchestrator/record/record.h"

/* -- warnings.c: what makes the numbers doubtful or stands in the way of using them -- */

/* Adds leak: what a point's plug-in did wrong without failing. */
void warn_leaks(json_t *record, const struct point *point, const struct round_result *result);

/* A text; null where it is not UTF-8, as words of a command line may be. */
json_t *record_text(const char *text);

/* -- settings.c: those of the option table that apply to the point -- */

void record_add_settings(json_t *record, const struct point *point);

/* -- precision.c: how sure the numbers are -- */

/* The object "latency_us": percentiles; a 99.9th only with the samples for it. Bounds come from the
 * rounds; without them they are not known. What reaches a sample that never came is null. */
json_t *record_latency(const struct histogram *latency, const struct percentiles *rounds,
                       size_t count);

/* Adds "interval" and "stalled", and drift, outliers, stalled and unsteady to "warnings".
 * precision_rel: INFINITY where none was asked for. */
void record_add_precision(json_t *record, const struct point *point,
                          const struct measurement *measurement, const struct interval *interval,
                          double precision_rel);

/* -- time.c: where the time goes -- */

/* The fields phase_us, phases, cpu and slowest_worker. */
void record_add_time(json_t *record, const struct point *point, const struct round_result *result);

/* A worker's means of the phases and its use of a CPU, as fields of its entry of per_worker. */
void record_add_worker_time(json_t *entry, const struct round_worker *worker);

/* -- program.c -- */

/* "observed": what was taken for an iteration of a program that does not report them. */
void record_add_observed(json_t *record, const struct point *point,
                         const struct round_result *result);

/* -- requests.c -- */

/* "requests" and "first_byte_us" of a server, and a warning where answers were bad. */
void record_add_requests(json_t *record, const struct point *point,
                         const struct measurement *measurement);

/* -- openloop.c -- */

/* "rate" of a point with an open loop, and a warning where it is saturated. */
void record_add_rate(json_t *record, const struct point *point,
                     const struct measurement *measurement);

/* "fixed" of a point with fixed work: the best of `count` rounds, as the experiment gives it. */
json_t *record_fixed(const struct point *point, const struct round_fixed *rounds, unsigned count);

/* -- mix.c -- */

/* "workloads" of a mix, behind "per_worker"; and those of a job, for the header. */
void record_add_mix(json_t *record, const struct point *point, const struct round_result *result);
void record_add_workloads(json_t *header, const struct job *job);

/* -- per_gpu.c, of a point of several GPUs -- */

/* "per_gpu" and "gpu_imbalance" of a record that has throughput and interval, with warnings. */
void record_add_per_gpu(json_t *record, const struct point *point,
                        const struct round_result *result);

/* "failed_gpus" of a record without throughput. */
void record_add_failed_gpus(json_t *record, const struct point *point,
                            const struct round_result *result);

/* -- placement.c: CPUs and memory nodes -- */

/* "memory_policy", where it is not as it should be. */
void record_add_numa(json_t *record, const struct numa *numa);

/* Adds far-memory, about the workers of one GPU. */
void warn_numa(json_t *warnings, const struct numa *numa);

/* Adds few-cores: of workers, and of the threads of a program that report its iterations. */
void warn_cores(json_t *warnings, const struct point *point, const struct cores *cores);
void warn_starved(json_t *warnings, const struct point *point, const struct shm_cpu *cpu);

/* -- telemetry.c -- */

/* The point's object, or NULL where there was no NVML. */
json_t *record_telemetry(const struct telemetry_window *window);

/* Adds throttled and neighbour. */
void warn_telemetry(json_t *warnings, const struct telemetry_window *window);
