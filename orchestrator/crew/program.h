/*
 * The programs of a point whose workload is one: a supervisor (wire/program.h) for each process,
 * with the program's words and environment.
 */
#pragma once

#include "orchestrator/crew/pool.h"
#include "orchestrator/crew/ports.h"
#include "orchestrator/plan/plan.h"

/* The parts of a crew that its programs need. */
struct program {
    struct pool *pool;
    struct shm *shm;
    const struct point *point;
    struct ports *ports; /* one for each process; none: program_spawn() finds them */
};

/* Starts process number index. */
enum status program_spawn(const struct program *program, const struct session *session,
                          unsigned index);

/* When the supervisors have ended: ends what those left behind that were killed. program_spawn()
 * has made these processes our children. Errors as from child_end_adopted(). */
enum status program_end_orphans(const struct program *program);
