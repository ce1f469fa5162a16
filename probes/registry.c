#include <string.h>

#include "probes/probe.h"
#include "probes/rows.h"

const struct probe *const probes[] = {
    &probe_launch_delay,      &probe_copy_block,  &probe_lazy_load,  &probe_context_admission,
    &probe_launch_contention, &probe_launch_gate, &probe_peer_stall, NULL,
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
