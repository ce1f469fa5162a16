#include "orchestrator/results/probe_arm.h"

#include <string.h>

#include "common/json.h"

const json_t *probe_arm_own_control(const json_t *record, const json_t *arm)
{
    const char *name = text_at(json_object_get(record, "effect"), "control_metric");
    const json_t *metric;
    size_t index;
    json_array_foreach(json_object_get(arm, "metrics"), index, metric)
    {
        if (strcmp(text_at(metric, "metric"), name) == 0)
            return metric;
    }
    return NULL;
}
