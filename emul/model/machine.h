/*
 * What an emulated machine can do, as text: the environment variable EMUL_MACHINE_VARIABLE holds
 * NAME=NUMBER,... and sets what differs from the default machine. It is read when the machine's
 * state is made; processes that attach to the state take what it holds.
 *
 * Names, each a whole number (docs/emulated.md lists which ceiling each of them sets):
 *   slots            kernels of one unit that run at once; also the number of multiprocessors
 *   launch_ns        host side of a kernel launch; one at a time in a process
 *   graph_launch_ns  host side of a graph launch; the same
 *   copy_call_ns     host side of a copy
 *   front_ns         what the GPU needs to accept one stream launch, of whatever process
 *   graph_node_ns    what the GPU needs to begin one kernel of a graph, of whatever process;
 *                    0: nothing
 *   kernel_ns        fixed cost of a kernel launched by a stream
 *   graph_kernel_ns  and of one inside a graph
 *   spin_ns          one step of a kernel's spin
 *   copy_latency_ns  fixed cost of a copy
 *   h2d_mb_per_s, d2h_mb_per_s, pageable_mb_per_s
 *                    bandwidth of the copy engines with pinned memory, and with pageable memory,
 *                    which is less: each byte is moved twice; a megabyte is 10^6 bytes
 *   device_mb_per_s  bandwidth of the GPU's own memory, read and written
 *   host_mb_per_s    bandwidth of the host's memory, for the copies of all GPUs together; 0: none
 *                    that is known of
 *   slice_ns         time slice of a context
 *   queues, queues_mps, queues_most
 *                    hardware queues of a process by default, of an MPS client, and at most
 *   cpu_ns           CPU time that a launch, a copy or a wait for a stream really burns in its
 *                    thread
 */
#pragma once

#include "common/status.h"
#include "emul/model/model.h"

#define EMUL_MACHINE_VARIABLE "MPSWEEP_EMULATED_MACHINE"

/* The default machine, changed by text; NULL or "": not at all. STATUS_USAGE: an unknown name, or a
 * value that is not a number or is out of range; *out is set only on success. */
enum status machine_parse(const char *text, struct model_machine *out);
