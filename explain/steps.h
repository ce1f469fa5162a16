/*
 * What explain/ knows of a described workload's iteration: the fields of struct work that it reads,
 * from the steps. Bytes are the mean of both ways, as copies are calibrated with the workload's own
 * (orchestrator/calibrate/points.h).
 */
#pragma once

#include "job/work.h"
#include "job/workload_text.h"

/* Sets the workload, kernels (device copies included, which the host launches as well), bytes, and
 * the fields of described workloads; of the rest of what makes an iteration nothing is left. */
void steps_describe(const struct workload_step *steps, unsigned count, struct work *out);
