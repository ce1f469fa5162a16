/*
 * The signals by which a user, a terminal or a service manager asks a program to end.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* SIGINT, SIGTERM and SIGHUP. */
#define ENDING_SIGNALS 3
extern const int ending_signals[ENDING_SIGNALS];

/* Makes the set of all three. */
void ending_signals_set(sigset_t *out);

/* Whether one of them pends; the caller has blocked them. */
bool ending_signals_pend(void);
