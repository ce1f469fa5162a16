#include <stdio.h>
#include <string.h>

#include "orchestrator/calibrate/run.h"
#include "orchestrator/plan/settings.h"

/* The most runs that each takes on one GPU, as calibrate.c goes about it. */
static const struct {
    unsigned steps;
    bool on_all; /* and one on all GPUs */
} parts[CALIBRATION_PARTS] = {
    [CALIBRATION_PROCESS_LAUNCHES] = {5, true},
    [CALIBRATION_GRAPH_KERNELS] = {4, false},
    [CALIBRATION_PROCESS_GRAPHS] = {5, false},
    [CALIBRATION_GPU_LAUNCHES] = {4, true},
    [CALIBRATION_ARITHMETIC] = {1, false},
    [CALIBRATION_IN] = {3, true},
    [CALIBRATION_OUT] = {3, true},
    [CALIBRATION_BOTH] = {3, true},
    [CALIBRATION_PAGEABLE] = {3, true},
};

void calibrate_prepare(const struct session *session, const struct point *like,
                       const struct calibration_record *known, size_t count,
                       struct calibration_record *out)
{
    struct calibration *figures = &out->figures;
    *out = (struct calibration_record){.shared = 0};
    snprintf(out->bind, sizeof out->bind, "%s", setting_word(OPTION_BIND, like));
    figures->work = like->work;
    figures->cpus = bind_usable_cpus(session->topology);
    figures->sms = (unsigned)gpu_at(session->gpus, 0)->sms;
    if (point_gpus(like) > 1)
        figures->all.gpus = point_gpus(like);
    for (unsigned part = 0; part < CALIBRATION_PARTS; part++)
        for (size_t i = count; i-- > 0 && !(out->shared & 1U << part);)
            if (strcmp(known[i].bind, out->bind) == 0 &&
                calibration_take(figures, &known[i].figures, part))
                out->shared |= 1U << part;
}

unsigned calibrate_part_steps(const struct calibration_record *record, enum calibration_part part)
{
    const struct work *work = &record->figures.work;
    if (record->shared & 1U << part)
        return 0;
    if (part == CALIBRATION_ARITHMETIC && (work->workload == WORKLOAD_DELAY || work->kernels == 0))
        return 0;
    return parts[part].steps + (parts[part].on_all && record->figures.all.gpus > 1);
}

unsigned calibrate_steps(const struct calibration_record *prepared)
{
    unsigned steps = CALIBRATE_OWN_STEPS;
    for (unsigned part = 0; part < CALIBRATION_PARTS; part++)
        steps += calibrate_part_steps(prepared, part);
    return steps;
}
