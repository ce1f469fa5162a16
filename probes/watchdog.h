/*
 * Between the watchdogs of an arm's function and the program: letting go of all that waits.
 */
#pragma once

/* Calls every watchdog's release now, armed or not. Any thread. */
void probe_watchdogs_release(void);
