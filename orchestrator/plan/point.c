#include "orchestrator/plan/point.h"

#include <string.h>

#include "common/clock.h"
#include "job/queues.h"

bool point_over_mps(const struct point *point)
{
    return layout_over_mps(point->layout);
}

bool point_is_program(const struct point *point)
{
    return point->work.workload == WORKLOAD_PROGRAM;
}

bool point_has_tick(const struct point *point)
{
    const char *tick = point->program.tick;
    return tick && strcmp(tick, "auto") != 0 && strcmp(tick, "none") != 0;
}

bool point_is_server(const struct point *point)
{
    return point_is_program(point) && point->program.requests.request;
}

bool point_uses_placeholder(const struct point *point, enum placeholder placeholder)
{
    const struct point_program *program = &point->program;
    const char *const *word = (const char *const *)program->command;
    while (word && *word && !placeholders_use(*word, placeholder))
        word++;
    return (word && *word) ||
           (program->requests.request &&
            placeholders_use(program->requests.request, placeholder)) ||
           (program->requests.ready && placeholders_use(program->requests.ready, placeholder));
}

bool point_is_builtin(const struct point *point)
{
    return point->work.workload == WORKLOAD_CHAIN || point->work.workload == WORKLOAD_DELAY;
}

bool point_is_open(const struct point *point)
{
    return point->work.rate_units || point->goal.permille;
}

unsigned point_gpus(const struct point *point)
{
    return point->gpus ? point->gpus : 1;
}

unsigned point_processes(const struct point *point)
{
    return point->processes * point_gpus(point);
}

unsigned point_streams(const struct point *point)
{
    return point->streams > 1 ? point->streams : 1;
}

unsigned point_slots(const struct point *point)
{
    return point->threads * point_streams(point);
}

unsigned point_workers(const struct point *point)
{
    return point_processes(point) * point_slots(point);
}

unsigned point_gpu_of(const struct point *point, unsigned process)
{
    return process % point_gpus(point);
}

unsigned point_number_on_gpu(const struct point *point, unsigned process)
{
    return process / point_gpus(point);
}

unsigned point_daemons(const struct point *point)
{
    if (!point_over_mps(point))
        return 0;
    return point->mps_daemons == MPS_DAEMONS_PER_GPU ? point_gpus(point) : 1;
}

enum status point_check_stagger(const struct point *point, uint64_t window_ns)
{
    const struct work *work = &point->work;
    uint64_t last_ns = (point_workers(point) - 1) * (uint64_t)work->stagger_us * NS_PER_US;
    if (last_ns > 0 && point_is_open(point))
        return status_set(STATUS_USAGE, "stagger is for a closed loop, since a rate has starts of "
                                        "its own: leave out rate, or stagger");
    if (work->iterations || last_ns == 0 || last_ns < work->warmup_ns + window_ns)
        return STATUS_OK;
    bool windowless = window_ns == 0;
    return status_set(
        STATUS_USAGE,
        "the last of %u workers would begin %g s after the first, when the %s of %g s "
        "is over: give a longer %s, a shorter stagger, or iterations",
        point_workers(point), (double)last_ns / 1e9, windowless ? "warm-up" : "window",
        (double)(windowless ? work->warmup_ns : window_ns) / 1e9,
        windowless ? "warmup" : "duration");
}

unsigned point_connections(const struct point *point)
{
    if (point->connections)
        return point->connections;
    return point_over_mps(point) ? QUEUES_OF_CLIENT : QUEUES_OF_PROCESS;
}

const char *point_workload(const struct point *point)
{
    if (point->workload)
        return point->workload;
    return point->work.workload == WORKLOAD_DELAY ? "delay" : "builtin";
}
