/*
 * mpsweep report: results files as one HTML page that needs no network, nor any other file.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Writes the page; returns an exit status. It appears whole or not at all, and depends on nothing
 * but the files and their names: the same input gives the same bytes. */
int report_command(const struct invocation *invocation);
