#include "orchestrator/round/round.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "orchestrator/round/mix.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/round/internal.h"

/* Contexts are made one after the other: each process may take so long on top. */
#define READY_PROCESS_NS (NS_PER_S / 2)

/* What a worker gets to drain after another one failed. */
#define FAILED_GRACE_NS (5 * NS_PER_S)

/* So long after the first of its processes the orchestrator may hear of a signal to all. */
#define TOLD_MS 2000

/* The first failed slot, as an error of the round. */
static enum status failed_slot(const struct round *round)
{
    const struct point *point = round->point;
    char name[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        struct shm_slot *slot = shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) != SHM_STATE_FAILED)
            continue;
        enum status code = (enum status)slot->status;
        /* A refusal before the start says that the layout does not fit; later, it is a fault. */
        if (code == STATUS_INFEASIBLE && round->gate_open)
            code = STATUS_WORKER;
        round->result->cuda_error = slot->cuda_error;
        if (point_is_program(point))
            return round_program_failed(round, i / point->threads, code, slot->error);
        return status_set(code, "%s: %.*s", round_worker_name(round, i, name),
                          (int)sizeof slot->error - 1, slot->error);
    }
    return STATUS_OK;
}

/* Who ends a job tells all of its processes at once, as Slurm does; one of them hears it first, and
 * that was no fault of its. */
static bool ended_with_us(const struct round *round, const struct gpu_child *child)
{
    if (!WIFSIGNALED(child->wait_status) ||
        (WTERMSIG(child->wait_status) != SIGTERM && WTERMSIG(child->wait_status) != SIGINT &&
         WTERMSIG(child->wait_status) != SIGHUP))
        return false;
    struct pollfd told = {.fd = round->session->signal_fd, .events = POLLIN};
    return poll(&told, 1, TOLD_MS) > 0 && session_check_signals(round->session) != STATUS_OK;
}

/* A process that ended although nobody asked it to. */
static enum status ended_process(const struct round *round, unsigned index)
{
    char ending[64], gpu[ROUND_NAME_TEXT];
    const struct gpu_child *child = &round->children[index];
    if (ended_with_us(round, child))
        return STATUS_INTERRUPTED;
    enum status status = failed_slot(round);
    if (status != STATUS_OK)
        return status;
    if (point_is_program(round->point)) {
        char text[128];
        snprintf(text, sizeof text, "lost its supervisor: %s",
                 child_ending_text(child->wait_status, ending, sizeof ending));
        return round_program_failed(round, index, STATUS_WORKER, text);
    }
    return status_set(STATUS_WORKER, "worker process %u of %u%s ended unasked: %s", index + 1,
                      round->crew->processes, round_gpu_of_process(round, index, " (", ")", gpu),
                      child_ending_text(child->wait_status, ending, sizeof ending));
}

bool round_all_are(const struct round *round, enum shm_state state)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point); i++)
        if (atomic_load_explicit(
                &shm_slot_at(&round->shm, i / point->threads, i % point->threads)->state,
                memory_order_acquire) != state)
            return false;
    /* Those that idle are to be quiet before the others begin. */
    return shm_parked(&round->shm, point_processes(point));
}

static bool all_parked(const struct round *round)
{
    return shm_parked(&round->shm, 0);
}

static bool all_ready(const struct round *round)
{
    return round_all_are(round, SHM_STATE_READY);
}

/* Names the workers that have made no progress since their beats were noted. */
static enum status check_progress(const struct round *round, uint64_t *beats, uint64_t *since_ns)
{
    const struct point *point = round->point;
    uint64_t now = clock_now_ns();
    char name[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot =
            shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == SHM_STATE_FINISHED)
            continue;
        uint64_t beat = atomic_load_explicit(&slot->heartbeat, memory_order_relaxed);
        uint64_t idle_until_ns = atomic_load_explicit(&slot->idle_until_ns, memory_order_relaxed);
        if (beat != beats[i] || since_ns[i] == 0 || now < idle_until_ns) {
            beats[i] = beat;
            since_ns[i] = now;
        } else if (now - since_ns[i] > round->limits->timeout_ns) {
            if (point_is_program(point))
                return round_program_hangs(round, i);
            return status_set(STATUS_WORKER, "%s hangs: no iteration ended for %.3g s",
                              round_worker_name(round, i, name),
                              (double)round->limits->timeout_ns / 1e9);
        }
    }
    return STATUS_OK;
}

