/*
 * Between the watchdogs of an arm's function and the program: letting go of all that waits.
 */
#ifndef MPSWEEP_PROBES_WATCHDOG_H
#define MPSWEEP_PROBES_WATCHDOG_H

/* Calls every watchdog's release now, armed or not. Any thread. */
void probe_watchdogs_release(void);

#endif
