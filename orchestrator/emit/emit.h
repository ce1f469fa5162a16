/*
 * mpsweep emit RESULTS: picks a point of a results file and writes its deployment, a directory that
 * runs the layout of a measured point, over an MPS daemon of its own where the point was, without
 * mpsweep.
 *
 * The directory appears whole or not at all. docs/deploying.md describes what every format has in
 * common, and what each file is for; a README.md in the directory has the rest.
 */
#pragma once

#include <stdio.h>

#include "common/status.h"
#include "orchestrator/console/invocation.h"
#include "orchestrator/emit/request.h"

/*
 * Writes the directory. It is made beside its place and renamed. SIGINT, SIGTERM and SIGHUP are
 * blocked meanwhile, and one that comes ends it.
 *
 * STATUS_USAGE: a bad record, format, directory or command. STATUS_NOT_FOUND: our own files are
 * not there. STATUS_SYSTEM: it cannot be written. STATUS_INTERRUPTED: a signal came. In all these
 * cases nothing is left behind, and an empty directory that was there is there as it was.
 */
enum status emit_write(const struct emit_request *request);

/* Checks that emit_write() can do it, before a long measurement whose result goes there: the
 * directory's place is free and its parent is there, and the format runs this command. What is
 * wrong with the point, or a port that is too high for its processes, is not known before.
 * STATUS_USAGE, STATUS_SYSTEM otherwise. */
enum status emit_check(const char *format_name, const char *directory, char *const *command);

/* Prints what was written, of which point, and what must still be edited. */
void emit_report(FILE *out, const struct emit_request *request);

/* Prints what it took and wrote, and returns an exit status. */
int emit_command(const struct invocation *invocation);
