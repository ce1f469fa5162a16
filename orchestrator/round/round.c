#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/process_tree.h"
#include "orchestrator/plan/plugin.h"
#include "orchestrator/round/internal.h"

/* Contexts are made one after the other: each may take this much longer. */
#define READY_CONTEXT_NS (NS_PER_S / 2)

/* What a program gets to come back for more after its last iteration. */
#define HELD_NS (2 * NS_PER_S)

/* By how much longer than it was seen to be one a program may be cold. */
#define COLD_MARGIN 0.25
#define COLD_MARGIN_NS NS_PER_S

/* What a worker gets to drain after another one failed. */
#define FAILED_GRACE_NS (5 * NS_PER_S)

static bool all_parked(const struct round *round)
{
    return shm_parked(&round->shm, 0);
}

static bool all_ready(const struct round *round)
{
    return round_all_are(round, SHM_STATE_READY);
}

static bool are_ready_or_too_few(const struct round *round)
{
    return all_ready(round) || round_program_waits_in_vain(round);
}

static enum status unready(const struct round *round)
{
    const struct point *point = round->point;
    char gpus[ROUND_NAME_TEXT];
    unsigned ready = 0;
    uint32_t late = 0;
    for (unsigned i = 0; i < point_workers(point); i++) {
        unsigned process = round_process_of(round, i);
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load(&slot->state) == SHM_STATE_READY)
            ready++;
        else
            late |= UINT32_C(1) << point_gpu_of(point, process);
    }
    round_gpus_text(round, late, gpus);
    return status_set(STATUS_WORKER, "only %u of %u workers got ready within %.3g s%s%s", ready,
                      point_workers(point), (double)(clock_now_ns() - round->spawn_ns) / 1e9,
                      *gpus ? "; those on these GPUs did not:" : "", gpus);
}

/* What the processes of a program have used of CPUs. */
static double cpu_seconds(const struct round *round)
{
    double sum = 0.0;
    for (unsigned p = 0; p < round->crew->pool.count; p++)
        sum += (double)process_tree_cpu_ns(round->children[p].pid) / 1e9;
    return sum;
}

static enum status get_ready(struct round *round)
{
    unsigned processes = point_processes(round->point);
    unsigned contexts =
        processes * (round->point->contexts == CONTEXTS_OWN ? round->point->threads : 1);
    uint64_t deadline_ns = clock_now_ns() + round->limits->timeout_ns + contexts * READY_CONTEXT_NS;
    round->spawn_ns = clock_now_ns();
    enum status status = STATUS_OK;
    uint64_t by_ns = round->limits->ready_by_ns;
    bool hurried = by_ns && by_ns < deadline_ns;
    if (hurried)
        deadline_ns = by_ns;
    for (unsigned p = 0; p < processes && status == STATUS_OK && !round->result->reused; p++)
        status = crew_spawn(round->crew, round->session, p);
    if (status == STATUS_OK)
        status = round_wait_until(round, are_ready_or_too_few, deadline_ns);
    if (status == STATUS_OK && !all_ready(round))
        status = STATUS_TIMEOUT;
    double seconds = (double)(clock_now_ns() - round->spawn_ns) / 1e9;
    /* More time would not help those. */
    if (status == STATUS_TIMEOUT && round_program_lacks_threads(round, seconds) != STATUS_OK)
        return STATUS_WORKER;
    if (status == STATUS_TIMEOUT && hurried)
        return status_set(status, "the workers were not ready in time for a window");
    if (status == STATUS_TIMEOUT && point_is_program(round->point))
        return round_program_unready(round, seconds);
    if (status == STATUS_TIMEOUT)
        return unready(round);
    if (status != STATUS_OK)
        return status;
    round->result->ready_s = seconds;
    if (point_is_program(round->point) && !round->result->reused)
        round->result->ready_cpu_s = cpu_seconds(round);
    return STATUS_OK;
}

/* Of the workers within an iteration, the one whose last ended longest ago; NULL: none is. */
static const struct shm_slot *longest_running(const struct round *round, unsigned *worker)
{
    const struct shm_slot *found = NULL;
    for (unsigned i = 0; i < point_workers(round->point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load(&slot->state) != SHM_STATE_RUNNING ||
            (found && atomic_load(&found->last_end_ns) <= atomic_load(&slot->last_end_ns)))
            continue;
        found = slot;
        *worker = i;
    }
    return found;
}

/* Names the worker that keeps its process from stopping, if it is one. */
static enum status unstopped(const struct round *round)
{
    char name[ROUND_NAME_TEXT];
    double seconds = (double)round->limits->timeout_ns / 1e9;
    unsigned worker;
    if (longest_running(round, &worker))
        return status_set(STATUS_WORKER,
                          "%s hangs: its iteration did not end within %.3g s of the stop",
                          round_worker_name(round, worker, name), seconds);
    for (unsigned i = 0; i < point_workers(round->point); i++)
        if (atomic_load(&round_slot(round, i)->state) != SHM_STATE_DONE)
            return status_set(STATUS_WORKER, "%s did not stop within %.3g s",
                              round_worker_name(round, i, name), seconds);
    return status_set(STATUS_WORKER, "a worker%s did not stop within %.3g s",
                      round_gpus_text(round, round_failed_gpus(round), name), seconds);
}

