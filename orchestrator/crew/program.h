/*
 * The programs of a point whose workload is one: a supervisor (wire/program.h) for each process,
 * with the program's words and environment.
 */
#pragma once

#include "orchestrator/crew/pool.h"
#include "orchestrator/plan/plan.h"

/* The parts of a crew that its programs need. */
struct program {
    struct pool *pool;
    struct shm *shm;
    const struct point *point;
    unsigned *port; /* the first of one for each process; 0: program_spawn() finds it */
};

/* Starts process number index. */
enum status program_spawn(const struct program *program, const struct session *session,
                          unsigned index);

/* When the supervisors have ended: kills the processes in the sessions of those that were killed.
 * They are our children, since program_spawn() makes us a subreaper. */
void program_end_orphans(const struct program *program);
