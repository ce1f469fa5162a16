/*
 * The doctor command: is this machine ready, and if not, what to type.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Prints a line for each check (ok, warning, problem), and below each that is not ok what to type.
 * --limits: if the machine is ready, finds the MPS limits of the device, prints them as a table,
 * and keeps them. Returns an exit status: EXIT_BAD_SETUP if there is a problem. */
int doctor_command(const struct invocation *invocation);

/* Finds the MPS limits of a device, prints them as a table, and keeps them. Returns an exit status.
 */
int doctor_find_limits(const char *device);
