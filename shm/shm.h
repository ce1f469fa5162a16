/*
 * The shared-memory contract between the orchestrator and a crew: the worker processes that serve
 * one point, or several points one after the other.
 *
 * One anonymous mapping (memfd), made by the orchestrator for each crew and handed to the workers
 * as a descriptor. Its parts, in order: one struct shm_header, one struct shm_process for each
 * process, one struct shm_slot for each worker, as many as the crew has at most. A worker is what
 * has an iteration in flight: one of the streams of a thread, whose slots follow each other. The
 * magic, version and length are checked on attach.
 *
 * Each point is an assignment, numbered from 1. The orchestrator lays it out with shm_reset() while
 * no process works (before the first one starts, or with shm_parked()), and hands it out with
 * shm_assign(). A process that has finished with it, or has no part in it, parks: it notes so in
 * its record and waits for the next number, or until it is dismissed.
 *
 * Who writes what:
 *   header.settings, .processes, .threads, .keeps, slot.cpus, slot.workload, slot.partition,
 *   process.cpus, process.nodes, process.device_uuid
 *                             the orchestrator, between shm_reset() and shm_assign(); otherwise
 *                             read-only, but for settings.slice_ns: shm_align_slices()
 *   header.assignment, .gate, .start_ns, .window_begin_ns, .window_end_ns, .stop, .slots_usable
 *                             the orchestrator, at any time (atomics); a worker whose orchestrator
 *                             is gone sets stop and assignment in its place, and one that cannot
 *                             start a thread sets stop
 *   process, slot             the worker process only, from shm_assign() until it has parked; the
 *                             orchestrator reads atomics at any time, and everything else once the
 *                             state is done or failed (acquire), and changes the slices of those
 *                             that have finished fixed work. Of a program (worker/program.h)
 *                             the slots are its own until it has ended, and its supervisor's then
 *
 * Life of a slot, anew with each assignment: starting -> ready -> running -> draining -> done, or
 * failed from anywhere. Between running and draining it is finished: with fixed work, and where a
 * stream has stopped before the other ones of its thread. A process with a failed slot does not
 * park, but ends.
 *
 * A program's slots are held one by one: the handle that has published, or has no part in the
 * assignment, notes its number when the program comes back to begin an iteration, and waits. The
 * last handle of a process parks it: the last of those that its program has.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statistics/histogram.h"
#include "common/clock.h"
#include "common/status.h"
#include "job/work.h"
#include "job/workload_mix.h"

#define SHM_MAGIC UINT64_C(0x31706565777370bd) /* never valid UTF-8 text */
#define SHM_VERSION 23

/* Time slices in which progress is counted, the first beginning with the window. The
 * orchestrator picks slice_ns so that the longest window fits. */
#define SHM_SLICES 2048

/* A worker notes how long its longest iterations took: the last of them shows what is usual,
 * however far a few are beyond it. */
#define SHM_LONGEST 4

/* Progress is counted in fractions of an iteration: an iteration that crosses a slice boundary
 * credits each slice with the share of its time spent there, so that windows have no edge error. */
#define SHM_ITERATION_UNITS (UINT64_C(1) << 20)

/* At the very end of a wait that is spent awake no worker yields. */
#define SHM_STARE_NS (20 * NS_PER_US)

/* The number of the assignment that never comes. */
#define SHM_DISMISSED UINT32_MAX

/* What the kernel did with the request to place a process's host memory on NUMA nodes. */
enum shm_policy {
    SHM_POLICY_NONE,      /* there is none, or it comes true without asking */
    SHM_POLICY_SET,       /* the kernel was asked for it */
    SHM_POLICY_INHERITED, /* there was a policy already, which stays */
    SHM_POLICY_REFUSED,   /* the kernel refused */
};

enum shm_state {
    SHM_STATE_STARTING,
    SHM_STATE_READY,    /* buffers made, modules loaded, two iterations run and checked */
    SHM_STATE_RUNNING,  /* released */
    SHM_STATE_FINISHED, /* has no iteration left to do; with fixed work, before the stop flag;
                         * without, one of several streams of a thread, after it */
    SHM_STATE_DRAINING, /* saw the stop flag */
    SHM_STATE_DONE,     /* results published */
    SHM_STATE_FAILED,   /* error published */
};

