#include <stdio.h>
#include <string.h>

#include "orchestrator/calibrate/internal.h"
#include "orchestrator/plan/settings.h"

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
                calibration_take(figures, &known[i].figures, part)) {
                out->shared |= 1U << part;
                out->spread_rel[part] = known[i].spread_rel[part];
            }
}

unsigned calibrate_steps(const struct calibration_record *prepared)
{
    unsigned steps = 0;
    for (size_t i = 0; i < calibrate_figure_count; i++)
        steps += calibrate_lacks(prepared, &calibrate_figures[i]);
    return steps;
}
