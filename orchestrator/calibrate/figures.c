#include "orchestrator/calibrate/internal.h"

/* What an iteration takes beside others grows with their number, by a different amount in each way
 * of launching and with each kind of memory: a few numbers of each, and prediction goes between
 * them. Of those that share worker processes the largest first, as later ones can idle. */
const struct calibrate_figure calibrate_figures[] = {
    {"alone", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 1, .sync = SYNC_STREAM},
    {"alone, graph", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 1, .launch = LAUNCH_GRAPH},
    {"kernels alone", CALIBRATE_AWAKE, CALIBRATE_KERNELS, 1},
    {"arithmetic", CALIBRATE_AWAKE, CALIBRATE_ARITHMETIC, 4, .part = CALIBRATION_ARITHMETIC},
    {"beside each other", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 4},
    {"beside each other", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 16},
    {"graphs", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 16, .launch = LAUNCH_GRAPH},
    {"polling graphs", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 1, 32, .launch = LAUNCH_GRAPH},
    {"alone, pageable", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 1, .memory = MEMORY_PAGEABLE},
    {"pageable", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 16, .memory = MEMORY_PAGEABLE},
    {"pageable without sync", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 8, .memory = MEMORY_PAGEABLE,
     .sync = SYNC_NONE},
    {"pageable graphs", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 1, .memory = MEMORY_PAGEABLE,
     .launch = LAUNCH_GRAPH},
    {"pageable graphs", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 2, .memory = MEMORY_PAGEABLE,
     .launch = LAUNCH_GRAPH},
    {"pageable graphs", CALIBRATE_AWAKE, CALIBRATE_ITERATION, 8, .memory = MEMORY_PAGEABLE,
     .launch = LAUNCH_GRAPH},
    {"polling alone", CALIBRATE_AWAKE, CALIBRATE_POLLING, 1, 64, .launch = LAUNCH_GRAPH,
     .part = CALIBRATION_POLLED_GRAPHS},
    {"copies both ways", CALIBRATE_AWAKE, CALIBRATE_COPIES, 8, .part = CALIBRATION_BOTH},
    {"pageable copies", CALIBRATE_AWAKE, CALIBRATE_COPIES, 2, .memory = MEMORY_PAGEABLE,
     .part = CALIBRATION_PAGEABLE},
    {"pageable copies", CALIBRATE_AWAKE, CALIBRATE_COPIES, 8, .memory = MEMORY_PAGEABLE,
     .part = CALIBRATION_PAGEABLE},

    {"alone, asleep", CALIBRATE_ASLEEP, CALIBRATE_ITERATION, 1},
    {"alone, graph, asleep", CALIBRATE_ASLEEP, CALIBRATE_ITERATION, 1, .launch = LAUNCH_GRAPH},
    {"launches of a process", CALIBRATE_ASLEEP, CALIBRATE_LAUNCHES, 24,
     .part = CALIBRATION_PROCESS_LAUNCHES},
    {"kernels of graphs", CALIBRATE_ASLEEP, CALIBRATE_LAUNCHES, 32, .launch = LAUNCH_GRAPH,
     .part = CALIBRATION_GRAPH_KERNELS},

    {"in turns", CALIBRATE_SLICED, CALIBRATE_ITERATION, 2},

    {"over MPS", CALIBRATE_MPS, CALIBRATE_ITERATION, 16},
    {"launches over MPS", CALIBRATE_MPS, CALIBRATE_LAUNCHES, 16, .part = CALIBRATION_GPU_LAUNCHES},
    {"graphs over MPS", CALIBRATE_MPS, CALIBRATE_ITERATION, 16, .launch = LAUNCH_GRAPH},
    {"pageable over MPS", CALIBRATE_MPS, CALIBRATE_ITERATION, 16, .memory = MEMORY_PAGEABLE},
    {"over MPS", CALIBRATE_MPS, CALIBRATE_ITERATION, 4},

    {"over MPS, awake", CALIBRATE_MPS_AWAKE, CALIBRATE_ITERATION, 16},
    {"graphs over MPS, awake", CALIBRATE_MPS_AWAKE, CALIBRATE_ITERATION, 16,
     .launch = LAUNCH_GRAPH},

    {"launches of a process on all GPUs at once", CALIBRATE_ALL, CALIBRATE_LAUNCHES, 24,
     .part = CALIBRATION_PROCESS_LAUNCHES},
    {"copies both ways on all GPUs at once", CALIBRATE_ALL, CALIBRATE_COPIES, 8,
     .part = CALIBRATION_BOTH},
    {"pageable copies on all GPUs at once", CALIBRATE_ALL, CALIBRATE_COPIES, 2,
     .memory = MEMORY_PAGEABLE, .part = CALIBRATION_PAGEABLE},
};

const size_t calibrate_figure_count = sizeof calibrate_figures / sizeof calibrate_figures[0];

bool calibrate_lacks(const struct calibration_record *record, const struct calibrate_figure *figure)
{
    const struct work *work = &record->figures.work;
    if (figure->phase == CALIBRATE_ALL && record->figures.all.gpus < 2)
        return false;
    if (figure->phase == CALIBRATE_MPS_AWAKE && work->busy_ns + work->turns == 0)
        return false;
    if (figure->load == CALIBRATE_KERNELS)
        return work->kernels > 0 && work->busy_ns + work->turns + work->think_ns > 0;
    if (figure->load == CALIBRATE_ITERATION)
        return true;
    if (figure->load == CALIBRATE_ARITHMETIC &&
        (work->workload == WORKLOAD_DELAY || work->kernels == 0))
        return false;
    if (figure->load == CALIBRATE_COPIES && work->bytes == 0)
        return false;
    return !(record->shared & 1U << figure->part);
}