/* How far a program's thread has come with its handle. */
enum shm_opened { SHM_OPENED_NOT, SHM_OPENED_TAKEN, SHM_OPENED_BEGUN };

/* Everything that the worker program needs to know; struct work has the meaning of most. */
struct shm_settings {
    uint32_t memory, sync, launch, schedule, workload;
    uint32_t kernels, blocks, threads_per_block, spin;
    uint32_t device;   /* ordinal among the devices that the worker sees */
    uint32_t streams;  /* of each thread, each with a slot; 0 counts as 1 */
    uint32_t contexts; /* enum work_contexts */
    uint64_t bytes, delay_cycles, worked_bytes;
    uint64_t slice_ns;
    uint64_t warmup_ns, iterations; /* see window_begin_ns */
    uint32_t with_mps;              /* 1: the workers must be MPS clients; 0: they must not be */
    uint32_t server;                /* 1: the workers of a process are connections to one server */
    uint32_t arrival, copies, stagger_us;
    uint64_t rate_units, arrival_seed;
    struct mix_work mix; /* of described workloads, which the workers are dealt to */
};

/* Which part of a plug-in a worker is in: for the error when it does not come back. */
enum shm_inside {
    SHM_INSIDE_NOTHING,
    SHM_INSIDE_LOADING, /* the file's own initialisation, and describe */
    SHM_INSIDE_INIT,
    /* Or completed, or check: one after the other, since a store between them is timed. Of several
     * streams of a thread only the one that the thread serves is in there. */
    SHM_INSIDE_ITERATE,
    SHM_INSIDE_FINI,
};

/* Progress is reported through an eventfd beside the memory: each change of a state adds 1 to it.
 */
struct shm_header {
    uint64_t magic;
    uint32_t version;
    uint32_t processes;      /* that have a part in the assignment: those numbered below */
    uint64_t length;         /* of the whole mapping, bytes */
    uint32_t threads;        /* in each of them, with settings.streams workers each */
    uint32_t keeps;          /* 1: another assignment may follow this one; 0: it is the last */
    uint32_t processes_most; /* what the mapping has room for */
    uint32_t slots_most;     /* of each process */
    uint32_t slot_bytes, process_bytes, header_bytes; /* sizes as the maker knew them */
    struct shm_settings settings;
    struct work_plugin plugin; /* written as the settings are */

    /* Of each process, the first slots, that it can have a part with: fewer than slots_most where a
     * program turned out to have fewer threads than it was asked for. */
    _Atomic uint32_t slots_usable;

    /* Its number, 0 before the first, SHM_DISMISSED after the last; parked processes wait on it as
     * a futex. */
    _Alignas(64) _Atomic uint32_t assignment;

    /* The release gate: workers wait on it as a futex until it is open, then until start_ns. */
    _Alignas(64) _Atomic uint32_t gate;
    _Atomic uint64_t start_ns;
    /* Begin of the window, from the agreed start: settings.warmup_ns, but of a server in a closed
     * loop UINT64_MAX until the orchestrator decides, a little ahead. */
    _Atomic uint64_t window_begin_ns;
    /* End of the window, from the agreed start: its latest one until the orchestrator decides, a
     * little ahead; UINT64_MAX with fixed work. Iterations that begin later are not counted. */
    _Alignas(64) _Atomic uint64_t window_end_ns;
    _Atomic uint32_t stop;
};

enum { SHM_GATE_CLOSED, SHM_GATE_OPEN };

/* The last of the texts that one process publishes while another one reads: texts[at % 2]. The
 * other one is being written. All zero bytes are an empty text. */
#define SHM_TEXT_BYTES 256

struct shm_text {
    _Atomic uint32_t at;
    char texts[2][SHM_TEXT_BYTES];
};

/* What an observer (observer/) knows of a program that does not report its own iterations; words
 * may also have why a server is not ready yet. */
