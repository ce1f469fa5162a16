/*
 * Known limits applied to a plan: the points that they rule out get their records without being
 * tried.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

/* Whether there is a point that limits could rule out, and a file that may hold some. */
bool limits_plan_concerns(const struct plan *plan);

/* Sets beyond[i] and makes records[i] for each point that the limits kept for this session's GPU
 * and driver rule out. None kept is STATUS_OK; STATUS_PROTOCOL and STATUS_SYSTEM: the file cannot
 * be used, nothing is marked and the sweep can go on. */
enum status limits_plan_mark(const struct session *session, const struct plan *plan,
                             json_t **records, bool *beyond);