enum status round_wait_until(struct round *round, round_condition condition, uint64_t until_ns,
                             uint64_t *beats, uint64_t *since_ns)
{
    unsigned processes = round->crew->processes;
    struct pollfd *fds = calloc(processes + 2, sizeof *fds);
    enum status status = STATUS_OK;
    if (!fds)
        return status_set(STATUS_MEMORY, "out of memory");
    for (;;) {
        uint64_t events;
        if (read(round->crew->event_fd, &events, sizeof events) < 0 && errno != EAGAIN)
            status = status_set(STATUS_SYSTEM, "cannot read events: %s", strerror(errno));
        if (status == STATUS_OK)
            status = session_check_signals(round->session);
        if (status == STATUS_OK)
            status = failed_slot(round);
        int ended = status == STATUS_OK ? crew_reap(round->crew) : -1;
        if (ended >= 0)
            status = ended_process(round, (unsigned)ended);
        if (status == STATUS_OK && beats)
            status = check_progress(round, beats, since_ns);
        if (status != STATUS_OK || condition(round))
            break;
        uint64_t now = clock_now_ns();
        if (now >= until_ns) {
            status = STATUS_TIMEOUT;
            break;
        }
        fds[0] = (struct pollfd){.fd = round->crew->event_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = round->session->signal_fd, .events = POLLIN};
        for (unsigned p = 0; p < processes; p++)
            fds[p + 2] = (struct pollfd){
                .fd = round->children[p].ended ? -1 : round->children[p].pidfd, .events = POLLIN};
        /* Hung workers make no event, nor do programs without the descriptor: look at them a few
         * times a second. */
        bool looks = beats || point_is_program(round->point);
        uint64_t look_ns = now + NS_PER_S / 4;
        uint64_t wake_ns = looks && look_ns < until_ns ? look_ns : until_ns;
        if (poll(fds, processes + 2, clock_remaining_ms(wake_ns)) < 0 && errno != EINTR) {
            status = status_set(STATUS_SYSTEM, "cannot wait for workers: %s", strerror(errno));
            break;
        }
    }
    free(fds);
    return status;
}

