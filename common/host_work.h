/*
 * Work of the host of a fixed amount: turns of a loop that keeps a core's arithmetic units as busy
 * as an interpreter or a framework does. Such work takes longer while something else has the core's
 * other hardware thread, on a virtual machine also another guest. Nanoseconds, also those of CPU
 * time, do not show that.
 */
#pragma once

#include <stdint.h>

/* Does a number of turns, of about a nanosecond each. */
void host_work(uint64_t turns);

/* What a CPU with nothing beside it does in a millisecond, at least 1: the most that the calling
 * thread does in a short time on any of the CPUs that it may run on. It spends 64 ms on all of them
 * together, at least 4 ms on each; afterwards it may run where it could before. each, unless NULL,
 * has room for `cpus` numbers of CPUs: the most on each of them, 0 where the thread may not run. */
uint64_t host_work_turns_per_ms(uint64_t *each, unsigned cpus);
