/*
 * The doctor command: is this machine ready, and if not, what to type.
 */
#pragma once

/* Prints a line a check (ok, warning, problem), and what to type under each that is not ok.
 * device: as the option. Returns the exit status: EXIT_BAD_SETUP if there is a problem. */
int doctor_command(const char *device);

/* Finds the MPS limits of a device, prints them as a table, and keeps them. Returns the exit
 * status. */
int doctor_limits_command(const char *device);