static enum status say_unready(const struct round *round)
{
    const struct point *point = round->point;
    char gpus[ROUND_NAME_TEXT];
    unsigned ready = 0;
    uint32_t late = 0;
    for (unsigned i = 0; i < point_workers(point); i++) {
        unsigned process = i / point->threads;
        const struct shm_slot *slot = shm_slot_at(&round->shm, process, i % point->threads);
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

static enum status get_ready(struct round *round)
{
    unsigned processes = point_processes(round->point);
    uint64_t deadline_ns =
        clock_now_ns() + round->limits->timeout_ns + processes * READY_PROCESS_NS;
    round->spawn_ns = clock_now_ns();
    enum status status = STATUS_OK;
    uint64_t by_ns = round->limits->ready_by_ns;
    bool hurried = by_ns && by_ns < deadline_ns;
    if (hurried)
        deadline_ns = by_ns;
    for (unsigned p = 0; p < processes && status == STATUS_OK && !round->result->reused; p++)
        status = crew_spawn(round->crew, round->session, p);
    if (status == STATUS_OK)
        status = round_wait_until(round, all_ready, deadline_ns, NULL, NULL);
    if (status == STATUS_TIMEOUT && hurried)
        return status_set(status, "the workers were not ready in time for a window");
    if (status == STATUS_TIMEOUT && point_is_program(round->point))
        return round_program_unready(round, (double)(clock_now_ns() - round->spawn_ns) / 1e9);
    if (status == STATUS_TIMEOUT)
        return say_unready(round);
    round->result->ready_s = (double)(clock_now_ns() - round->spawn_ns) / 1e9;
    return status;
}

/* After the stop: every worker publishes its results and parks. STATUS_TIMEOUT: not all did. */
static enum status park(struct round *round)
{
    return round_wait_until(round, all_parked, clock_now_ns() + round->limits->timeout_ns, NULL,
                            NULL);
}

/* Of a process that something within it has ended, and with success, before its workers had
 * published their results. */
static enum status check_done(const struct round *round)
{
    const struct point *point = round->point;
    char gpu[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        unsigned process = i / point->threads;
        const struct shm_slot *slot = shm_slot_at(&round->shm, process, i % point->threads);
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
    bool tainted = false;
    char gpus[ROUND_NAME_TEXT];
    uint64_t grace_ns = round->limits->timeout_ns;
    enum status status;
    if (round->turn->keeps && !point_is_program(round->point)) {
        status = park(round);
        /* What is measured is kept, also when there will be no next point. */
        if (status != STATUS_TIMEOUT && status != STATUS_INTERRUPTED)
            return status;
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
        return status_set(STATUS_WORKER, "a worker%s did not stop within %.3g s",
                          round_gpus_text(round, round_failed_gpus(round), gpus),
                          (double)round->limits->timeout_ns / 1e9);
    status = failed_slot(round);
    for (unsigned p = 0; p < round->crew->processes && status == STATUS_OK; p++)
        if (round->children[p].wait_status != 0)
            status = ended_process(round, p);
    for (unsigned p = 0; p < round->crew->processes; p++)
        if (atomic_load(&shm_process_at(&round->shm, p)->cut_off) && point_over_mps(round->point))
            session_taint(round->session, round->children[p].gpu);
    return status == STATUS_OK ? check_done(round) : status;
}

/* One point on a crew that is fit for it or empty. */
static enum status serve(struct round *round)
{
    enum status status = round_set_daemons(round->session, round->point);
    if (status == STATUS_OK)
        status = workers_prepare(round);
    if (status == STATUS_OK)
        status = get_ready(round);
    if (status == STATUS_OK)
        status = round_check_binding(round);
    if (status == STATUS_OK)
        status = round_prove_attachment(round);
    if (status == STATUS_OK)
        status = round_prove_shares(round);
    if (status == STATUS_OK)
        status = round_run_window(round);
    if (status == STATUS_OK)
        status = drain(round);
    if (status == STATUS_OK && point_is_program(round->point))
        status = round_program_check(round);
    return status == STATUS_OK ? collect_result(round) : status;
}

/* Who failed, now that all have ended. A client that crashed or was killed may leave its server in
 * a fault state. */
static void settle(const struct round *round)
{
    struct round_result *result = round->result;
    bool failed = result->status != STATUS_OK && result->status != STATUS_INFEASIBLE;
    uint32_t gpus = round_failed_gpus(round);
    if (result->status != STATUS_OK)
        result->failed_gpus = gpus;
    for (unsigned i = 0; i < point_gpus(round->point); i++) {
        /* Where nobody in particular has failed, it may be any of them. */
        if (failed && (gpus == 0 || gpus & UINT32_C(1) << i || round_saw_fault(round, i)))
            session_taint(round->session, i);
    }
    crew_taint(round->crew, round->session, failed);
}

static bool runs_on(const struct round *round)
{
    const struct crew *crew = round->crew;
    for (unsigned p = 0; p < crew->processes; p++)
        if (crew->children[p].ended)
            return false;
    return round->turn->keeps;
}

/* On the crew if it is fit, else on a fresh one. */
static enum status run_once(struct session *session, const struct point *point,
                            const struct round_limits *limits, struct crew *crew,
                            const struct turn *turn, struct round_result *out)
{
    uint64_t grace_ns = limits->timeout_ns < FAILED_GRACE_NS ? limits->timeout_ns : FAILED_GRACE_NS;
    *out = (struct round_result){.status = STATUS_INFEASIBLE};
    if (plugin_rules_out(point, out->error, sizeof out->error))
        return STATUS_OK;
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
    /* Before the daemon is asked for anything: it may have to go, and they are its clients. */
    enum status ended = out->reused ? STATUS_OK : crew_dismiss(crew, session, grace_ns);
    enum status status = ended == STATUS_OK ? serve(&round) : ended;
    out->status = status;
    if (status != STATUS_OK) {
        snprintf(out->error, sizeof out->error, "%s", status_text());
        plugin_add_place(&round);
        round_add_cause(&round);
    } else {
        out->idle_processes = crew->processes - point_processes(point);
    }
    if (status == STATUS_OK && runs_on(&round))
        return STATUS_OK;
    bool tainted = false;
    if (ended == STATUS_OK)
        ended = crew_end(crew, session, grace_ns, &tainted);
    settle(&round);
    crew_release(crew);
    if (ended != STATUS_OK)
        return ended;
    /* Said again: the clean-up had its own errors to try and pass over. */
    return status == STATUS_INTERRUPTED ? status_set(status, "%s", out->error) : STATUS_OK;
}

enum status round_run_on(struct session *session, const struct point *point,
                         const struct round_limits *limits, struct crew *crew,
                         const struct turn *turn, struct round_result *out)
{
    enum status possible = described_check(point);
    if (possible != STATUS_OK) {
        *out = (struct round_result){.status = possible};
        snprintf(out->error, sizeof out->error, "%s", status_text());
        return STATUS_OK;
    }
    enum status status = run_once(session, point, limits, crew, turn, out);
    if (status != STATUS_OK || out->status != STATUS_INFEASIBLE || !out->reused)
        return status;
    /* It need not be the point: idle processes have memory, too. The crew has gone. */
    round_result_release(out);
    return run_once(session, point, limits, crew, turn, out);
}

enum status round_set_daemons(struct session *session, const struct point *point)
{
    return session_set_daemons(session, point_over_mps(point) ? point_gpus(point) : 0,
                               point_daemons(point) > 1);
}

enum status round_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *out)
{
    struct crew crew = CREW_EMPTY;
    const struct turn turn = {.starts = true, .threads_most = point->threads};
    return round_run_on(session, point, limits, &crew, &turn, out);
}

void round_result_release(struct round_result *result)
{
    free(result->workers);
    result->workers = NULL;
    free(result->processes);
    result->processes = NULL;
    free(result->programs);
    result->programs = NULL;
    free(result->gpus);
    result->gpus = NULL;
}
