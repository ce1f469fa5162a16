/*
 * Shared by the files that make up a round: hand the point out (assign.c), supervise (round.c,
 * wait.c), prove that the workers are what they should be (proofs.c), measure (measure.c), collect
 * (collect.c).
 */
#pragma once

#include "orchestrator/crew/crew.h"
#include "orchestrator/round/round.h"

/* What is known of a worker that must go on. */
struct round_progress {
    uint64_t last_end_ns; /* when its last iteration ended, from the agreed start */
    uint64_t since_ns; /* when it was last seen to go on or to be idle, by the clock; 0: not yet */
};

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
    struct round_progress *progress; /* of each worker, in the window; else NULL */
    double goal_rel; /* of the interval that the window could end with; 0: it could not */
    bool grew;       /* it was longer than at its first look */
    struct latency_blocks blocks;
    uint64_t slices; /* of the window, from the end of the warm-up */
    struct round_result *result;
};

/* The slot of a worker of the point, numbered process by process. */
static inline struct shm_slot *round_slot(const struct round *round, unsigned worker)
{
    unsigned slots = point_slots(round->point);
    return shm_slot_at(&round->shm, worker / slots, worker % slots);
}

static inline unsigned round_process_of(const struct round *round, unsigned worker)
{
    return worker / point_slots(round->point);
}

/* -- assign.c ---------------------------------------------------------------------------------- */

/* Makes the crew, unless one is reused, and hands the point out to it; its processes may still have
 * to be started. */
enum status round_assign(struct round *round);

/* -- names.c: how errors name workers ---------------------------------------------------------- */

/*
 * With one GPU the names leave it out. All return out.
 *
 * round_worker_name(): "worker 2 of 4", with several GPUs "worker 2 of 4 (GPU 0, process 2 of 4,
 * thread 0 of 1)", counted from 0, as in logs, placeholders and records. round_gpu_of_process():
 * its GPU between two texts, or nothing. round_gpus_text(): " (GPU 0, GPU 1)" of a set of bits, or
 * nothing.
 */
#define ROUND_NAME_TEXT 512
const char *round_worker_name(const struct round *round, unsigned worker,
                              char out[ROUND_NAME_TEXT]);
const char *round_gpu_of_process(const struct round *round, unsigned process, const char *before,
                                 const char *after, char out[ROUND_NAME_TEXT]);
const char *round_gpus_text(const struct round *round, uint32_t gpus, char out[ROUND_NAME_TEXT]);

/* The GPUs of the processes that failed or had to be ended so far, by bit. */
uint32_t round_failed_gpus(const struct round *round);

/* -- wait.c ------------------------------------------------------------------------------------ */

/* A state that the workers reach. */
typedef bool (*round_condition)(const struct round *round);

/* Whether all workers of the point are in that state, and all processes beyond them parked. */
bool round_all_are(const struct round *round, enum shm_state state);

/* The first failed slot, as an error of the round; and how a process ended that should not have. */
enum status round_failed_slot(const struct round *round);
enum status round_ended_process(const struct round *round, unsigned index);

/*
 * Waits for a condition or a moment, whichever is first; STATUS_TIMEOUT if it was the moment. Ends
 * early with STATUS_INTERRUPTED, or with the error of a worker that failed or ended. Within the
 * window a worker that makes no progress is an error, too.
 */
enum status round_wait_until(struct round *round, round_condition condition, uint64_t until_ns);

/* -- proofs.c: once the workers are ready ------------------------------------------------------ */

/* A binding that the kernel refuses would be measured as another one: STATUS_WORKER. */
enum status round_check_binding(const struct round *round);

/* Proves with the daemon's list of clients that the workers are over MPS: each worker gave the
 * driver's word already. Of a program each process, or one that it has started, must be a client of
 * the daemon; without MPS none may be. STATUS_WORKER. */
enum status round_prove_attachment(const struct round *round);

/* Proves that shares came about; else STATUS_WORKER. */
enum status round_prove_shares(const struct round *round);

/* -- measure.c --------------------------------------------------------------------------------- */

/* Opens the gate of ready workers, sees them through to the end of the window and stops them.
 * Errors as of round_wait_until(). */
enum status round_run_window(struct round *round);

/* -- program.c --------------------------------------------------------------------------------- */

/* Whether each server of the point has an address of its own. STATUS_INFEASIBLE. */
enum status round_check_servers(const struct point *point);

/* Of a point that is a program: the errors that stand for those of our own workers. They name the
 * process and its last words. */
enum status round_program_failed(const struct round *round, unsigned process, enum status code,
                                 const char *error);
