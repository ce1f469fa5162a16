/*
 * The programs of a point whose workload is one: a supervisor (wire/program.h) for each process,
 * with the program's words and environment.
 */
#pragma once

#include "orchestrator/crew/pool.h"
#include "orchestrator/crew/ports.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/plan/plan.h"

/* The parts of a crew that its programs need. */
struct program {
    struct pool *pool;
    struct shm *shm;
    const struct point *point;
    struct ports *ports; /* one for each process; none: program_spawn() finds them */
    unsigned openmp_threads;
};

/* What placeholders stand for in process number index of a point; good as long as the session. */
struct placeholders program_placeholders(const struct point *point, const struct session *session,
                                         const struct ports *ports, unsigned index);

/* Starts process number index. */
enum status program_spawn(const struct program *program, const struct session *session,
                          unsigned index);

/* Binds the programs that have a part in a further assignment to the CPUs of their workers there,
 * and notes in the slots what the kernel refuses. To be called while they are held. */
void program_bind(const struct program *program);

/* When the supervisors have ended: ends what those left behind that were killed. program_spawn()
 * has made these processes our children. Errors as from child_end_adopted(). */
enum status program_end_orphans(const struct program *program);