/* Whether no program has an iteration that is still to count. */
static bool all_are_between(const struct round *round)
{
    for (unsigned i = 0; i < point_workers(round->point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load_explicit(&slot->at_work, memory_order_acquire) &&
            atomic_load_explicit(&slot->state, memory_order_acquire) < SHM_STATE_DONE)
            return false;
    }
    return true;
}

/* After the stop: every worker publishes its results and parks. STATUS_TIMEOUT: not all did. A
 * program that does not come back for more soon after its last iteration does other things. */
static enum status park(struct round *round)
{
    uint64_t timeout_ns = round->limits->timeout_ns, until_ns = clock_now_ns() + timeout_ns;
    if (point_is_program(round->point)) {
        uint64_t half_ns = clock_now_ns() + timeout_ns / 2;
        enum status status = round_wait_until(round, all_are_between, half_ns);
        if (status != STATUS_OK)
            return status;
        uint64_t held_ns = clock_now_ns() + HELD_NS;
        until_ns = held_ns < until_ns ? held_ns : until_ns;
    }
    return round_wait_until(round, all_parked, until_ns);
}

static bool runs_on(const struct round *round)
{
    const struct crew *crew = round->crew;
    for (unsigned p = 0; p < crew->pool.count; p++)
        if (crew->pool.children[p].ended)
            return false;
    return round->turn->keeps;
}

/* Of a program that has fewer threads than the point asks for: its processes serve points with as
 * many, if each has the same and they are all that is ready. False: they serve nothing. */
static bool park_fewer(struct round *round)
{
    unsigned threads = round->result->threads_at_work;
    if (threads == 0 || point_streams(round->point) > 1 || !runs_on(round))
        return false;
    for (unsigned i = 0; i < point_workers(round->point); i++) {
        enum shm_state has =
            i % round->point->threads < threads ? SHM_STATE_READY : SHM_STATE_STARTING;
        if (atomic_load(&round_slot(round, i)->state) != (uint32_t)has)
            return false;
    }
    atomic_store(&round->shm.header->slots_usable, threads);
    shm_stop(&round->shm, 0);
    return round_wait_until(round, all_parked, clock_now_ns() + HELD_NS) == STATUS_OK;
}

/* Of a process that something within it has ended, and with success, before its workers had
 * published their results. */
static enum status check_done(const struct round *round)
{
    const struct point *point = round->point;
    char gpu[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        unsigned process = round_process_of(round, i);
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) != SHM_STATE_DONE)
            return status_set(STATUS_WORKER,
                              "a worker process%s ended before its workers were done",
                              round_gpu_of_process(round, process, " (", ")", gpu));
    }
    return STATUS_OK;
}

/* After the stop: every worker publishes its results, and every process parks, or ends by itself.
 */
static enum status drain(struct round *round)
{
    bool tainted = false, program = point_is_program(round->point);
    uint64_t grace_ns = round->limits->timeout_ns, begin_ns = clock_now_ns();
    enum status status;
    if (round->turn->keeps) {
        status = park(round);
        /* What is measured is kept, also when there will be no next point; of a program also when
         * it ends or does not come back, which is judged when all have ended. */
        if (status == STATUS_OK ||
            (status != STATUS_TIMEOUT && status != STATUS_INTERRUPTED && !program))
            return status;
        uint64_t took_ns = clock_now_ns() - begin_ns;
        if (program)
            grace_ns -= took_ns < grace_ns ? took_ns : grace_ns;
        else
            grace_ns = status == STATUS_TIMEOUT ? 0 : grace_ns;
    }
    status = crew_end(round->crew, round->session, grace_ns, &tainted);
    if (status != STATUS_OK)
        return status;
    if (tainted && round->session->interrupted)
        return status_set(STATUS_INTERRUPTED, "interrupted");
    if (tainted && point_is_program(round->point))
        return round_program_unended(round);
    if (tainted)
        return unstopped(round);
    status = round_failed_slot(round);
    for (unsigned p = 0; p < round->crew->pool.count && status == STATUS_OK; p++)
        if (round->children[p].wait_status != 0)
            status = round_ended_process(round, p);
    return status == STATUS_OK ? check_done(round) : status;
}

/* One point on a crew that is fit for it or empty. */
static enum status serve(struct round *round)
{
    enum status status = round_set_daemons(round->session, round->point);
    if (status == STATUS_OK)
        status = round_assign(round);
    if (status == STATUS_OK)
        status = get_ready(round);
    if (status == STATUS_OK)
        status = round_check_binding(round);
    if (status == STATUS_OK)
        status = round_prove_attachment(round);
    if (status == STATUS_OK)
        status = round_prove_shares(round);
    if (status == STATUS_OK)
        status = round_prove_partitions(round);
    if (status == STATUS_OK)
        status = round_run_window(round);
    if (status != STATUS_OK)
        return status;
    uint64_t stop_ns = clock_now_ns();
    status = drain(round);
    round->result->stop_s = (double)(clock_now_ns() - stop_ns) / 1e9;
    if (status != STATUS_OK)
        return status;
    status = round_collect(round);
    /* It knows the better reason why a window was too short. */
    enum status judged = point_is_program(round->point) ? round_program_check(round) : STATUS_OK;
    return judged == STATUS_OK ? status : judged;
}

