/*
 * What the user sees of MPS limits: `mpsweep doctor --limits`, and one line for the doctor.
 */
#pragma once

#include "orchestrator/session/mps_limits.h"
#include "orchestrator/session/session.h"

/* Finds the limits of a device, prints them as a table, and keeps them. Returns the exit status. */
int limits_command(const char *device);

/* The kept limits of this session's GPU and driver; as limits_load(). */
enum status limits_known(const struct session *session, struct limits *out);

/* What is known in one line: the limits, or how to find them. The status is that of
 * limits_known(): STATUS_NOT_FOUND is no fault. */
enum status limits_describe(const struct session *session, char *text, size_t size);
