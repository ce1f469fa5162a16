/*
 * Whether a point's workers have the CPUs that their way of waiting needs.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

struct cores {
    unsigned cpus; /* that the point's binding leaves its workers; 0: of no concern */
    double quota;  /* CPUs' worth of time that the container grants; 0: no limit */
};

/* Of no concern on the emulated GPU, whose workers sleep. */
struct cores cores_of(const struct session *session, const struct point *point);

/* Adds few-cores to the point's warnings. */
void cores_warn(json_t *warnings, const struct point *point, const struct cores *cores);
