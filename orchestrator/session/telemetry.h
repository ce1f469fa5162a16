/*
 * The clocks, power, energy and company of the GPUs, sampled while a window runs.
 *
 * Only one thread of the session calls NVML: a call can take milliseconds, or hang
 * in a sick driver, and the thread that supervises the workers must hear of events meanwhile. It
 * sleeps unless a window runs, and then takes a sample every 100 ms. A caller waits for it with
 * a deadline; a thread that does not come back is left behind, and the sweep goes on without it.
 *
 * Order: telemetry_open(), then for each window telemetry_begin(), telemetry_end(),
 * telemetry_collect(); telemetry_close(). All from one thread, and all fine with NULL.
 */
#pragma once

#include "orchestrator/session/telemetry_window.h"

struct telemetry; /* opaque */

#define TELEMETRY_INTERVAL_NS (UINT64_C(100) * 1000 * 1000)

struct telemetry_request {
    const char *library;      /* NULL: NVML's own name */
    const char *const *uuids; /* of the GPUs, "GPU-..." */
    unsigned gpus;            /* 1 to DEVICE_LIST_MAX */
    unsigned expected;  /* processes with a context on it that are known: an external MPS server */
    uint64_t answer_ns; /* how long NVML may take to start or to answer; 0: the usual seconds */
};

/*
 * Starts NVML and looks at the GPUs before anything of ours uses them. NULL where there is no NVML,
 * it does not know one of them, or there is no memory: that is not an error.
 * status_text() is set where NVML does not answer; then *out is NULL, too, and STATUS_TIMEOUT is
 * returned.
 */
enum status telemetry_open(const struct telemetry_request *request, struct telemetry **out);

/* Highest clock and power limit of a GPU, by its number in the request; all zero with NULL. */
struct nvml_limits telemetry_limits(const struct telemetry *telemetry, unsigned gpu);

/* Samples the first `gpus` GPUs from now on. begin_ns: when the window will begin; workers: how
 * many processes of ours hold a context on each of them, all children of this one; mps_server: the
 * server of our own daemon may hold one, too. Forgets what was sampled before. */
void telemetry_begin(struct telemetry *telemetry, uint64_t begin_ns, unsigned gpus,
                     unsigned workers, bool mps_server);

/* The window ended at end_ns: one more sample, then none. Does not wait. Also for a window that
 * gives no measurement, and harmless without a beginning. */
void telemetry_end(struct telemetry *telemetry, uint64_t end_ns);

/* What the window between them was like for a GPU that was sampled, which did `iterations`
 * iterations. Waits for the last sample, but not longer than a quarter of a second. With NULL *out
 * is zero bytes. */
void telemetry_collect(struct telemetry *telemetry, unsigned gpu, double iterations,
                       struct telemetry_window *out);

/* Stops NVML, or leaves a thread behind that hangs in it. */
void telemetry_close(struct telemetry *telemetry);
