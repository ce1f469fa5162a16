/*
 * Watchdogs end what would otherwise wait for ever: at the moment that one is armed for, unless it
 * is disarmed before, a thread of its own calls release(argument), which sets a flag or the like:
 * it must not call CUDA, lock or wait. Watchdogs also call it when the orchestrator is gone or the
 * arm's time is over, and may call it twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

struct probe_watchdog;
enum status probe_watchdog_new(void (*release)(void *argument), void *argument,
                               struct probe_watchdog **out);
void probe_watchdog_arm(struct probe_watchdog *watchdog, uint64_t at_ns);

/* Whether it has released since it was armed. */
bool probe_watchdog_disarm(struct probe_watchdog *watchdog);
void probe_watchdog_free(struct probe_watchdog *watchdog); /* NULL is fine */

/* Calls every watchdog's release now, armed or not. Any thread. */
void probe_watchdogs_release(void);
