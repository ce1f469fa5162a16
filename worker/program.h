/*
 * The supervisor of a program of the user's: what mpsweep-worker is with --run. It stands between
 * the orchestrator and the program, one for each process of a layout.
 *
 * The program runs in a session of its own, bound to the CPUs of its workers, without input, and
 * finds the shared memory through wire/program.h. What it prints goes to the log, or nowhere;
 * its last line on standard error is kept for the errors (shm_process.words). Whatever it starts
 * stays a descendant of the supervisor, which ends only when all of them have. A keeper
 * (worker/keeper.h) stands between the two, and ends them all if the supervisor is killed.
 *
 * It hears from the orchestrator:
 *   SIGUSR1 with a number N  the stop flag is set: the program has N milliseconds to publish
 *                            and to end. When half of them are over, or a second after it has
 *                            published, it is sent SIGTERM. A smaller number may follow.
 *   SIGTERM                  end everything now, by SIGKILL
 *   the end of the life pipe the orchestrator is gone: both, with times of its own
 * Without the latter two it sends SIGTERM only, and marks the record of a program that died of it
 * (cut_off): that may have been an MPS client at work.
 *
 * A program that ends before the stop fails its slots. Exit status 0: all of them are done.
 *
 * One program may serve several assignments: the client library holds it between two of them, and
 * parks it (shm/shm.h). The supervisor has no part in that; when the program ends, it withdraws
 * that it has parked.
 */
#pragma once

struct program_call {
    int shm, event, life, process;
    int kept;             /* a further descriptor that the program keeps, -1: none */
    int trace;            /* the memory of a trace, -1: none */
    unsigned long files;  /* that it may open; 0: as many as we */
    const char *log;      /* file to append to, NULL: none */
    char *const *command; /* NULL-ended */
};

/* Returns the exit status. */
int program_supervise(const struct program_call *call);
