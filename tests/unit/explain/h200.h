/* An NVIDIA H200 with 16 CPUs, driver 580, and the iteration of the forum's experiment, as
 * `mpsweep sweep --calibrate` measured it there in 52 s. */
#pragma once

#include "explain/calibration.h"

#define H200_WORK                                                                                  \
    {                                                                                              \
        .kernels = 220, .blocks = 5, .threads_per_block = 64, .spin = 3072, .bytes = 1441792       \
    }

static const struct calibration h200 = {
    .work = H200_WORK,
    .single_stream_ips = 282.5908221,
    .single_graph_ips = 297.9211173,
    .single_stream_cpu_us = 668.2755,
    .single_graph_cpu_us = 44.80644156,
    .single_pageable_ips = 271.0791509,
    .process_launches_per_s = 1004295.514,
    .gpu_launches_per_s = 1007766.463,
    .graph_kernels_per_s = 5758425.421,
    .process_graphs_per_s = 249601.3089,
    .arithmetic_ips = 19153.94655,
    .h2d_bytes_per_s = 4.668846815e10,
    .d2h_bytes_per_s = 4.822239244e10,
    .both_bytes_per_s = 3.948814356e10,
    .pageable_bytes_per_s = 8261344292.0,
    .process_unsynced_ips = 795.7773433,
    .process_pageable_graph_ips = 457.3136318,
    .single_spin_cpu_us = 3548.540686,
    .crowd_workers = 8,
    .crowd_stream_ips = 1909.160737,
    .cpus = 16,
    .sms = 132,
};
