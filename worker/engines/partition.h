/*
 * Parts of the GPU's multiprocessors, one for each thread of a process, as green contexts; and
 * which multiprocessors a worker's kernels really run on.
 */
#pragma once

#include "worker/engines/process.h"

/* Splits the multiprocessors as the slots of this assignment demand, for partition_open(). Called
 * while no worker runs; gives back what an earlier call made. STATUS_INFEASIBLE: this driver or GPU
 * cannot; nothing to do is fine. */
enum status partition_split(struct worker_process *process);

/* Makes the green context of a thread of the process, which is current afterwards. After a failure,
 * too, it is to be closed. */
enum status partition_open(const struct worker_process *process, unsigned thread,
                           struct worker_context *context);

/* Runs blocks for every multiprocessor of the GPU in the stream, launched as the settings demand,
 * and notes in the slot on which ones they ran. Of a slot without a part it notes nothing. */
enum status partition_locate(const struct worker_process *process,
                             const struct worker_context *context, cuda_stream stream,
                             struct shm_slot *slot);
