/*
 * How a program finds what its supervisor (worker/program.c) made for it: one variable of its
 * environment, "VERSION SHM EVENT SUPERVISOR PROCESS [TRACE]", decimal numbers: the version of this line,
 * the descriptors of the shared memory and of the eventfd that counts changes, the supervisor's
 * process, which has the same descriptors in case that a process between closed them, the number of
 * the process among those of the layout, and, where it is traced, the descriptor of the trace's
 * memory (trace/buffer.h).
 */
#pragma once

#define CLIENT_VARIABLE "MPSWEEP_CLIENT"
#define CLIENT_PROTOCOL 1

/* An ELF note of the client, by which a program is known that it is linked into. */
#define CLIENT_NOTE 1
#define CLIENT_NOTE_NAME "mpsweep"

/* Where mpsweep.py finds the library. */
#define CLIENT_LIBRARY_VARIABLE "MPSWEEP_CLIENT_LIBRARY"
#define CLIENT_LIBRARY "libmpsweep-client.so.1"

/* The observer library, for a program that does not report its iterations or is traced. The next
 * three variables load it: for NVTX ranges, for other iterations, for a trace. The last four give
 * it the text of --tick, how many calls an iteration had in an earlier process, for how many
 * milliseconds that process was not warm, and CUPTI's file, if it is known. */
#define OBSERVER_LIBRARY "mpsweep-observer.so"
#define OBSERVER_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define OBSERVER_PRELOAD_VARIABLE "LD_PRELOAD"
#define OBSERVER_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"
#define OBSERVER_TICK_VARIABLE "MPSWEEP_TICK"
#define OBSERVER_KNOWN_VARIABLE "MPSWEEP_KNOWN_CALLS"
#define OBSERVER_COLD_VARIABLE "MPSWEEP_COLD_MS"
#define OBSERVER_CUPTI_VARIABLE "MPSWEEP_OBSERVER_CUPTI"