enum shm_observed {
    SHM_OBSERVED_NOTHING,
    SHM_OBSERVED_NOT,       /* it cannot observe: the words give the reason */
    SHM_OBSERVED_CALLS,     /* no iteration yet: what the program has called */
    SHM_OBSERVED_ITERATION, /* what it takes for one */
    SHM_OBSERVED_NO_WORK,   /* as SHM_OBSERVED_CALLS, and no launch or copy out is among them */
};

struct shm_observer {
    _Atomic uint32_t state; /* enum shm_observed */
    struct shm_text words;
    /* Of what the words describe, from SHM_OBSERVED_ITERATION on: calls in an iteration, and the
     * share of its marks that are like those of the iteration before. */
    uint32_t calls;
    uint32_t doubt; /* enum tick_doubt */
    /* Threads that have launched anything, where each has iterations of its own. */
    _Atomic uint32_t threads;
    double match;
    /* When the last call of a process was whose iterations were not known; 0: there was none. */
    _Atomic uint64_t called_ns;
    /* When iterations were found, or a further thread launched anything: a moment of the clock. */
    _Atomic uint64_t changed_ns;
    /* How long after the first call its iterations stopped repeating; 0: they did not. */
    _Atomic uint64_t lost_ns;
    /* After the warm-up of this assignment: launches of processes that have no handle, where others
     * have them all. */
    _Atomic uint64_t uncounted;
};

/* What a worker process learned about its device and context. Published before READY of its slots.
 */
struct shm_process {
    _Atomic int32_t pid; /* 0 until the process has attached */
    _Atomic int32_t mps; /* the driver's word: 1 attached to MPS, 0 not, -1 not asked yet */
    _Atomic int32_t sms; /* multiprocessors that the context may use */
    /* Device memory left for it, bytes, before the workers' buffers. */
    _Atomic uint64_t memory_free;
    /* Memory that a plug-in kept for each instance that it had ended, bytes; 0: none is known of.
     */
    _Atomic uint64_t kept_device, kept_host;
    /* Number of the assignment that it has finished last; 0 when a program has ended. */
    _Atomic uint32_t parked;
    _Atomic uint32_t cut_off; /* a program that died of our SIGTERM, perhaps with work on the GPU */
    _Atomic uint32_t asking;  /* 1: a server's first request has no answer yet */
    struct shm_text last_words; /* a program's last line on standard error, from its supervisor */
    uint64_t cpus[WORK_CPUS / 64];   /* for threads that are no workers, from the orchestrator */
    char device_uuid[64];            /* the GPU that it must turn out to be, from the same */
    uint64_t nodes[WORK_NODES / 64]; /* for host memory, from the same; all zero: no wish */
    /* What became of it: enum shm_policy, and why it was refused. It stays from one assignment to
     * the next. */
    _Atomic uint32_t policy;
    _Atomic int32_t policy_errno;
    struct shm_observer observer; /* of a program, for as long as the process lives */
};

/* What a worker used of a CPU from the first iteration after the warm-up to its last, and what its
 * whole process did in the same time: all its workers, and the threads that are no workers. */
struct shm_cpu {
    uint64_t wall_ns, cpu_ns;
    uint64_t delay_ns;               /* ready to run, and waiting for a CPU */
    uint64_t voluntary, involuntary; /* context switches */
    uint64_t iterations;             /* in that time */
    uint64_t process_wall_ns, process_cpu_ns;
};

/* Of an open loop, the iterations that began in one part of the window, each equally long. */
#define SHM_PARTS 3

struct shm_part {
    uint64_t iterations, latency_ns; /* how many, and the sum of their latencies */
};

