/*
 * One run of the orchestrator: the machine, the GPUs, the helper programs and the MPS daemons.
 *
 * The orchestrator never initialises CUDA: the worker program in its query mode describes the GPUs.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "common/text.h"
#include "orchestrator/bind/bind.h"
#include "orchestrator/session/daemons.h"
#include "orchestrator/session/gpus.h"
#include "orchestrator/session/telemetry.h"

/* What workers that are started from now on record of themselves, if anything. */
struct session_trace {
    int fd;            /* memory for it (trace/buffer.h) */
    const char *cupti; /* the library, NULL: where it usually is */
};

struct session {
    uint64_t files; /* open files that a process may have, before this program asked for more */
    bool emulated;  /* its numbers are not those of real GPUs */
    bool emulated_by_default; /* there was no driver, and the user named no device */
    struct gpu_set *gpus;
    struct daemons *daemons;
    struct bind_topology *topology;
    struct telemetry *telemetry;       /* NULL: none is wanted, or there is no NVML */
    const struct session_trace *trace; /* NULL: nothing is recorded; the caller's */
    int machine_fd;                    /* every process on the GPU inherits it; -1: none */
    int signal_fd;    /* readable when SIGINT, SIGTERM or SIGHUP came, or the time is over */
    bool interrupted; /* one of them has come, or the time is over */
    bool late;        /* the time is over, and no signal has come */
    unsigned known_calls; /* of an iteration of a program that was observed; 0: none was yet */
    uint64_t cold_ns;     /* for which it repeated something else at first; 0: it did not */
    char external_mps[MPS_ENVIRONMENT_TEXT]; /* pipe directory; "": a daemon of our own */
    char worker_program[PATH_MAX];
    char guard_program[PATH_MAX];
    char control_program[PATH_MAX];
    char driver_path[PATH_MAX]; /* "" is the machine's own */
};

struct session_request {
    const char *device;    /* as the user named it, or them; "" or NULL: the first */
    const char *single;    /* what takes one device only: "a trace"; NULL: several will do */
    const char *directory; /* for the private directory; NULL: in a usual place */
    uint64_t deadline_ns;  /* by when the driver must have described its GPUs; 0: in a minute */
    bool external_mps;     /* the daemon of CUDA_MPS_PIPE_DIRECTORY instead of an own one */
    bool no_other;         /* the device is that of a results file: no other will do */
};

/* Finds the devices ("" or NULL: the first, or the emulated one where there is no driver), the
 * programs and the topology, and starts the MPS guard. */
enum status session_open(const struct session_request *request, struct session *out);

/* Adds what has a helper program load the user's driver; nothing for the machine's own. */
void session_add_driver(const struct session *session, struct word_list *words);

/* Where CUPTI is: the user's library (MPSWEEP_CUPTI), or that of the emulated GPU, which contains
 * it; NULL: where it usually is. */
const char *session_cupti(const struct session *session);

/* Whether CUPTI can be loaded, tried in a process of its own: its file and its version;
 * found may be NULL with size 0. STATUS_UNSUPPORTED: what to do. */
enum status session_check_cupti(const struct session *session, char *found, size_t size);

/* From here on SIGINT, SIGTERM and SIGHUP do not end this process but are read through signal_fd;
 * those that are ignored stay so. Before, they may end it at once: the guard cleans up. */
enum status session_watch_signals(struct session *session);

/* At that moment of the clock all that waits in the session ends as after a signal, and what must
 * end gets less time for it; 0: never again. After session_watch_signals(). */
enum status session_end_at(struct session *session, uint64_t deadline_ns);

/* From here on rounds are accompanied by telemetry where NVML can give it: never on the emulated
 * GPU, which a real one's numbers would not belong to. Before anything uses the GPU.
 * STATUS_TIMEOUT: NVML does not answer, and the run can go on without. */
enum status session_watch_gpu(struct session *session);

/* Ends what the session started. The error names what could not be ended or removed. */
enum status session_close(struct session *session);

/* Closes it after a step that failed with `status`, which is returned with its text. Does nothing
 * for STATUS_OK. */
enum status session_close_on_error(struct session *session, enum status status);

/* What stands behind the name of a GPU: " [emulated: no real numbers]", or "" of a real one. */
const char *session_mark(const struct session *session);

/* STATUS_INTERRUPTED if one of the signals has come, ever, or the time is over. */
enum status session_check_signals(struct session *session);

/*
 * The clients of a daemon, as of mps_control_clients(); a signal ends the wait: STATUS_INTERRUPTED.
 * Each question is a program to be started, which takes a busy machine seconds: SESSION_ANSWER_NS
 * from now is a deadline for a measurement that would have no number without the answer.
 */
#define SESSION_ANSWER_NS (20 * NS_PER_S)
enum status session_mps_clients(struct session *session, unsigned daemon, uint64_t deadline_ns,
                                pid_t *clients, size_t capacity, size_t *count);

/* "13.0": the newest CUDA of the driver. Returns text. */
#define SESSION_CUDA_TEXT 32
const char *session_cuda(const struct session *session, char text[SESSION_CUDA_TEXT]);
