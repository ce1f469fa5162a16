/*
 * The shared-memory contract between the orchestrator and the worker processes of one point.
 *
 * One anonymous mapping (memfd), made by the orchestrator for each point and handed to the workers
 * as a descriptor. Its parts, in order: one struct shm_header, one struct shm_process for each
 * process, one struct shm_slot for each worker. The magic, version and length are checked on
 * attach.
 *
 * Who writes what:
 *   header.settings           the orchestrator, before any worker starts; read-only afterwards
 *   header.gate/start/...     the orchestrator, while workers run (atomics)
 *   process, slot             the worker process only; the orchestrator reads atomics at any time,
 *                             and everything else once the state says done or failed (acquire)
 *
 * Life of a slot: starting -> ready -> running -> draining -> done, or failed from anywhere.
 */
#ifndef MPSWEEP_SHM_SHM_H
#define MPSWEEP_SHM_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/histogram.h"
#include "common/status.h"

#define SHM_MAGIC UINT64_C(0x31706565777370bd) /* never valid UTF-8 text */
#define SHM_VERSION 3

/* Time slices in which progress is counted, the first beginning at the end of the warm-up. The
 * orchestrator picks slice_ns so that the longest window fits. */
#define SHM_SLICES 2048

/* Progress is counted in fractions of an iteration: an iteration that crosses a slice boundary
 * credits each slice with the share of its time spent there, so that windows have no edge error. */
#define SHM_ITERATION_UNITS (UINT64_C(1) << 20)

/* CPUs that a binding can name. */
#define SHM_CPUS 4096

enum shm_memory { SHM_MEMORY_PINNED, SHM_MEMORY_PAGEABLE };
enum shm_sync { SHM_SYNC_STREAM, SHM_SYNC_NONE };
enum shm_launch { SHM_LAUNCH_STREAM, SHM_LAUNCH_GRAPH };
enum shm_schedule { SHM_SCHEDULE_AUTO, SHM_SCHEDULE_SPIN, SHM_SCHEDULE_YIELD, SHM_SCHEDULE_BLOCK };
enum shm_workload { SHM_WORKLOAD_CHAIN, SHM_WORKLOAD_DELAY };

/* Which copies an iteration makes. All but both are for calibration. */
enum shm_copies { SHM_COPIES_BOTH, SHM_COPIES_IN, SHM_COPIES_OUT, SHM_COPIES_NONE };

enum shm_state {
    SHM_STATE_STARTING,
    SHM_STATE_READY,    /* buffers made, modules loaded, one iteration run and checked */
    SHM_STATE_RUNNING,  /* released */
    SHM_STATE_DRAINING, /* saw the stop flag */
    SHM_STATE_DONE,     /* results published */
    SHM_STATE_FAILED,   /* error published */
};

/* Everything that the worker program needs to know; see the option table for the meaning. */
struct shm_settings {
    uint32_t memory, sync, launch, schedule, workload; /* the enums above */
    uint32_t kernels;                                  /* an iteration; 0 in calibration only */
    uint32_t blocks;                                   /* grid size */
    uint32_t threads_per_block;                        /* block size */
    uint32_t spin;         /* length of each GPU thread's dependent chain, in steps */
    uint32_t device;       /* ordinal among the devices that the worker sees */
    uint64_t bytes;        /* copied each way, a multiple of 1024 */
    uint64_t delay_cycles; /* delay workload: GPU clock cycles a kernel waits */
    /* For calibration, 0 otherwise. What the kernels work on, a multiple of 16: 0 is 1/64 of what
     * is copied, and it may be more than that. */
    uint64_t worked_bytes;
    uint64_t slice_ns;
    uint64_t warmup_ns;   /* from the start; nothing before counts */
    uint32_t with_mps;    /* 1: the workers must be MPS clients; 0: they must not be */
    uint32_t copies;      /* enum shm_copies; out alone only without kernels */
    char device_uuid[64]; /* the GPU that it must turn out to be */
};

/* Progress is told through an eventfd beside the memory: each change of a state adds 1 to it. */
struct shm_header {
    uint64_t magic;
    uint32_t version;
    uint32_t processes;
    uint64_t length;                                  /* of the whole mapping, bytes */
    uint32_t threads;                                 /* workers in each process */
    uint32_t slot_bytes, process_bytes, header_bytes; /* sizes as the maker knew them */
    struct shm_settings settings;

