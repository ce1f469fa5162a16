/*
 * The part of the doctor that looks at MPS: its programs, what this environment says to them, and
 * whether a private daemon starts.
 */
#pragma once

#include <stdbool.h>

#include "orchestrator/doctor/internal.h"
#include "orchestrator/session/session.h"

/* False if they are not there, so that no daemon can start. */
bool doctor_check_mps_programs(struct doctor *doctor, const struct session *session);

/* CUDA_MPS_ variables that mpsweep was started with. */
void doctor_check_mps_environment(struct doctor *doctor);

/* Starts a daemon, and ends it again. */
void doctor_check_mps_start(struct doctor *doctor, struct session *session);
