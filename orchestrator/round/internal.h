/*
 * Shared by the files that make up a round: assign (workers.c), supervise (round.c), prove that
 * the workers are what they should be (round_proofs.c), measure (round_window.c), collect
 * (collect.c).
 */
#pragma once

#include "orchestrator/crew/crew.h"
#include "orchestrator/round/round.h"

struct round {
    struct session *session;
    const struct point *point;
    const struct round_limits *limits;
    struct crew *crew;
    const struct turn *turn;
    struct shm shm;             /* the crew's, as are */
    struct gpu_child *children; /* these; those of the point come first */
    uint64_t spawn_ns;          /* when the first was started */
    bool gate_open;
    uint64_t slices; /* the window: so many from the end of the warm-up */
    struct round_result *result;
};

/* Makes the crew, unless one is reused, and hands the point out to it; its processes may still have
 * to be started. */
enum status workers_prepare(struct round *round);

/*
 * round_names.c: how errors name workers. With one GPU nothing is said of it.
 *
 * round_worker_name(): "worker 3 of 4", with several GPUs "worker 3 of 4 (GPU 0, process 3 of 4,
 * thread 1 of 1)". round_gpu_of_process(): its GPU between two texts, or nothing.
 * round_gpus_text(): " (GPU 0, GPU 1)" of a set of bits, or nothing. All return out.
 */
#define ROUND_NAME_TEXT 512
const char *round_worker_name(const struct round *round, unsigned worker,
                              char out[ROUND_NAME_TEXT]);
const char *round_gpu_of_process(const struct round *round, unsigned process, const char *before,
                                 const char *after, char out[ROUND_NAME_TEXT]);
const char *round_gpus_text(const struct round *round, uint32_t gpus, char out[ROUND_NAME_TEXT]);

/* The GPUs of the processes that failed or had to be ended so far, by bit. */
uint32_t round_failed_gpus(const struct round *round);

/* Something that the workers come to. */
typedef bool (*round_condition)(const struct round *round);

/* Whether all workers of the point are in that state, and all processes beyond them parked. */
bool round_all_are(const struct round *round, enum shm_state state);

/*
 * Waits for a condition or a moment, whichever is first; STATUS_TIMEOUT tells that it was the
 * moment. Ends early with STATUS_INTERRUPTED, or with the error of a worker that failed or ended.
 * With beats and since_ns, of the caller's, zero at first and as many as workers each, a worker
 * that makes no progress is an error, too.
 */
enum status round_wait_until(struct round *round, round_condition condition, uint64_t until_ns,
                             uint64_t *beats, uint64_t *since_ns);

/* A binding that the kernel refuses would be measured as another one: STATUS_WORKER. To be called
 * once the workers are ready, as are the proofs. */
enum status round_check_binding(const struct round *round);

/* No number over MPS without proof: the driver's word came from each worker; this is the daemon's.
 * STATUS_WORKER where it knows less than all worker processes as its clients. */
enum status round_prove_attachment(struct round *round);

/* Nor with shares that did not come about: STATUS_WORKER. */
enum status round_prove_shares(const struct round *round);

/* Opens the gate of ready workers and sees them through to the end of the window; they are told to
 * stop then. Errors as of round_wait_until(). */
enum status round_run_window(struct round *round);

/* round_program.c, of a point that is a program: what stands in failed_slot(), get_ready(), drain()
 * and check_progress() for workers of our own, and the proofs. They name the process and its last
 * words. */
enum status round_program_failed(const struct round *round, unsigned process, enum status code,
                                 const char *error);
enum status round_program_unready(const struct round *round, double seconds);
enum status round_program_hangs(const struct round *round, unsigned worker);
enum status round_program_unended(const struct round *round);
/* After the window: each thread has something to show for it. */
enum status round_program_check(const struct round *round);
/* Of each process, it or a process that it has started must be a client of the daemon; without MPS
 * none may be. */
enum status round_program_prove(struct round *round);

/* cause.c: adds to the error of a failed round over MPS what the daemon knows of it: that it ended,
 * that a client's fault reached all of them, and what to do about an error of MPS's own. To be
 * called while the workers are not reaped. */
void round_add_cause(const struct round *round);

/* Whether the log of the GPU's own daemon tells of a fault, which its clients may have kept to
 * themselves. */
bool round_saw_fault(const struct round *round, unsigned gpu);

/* How many slices every worker has passed: what is counted in them does not change any more. */
uint64_t collect_slices_done(const struct shm *shm);

/* Fills the result from the drained workers' slots. */
enum status collect_result(const struct round *round);
