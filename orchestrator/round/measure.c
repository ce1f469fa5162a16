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

/* The window of a server begins once each connection has had an answer. One that has had none while
 * another had that many is not served in turn, and may never be. */
#define TURNS 4

/* How often to look for that, and how long before its begin a window is announced. */
#define TURN_LOOK_NS (5 * NS_PER_MS)

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

/* Whether connections of each server have waited for all others, as they do from then on. */
static bool all_had_turns(const struct round *round)
{
    unsigned slots = point_slots(round->point);
    for (unsigned p = 0; p < point_processes(round->point); p++) {
        bool all = true, again = false;
        for (unsigned i = 0; i < slots; i++) {
            const struct shm_slot *slot = shm_slot_at(&round->shm, p, i);
            all &= atomic_load(&slot->last_end_ns) > 0;
            again |= atomic_load(&slot->completed) >= TURNS;
        }
        if (!all && !again)
            return false;
    }
    return true;
}

/* The connections to a server begin together, and so find a shorter queue than later on: spread
 * over that time, their first iterations would be more than the server does. They end after the
 * timeout of a request. */
static enum status await_turns(struct round *round, uint64_t start_ns)
{
    struct shm_header *header = round->shm.header;
    uint64_t begin_ns = header->settings.warmup_ns, look_ns = start_ns + begin_ns - TURN_LOOK_NS;
    do {
        enum status status = round_wait_until(round, never, look_ns);
        if (status != STATUS_TIMEOUT)
            return status;
        look_ns = clock_now_ns() + TURN_LOOK_NS;
    } while (!all_had_turns(round));
    if (look_ns > start_ns + begin_ns)
        begin_ns = look_ns - start_ns;
    atomic_store(&header->window_begin_ns, begin_ns);
    return STATUS_OK;
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
    uint64_t begin_ns = atomic_load(&shm->header->window_begin_ns);
    uint64_t slices = least > begin_ns ? least - begin_ns : 0;
    slices /= settings->slice_ns;
    return slices < SHM_SLICES ? slices : SHM_SLICES;
}

/* When the slices of the window end, from the agreed start. */
static uint64_t window_end_ns(const struct round *round)
{
    const struct shm_header *header = round->shm.header;
    return atomic_load(&header->window_begin_ns) + round->slices * header->settings.slice_ns;
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

/* Whether a worker has been in one iteration since before the window: it has none that counts. */
static bool one_outlasts_it(const struct round *round)
{
    uint64_t begin_ns = atomic_load(&round->shm.header->window_begin_ns);
    for (unsigned i = 0; i < point_workers(round->point); i++)
        if (atomic_load(&round_slot(round, i)->last_end_ns) < begin_ns)
            return true;
    return false;
}

/* Slices of a window that begins then, at most: so that it ends as if its workers had got ready as
 * late as they may. */
static uint64_t slices_in_time(const struct round *round, uint64_t begin_ns, uint64_t first_ns,
                               uint64_t most)
{
    uint64_t end_ns = round->limits->ready_by_ns + first_ns;
    uint64_t longest_ns = end_ns > begin_ns + first_ns ? end_ns - begin_ns : first_ns;
    uint64_t slices = longest_ns / round->shm.header->settings.slice_ns;
    return round->limits->ready_by_ns && slices < most ? slices : most;
}

/* The slices that have passed by now of a window that began then, of those that it has at most. */
static uint64_t slices_by_now(const struct round *round, uint64_t begin_ns, uint64_t most)
{
    uint64_t now_ns = clock_now_ns(), slice_ns = round->shm.header->settings.slice_ns;
    uint64_t slices = now_ns > begin_ns ? (now_ns - begin_ns) / slice_ns : 0;
    return slices < most ? slices : most;
}

/* Lets the window grow until it is precise or as long as it may be; an open loop's is as long as it
 * was planned. The window has all that happened until its end, however late this thread sees it:
 * workers know that end before it comes. */
static enum status grow_window(struct round *round, uint64_t start_ns, uint64_t first_ns,
                               uint64_t most)
{
    struct shm_header *header = round->shm.header;
    uint64_t begin_ns = start_ns + atomic_load(&header->window_begin_ns);
    uint64_t slice_ns = header->settings.slice_ns;
    uint64_t window_ns = first_ns;
    unsigned narrow = 0;
    bool decided = false;
    round->goal_rel = point_is_open(round->point) ? 0.0 : round->limits->precision_rel;
    while (!decided) {
        enum status status = wait_in_window(round, never, begin_ns + window_ns);
        if (status != STATUS_TIMEOUT)
            return status;
        round->slices = slices_by_now(round, begin_ns, most);
        decided = round->slices == most ||
                  (!is_short(round) && !one_outlasts_it(round) && is_done(round, most, &narrow));
        round->grew |= !decided;
        window_ns = window_next(round->slices * slice_ns, most * slice_ns);
    }
    if (round->slices < most) {
        round->slices = slices_by_now(round, begin_ns, most) + AHEAD;
        round->slices = round->slices < most ? round->slices : most;
        atomic_store(&header->window_end_ns, window_end_ns(round));
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

static void open_gate(struct round *round, uint64_t start_ns)
{
    round->gate_open = true;
    shm_gate_open(&round->shm, start_ns);
}

/* From its begin, which is known. */
static enum status run_window(struct round *round, uint64_t start_ns)
{
    struct shm_header *header = round->shm.header;
    const struct point *point = round->point;
    uint64_t begin_ns = atomic_load(&header->window_begin_ns);
    uint64_t first_ns = round->limits->duration_ns, longest_ns = round->limits->max_duration_ns;
    if (point_is_open(point))
        first_ns = longest_ns = openloop_window_ns(point, round->limits);
    uint64_t most = longest_ns / header->settings.slice_ns;
    most = most < SHM_SLICES ? most : SHM_SLICES;
    most = slices_in_time(round, start_ns + begin_ns, first_ns, most);
    if (!header->settings.iterations)
        atomic_store(&header->window_end_ns, begin_ns + most * header->settings.slice_ns);
    telemetry_begin(round->session->telemetry, start_ns + begin_ns, point_gpus(point),
                    round->crew->pool.count / point_gpus(point), point_over_mps(point));
    latency_blocks_begin(&round->blocks, start_ns + begin_ns, first_ns);
    if (!round->gate_open)
        open_gate(round, start_ns);
    enum status status = header->settings.iterations ? run_fixed_work(round)
                                                     : grow_window(round, start_ns, first_ns, most);
    telemetry_end(round->session->telemetry, start_ns + window_end_ns(round));
    return status;
}

enum status round_run_window(struct round *round)
{
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    round->progress = calloc(workers, sizeof *round->progress);
    if (!round->progress)
        return status_set(STATUS_MEMORY, "out of memory");
    uint64_t start_ns = clock_now_ns() + LEAD_NS + workers * LEAD_WORKER_NS;
    enum status status = STATUS_OK;
    if (point_is_server(point) && !point_is_open(point)) {
        atomic_store(&round->shm.header->window_begin_ns, UINT64_MAX);
        open_gate(round, start_ns);
        status = await_turns(round, start_ns);
    }
    if (status == STATUS_OK)
        status = run_window(round, start_ns);
    free(round->progress);
    round->progress = NULL;
    return status;
}
