/* An NVIDIA H200 with 16 CPUs, driver 580, and the iteration of the forum's experiment: figures
 * from docs/results, as a calibration would find them. */
#ifndef MPSWEEP_TESTS_H200_H
#define MPSWEEP_TESTS_H200_H

#include "explain/calibration.h"

#define H200_WORK                                                                                  \
    {                                                                                              \
        .kernels = 220, .blocks = 5, .threads_per_block = 64, .spin = 3072, .bytes = 1441792       \
    }

static const struct calibration h200 = {
    .work = H200_WORK,
    .single_stream_ips = 284,
    .single_graph_ips = 270,
    .single_stream_cpu_us = 560,
    .single_graph_cpu_us = 60,
    .single_pageable_ips = 274,
    .process_launches_per_s = 0.89e6,
    .gpu_launches_per_s = 0.9e6,
    .graph_kernels_per_s = 5e6,
    .arithmetic_ips = 19058,
    .h2d_bytes_per_s = 55e9,
    .d2h_bytes_per_s = 55e9,
    .both_bytes_per_s = 51e9,
    .process_unsynced_ips = 1190,
    .process_pageable_graph_ips = 474,
    .single_spin_cpu_us = 3520,
    .crowd_workers = 8,
    .crowd_stream_ips = 1960,
    .cpus = 16,
    .sms = 132,
};

#endif
