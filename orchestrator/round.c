#include "orchestrator/round.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/layout_text.h"
#include "orchestrator/round_internal.h"

/* From opening the gate to the agreed start: long enough for every worker to wake and spin. */
#define LEAD_NS (2 * NS_PER_MS)
#define LEAD_WORKER_NS (50 * NS_PER_US)

/* Contexts are made one after the other: each process may take so long on top. */
#define READY_PROCESS_NS (NS_PER_S / 2)

/* What a worker gets to drain after another one failed. */
#define FAILED_GRACE_NS (5 * NS_PER_S)

#define ATTACH_NS (5 * NS_PER_S)

/* A window is extended by this share of --duration at a time. */
#define EXTEND_SHARE 4

/* What wait_while() may return besides OK. */
typedef bool (*round_condition)(const struct round *round);

/* The first failed slot, as an error of the round. */
static enum status failed_slot(const struct round *round)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point); i++) {
        struct shm_slot *slot = shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) != SHM_STATE_FAILED)
            continue;
        enum status code = (enum status)slot->status;
        /* A refusal before the start says that the layout does not fit; later, it is a fault. */
        if (code == STATUS_INFEASIBLE && round->gate_open)
            code = STATUS_WORKER;
        round->result->cuda_error = slot->cuda_error;
        return status_set(code, "worker %u of %u: %.*s", i + 1, point_workers(point),
                          (int)sizeof slot->error - 1, slot->error);
    }
    return STATUS_OK;
}

/* A process that ended although nobody asked it to. */
static enum status ended_process(const struct round *round, unsigned index)
{
    char ending[64];
    const struct gpu_child *child = &round->children[index];
    enum status status = failed_slot(round);
    if (status != STATUS_OK)
        return status;
    return status_set(STATUS_WORKER, "worker process %u of %u ended unasked: %s", index + 1,
                      round->point->processes,
                      child_ending_text(child->wait_status, ending, sizeof ending));
}

static bool all_are(const struct round *round, enum shm_state state)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point); i++)
        if (atomic_load_explicit(
                &shm_slot_at(&round->shm, i / point->threads, i % point->threads)->state,
                memory_order_acquire) != state)
            return false;
    return true;
}

static bool all_ready(const struct round *round)
{
    return all_are(round, SHM_STATE_READY);
}

static bool all_finished(const struct round *round)
{
    return all_are(round, SHM_STATE_FINISHED);
}

static bool never(const struct round *round)
{
    (void)round;
    return false;
}

/* Names the workers that have made no progress since their beats were noted. */
static enum status check_progress(const struct round *round, uint64_t *beats, uint64_t *since_ns)
{
    const struct point *point = round->point;
    uint64_t now = clock_now_ns();
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot =
            shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == SHM_STATE_FINISHED)
            continue;
        uint64_t beat = atomic_load_explicit(&slot->heartbeat, memory_order_relaxed);
        if (beat != beats[i] || since_ns[i] == 0) {
            beats[i] = beat;
            since_ns[i] = now;
        } else if (now - since_ns[i] > round->limits->timeout_ns) {
            return status_set(STATUS_WORKER, "worker %u of %u hangs: no iteration ended for %.3g s",
                              i + 1, point_workers(point), (double)round->limits->timeout_ns / 1e9);
        }
    }
    return STATUS_OK;
}

/*
 * Waits for a condition or a moment, whichever is first; STATUS_TIMEOUT tells that it was the
 * moment. Ends early with STATUS_INTERRUPTED, or with the error of a worker that failed or ended.
 */
static enum status wait_until(struct round *round, round_condition condition, uint64_t until_ns,
                              uint64_t *beats, uint64_t *since_ns)
{
    unsigned processes = round->point->processes;
    struct pollfd *fds = calloc(processes + 2, sizeof *fds);
    enum status status = STATUS_OK;
    if (!fds)
        return status_set(STATUS_MEMORY, "out of memory");
    for (;;) {
        uint64_t events;
        if (read(round->event_fd, &events, sizeof events) < 0 && errno != EAGAIN)
            status = status_set(STATUS_SYSTEM, "cannot read events: %s", strerror(errno));
        if (status == STATUS_OK)
            status = session_check_signals(round->session);
        if (status == STATUS_OK)
            status = failed_slot(round);
        int ended = status == STATUS_OK ? workers_reap(round) : -1;
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
        fds[0] = (struct pollfd){.fd = round->event_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = round->session->signal_fd, .events = POLLIN};
        for (unsigned p = 0; p < processes; p++)
            fds[p + 2] = (struct pollfd){
                .fd = round->children[p].ended ? -1 : round->children[p].pidfd, .events = POLLIN};
        /* Hung workers make no event: look at their beats a few times a second. */
        uint64_t look_ns = now + NS_PER_S / 4;
        uint64_t wake_ns = beats && look_ns < until_ns ? look_ns : until_ns;
        if (poll(fds, processes + 2, clock_remaining_ms(wake_ns)) < 0 && errno != EINTR) {
            status = status_set(STATUS_SYSTEM, "cannot wait for workers: %s", strerror(errno));
            break;
        }
    }
    free(fds);
    return status;
}

