/*
 * mpsweep emit RESULTS: picks a point of a results file and writes its deployment.
 */
#pragma once

#include <stdio.h>

#include "job/options.h"
#include "orchestrator/emit/request.h"

/* What was not given and must be, for an error; NULL: nothing. */
const char *emit_command_lacks(const struct options *options, const char *results);

/* Says what was written, of which point, and what is still to be edited. */
void emit_tell(FILE *out, const struct emit_request *request);

/* command: the words behind '--', NULL for none. Prints what it took and wrote; returns an exit
 * status. */
int emit_command(const struct options *options, const char *path, char *const *command);
