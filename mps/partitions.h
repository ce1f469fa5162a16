/*
 * Static partitions of a GPU's multiprocessors: each is some chunks of them, which only its own
 * clients use. A client names its partition in CUDA_MPS_SM_PARTITION; without it, it gets no
 * context. An active thread percentage has no effect then.
 *
 * Source: docs.nvidia.com/deploy/mps/common-tasks.html, "Using Static SM Partitioning", and
 * mpsv2-interface.html there (release 615). Driver 580 does not have them: no GPU has run this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mps/control.h"

#define MPS_PARTITION_VARIABLE "CUDA_MPS_SM_PARTITION"
#define MPS_PARTITIONS_VERSION 13010 /* of the first control program with them */

/* Whether a control program of that version (mps_control_version()) has them. */
bool mps_partitions_supported(int version);

/* STATUS_UNSUPPORTED names the program's version, and the one that it takes. */
enum status mps_partitions_check(const struct mps_control *control, uint64_t deadline_ns);

/* Makes a partition on the GPU with that UUID. STATUS_UNSUPPORTED: the daemon's complaint. */
enum status mps_partition_add(const struct mps_control *control, const char *uuid, unsigned chunks,
                              uint64_t deadline_ns);

/* All partitions of the daemon. GPUs have their whole UUIDs where the daemon lists its devices. */
enum status mps_partitions_list(const struct mps_control *control, uint64_t deadline_ns,
                                struct mps_partition_row *rows, size_t capacity, size_t *count);
