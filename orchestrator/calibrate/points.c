#include "orchestrator/calibrate/points.h"

#include "explain/calibration.h"

/* Of a run that only launches: enough that waiting for their end is little beside, few enough that
 * an iteration is short also where each takes 0.1 ms. */
#define STREAM_KERNELS 50
#define GRAPH_KERNELS 100
#define EMPTY_BYTES 16

/* More would be more windows to wait for: several workers fill the gaps between kernels. */
#define ARITHMETIC_KERNELS 4

/* What a multiprocessor can hold at most, of all GPUs so far; grids fill it a few times over, so
 * that the last, partly empty turn is little beside the others. */
#define SM_THREADS 2048
#define SM_BLOCKS 32
#define FILLED 2

#define VECTOR_BYTES 16
#define MOST_CONNECTIONS 32

struct point calibrate_single(const struct point *like)
{
    const struct work *work = &like->work;
    return (struct point){
        .layout = LAYOUT_THREADS,
        .processes = 1,
        .threads = 1,
        .connections = MOST_CONNECTIONS,
        .bind = like->bind,
        /* The iteration, and nothing of how the point runs it. */
        .work = {.memory = MEMORY_PINNED,
                 .sync = SYNC_STREAM,
                 .launch = LAUNCH_STREAM,
                 .schedule = SCHEDULE_AUTO,
                 .workload = work->workload,
                 .kernels = work->kernels,
                 .blocks = work->blocks,
                 .threads_per_block = work->threads_per_block,
                 .spin = work->spin,
                 .bytes = work->bytes,
                 .delay_cycles = work->delay_cycles,
                 .warmup_ns = CALIBRATE_WARMUP_NS},
    };
}

struct point calibrate_launches(const struct point *like, enum work_launch launch)
{
    struct point point = calibrate_single(like);
    point.work.launch = launch;
    point.work.workload = WORKLOAD_CHAIN;
    point.work.kernels = launch == LAUNCH_GRAPH ? GRAPH_KERNELS : STREAM_KERNELS;
    point.work.blocks = 1;
    point.work.threads_per_block = 1;
    point.work.spin = 0;
    point.work.bytes = 1024;
    point.work.worked_bytes = EMPTY_BYTES;
    point.work.copies = COPIES_NONE;
    return point;
}

struct point calibrate_copies(const struct point *like, enum work_copies copies,
                              enum work_memory memory)
{
    struct point point = calibrate_single(like);
    point.work.workload = WORKLOAD_CHAIN;
    point.work.kernels = 0;
    point.work.copies = copies;
    point.work.memory = memory;
    return point;
}

struct point calibrate_arithmetic(const struct point *like, unsigned sms, double *share)
{
    struct point point = calibrate_single(like);
    struct work *work = &point.work;
    uint64_t threads = work->threads_per_block;
    uint64_t fill = (uint64_t)sms * FILLED * SM_THREADS / threads;
    uint64_t fill_blocks = (uint64_t)sms * 2 * FILLED * SM_BLOCKS;
    if (fill > fill_blocks)
        fill = fill_blocks;
    if (fill == 0)
        fill = 1;
    *share = (double)fill / (double)calibration_busy_blocks(work);
    work->kernels = ARITHMETIC_KERNELS;
    work->blocks = (uint32_t)fill;
    work->bytes = 1024;
    work->worked_bytes = fill * threads * VECTOR_BYTES;
    work->copies = COPIES_NONE;
    return point;
}

void calibrate_set_processes(struct point *point, enum layout_kind layout, unsigned processes)
{
    point->layout = layout;
    point->processes = processes;
    point->connections = 0;
    if (layout == LAYOUT_PROCESSES_MPS)
        point->work.schedule = SCHEDULE_BLOCK;
}
