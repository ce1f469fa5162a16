#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "orchestrator/round/internal.h"
#include "orchestrator/round/openloop.h"

/* From opening the gate to the agreed start: long enough for every worker to wake and spin. */
#define LEAD_NS (2 * NS_PER_MS)
#define LEAD_WORKER_NS (50 * NS_PER_US)

static bool all_finished(const struct round *round)
{
    return round_all_are(round, SHM_STATE_FINISHED);
}

static bool never(const struct round *round)
{
    (void)round;
    return false;
}

/* The window is the time in which all workers are at work. There is no deadline but each worker's
 * own, that its next iteration ends. */
static enum status run_fixed_work(struct round *round, uint64_t *beats)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    enum status status = round_wait_until(round, all_finished, UINT64_MAX, beats,
                                          beats + point_workers(round->point));
    if (status != STATUS_OK)
        return status;
    shm_align_slices(&round->shm);
    round->slices = round_slices_done(&round->shm);
    shm_stop(&round->shm, settings->warmup_ns + round->slices * settings->slice_ns);
    return STATUS_OK;
}

static bool precise(const struct round *round, unsigned *narrow)
{
    struct window window;
    window_judge(&round->shm, round->slices, &window);
    return window_ends(&window, round->limits->precision_rel, narrow);
}

/* Lets the window grow until it is precise or as long as it may be; an open loop's is as long as it
 * was planned. */
static enum status grow_window(struct round *round, uint64_t start_ns, uint64_t window_ns,
                               uint64_t *beats)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    const struct round_limits *limits = round->limits;
    unsigned narrow = 0;
    round->goal_rel = point_is_open(round->point) ? 0.0 : limits->precision_rel;
    for (;;) {
        uint64_t until_ns = start_ns + settings->warmup_ns + window_ns;
        enum status status =
            round_wait_until(round, never, until_ns, beats, beats + point_workers(round->point));
        if (status != STATUS_TIMEOUT)
            return status;
        /* What made the decision is what will be reported. */
        round->slices = round_slices_done(&round->shm);
        if (!point_is_open(round->point) && precise(round, &narrow))
            break;
        if (point_is_open(round->point) || window_ns >= limits->max_duration_ns) {
            /* In full: the iterations that run now are counted once they have ended. */
            round->slices = window_ns / settings->slice_ns;
            break;
        }
        window_ns = window_next(window_ns, limits->max_duration_ns);
        round->grew = true;
    }
    shm_stop(&round->shm, settings->warmup_ns + round->slices * settings->slice_ns);
    return STATUS_OK;
}

enum status round_run_window(struct round *round)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    uint64_t *beats = calloc(workers * 2, sizeof *beats);
    if (!beats)
        return status_set(STATUS_MEMORY, "out of memory");
    uint64_t start_ns = clock_now_ns() + LEAD_NS + workers * LEAD_WORKER_NS;
    uint64_t window_ns = round->limits->duration_ns;
    if (point_is_open(point)) {
        /* What is left waiting when the window ends does not depend on who notices when. */
        window_ns = openloop_window_ns(point, round->limits);
        atomic_store(&round->shm.header->window_end_ns,
                     settings->warmup_ns + window_ns / settings->slice_ns * settings->slice_ns);
    }
    telemetry_begin(round->session->telemetry, start_ns + settings->warmup_ns, point_gpus(point),
                    round->crew->pool.count / point_gpus(point), point_over_mps(point));
    round->gate_open = true;
    shm_gate_open(&round->shm, start_ns);
    enum status status = settings->iterations ? run_fixed_work(round, beats)
                                              : grow_window(round, start_ns, window_ns, beats);
    telemetry_end(round->session->telemetry,
                  start_ns + settings->warmup_ns + round->slices * settings->slice_ns);
    free(beats);
    return status;
}
