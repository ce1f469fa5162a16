#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "orchestrator/round/internal.h"
#include "orchestrator/round/openloop.h"

/* From opening the gate to the agreed start: long enough for every worker to wake and spin. */
#define LEAD_NS (2 * NS_PER_MS)
#define LEAD_WORKER_NS (50 * NS_PER_US)

/* Slices between the decision and the end of the window: one of them whole. */
#define AHEAD 2

/* What a window of a program has before it may end: that many iterations of each worker, and that
 * share of the time that its processes took to start. */
#define PROGRAM_ITERATIONS 30
#define PROGRAM_START_SHARE 0.2

/* After a window a thread of a program still has this long to begin its first iteration: on a busy
 * machine it may have had no CPU yet. */
#define BEGIN_NS (5 * NS_PER_S)

static bool all_finished(const struct round *round)
{
    return round_all_are(round, SHM_STATE_FINISHED);
}

static bool all_have_begun(const struct round *round)
{
    for (unsigned i = 0; i < point_workers(round->point); i++)
        if (atomic_load(&round_slot(round, i)->opened) != SHM_OPENED_BEGUN)
            return false;
    return true;
}

static bool never(const struct round *round)
{
    (void)round;
    return false;
}

/* As round_wait_until(), and takes note of the latencies meanwhile. */
static enum status wait_in_window(struct round *round, round_condition condition, uint64_t until_ns)
{
    struct latency_blocks *blocks = &round->blocks;
    for (;;) {
        bool until_note = blocks->next_ns < until_ns;
        enum status status =
            round_wait_until(round, condition, until_note ? blocks->next_ns : until_ns);
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= blocks->next_ns)
            latency_blocks_note(blocks, &round->shm, now_ns);
        if (status != STATUS_TIMEOUT || !until_note)
            return status;
    }
}

/* The slices that every worker has passed. */
static uint64_t slices_in_common(const struct shm *shm)
{
    const struct shm_settings *settings = &shm->header->settings;
    uint64_t least = UINT64_MAX;
    for (unsigned p = 0; p < shm->header->processes; p++) {
        for (unsigned i = 0; i < shm_slots(shm->header); i++) {
            uint64_t end = atomic_load(&shm_slot_at(shm, p, i)->last_end_ns);
            least = end < least ? end : least;
        }
    }
    uint64_t slices = least > settings->warmup_ns ? least - settings->warmup_ns : 0;
    slices /= settings->slice_ns;
    return slices < SHM_SLICES ? slices : SHM_SLICES;
}

/* When the slices of the window end, from the agreed start. */
static uint64_t window_end_ns(const struct round *round)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    return settings->warmup_ns + round->slices * settings->slice_ns;
}

/* The window is the time in which all workers are at work. There is no deadline but each worker's
 * own, that its next iteration ends. */
static enum status run_fixed_work(struct round *round)
{
    enum status status = wait_in_window(round, all_finished, UINT64_MAX);
    if (status != STATUS_OK)
        return status;
    shm_align_slices(&round->shm);
    round->slices = slices_in_common(&round->shm);
    shm_stop(&round->shm, window_end_ns(round));
    return STATUS_OK;
}

/* Whether the workers of a program have done little yet, for what its start has cost. */
static bool is_short(const struct round *round)
{
    const struct point *point = round->point;
    uint64_t window_ns = round->slices * round->shm.header->settings.slice_ns;
    if (!round->limits->fits_program || !point_is_program(point))
        return false;
    if ((double)window_ns < PROGRAM_START_SHARE * round->result->ready_s * NS_PER_S)
        return true;
    for (unsigned i = 0; i < point_workers(point); i++)
        if (window_iterations(&round->shm, round_slot(round, i), 0, round->slices, NULL) <
            PROGRAM_ITERATIONS)
            return true;
    return false;
}

