/*
 * The engine of plug-ins: workloads of the user's own, shared objects with the callbacks of
 * include/mpsweep/workload.h.
 *
 * The file is loaded once by a process, when its first worker opens it, and stays. A graph or
 * several threads that it does not allow are STATUS_INFEASIBLE. When a process's last instance has
 * been ended, memory that it kept is looked for (worker/engines/plugin_memory.h), which may take
 * another instance, made and ended for that.
 */
#pragma once

#include "worker/engines/engine.h"

extern const struct engine plugin_engine;
