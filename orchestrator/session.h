/*
 * One run of the orchestrator: the machine, the GPU, the helper programs and the MPS controller.
 *
 * The orchestrator never initialises CUDA: what there is to know about the GPU comes from the
 * worker program in its query mode.
 */
#ifndef MPSWEEP_ORCHESTRATOR_SESSION_H
#define MPSWEEP_ORCHESTRATOR_SESSION_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "device/device.h"
#include "mps/controller.h"
#include "orchestrator/bind.h"
#include "orchestrator/telemetry.h"

/* What workers that are started from now on record of themselves, if anything. */
struct session_trace {
    int fd;            /* memory for it (trace/buffer.h) */
    const char *cupti; /* the library, NULL: where it usually is */
};

struct session {
    uint64_t files; /* open files that a process may have, before this program asked for more */
    bool emulated;
    bool emulated_by_default; /* there was no driver, and nobody asked */
    struct device_info gpu;
    unsigned gpus;      /* that the driver shows, and the UUID of another of them, "" if none: */
    char other_gpu[64]; /* session_gpu_uuid() */
    int driver_version; /* as cuDriverGetVersion */
    char worker_program[PATH_MAX];
    char guard_program[PATH_MAX];
    char control_program[PATH_MAX];
    char driver_path[PATH_MAX];  /* "" is the machine's own */
    int emulated_fd;             /* state of the emulated machine, -1 without */
    int signal_fd;               /* readable when SIGINT, SIGTERM or SIGHUP came */
    bool interrupted;            /* one of them has come */
    char external_mps[PATH_MAX]; /* pipe directory; "": a daemon of our own */
    struct mps_controller *mps;
    bool mps_tainted; /* a client of the daemon ended badly: start a new one before the next use */
    pid_t unended;    /* a client that could not be ended: its daemon must stay; 0: none */
    struct bind_topology *topology;
    const struct session_trace *trace; /* NULL: nothing is recorded; the caller's */
    struct telemetry *telemetry;       /* NULL: none is wanted, or there is no NVML */
};

struct session_request {
    const char *device;    /* as the user named it; "" or NULL: the first */
    const char *directory; /* where the private directory is to be; NULL: in a usual place */
    bool external_mps;     /* the daemon of CUDA_MPS_PIPE_DIRECTORY instead of an own one */
    bool no_other;         /* the device is that of a results file: nothing else will do */
    bool no_fallback;      /* the emulated GPU is no stand-in for a missing driver */
};

/* Finds the device ("" or NULL: the first, or the emulated one where there is no driver), the
 * programs and the topology, and starts the MPS guard. */
enum status session_open(const struct session_request *request, struct session *out);

/* From here on SIGINT, SIGTERM and SIGHUP do not end this process but are read through signal_fd;
 * those that are ignored stay so. Before, they may end it at once: the guard cleans up. */
enum status session_watch_signals(struct session *session);

/* From here on rounds are accompanied by telemetry where NVML can give it: never on the emulated
 * GPU, which a real one's numbers would not belong to. Before anything uses the GPU.
 * STATUS_TIMEOUT: NVML does not answer, which is no reason not to go on. */
enum status session_watch_gpu(struct session *session);

/* Ends what the session started. The error names what could not be ended or removed. */
enum status session_close(struct session *session);

/* Brings the private daemon into the state that a point needs: running and healthy, or gone. */
enum status session_set_mps(struct session *session, bool on);

/* STATUS_INTERRUPTED if one of the signals has come, ever. */
enum status session_check_signals(struct session *session);

/* Number 0 is the session's GPU, number 1 the first other one: there are as many as session->gpus
 * says, at most two. */
const char *session_gpu_uuid(const struct session *session, unsigned number);

/* The header record's fields about machine, GPU and driver, put into an object. */
enum status session_describe(const struct session *session, json_t *record);

#endif