static enum status get_ready(struct round *round)
{
    unsigned processes = round->point->processes;
    uint64_t deadline_ns =
        clock_now_ns() + round->limits->timeout_ns + processes * READY_PROCESS_NS;
    round->spawn_ns = clock_now_ns();
    enum status status = STATUS_OK;
    for (unsigned p = 0; p < processes && status == STATUS_OK; p++)
        status = workers_spawn(round, p);
    if (status == STATUS_OK)
        status = wait_until(round, all_ready, deadline_ns, NULL, NULL);
    if (status == STATUS_TIMEOUT) {
        unsigned ready = 0;
        const struct point *point = round->point;
        for (unsigned i = 0; i < point_workers(point); i++)
            ready +=
                atomic_load(
                    &shm_slot_at(&round->shm, i / point->threads, i % point->threads)->state) ==
                SHM_STATE_READY;
        return status_set(STATUS_WORKER, "only %u of %u workers got ready within %.3g s", ready,
                          point_workers(point), (double)(clock_now_ns() - round->spawn_ns) / 1e9);
    }
    round->result->ready_s = (double)(clock_now_ns() - round->spawn_ns) / 1e9;
    return status;
}

static bool contains(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static bool is_worker(const struct round *round, pid_t pid)
{
    for (unsigned p = 0; p < round->point->processes; p++)
        if (round->children[p].pid == pid)
            return true;
    return false;
}

/* No number over MPS without proof: the driver's word came from each worker; this is the daemon's.
 */
static enum status prove_attachment(struct round *round)
{
    struct round_result *result = round->result;
    unsigned processes = round->point->processes;
    if (!point_over_mps(round->point))
        return STATUS_OK;
    pid_t clients[LAYOUT_MOST_WORKERS + 64];
    size_t count = 0;
    result->attached_expected = processes;
    enum status status =
        mps_controller_clients(round->session->mps, clock_now_ns() + ATTACH_NS, clients,
                               sizeof clients / sizeof clients[0], &count);
    if (status != STATUS_OK)
        return status;
    for (unsigned p = 0; p < processes; p++)
        result->attached_seen += contains(clients, count, round->children[p].pid);
    for (size_t i = 0; i < count; i++)
        result->other_clients += !is_worker(round, clients[i]) && !contains(clients, i, clients[i]);
    if (result->attached_seen < processes)
        return status_set(STATUS_WORKER,
                          "%u of %u worker processes are not clients of the MPS "
                          "daemon: no measurement",
                          processes - result->attached_seen, processes);
    return STATUS_OK;
}

/* What process p found is what its shares allow. */
static enum status prove_share(const struct round *round, unsigned p)
{
    const struct point *point = round->point;
    struct shm_process *process = shm_process_at(&round->shm, p);
    int64_t percentage = shares_at(&point->active_thread_percentage, p);
    int64_t limit = shares_at(&point->memory_limit, p);
    int found = atomic_load(&process->sms), all = round->session->gpu.sms;
    uint64_t memory_free = atomic_load(&process->memory_free);
    if (percentage != OPTION_SHARE_DEFAULT && !shares_fit_multiprocessors(percentage, found, all))
        return status_set(STATUS_WORKER,
                          "worker process %u of %u has %d multiprocessors, but was given %d%% of "
                          "%d: no measurement",
                          p + 1, point->processes, found, (int)percentage, all);
    /* The context has taken its part already. */
    if (limit != OPTION_SHARE_DEFAULT && memory_free > (uint64_t)limit)
        return status_set(STATUS_WORKER,
                          "worker process %u of %u has %llu MiB of memory left, but was given %lld "
                          "MiB: no measurement",
                          p + 1, point->processes, (unsigned long long)memory_free >> 20,
                          (long long)limit >> 20);
    return STATUS_OK;
}

/* Nor with shares that did not come about. */
static enum status prove_shares(const struct round *round)
{
    enum status status = STATUS_OK;
    for (unsigned p = 0; p < round->point->processes && status == STATUS_OK; p++)
        status = prove_share(round, p);
    return status;
}

/* A binding that the kernel refuses would be measured as another one. */
static enum status check_binding(const struct round *round)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot =
            shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        char cpus[64];
        if (slot->bind_errno)
            return status_set(STATUS_WORKER, "worker %u of %u cannot run on CPUs %s: %s", i + 1,
                              point_workers(point), bind_cpus_text(slot->cpus, cpus, sizeof cpus),
                              strerror(slot->bind_errno));
    }
    return STATUS_OK;
}

/* The window is the time in which all workers are at work. There is no deadline but each worker's
 * own, that its next iteration ends. */