struct shm_slot {
    _Alignas(64) _Atomic uint32_t state; /* enum shm_state */
    _Atomic uint32_t inside;             /* enum shm_inside */
    _Atomic uint64_t completed;          /* iterations since release, warm-up included */
    _Atomic uint64_t last_end_ns;        /* end of the last of them, from the agreed start */
    _Atomic uint64_t idle_until_ns;      /* it waits for this planned start; 0: no */
    _Atomic uint32_t opened;             /* a program's: enum shm_opened */
    _Atomic uint32_t at_work;            /* a program's: between begin and end of an iteration */
    _Atomic uint32_t held;               /* a program's: after the assignment of this number */
    _Atomic int32_t opener;              /* a program's: the process that opened it; 0: not known */
    /* Longest first, of the window; before its first one began, of the warm-up. From the end of the
     * one before (open loop: from the planned start, if that is later) to their own. */
    _Atomic uint64_t longest_ns[SHM_LONGEST];
    /* The longest of those with a part in the window; of a connection to a server, from the end of
     * the last iteration of any of them. */
    _Atomic uint64_t still_ns;
    uint64_t cpus[WORK_CPUS / 64]; /* binding, from the orchestrator; all zero: none */
    uint32_t workload;             /* described workloads: which of them, from the same */
    uint32_t
        partition; /* multiprocessors of its thread's part of them, from the same; 0: no part */

    /* The fields below are the worker's, to be read once the state is done or failed. */
    int32_t bind_errno;  /* 0, or why the binding was refused */
    int64_t skew_ns;     /* actual minus agreed start */
    uint64_t iterations; /* begun within the window */
    uint64_t late;       /* open loop: of those, begun after their planned start */
    uint64_t backlog;    /* open loop: planned before the end of the window, and not begun */
    struct shm_part parts[SHM_PARTS];
    /* Begin and end of what cpu is about, from the agreed start; with fixed work, of that. */
    uint64_t work_begin_ns, work_end_ns;
    uint32_t slice_shift; /* fixed work: slices are 2^slice_shift times slice_ns long */
    int32_t cuda_error;   /* CUresult of the first error, 0 if none */
    int32_t status;       /* enum status of the first error */
    char error[256];      /* what failed: call, CUDA name and text; valid UTF-8 */
    /* NUMA nodes that its host buffers lie on; all zero: not known. */
    uint64_t nodes[WORK_NODES / 64];

    /* Multiprocessors that its kernels run on; all zero where it has no part of them. */
    uint64_t multiprocessors[WORK_MULTIPROCESSORS / 64];

    _Alignas(64) _Atomic uint64_t slices[SHM_SLICES]; /* in SHM_ITERATION_UNITS; read at any time */

    struct histogram latency; /* whole iteration; open loop: from the planned start */
    struct histogram service; /* open loop: from the actual start */
    struct histogram h2d, launch, sync, d2h; /* phases; empty where the launch style hides them */
    struct histogram launch_call;   /* single calls, sampled; empty where launch is a single call */
    struct histogram first_byte;    /* of answers to requests, from where latency is from */
    uint64_t errors, wrong_answers; /* requests begun within the window, and not in iterations */
    char bad[128];                  /* the first of them; valid UTF-8 */
    struct shm_cpu cpu;             /* all zero where the warm-up did not end */
};

struct shm {
    int fd;
    struct shm_header *header;
};

/* Orchestrator: makes a mapping with room for processes x slots workers, laid out for an assignment
 * to all of them: all slots starting, the settings copied in. The descriptor is close-on-exec. */
enum status shm_create(const struct shm_settings *settings, unsigned processes, unsigned slots,
                       struct shm *out);

/* Orchestrator: lays out the next assignment, for the first processes and as many threads of each;
 * not more than there is room for. Nothing of the one before is left in their records and slots but
 * that a program's thread has opened its handle. It is the last one, unless header.keeps is set.
 * No process may be at work: before the first assignment, or when all have parked. */
void shm_reset(const struct shm *shm, const struct shm_settings *settings, unsigned processes,
               unsigned threads);

/* Orchestrator: hands it out. */
void shm_assign(const struct shm *shm);

/* Orchestrator: whether all processes from the first-th on have parked after the assignment that
 * was handed out last. */
bool shm_parked(const struct shm *shm, unsigned first);

/* Orchestrator: there is no further assignment; parked processes end now, others when they would
 * park. For those at work see shm_stop(). */
void shm_dismiss(const struct shm *shm);