/* STATUS_OK: none of its processes has been seen to have fewer threads than the layout. */
enum status round_program_lacks_threads(const struct round *round, double seconds);
enum status round_program_unready(const struct round *round, double seconds);
enum status round_program_hangs(const struct round *round, unsigned worker);
/* Before the stop: whether each handle's process is still there. A wrapper may outlive it. */
enum status round_program_check_openers(const struct round *round);
enum status round_program_unended(const struct round *round);
/* After the window: each thread ended an iteration. */
enum status round_program_check(const struct round *round);
/* Which processes are attached to the daemon is as the point asks for it, or an error of the first
 * that is not. */
enum status round_program_check_attached(const struct round *round,
                                         const bool attached[LAYOUT_MOST_WORKERS]);

/* -- program_observed.c: what programs and their observers report ------------------------------ */

/* What a process's observer has reported last. */
enum shm_observed round_program_read_observer(const struct round *round, unsigned process,
                                              char words[SHM_TEXT_BYTES]);
/* How many threads of a process have opened handles, where one of them is ready; else 0. */
unsigned round_program_opened_threads(const struct round *round, unsigned process);
/* When the last of the processes had its iterations, as far as they have been found. */
uint64_t round_program_found_ns(const struct round *round);
/* Whether a process is at work with too few threads, and none has come for as long as it took to
 * start, counted from spawn_ns. */
bool round_program_waits_in_vain(const struct round *round);
/* Collects what was taken for its iterations. */
void round_program_observed(const struct round *round);
/* How long after its first call a process's iterations stopped repeating; 0: none's did. */
uint64_t round_program_lost_ns(const struct round *round);

/* -- cause.c ----------------------------------------------------------------------------------- */

/* Adds to the error of a failed round over MPS what the daemon knows of it: that it ended, that a
 * client's fault reached all of them, and what to do about an error of MPS's own. Call it before
 * the workers are reaped. */
void round_add_cause(const struct round *round);

/* Whether the log of the GPU's own daemon reports a fault, which its clients may not have seen. */
bool round_saw_fault(const struct round *round, unsigned gpu);

/* -- plugin.c ---------------------------------------------------------------------------------- */

/* Adds to the error of a failed round in which part of a plug-in its workers were. Call it while
 * their shared memory is mapped. */
void round_add_plugin_place(const struct round *round);

/* -- collect.c --------------------------------------------------------------------------------- */

/* Fills the result from the drained workers' slots. */
enum status round_collect(const struct round *round);

/* Add up the use of CPUs, and requests; of workers as of rounds. */
void round_add_cpu(struct shm_cpu *into, const struct shm_cpu *from);
void round_add_requests(struct round_requests *into, const struct round_requests *from);

/* -- fixed.c ----------------------------------------------------------------------------------- */

/* A part of round_collect(): the result's fixed, from the workers' times; the result has its
 * workers. STATUS_MEMORY is the only error. */
enum status round_collect_fixed(const struct shm *shm, struct round_result *result);

/* iterations x workers / mean time of a worker: its n iterations x threads² / sum of all times. */
double round_fixed_ips(double iterations_each, const double *elapsed_s, unsigned workers);

/* -- mix.c ------------------------------------------------------------------------------------- */

/* Whether a point can be: STATUS_INFEASIBLE where a workload of a mix would be without workers. */
enum status round_check_mix(const struct point *point);

/* STATUS_UNSUPPORTED where the lengths of its kernels are not known. */
enum status round_check_lengths(const struct point *point);

/* Gives each worker of a mix its workload: in the order of their numbers, as mix_next() deals. */
void round_deal_mix(const struct round *round);

/* A part of round_collect(): the result's workloads, from each worker's iterations in the steady
 * part of the window, which lasted steady_s seconds. STATUS_MEMORY is the only error. */
enum status round_collect_mix(const struct round *round, const double *iterations, double steady_s);

/* -- partition.c ------------------------------------------------------------------------------- */

/* Whether a point can have its partitions: STATUS_INFEASIBLE over MPS. */
enum status round_check_partition(const struct point *point);

/* Gives the workers the numbers of multiprocessors that are to be their threads' own. */
void round_deal_partitions(const struct round *round);

/* Proves that no two threads of a process have kernels on the same multiprocessor, and none on more
 * than it was given; else STATUS_WORKER. Processes take turns, and may have the same ones. */
enum status round_prove_partitions(const struct round *round);

/* -- placement.c ------------------------------------------------------------------------------- */

/* The CPUs of the point's binding; of no concern on the emulated GPU, whose workers sleep. */
struct cores round_cores(const struct session *session, const struct point *point);

/* Where the host buffers of workers that have been ready lie: of the processes gpu, gpu + gpus and
 * so on, which are those of one of several GPUs; 0 and 1: of all. */
struct numa round_numa(const struct session *session, const struct shm *shm, unsigned gpu,
                       unsigned gpus);

/* The nodes of one worker's buffers, "0" or "0-1"; empty where they are not known, and on a machine
 * of one node. */
void round_numa_text(const struct session *session, const struct shm_slot *slot, char *text,
                     size_t size);
