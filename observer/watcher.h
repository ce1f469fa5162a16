/*
 * Turns what a thread calls into iterations. Where the layout has one thread, a process has one
 * watcher, whichever of its threads calls; else each thread has its own.
 *
 * Threads that launch and wait themselves, as those of a pool do, each have marks of their own,
 * which are put in one row. What others launch or copy goes to the next mark of any.
 *
 * A watcher learns first: it collects marks (observer/period.h) until iterations are known. Then it
 * opens a handle of the client, and every boundary ends an iteration and begins the next: there the
 * thread waits for the common start, for a planned start of an open loop, and at the end for
 * the program to be ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "observer/calls.h"
#include "wire/tick.h"

struct watcher;

/* Once, before any call of another function: what counts as an iteration, which must outlive all
 * calls; how many calls one has, as an observer found earlier (0: none has); and for how long after
 * its first call the program repeats something else, as one found earlier (0: none has). False:
 * there is nothing to watch for, or no memory of mpsweep to write to. */
bool watcher_open(const struct tick *tick, unsigned known_calls, uint64_t cold_ns);

/* The calling thread's; NULL: it is not watched. */
struct watcher *watcher_of_thread(void);

/* A call has ended. May wait: the caller holds no lock. */
void watcher_take(struct watcher *watcher, const struct call *call);

/* A range of the name that was asked for begins or ends. */
void watcher_push(struct watcher *watcher);
void watcher_pop(struct watcher *watcher);

/* Why the process cannot be watched: for the orchestrator. */
void watcher_refuse(const char *text);
