#include "explain/calibration.h"

/* Calibrations are good to a few percent. */
#define EACH_ITS_OWN 0.9

void calibration_work_of(const struct shm_settings *settings, struct calibration_work *out)
{
    *out = (struct calibration_work){
        .workload = settings->workload,
        .kernels = settings->kernels,
        .blocks = settings->blocks,
        .threads_per_block = settings->threads_per_block,
        .spin = settings->spin,
        .bytes = settings->bytes,
        .delay_cycles = settings->delay_cycles,
    };
}

void calibration_work_set(const struct calibration_work *work, struct shm_settings *settings)
{
    settings->workload = work->workload;
    settings->kernels = work->kernels;
    settings->blocks = work->blocks;
    settings->threads_per_block = work->threads_per_block;
    settings->spin = work->spin;
    settings->bytes = work->bytes;
    settings->delay_cycles = work->delay_cycles;
}

bool calibration_is_for(const struct calibration *calibration, const struct calibration_work *work)
{
    const struct calibration_work *known = &calibration->work;
    return known->workload == work->workload && known->kernels == work->kernels &&
           known->blocks == work->blocks && known->threads_per_block == work->threads_per_block &&
           known->spin == work->spin && known->bytes == work->bytes &&
           known->delay_cycles == work->delay_cycles;
}

double calibration_shared(double one, double total, unsigned gpus)
{
    bool known = gpus > 1 && one > 0.0 && total > 0.0;
    return known && total < EACH_ITS_OWN * gpus * one ? total : 0.0;
}
