/*
 * One run of the orchestrator: the machine, the GPU, the helper programs and the MPS controller.
 *
 * The orchestrator never initialises CUDA: what there is to know about the GPU comes from the
 * worker program in its query mode.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "device/device.h"
#include "mps/controller.h"
#include "orchestrator/bind/bind.h"
#include "orchestrator/session/telemetry.h"

/* What workers that are started from now on record of themselves, if anything. */
struct session_trace {
    int fd;            /* memory for it (trace/buffer.h) */
    const char *cupti; /* the library, NULL: where it usually is */
};

#define SESSION_UNENDED_MOST 64

struct session_unended {
    pid_t pid;
    unsigned daemon; /* by the number of the GPU that it is the first of */
};

struct session {
    uint64_t files; /* open files that a process may have, before this program asked for more */
    bool emulated;
    bool emulated_by_default; /* there was no driver, and nobody asked */
    struct device_info gpu;   /* the first of these */
    /* The GPUs of the run, in the order in which they were named. */
    struct device_info devices[DEVICE_LIST_MAX];
    unsigned device_numbers[DEVICE_LIST_MAX]; /* what --device takes for each */
    unsigned device_count;
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
    struct mps_controller *mps;  /* of the first GPU, or of all */
    /* Of the other GPUs where each has one, made when first needed: see session_mps(). */
    struct mps_controller *more_mps[DEVICE_LIST_MAX];
    unsigned mps_gpus; /* that the daemons are for now; 0: none runs */
    bool mps_per_gpu;  /* each has its own */
    /* A client of that daemon ended badly: it is started anew before the next use. */
    bool mps_tainted[DEVICE_LIST_MAX];
    /* Clients that could not be ended: their daemons must stay. */
    struct session_unended unended[SESSION_UNENDED_MOST];
    unsigned unended_count;
    struct bind_topology *topology;
    const struct session_trace *trace; /* NULL: nothing is recorded; the caller's */
    struct telemetry *telemetry;       /* NULL: none is wanted, or there is no NVML */
};

struct session_request {
    const char *device;    /* as the user named it, or them; "" or NULL: the first */
    const char *single;    /* what takes one device only: "a trace"; NULL: several will do */
    const char *directory; /* where the private directory is to be; NULL: in a usual place */
    bool external_mps;     /* the daemon of CUDA_MPS_PIPE_DIRECTORY instead of an own one */
    bool no_other;         /* the device is that of a results file: nothing else will do */
    bool no_fallback;      /* the emulated GPU is no stand-in for a missing driver */
};

/* Finds the devices ("" or NULL: the first, or the emulated one where there is no driver), the
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

/* In orchestrator/session/daemons.c: brings the private daemon into the state that is needed:
 * running for the first GPU and healthy, or gone. */
enum status session_set_mps(struct session *session, bool on);

/* The same for the first so many GPUs (0: gone): one daemon that sees them all, or one for each. A
 * healthy one that is there for the same GPUs goes on. Of external daemons there is one, so that
 * per_gpu must be false. */
enum status session_set_daemons(struct session *session, unsigned gpus, bool per_gpu);

/* The controller of the daemon that a process on GPU number gpu is a client of, as they were set
 * last; NULL where one before it did not start. */
struct mps_controller *session_mps(const struct session *session, unsigned gpu);

/* A client on GPU number gpu ended badly, which may have left the daemon's server in a fault state:
 * that daemon is started anew before its next use. session_is_tainted(): any of them is to be. */
void session_taint(struct session *session, unsigned gpu);
bool session_is_tainted(const struct session *session);

/* A client on GPU number gpu could not be ended. */
void session_note_unended(struct session *session, unsigned gpu, pid_t pid);

/* STATUS_SYSTEM: one of the daemons that were set last has ended by itself, or its guard has. */
enum status session_check_daemons(const struct session *session);

/* Ends all daemons. Those with clients that could not be ended stay, and the error names them
 * all. */
enum status session_close_daemons(struct session *session);

/* STATUS_INTERRUPTED if one of the signals has come, ever. */
enum status session_check_signals(struct session *session);

/* Number 0 is the session's GPU, number 1 the first other one: there are as many as session->gpus
 * says, at most two. */
const char *session_gpu_uuid(const struct session *session, unsigned number);

/* "GPU 1", by its number in devices; "GPU 1 = device 3" where --device has another number for it.
 * Returns text. */
#define SESSION_GPU_TEXT 48
const char *session_gpu_name(const struct session *session, unsigned gpu,
                             char text[SESSION_GPU_TEXT]);

/* Whether the GPUs of the run are of more than one model; then text says which. */
bool session_gpus_differ(const struct session *session, char *text, size_t size);

/* The header record's fields about machine, GPU and driver, put into an object. */
enum status session_describe(const struct session *session, json_t *record);
