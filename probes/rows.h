/*
 * The rows of all probes, each in the file of its name.
 */
#pragma once

#include "probes/probe.h"

extern const struct probe probe_copy_block;
extern const struct probe probe_launch_delay;
extern const struct probe probe_lazy_load;
extern const struct probe probe_context_admission;
extern const struct probe probe_launch_contention;
extern const struct probe probe_launch_gate;
extern const struct probe probe_peer_stall;
