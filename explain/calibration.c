#include "explain/calibration.h"

#include <stddef.h>
#include <string.h>

#include "common/clock.h"

/* Calibrations are good to a few percent. */
#define EACH_ITS_OWN 0.9

#define AT(name) offsetof(struct calibration, name)
#define NONE 0 /* of all GPUs: their number stands there */

enum depends { ON_NOTHING, ON_BYTES, ON_BLOCK };

static const struct part {
    const char *name;
    size_t at, all; /* in struct calibration */
    enum depends depends;
} parts[CALIBRATION_PARTS] = {
    [CALIBRATION_PROCESS_LAUNCHES] = {"process_launches_per_s", AT(process_launches_per_s),
                                      AT(all.process_launches_per_s), ON_NOTHING},
    [CALIBRATION_GRAPH_KERNELS] = {"graph_kernels_per_s", AT(graph_kernels_per_s), NONE,
                                   ON_NOTHING},
    [CALIBRATION_POLLED_GRAPHS] = {"polled_graphs_per_s", AT(polled_graphs_per_s), NONE,
                                   ON_NOTHING},
    [CALIBRATION_GPU_LAUNCHES] = {"gpu_launches_per_s", AT(gpu_launches_per_s), NONE, ON_NOTHING},
    [CALIBRATION_ARITHMETIC] = {"arithmetic_ips", AT(arithmetic_ips), NONE, ON_BLOCK},
    [CALIBRATION_BOTH] = {"both_bytes_per_s", AT(both_bytes_per_s), AT(all.both_bytes_per_s),
                          ON_BYTES},
    [CALIBRATION_PAGEABLE] = {"pageable_bytes_per_s", AT(pageable_bytes_per_s),
                              AT(all.pageable_bytes_per_s), ON_BYTES},
};

bool calibration_is_same_work(const struct work *a, const struct work *b)
{
    return a->workload == b->workload && a->kernels == b->kernels && a->blocks == b->blocks &&
           a->threads_per_block == b->threads_per_block && a->spin == b->spin &&
           a->bytes == b->bytes && a->delay_cycles == b->delay_cycles && a->steps_id == b->steps_id;
}

double calibration_shared(double one, double total, unsigned gpus)
{
    bool known = gpus > 1 && one > 0.0 && total > 0.0;
    return known && total < EACH_ITS_OWN * gpus * one ? total : 0.0;
}

/* -- parts ------------------------------------------------------------------------------------- */

const char *calibration_part_name(enum calibration_part part)
{
    return parts[part].name;
}

static double figure_at(const struct calibration *calibration, size_t at)
{
    double value;
    memcpy(&value, (const char *)calibration + at, sizeof value);
    return value;
}

static void set_figure(struct calibration *calibration, size_t at, double value)
{
    memcpy((char *)calibration + at, &value, sizeof value);
}

static bool is_alike(const struct work *a, const struct work *b, enum depends depends)
{
    switch (depends) {
    case ON_NOTHING:
        return true;
    case ON_BYTES: /* of described workloads the copies are their own */
        return a->bytes == b->bytes && a->steps_id == b->steps_id;
    case ON_BLOCK:
        return a->workload == WORKLOAD_CHAIN && b->workload == WORKLOAD_CHAIN &&
               a->threads_per_block == b->threads_per_block && a->spin == b->spin;
    }
    return false;
}

unsigned long long calibration_busy_blocks(const struct work *work)
{
    unsigned long long vectors = work->bytes / WORK_COPIED_PER_WORKED / WORK_VECTOR_BYTES;
    unsigned threads = work->threads_per_block ? work->threads_per_block : 1;
    unsigned long long busy = (vectors + threads - 1) / threads;
    if (busy > work->blocks)
        busy = work->blocks;
    return busy ? busy : 1;
}

bool calibration_take(struct calibration *to, const struct calibration *from,
                      enum calibration_part part)
{
    const struct part *row = &parts[part];
    double value = figure_at(from, row->at), all = 0.0;
    if (value <= 0.0 || to->cpus != from->cpus || to->sms != from->sms ||
        !is_alike(&to->work, &from->work, row->depends))
        return false;
    if (row->all != NONE && to->all.gpus > 1) {
        all = figure_at(from, row->all);
        if (from->all.gpus != to->all.gpus || all <= 0.0)
            return false;
    }
    if (row->depends == ON_BLOCK) {
        if (to->work.kernels == 0)
            return false;
        value *= (double)from->work.kernels * (double)calibration_busy_blocks(&from->work);
        value /= (double)to->work.kernels * (double)calibration_busy_blocks(&to->work);
    }
    set_figure(to, row->at, value);
    if (all > 0.0)
        set_figure(to, row->all, all);
    if (part == CALIBRATION_POLLED_GRAPHS)
        to->polled_calls_us = from->polled_calls_us;
    if (part == CALIBRATION_PAGEABLE) {
        to->pageable_workers = from->pageable_workers;
        to->pageable_crowd_workers = from->pageable_crowd_workers;
        to->pageable_crowd_bytes_per_s = from->pageable_crowd_bytes_per_s;
    }
    return true;
}

void calibration_pretend(struct calibration *calibration)
{
    for (unsigned i = 0; i < CALIBRATION_PARTS; i++) {
        if (figure_at(calibration, parts[i].at) <= 0.0)
            set_figure(calibration, parts[i].at, 1.0);
        if (parts[i].all != NONE && figure_at(calibration, parts[i].all) <= 0.0)
            set_figure(calibration, parts[i].all, 1.0);
    }
}

#define US_PER_S 1e6

/* One that sleeps needs less of a CPU, however much it launches. */
#define AWAKE_CPUS 0.5

static double auto_cpus(const struct calibration *calibration)
{
    return calibration->single_spin_cpu_us * calibration->single_stream_ips / US_PER_S;
}

/* A step of the host that sleeps does so in any case. */
static bool auto_sleeps(const struct calibration *calibration)
{
    double cpus = auto_cpus(calibration);
    double thinking =
        (double)calibration->work.think_ns / NS_PER_S * calibration->single_stream_ips;
    return cpus > 0.0 && cpus < AWAKE_CPUS * (1.0 - thinking);
}

bool calibration_waits_awake(const struct calibration *calibration, enum work_schedule schedule)
{
    return schedule == SCHEDULE_SPIN || (schedule == SCHEDULE_AUTO && !auto_sleeps(calibration));
}

double calibration_awake_cpus(const struct calibration *calibration)
{
    return auto_sleeps(calibration) ? 1.0 : auto_cpus(calibration);
}
