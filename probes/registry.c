#include <string.h>

#include "probes/probe.h"
#include "probes/rows.h"
#include "probes/verdict.h"

const struct probe *const probes[] = {
    &probe_launch_delay,
    &probe_copy_block,
    &probe_lazy_load,
    NULL,
};

const struct probe *probe_find(const char *name)
{
    for (size_t i = 0; probes[i]; i++)
        if (strcmp(probes[i]->name, name) == 0)
            return probes[i];
    return NULL;
}

const struct probe_arm *probe_arm_find(const struct probe *probe, const char *name)
{
    for (size_t i = 0; i < probe->arm_count; i++)
        if (strcmp(probe->arms[i].name, name) == 0)
            return &probe->arms[i];
    return NULL;
}

const struct probe_arm_data *probe_outcome_arm(const struct probe_outcome *outcome,
                                               const char *name)
{
    for (size_t i = 0; i < outcome->probe->arm_count; i++) {
        const struct probe_arm_data *data = &outcome->arms[i];
        if (strcmp(data->arm->name, name) == 0)
            return data->chosen && data->status == STATUS_OK && data->rounds > 0 ? data : NULL;
    }
    return NULL;
}
