/*
 * The part of the doctor that looks at the GPU and its driver. It makes no CUDA context.
 */
#pragma once

#include <stdbool.h>

#include "orchestrator/doctor/internal.h"
#include "orchestrator/session/session.h"

/* in_container: there are other ways to a GPU. */
void doctor_check_gpu(struct doctor *doctor, const struct session *session, bool in_container);
