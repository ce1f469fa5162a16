/*
 * The part of the doctor that looks at the GPU and its driver. It makes no CUDA context.
 */
#ifndef MPSWEEP_ORCHESTRATOR_DOCTOR_GPU_H
#define MPSWEEP_ORCHESTRATOR_DOCTOR_GPU_H

#include <stdbool.h>

#include "orchestrator/doctor/report.h"
#include "orchestrator/session/session.h"

/* in_container: there are other ways to a GPU. */
void doctor_check_gpu(struct doctor *doctor, const struct session *session, bool in_container);

#endif
