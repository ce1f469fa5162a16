#include "orchestrator/calibrate/points.h"

#include <math.h>

#include "explain/steps.h"

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

/* Kernels of a described workload fill half of the GPU, from more workers: where some compute and
 * others wait for memory, those of different workers go on beside each other, which grids that fill
 * it alone would not. As many iterations as fit in this time at the rate of one worker alone, and
 * no more than SCALE_MOST, are made one. */
#define HALF_FILLED 0.5
#define SCALED_S 0.08
#define SCALE_MOST 16.0

#define MOST_CONNECTIONS 32

bool calibrate_work(const struct point *point, struct work *out)
{
    *out = point->work;
    if (point_is_builtin(point))
        return true;
    if (!point->mix || point->mix->count != 1)
        return false;
    steps_describe(point->mix->steps, point->mix->workloads[0].count, out);
    return true;
}

struct point calibrate_single(const struct point *like)
{
    const struct work *work = &like->work;
    return (struct point){
        .layout = LAYOUT_THREADS,
        .processes = 1,
        .threads = 1,
        .connections = MOST_CONNECTIONS,
        .bind = like->bind,
        .workload = like->workload,
        .mix = like->mix,
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
                 .steps_id = work->steps_id,
                 .busy_ns = work->busy_ns,
                 .turns = work->turns,
                 .think_ns = work->think_ns,
                 .warmup_ns = CALIBRATE_WARMUP_NS},
    };
}

struct point calibrate_launches(const struct point *like, enum work_launch launch)
{
    struct point point = calibrate_single(like);
    point.mix = NULL;
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

/* Steps of a described workload for which a test holds, with all repeats, in a mix of their own,
 * whose results are not those of the iteration. */
static void keep_steps(const struct mix_work *from, bool (*keeps)(const struct workload_step *),
                       struct mix_work *out)
{
    uint32_t count = 0;
    *out = *from;
    for (uint32_t i = 0; i < from->workloads[0].count; i++)
        if (keeps(&from->steps[i]) || workload_step_is_mark(&from->steps[i]))
            out->steps[count++] = from->steps[i];
    out->workloads[0].count = count;
    out->workloads[0].check = WORKLOAD_CHECK_NO;
}

static bool is_copy(const struct workload_step *step)
{
    return step->kind == STEP_COPY_IN || step->kind == STEP_COPY_OUT;
}

static bool is_gpu_work(const struct workload_step *step)
{
    return workload_step_is_kernel(step) || step->kind == STEP_DEVICE_COPY;
}

struct point calibrate_copies(const struct point *like, enum work_copies copies,
                              enum work_memory memory, struct mix_work *room)
{
    struct point point = calibrate_single(like);
    if (like->mix) {
        keep_steps(like->mix, is_copy, room);
        point.mix = room;
    } else {
        point.work.workload = WORKLOAD_CHAIN;
    }
    point.work.kernels = 0;
    point.work.copies = copies;
    point.work.memory = memory;
    return point;
}

/* Blocks of that many GPU threads that fill the GPU `filled` times. */
static uint64_t filling_blocks(unsigned sms, uint64_t threads, double filled)
{
    uint64_t fill = (uint64_t)(sms * filled * SM_THREADS / (double)threads);
    uint64_t most = (uint64_t)(sms * 2 * filled * SM_BLOCKS);
    fill = fill < most ? fill : most;
    return fill ? fill : 1;
}

/* The kernels of a number of iterations as those of one: as few as fill half of the GPU each, and
 * each as much larger. */
static void scale_kernels(struct mix_work *mix, unsigned sms, double iterations)
{
    for (uint32_t i = 0; i < mix->workloads[0].count; i++) {
        struct workload_step *step = &mix->steps[i];
        double all = step->count * iterations, larger = 1.0;
        if (workload_step_is_host(step))
            continue;
        if (workload_step_is_kernel(step)) {
            double fill = (double)filling_blocks(sms, step->threads, HALF_FILLED) / step->blocks;
            larger = all / ceil(all / fmax(fill, 1.0));
        }
        step->count = (uint32_t)lround(all / larger);
        step->blocks = (uint32_t)lround(step->blocks * larger);
        if (step->kind == STEP_MEMORY)
            step->amount = (uint64_t)((double)step->amount * larger);
    }
}

static double iterations_at_once(double alone_ips)
{
    double fits = floor(SCALED_S * alone_ips / CALIBRATE_MIXED_WORKERS);
    return fmax(1.0, fmin(fits, SCALE_MOST));
}

struct point calibrate_kernels(const struct point *like, struct mix_work *room)
{
    struct point point = calibrate_single(like);
    keep_steps(like->mix, is_gpu_work, room);
    point.mix = room;
    point.work.copies = COPIES_NONE;
    return point;
}

struct point calibrate_arithmetic(const struct point *like, const struct calibration *known,
                                  double *share, struct mix_work *room)
{
    struct point point = calibrate_single(like);
    struct work *work = &point.work;
    work->copies = COPIES_NONE;
    if (like->mix) {
        point = calibrate_kernels(like, room);
        *share = iterations_at_once(known->single_stream_ips);
        scale_kernels(room, known->sms, *share);
        work->launch = LAUNCH_GRAPH;
        return point;
    }
    uint64_t threads = work->threads_per_block, fill = filling_blocks(known->sms, threads, FILLED);
    *share =
        (double)fill / (double)calibration_busy_blocks(work) * ARITHMETIC_KERNELS / work->kernels;
    work->kernels = ARITHMETIC_KERNELS;
    work->blocks = (uint32_t)fill;
    work->bytes = 1024;
    work->worked_bytes = fill * threads * WORK_VECTOR_BYTES;
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