/* Notes who failed, now that all have ended. A client that crashed or was killed may leave its
 * server in a fault state. */
static void settle(const struct round *round)
{
    struct round_result *result = round->result;
    bool failed = result->status != STATUS_OK && result->status != STATUS_INFEASIBLE;
    uint32_t gpus = round_failed_gpus(round);
    if (result->status != STATUS_OK)
        result->failed_gpus = gpus;
    for (unsigned i = 0; i < point_gpus(round->point); i++) {
        /* Without a failed process it may be any of them. */
        if (failed && (gpus == 0 || gpus & UINT32_C(1) << i || round_saw_fault(round, i)))
            daemons_taint(round->session->daemons, i);
    }
    crew_taint(round->crew, round->session, failed);
}

/* On the crew if it is fit, else on a fresh one. */
static enum status run_once(struct session *session, const struct point *point,
                            const struct round_limits *limits, struct crew *crew,
                            const struct turn *turn, struct round_result *out)
{
    uint64_t grace_ns = limits->timeout_ns < FAILED_GRACE_NS ? limits->timeout_ns : FAILED_GRACE_NS;
    *out = (struct round_result){.reused = crew_is_fit(crew, session, point)};
    struct round round = {
        .session = session,
        .point = point,
        .limits = limits,
        .crew = crew,
        .turn = turn,
        .shm.fd = -1,
        .result = out,
    };
    /* Before the daemon is asked for anything: it may have to end, and they are its clients. */
    enum status ended = out->reused ? STATUS_OK : crew_dismiss(crew, session, grace_ns);
    enum status status = ended == STATUS_OK ? serve(&round) : ended;
    latency_blocks_release(&round.blocks);
    out->status = status;
    if (status != STATUS_OK) {
        snprintf(out->error, sizeof out->error, "%s", status_text());
        out->lost_ns = status == STATUS_WORKER ? round_program_lost_ns(&round) : 0;
        round_add_plugin_place(&round);
        round_add_cause(&round);
    } else {
        out->idle_processes = crew->pool.count - point_processes(point);
    }
    if (status == STATUS_OK ? runs_on(&round) : park_fewer(&round))
        return STATUS_OK;
    bool tainted = false;
    if (ended == STATUS_OK)
        ended = crew_end(crew, session, grace_ns, &tainted);
    settle(&round);
    crew_release(crew);
    if (ended != STATUS_OK)
        return ended;
    /* The clean-up may have recorded errors of its own. */
    return status == STATUS_INTERRUPTED ? status_set(status, "%s", out->error) : STATUS_OK;
}

/* Whether it may have been its warm-up that a program repeated, which no earlier one has shown. Its
 * next processes get more time. */
static bool was_cold(struct session *session, const struct round_result *result)
{
    if (!result->lost_ns || session->cold_ns)
        return false;
    session->cold_ns =
        result->lost_ns + (uint64_t)(COLD_MARGIN * (double)result->lost_ns) + COLD_MARGIN_NS;
    session->known_calls = 0;
    return true;
}

enum status round_check(const struct point *point)
{
    char why[256];
    if (plugin_rules_out(point, why, sizeof why))
        return status_set(STATUS_INFEASIBLE, "%s", why);
    enum status status = round_check_mix(point);
    if (status == STATUS_OK)
        status = round_check_partition(point);
    return status == STATUS_OK ? round_check_servers(point) : status;
}

enum status round_run_on(struct session *session, const struct point *point,
                         const struct round_limits *limits, struct crew *crew,
                         const struct turn *turn, struct round_result *out)
{
    enum status possible = round_check(point);
    if (possible == STATUS_OK)
        possible = round_check_lengths(point);
    if (possible != STATUS_OK) {
        *out = (struct round_result){.status = possible};
        snprintf(out->error, sizeof out->error, "%s", status_text());
        return STATUS_OK;
    }
    enum status status = run_once(session, point, limits, crew, turn, out);
    if (status != STATUS_OK)
        return status;
    /* It need not be the point: idle processes have memory, too. */
    bool was_crowded = out->status == STATUS_INFEASIBLE && out->reused;
    if (!was_crowded && !was_cold(session, out))
        return status;
    /* The crew has gone. */
    round_result_release(out);
    return run_once(session, point, limits, crew, turn, out);
}

enum status round_set_daemons(struct session *session, const struct point *point)
{
    return daemons_set(session->daemons, point_over_mps(point) ? point_gpus(point) : 0,
                       point_daemons(point) > 1);
}

enum status round_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *out)
{
    struct crew crew = CREW_EMPTY;
    const struct turn turn = {.starts = true, .slots_most = point_slots(point)};
    return round_run_on(session, point, limits, &crew, &turn, out);
}