    /* The release gate: workers wait on it as a futex until it is open, then until start_ns. */
    _Alignas(64) _Atomic uint32_t gate;
    _Atomic uint64_t start_ns;
    /* End of the window, UINT64_MAX until decided; iterations that end later are not counted. */
    _Alignas(64) _Atomic uint64_t window_end_ns;
    _Atomic uint32_t stop;
};

enum { SHM_GATE_CLOSED, SHM_GATE_OPEN };

/* What a worker process learned about its device and context. Published before READY of its slots.
 */
struct shm_process {
    _Atomic int32_t pid; /* 0 until the process has attached */
    _Atomic int32_t mps; /* the driver's word: 1 attached to MPS, 0 not, -1 not asked yet */
    _Atomic int32_t sms; /* multiprocessors that the context may use */
    /* Device memory left for it, bytes, before the workers' buffers. */
    _Atomic uint64_t memory_free;
    uint64_t cpus[SHM_CPUS / 64]; /* for threads that are no workers, from the orchestrator */
};

struct shm_slot {
    _Alignas(64) _Atomic uint32_t state; /* enum shm_state */
    _Atomic uint64_t heartbeat;          /* iterations completed since release, warm-up included */
    _Atomic uint64_t last_end_ns;        /* end of the last of them, from the agreed start */
    uint64_t cpus[SHM_CPUS / 64];        /* binding, from the orchestrator; all zero: none */

    /* The fields below are the worker's, to be read once the state is done or failed. */
    int32_t bind_errno;  /* 0, or why the binding was refused */
    int64_t skew_ns;     /* actual minus agreed start */
    uint64_t iterations; /* completed within the window */
    int32_t cuda_error;  /* CUresult of the first error, 0 if none */
    int32_t status;      /* enum status of the first error */
    char error[256];     /* what failed: call, CUDA name and text; valid UTF-8 */

    _Alignas(64) _Atomic uint64_t slices[SHM_SLICES]; /* in SHM_ITERATION_UNITS; read at any time */

    struct histogram latency;                /* whole iteration */
    struct histogram h2d, launch, sync, d2h; /* phases; empty where the launch style hides them */
};

struct shm {
    int fd;
    struct shm_header *header;
};

/* Orchestrator: makes a mapping for processes x threads workers, all slots starting, the settings
 * copied in. The descriptor is close-on-exec. */
enum status shm_create(const struct shm_settings *settings, unsigned processes, unsigned threads,
                       struct shm *out);

/* Worker: maps the descriptor after checking magic, version, sizes and length against the file's
 * own size. STATUS_PROTOCOL with the difference named. */
enum status shm_attach(int fd, struct shm *out);

/* Unmaps and closes the descriptor. Fine on a zeroed struct with fd -1. */
void shm_release(struct shm *shm);

struct shm_process *shm_process_at(const struct shm *shm, unsigned process);
struct shm_slot *shm_slot_at(const struct shm *shm, unsigned process, unsigned thread);

/* Orchestrator: opens the gate for an agreed start time. */
void shm_gate_open(const struct shm *shm, uint64_t start_ns);

/* Worker: sleeps until the gate opens or stop is set, then waits awake for the agreed start, so
 * that all workers begin within microseconds of each other. False: stopped before the start. */
bool shm_gate_wait(const struct shm *shm);

/* Orchestrator: asks every worker to finish its iteration and stop; also wakes those at the gate.
 */
void shm_stop(const struct shm *shm, uint64_t window_end_ns);

/* Worker: credits the iteration [from, to] (times since the agreed start) to the time slices, each
 * with the share of its time spent there. Slices begin at origin_ns; what was before counts
 * nowhere. */
void shm_slot_credit(struct shm_slot *slot, uint64_t origin_ns, uint64_t slice_ns, uint64_t from_ns,
                     uint64_t to_ns);

/* Worker, on failure: publishes the first error; a second call changes nothing. */
void shm_slot_fail(struct shm_slot *slot, enum status status, int cuda_error, const char *text);

const char *shm_state_name(uint32_t state);

#endif
