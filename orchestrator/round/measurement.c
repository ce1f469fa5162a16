#include "orchestrator/round/measurement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/round/internal.h"
#include "orchestrator/round/openloop.h"

/* Adds an item of that number of bytes to the array at `array`, which has `count` of them. */
static bool append(void *array, unsigned count, const void *item, size_t bytes)
{
    char *old, *larger;
    memcpy(&old, array, sizeof old);
    larger = realloc(old, (count + 1) * bytes);
    if (!larger)
        return false;
    memcpy(larger + count * bytes, item, bytes);
    memcpy(array, &larger, sizeof larger);
    /* cppcheck-suppress memleak ; the array is the caller's */
    return true;
}

/* Adds the rate of one more round to the mean of those before. */
static void add_rate(double *rate, double before, unsigned rounds)
{
    *rate = (before * rounds + *rate) / (rounds + 1.0);
}

static void add_gpus(struct round_result *last, const struct round_result *before, unsigned rounds)
{
    for (unsigned i = 0; last->gpus && before->gpus && i < last->gpu_count; i++) {
        struct round_gpu *into = &last->gpus[i];
        const struct round_gpu *from = &before->gpus[i];
        add_rate(&into->throughput_ips, from->throughput_ips, rounds);
        histogram_merge(&into->latency, &from->latency);
        telemetry_window_merge(&into->telemetry, &from->telemetry);
    }
}

static void add_workloads(struct round_result *last, const struct round_result *before,
                          unsigned rounds)
{
    for (unsigned i = 0; last->workloads && before->workloads && i < last->workload_count; i++) {
        struct round_workload *into = &last->workloads[i];
        const struct round_workload *from = &before->workloads[i];
        add_rate(&into->throughput_ips, from->throughput_ips, rounds);
        into->iterations += from->iterations;
        histogram_merge(&into->latency, &from->latency);
    }
}

static void add_open(struct openloop_counts *into, const struct openloop_counts *from)
{
    into->late += from->late;
    into->backlog += from->backlog;
    into->saturated |= from->saturated;
    histogram_merge(&into->service, &from->service);
}

static void add_phases(struct round_phases *into, const struct round_phases *from)
{
    histogram_merge(&into->h2d, &from->h2d);
    histogram_merge(&into->launch, &from->launch);
    histogram_merge(&into->sync, &from->sync);
    histogram_merge(&into->d2h, &from->d2h);
    histogram_merge(&into->launch_call, &from->launch_call);
}

/* Adds what `rounds` rounds before gave to the last one. */
static void add_before(struct round_result *last, const struct round_result *before,
                       unsigned rounds)
{
    histogram_merge(&last->latency, &before->latency);
    add_phases(&last->phases, &before->phases);
    add_open(&last->open, &before->open);
    round_add_requests(&last->requests, &before->requests);
    round_add_cpu(&last->cpu, &before->cpu);
    window_merge(&last->window, &before->window);
    add_workloads(last, before, rounds);
    add_gpus(last, before, rounds);
    telemetry_window_merge(&last->telemetry, &before->telemetry);
    last->steady_from_s = fmax(last->steady_from_s, before->steady_from_s);
    last->skew_us = fmax(last->skew_us, before->skew_us);
    last->iterations += before->iterations;
    last->reused |= before->reused;
    if (before->idle_processes > last->idle_processes)
        last->idle_processes = before->idle_processes;
    if (before->other_clients > last->other_clients)
        last->other_clients = before->other_clients;
}

enum status measurement_add(struct measurement *measurement, struct round_result *round,
                            double seconds)
{
    unsigned n = measurement->rounds;
    measurement->seconds += seconds;
    if (round->status == STATUS_INTERRUPTED && n > 0) {
        round_result_release(round);
        return STATUS_OK;
    }
    measurement->status = round->status;
    if (round->status == STATUS_OK) {
        if (!append(&measurement->throughputs, n, &round->throughput_ips, sizeof(double)) ||
            !append(&measurement->intervals, n, &round->ci95_rel, sizeof(double)) ||
            !append(&measurement->windows, n, &round->window_s, sizeof(double)) ||
            !append(&measurement->percentiles, n, &round->percentiles, sizeof round->percentiles) ||
            !append(&measurement->fixed, n, &round->fixed, sizeof round->fixed)) {
            round_result_release(round);
            return status_set(STATUS_MEMORY, "out of memory for the results");
        }
        measurement->rounds++;
        if (n > 0)
            add_before(round, &measurement->last, n);
    }
    round_result_release(&measurement->last);
    measurement->last = *round;
    return STATUS_OK;
}

void measurement_release(struct measurement *measurement)
{
    free(measurement->throughputs);
    free(measurement->intervals);
    free(measurement->windows);
    free(measurement->percentiles);
    free(measurement->fixed);
    round_result_release(&measurement->last);
    *measurement = (struct measurement){0};
}

/* -- between rounds: the blocks that are not all zero bytes -- */

#define BLOCK 64
#define BLOCKS ((sizeof(struct measurement) + BLOCK - 1) / BLOCK)

struct measurement_packed {
    unsigned char kept[(BLOCKS + 7) / 8]; /* a bit each */
    unsigned char bytes[];                /* of the kept ones, one behind the other */
};

static size_t block_bytes(size_t block)
{
    size_t left = sizeof(struct measurement) - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    static const unsigned char zero[BLOCK];
    return memcmp(bytes, zero, count) == 0;
}

struct measurement_packed *measurement_pack(struct measurement *measurement)
{
    const unsigned char *from = (const unsigned char *)measurement;
    size_t used = 0;
    for (size_t i = 0; i < BLOCKS; i++)
        used += is_zero(from + i * BLOCK, block_bytes(i)) ? 0 : block_bytes(i);
    struct measurement_packed *packed = calloc(1, sizeof *packed + used);
    if (!packed)
        return NULL;
    used = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        if (is_zero(from + i * BLOCK, block_bytes(i)))
            continue;
        packed->kept[i / 8] |= (unsigned char)(1u << i % 8);
        memcpy(packed->bytes + used, from + i * BLOCK, block_bytes(i));
        used += block_bytes(i);
    }
    memset(measurement, 0, sizeof *measurement);
    return packed;
}

void measurement_unpack(struct measurement_packed *packed, struct measurement *out)
{
    unsigned char *into = (unsigned char *)out;
    size_t used = 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; packed && i < BLOCKS; i++) {
        if (!(packed->kept[i / 8] >> i % 8 & 1))
            continue;
        memcpy(into + i * BLOCK, packed->bytes + used, block_bytes(i));
        used += block_bytes(i);
    }
    free(packed);
}

void measurement_interval(const struct measurement *measurement, struct interval *out)
{
    interval_of_rounds(measurement->throughputs, measurement->intervals, measurement->rounds, out);
}

bool measurement_converged(const struct point *point, const struct measurement *measurement,
                           double precision_rel)
{
    struct interval interval;
    const struct round_result *last = &measurement->last;
    if (!window_is_plain(&last->window))
        return false;
    if (point_is_open(point))
        return last->iterations >= HISTOGRAM_LEAST_P99 &&
               (!point->goal.permille || openloop_holds(&point->goal, last));
    measurement_interval(measurement, &interval);
    return interval_meets(interval.half_rel, precision_rel);
}