/* Worker process: parks after assignment number `finished` (0: none yet) until the next one is
 * handed out, and returns its number; SHM_DISMISSED: it is to end. Waits for as long as it takes,
 * since the thread that watches the orchestrator's life dismisses in its place. */
uint32_t shm_assignment_wait(const struct shm *shm, uint32_t finished);

/* The same for at most that long: it may return `finished`. */
uint32_t shm_assignment_look(const struct shm *shm, uint32_t finished, uint64_t most_ns);

/* Worker: maps the descriptor after checking magic, version, sizes and length against the file's
 * own size. STATUS_PROTOCOL with the difference named. */
enum status shm_attach(int fd, struct shm *out);

/* Unmaps and closes the descriptor. Fine on a zeroed struct with fd -1. */
void shm_release(struct shm *shm);

/* Any process: stores a text for people, cut to its room, and then (release) that it is the last
 * one, with all that its caller stored before. One writer at a time. */
void shm_text_publish(struct shm_text *text, const char *line);

/* Any process: copies the last text (acquire) as one for people. A writer that publishes two
 * meanwhile leaves parts of both. */
void shm_text_read(const struct shm_text *text, char out[SHM_TEXT_BYTES]);

/* The record of a process, which there is room for; as also for the slots below. */
struct shm_process *shm_process_at(const struct shm *shm, unsigned process);
/* Worker number `slot` of a process: stream by stream of its first thread, then of the next. */
struct shm_slot *shm_slot_at(const struct shm *shm, unsigned process, unsigned slot);

/* Streams of each thread, 1 at least. */
static inline unsigned shm_streams(const struct shm_header *header)
{
    return header->settings.streams > 1 ? header->settings.streams : 1;
}

/* Workers of each process. */
static inline unsigned shm_slots(const struct shm_header *header)
{
    return header->threads * shm_streams(header);
}

/* The CPUs of all workers of a process; all zero: none of them is bound. */
void shm_cpus(const struct shm *shm, unsigned process, uint64_t cpus[WORK_CPUS / 64]);

/* Orchestrator: opens the gate for an agreed start time. */
void shm_gate_open(const struct shm *shm, uint64_t start_ns);

/* Worker: sleeps until the gate opens or stop is set, then waits awake for the agreed start, so
 * that all workers begin within microseconds of each other. False: stopped before the start. */
bool shm_gate_wait(const struct shm *shm);

/* Worker: sleeps until a moment of the clock, or until stop is set. */
void shm_sleep_until(const struct shm *shm, uint64_t when_ns);

/* Orchestrator: asks every worker to finish its iteration and stop; also wakes those at the gate
 * and in shm_sleep_until(). */
void shm_stop(const struct shm *shm, uint64_t window_end_ns);

/* Whether the workers were asked to stop. Cheap enough for each iteration, and what shm_stop()
 * wrote before the flag can be read once it is true. */
static inline bool shm_is_stopping(const struct shm_header *header)
{
    return atomic_load_explicit(&header->stop, memory_order_acquire);
}

/* Worker: credits the iteration [from, to] (times since the agreed start) to the time slices, each
 * with the share of its time spent there. Slices begin at origin_ns; what was before counts
 * nowhere. */
void shm_slot_credit(struct shm_slot *slot, uint64_t origin_ns, uint64_t slice_ns, uint64_t from_ns,
                     uint64_t to_ns);

/* Worker, with fixed work: doubles the length of the slot's slices until to_ns lies in one, since
 * it is not known beforehand how long the work takes. */
void shm_slot_make_room(struct shm_slot *slot, uint64_t origin_ns, uint64_t slice_ns,
                        uint64_t to_ns);

/* Orchestrator, once all workers have finished their fixed work: gives all slots slices of the same
 * length, which is settings.slice_ns from then on. */
void shm_align_slices(const struct shm *shm);

/* Worker, when it has finished: sleeps until the stop flag is set. It must not end meanwhile: to
 * free what it has would hold up the others. */
void shm_stop_wait(const struct shm *shm);

/* Worker, on failure: publishes the first error; a second call changes nothing. */
void shm_slot_fail(struct shm_slot *slot, enum status status, int cuda_error, const char *text);