/* Precise, or so far from it that growing is in vain. */
static bool is_done(const struct round *round, uint64_t most, unsigned *narrow)
{
    double goal_rel = round->limits->precision_rel;
    struct window window;
    window_judge(&round->shm, round->slices, &window);
    return window_ends(&window, goal_rel, narrow) ||
           window_is_hopeless(&window, goal_rel, round->slices, most);
}

/* The slices that have passed by now, of those that the window has at most. */
static uint64_t slices_by_now(const struct round *round, uint64_t start_ns, uint64_t most)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    uint64_t now_ns = clock_now_ns(), begin_ns = start_ns + settings->warmup_ns;
    uint64_t slices = now_ns > begin_ns ? (now_ns - begin_ns) / settings->slice_ns : 0;
    return slices < most ? slices : most;
}

/* Lets the window grow until it is precise or as long as it may be; an open loop's is as long as it
 * was planned. The window has all that happened until its end, however late this thread sees it:
 * workers know that end before it comes. */
static enum status grow_window(struct round *round, uint64_t start_ns, uint64_t first_ns,
                               uint64_t most)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    uint64_t window_ns = first_ns;
    unsigned narrow = 0;
    bool decided = false;
    round->goal_rel = point_is_open(round->point) ? 0.0 : round->limits->precision_rel;
    while (!decided) {
        uint64_t until_ns = start_ns + settings->warmup_ns + window_ns;
        enum status status = wait_in_window(round, never, until_ns);
        if (status != STATUS_TIMEOUT)
            return status;
        round->slices = slices_by_now(round, start_ns, most);
        decided = round->slices == most || (!is_short(round) && is_done(round, most, &narrow));
        round->grew |= !decided;
        window_ns = window_next(round->slices * settings->slice_ns, most * settings->slice_ns);
    }
    if (round->slices < most) {
        round->slices = slices_by_now(round, start_ns, most) + AHEAD;
        round->slices = round->slices < most ? round->slices : most;
        atomic_store(&round->shm.header->window_end_ns, window_end_ns(round));
        enum status status = round_wait_until(round, never, start_ns + window_end_ns(round));
        if (status != STATUS_TIMEOUT)
            return status;
    }
    if (point_is_program(round->point)) {
        enum status status = round_wait_until(round, all_have_begun, clock_now_ns() + BEGIN_NS);
        if (status == STATUS_OK || status == STATUS_TIMEOUT)
            status = round_program_check_openers(round);
        if (status != STATUS_OK)
            return status;
    }
    shm_stop(&round->shm, window_end_ns(round));
    return STATUS_OK;
}

enum status round_run_window(struct round *round)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    round->progress = calloc(workers, sizeof *round->progress);
    if (!round->progress)
        return status_set(STATUS_MEMORY, "out of memory");
    uint64_t start_ns = clock_now_ns() + LEAD_NS + workers * LEAD_WORKER_NS;
    uint64_t first_ns = round->limits->duration_ns, longest_ns = round->limits->max_duration_ns;
    if (point_is_open(point))
        first_ns = longest_ns = openloop_window_ns(point, round->limits);
    uint64_t most = longest_ns / settings->slice_ns;
    most = most < SHM_SLICES ? most : SHM_SLICES;
    if (!settings->iterations)
        atomic_store(&round->shm.header->window_end_ns,
                     settings->warmup_ns + most * settings->slice_ns);
    telemetry_begin(round->session->telemetry, start_ns + settings->warmup_ns, point_gpus(point),
                    round->crew->pool.count / point_gpus(point), point_over_mps(point));
    latency_blocks_begin(&round->blocks, start_ns + settings->warmup_ns, first_ns);
    round->gate_open = true;
    shm_gate_open(&round->shm, start_ns);
    enum status status =
        settings->iterations ? run_fixed_work(round) : grow_window(round, start_ns, first_ns, most);
    telemetry_end(round->session->telemetry, start_ns + window_end_ns(round));
    free(round->progress);
    round->progress = NULL;
    return status;
}