static enum status run_fixed_work(struct round *round, uint64_t *beats)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    enum status status =
        wait_until(round, all_finished, UINT64_MAX, beats, beats + point_workers(round->point));
    if (status != STATUS_OK)
        return status;
    shm_align_slices(&round->shm);
    round->slices = collect_slices_done(&round->shm);
    shm_stop(&round->shm, settings->warmup_ns + round->slices * settings->slice_ns);
    return STATUS_OK;
}

/* Opens the gate and lets the window grow until it is precise or as long as it may be. */
static enum status run_window(struct round *round)
{
    const struct shm_settings *settings = &round->shm.header->settings;
    const struct round_limits *limits = round->limits;
    unsigned workers = point_workers(round->point);
    uint64_t *beats = calloc(workers * 2, sizeof *beats);
    if (!beats)
        return status_set(STATUS_MEMORY, "out of memory");
    uint64_t start_ns = clock_now_ns() + LEAD_NS + workers * LEAD_WORKER_NS;
    uint64_t slice_ns = settings->slice_ns;
    round->gate_open = true;
    shm_gate_open(&round->shm, start_ns);
    uint64_t window_ns = limits->duration_ns;
    enum status status;
    if (settings->iterations) {
        status = run_fixed_work(round, beats);
        free(beats);
        return status;
    }
    for (;;) {
        uint64_t until_ns = start_ns + settings->warmup_ns + window_ns;
        status = wait_until(round, never, until_ns, beats, beats + workers);
        if (status != STATUS_TIMEOUT)
            break;
        status = STATUS_OK;
        /* What made the decision is what will be reported. */
        round->slices = collect_slices_done(&round->shm);
        if (collect_ci95(&round->shm, round->slices) <= limits->precision_rel)
            break;
        if (window_ns >= limits->max_duration_ns) {
            /* In full: the iterations that run now are counted once they have ended. */
            round->slices = window_ns / slice_ns;
            break;
        }
        window_ns += limits->duration_ns / EXTEND_SHARE + 1;
        if (window_ns > limits->max_duration_ns)
            window_ns = limits->max_duration_ns;
    }
    if (status == STATUS_OK)
        shm_stop(&round->shm, settings->warmup_ns + round->slices * slice_ns);
    free(beats);
    return status;
}

/* After the stop: every worker publishes its results and every process ends by itself. */
static enum status drain(struct round *round)
{
    bool tainted = false;
    enum status status = workers_end(round, round->limits->timeout_ns, &tainted);
    if (status != STATUS_OK)
        return status;
    if (tainted && round->session->interrupted)
        return status_set(STATUS_INTERRUPTED, "interrupted");
    if (tainted)
        return status_set(STATUS_WORKER, "a worker did not stop within %.3g s",
                          (double)round->limits->timeout_ns / 1e9);
    status = failed_slot(round);
    for (unsigned p = 0; p < round->point->processes && status == STATUS_OK; p++)
        if (round->children[p].wait_status != 0)
            status = ended_process(round, p);
    return status;
}

enum status round_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *out)
{
    *out = (struct round_result){0};
    struct round round = {
        .session = session,
        .point = point,
        .limits = limits,
        .shm.fd = -1,
        .event_fd = -1,
        .life_read_fd = -1,
        .life_fd = -1,
        .result = out,
    };
    enum status status = session_set_mps(session, point_over_mps(point));
    if (status == STATUS_OK)
        status = workers_prepare(&round);
    if (status == STATUS_OK)
        status = get_ready(&round);
    if (status == STATUS_OK)
        status = check_binding(&round);
    if (status == STATUS_OK)
        status = prove_attachment(&round);
    if (status == STATUS_OK)
        status = prove_shares(&round);
    if (status == STATUS_OK)
        status = run_window(&round);
    if (status == STATUS_OK)
        status = drain(&round);
    if (status == STATUS_OK)
        status = collect_result(&round);
    out->status = status;
    if (status != STATUS_OK) {
        snprintf(out->error, sizeof out->error, "%s", status_text());
        round_add_cause(&round);
    }
    bool tainted = false;
    uint64_t grace_ns = limits->timeout_ns < FAILED_GRACE_NS ? limits->timeout_ns : FAILED_GRACE_NS;
    enum status ended = workers_end(&round, grace_ns, &tainted);
    /* A client that crashed or was killed may leave the server in a fault state. */
    if (tainted || (status != STATUS_OK && status != STATUS_INFEASIBLE))
        session->mps_tainted = true;
    workers_release(&round);
    if (ended != STATUS_OK)
        return ended;
    /* Said again: the clean-up had its own errors to try and pass over. */
    return status == STATUS_INTERRUPTED ? status_set(status, "%s", out->error) : STATUS_OK;
}

void round_result_release(struct round_result *result)
{
    free(result->workers);
    result->workers = NULL;
    free(result->processes);
    result->processes = NULL;
}
