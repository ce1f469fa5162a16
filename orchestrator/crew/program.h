/*
 * Starting the programs of a point whose workload is one: a supervisor (worker/program.h) for each
 * process, with the program's words and environment.
 */
#pragma once

#include "orchestrator/crew/crew.h"

/* crew_spawn() of such a crew. */
enum status program_spawn(struct crew *crew, const struct session *session, unsigned index);

/* When its supervisors have ended: kills what those have left that were killed themselves, so far
 * as it is still in its program's session. It came to us, who are a subreaper since
 * program_spawn(). */
void program_end_orphans(const struct crew *crew);
