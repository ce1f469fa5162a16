/*
 * What the observer reports of the process to the orchestrator, in its struct shm_observer: which
 * calls it makes, and what is taken for an iteration of it. Once client_attach() has succeeded, by
 * any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "observer/calls.h"
#include "observer/period.h"
#include "shm/shm.h"
#include "wire/tick.h"

/* Whether a thread or process of the program has reported what is an iteration. */
bool report_is_iteration(void);

/* A state with the words for it. What another thread or process of the program has found stays. */
void report_state(enum shm_observed state, const char *text);

/* No iteration yet: how often each kind of call was made, and whether anything of it is work. */
void report_calls(const uint64_t calls[CALL_KINDS], bool works);

/* What is taken for one: the period that was found by that tick, and the kind of call that its
 * marks are. */
void report_iteration(const struct period *period, const struct tick *tick, enum call_kind stands);

/* A further thread has launched anything, or has iterations of its own. */
void report_thread(void);

/* A call of a process whose iterations are not known. */
void report_call(void);

/* A launch of a process that has no handle, where others have them all. */
void report_uncounted(void);

/* The iterations repeat no longer, that long after the first call. */
void report_lost(uint64_t after_ns);
