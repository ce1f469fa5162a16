/* Supervises the workers of a round until they reach a state. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "orchestrator/round/internal.h"

/* How long the orchestrator may lag behind its processes in seeing a signal sent to the whole job.
 */
#define SIGNAL_MS 2000

enum status round_failed_slot(const struct round *round)
{
    const struct point *point = round->point;
    char name[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        struct shm_slot *slot = round_slot(round, i);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) != SHM_STATE_FAILED)
            continue;
        enum status code = (enum status)slot->status;
        /* A refusal before the start means that the layout does not fit; later, it is a fault. */
        if (code == STATUS_INFEASIBLE && round->gate_open)
            code = STATUS_WORKER;
        round->result->cuda_error = slot->cuda_error;
        if (point_is_program(point))
            return round_program_failed(round, round_process_of(round, i), code, slot->error);
        return status_set(code, "%s: %.*s", round_worker_name(round, i, name),
                          (int)sizeof slot->error - 1, slot->error);
    }
    return STATUS_OK;
}

/* A signal to a whole job, as Slurm sends it, may end one process before the orchestrator sees it:
 * that process did not fail. */
static bool ended_with_us(const struct round *round, const struct gpu_child *child)
{
    if (!WIFSIGNALED(child->wait_status) ||
        (WTERMSIG(child->wait_status) != SIGTERM && WTERMSIG(child->wait_status) != SIGINT &&
         WTERMSIG(child->wait_status) != SIGHUP))
        return false;
    struct pollfd signalled = {.fd = round->session->signal_fd, .events = POLLIN};
    return session_check_signals(round->session) != STATUS_OK ||
           (poll(&signalled, 1, SIGNAL_MS) > 0 &&
            session_check_signals(round->session) != STATUS_OK);
}

enum status round_ended_process(const struct round *round, unsigned index)
{
    char ending[64], gpu[ROUND_NAME_TEXT];
    const struct gpu_child *child = &round->children[index];
    if (ended_with_us(round, child))
        return STATUS_INTERRUPTED;
    enum status status = round_failed_slot(round);
    if (status != STATUS_OK)
        return status;
    if (point_is_program(round->point)) {
        char text[128];
        const struct shm_slot *first = shm_slot_at(&round->shm, index, 0);
        /* It may have no part in the point. */
        if (atomic_load_explicit(&first->state, memory_order_acquire) == SHM_STATE_FAILED)
            return round_program_failed(round, index, STATUS_WORKER, first->error);
        snprintf(text, sizeof text, "lost its supervisor: %s",
                 child_ending_text(child->wait_status, ending, sizeof ending));
        return round_program_failed(round, index, STATUS_WORKER, text);
    }
    return status_set(STATUS_WORKER, "worker process %u of %u%s ended unasked: %s", index,
                      round->crew->pool.count, round_gpu_of_process(round, index, " (", ")", gpu),
                      child_ending_text(child->wait_status, ending, sizeof ending));
}

bool round_all_are(const struct round *round, enum shm_state state)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point); i++)
        if (atomic_load_explicit(&round_slot(round, i)->state, memory_order_acquire) != state)
            return false;
    /* Idle processes must be quiet before the others begin. */
    return shm_parked(&round->shm, point_processes(point));
}

/* Of a worker's thread, the one that holds up the others: whose plug-in the thread is in, or, as a
 * thread may wait for the oldest, the one whose last iteration ended longest ago. */
static unsigned holding_up(const struct round *round, unsigned worker)
{
    unsigned streams = point_streams(round->point), first = worker - worker % streams;
    uint64_t oldest_ns = atomic_load(&round_slot(round, worker)->last_end_ns);
    for (unsigned i = first; i < first + streams; i++) {
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load(&slot->inside) == SHM_INSIDE_ITERATE)
            return i;
        uint64_t last_end_ns = atomic_load(&slot->last_end_ns);
        if (last_end_ns < oldest_ns && atomic_load(&slot->state) == SHM_STATE_RUNNING &&
            atomic_load(&slot->idle_until_ns) == 0) {
            oldest_ns = last_end_ns;
            worker = i;
        }
    }
    return worker;
}

/* Names a worker that has made no progress for too long: no iteration has ended, well or not. */
static enum status check_progress(const struct round *round)
{
    const struct point *point = round->point;
    uint64_t now = clock_now_ns();
    char name[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        struct round_progress *progress = &round->progress[i];
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == SHM_STATE_FINISHED)
            continue;
        uint64_t last_end_ns = atomic_load_explicit(&slot->last_end_ns, memory_order_relaxed);
        uint64_t idle_until_ns = atomic_load_explicit(&slot->idle_until_ns, memory_order_relaxed);
        if (last_end_ns != progress->last_end_ns || progress->since_ns == 0 ||
            now < idle_until_ns) {
            progress->last_end_ns = last_end_ns;
            progress->since_ns = now;
        } else if (now - progress->since_ns > round->limits->timeout_ns) {
            if (point_is_program(point))
                return round_program_hangs(round, i);
            return status_set(STATUS_WORKER, "%s hangs: no iteration ended for %.3g s",
                              round_worker_name(round, holding_up(round, i), name),
                              (double)round->limits->timeout_ns / 1e9);
        }
    }
    return STATUS_OK;
}

enum status round_wait_until(struct round *round, round_condition condition, uint64_t until_ns)
{
    unsigned processes = round->crew->pool.count;
    struct pollfd *fds = calloc(processes + 2, sizeof *fds);
    enum status status = STATUS_OK;
    if (!fds)
        return status_set(STATUS_MEMORY, "out of memory");
    for (;;) {
        uint64_t events;
        if (read(round->crew->pool.event_fd, &events, sizeof events) < 0 && errno != EAGAIN)
            status = status_set(STATUS_SYSTEM, "cannot read events: %s", strerror(errno));
        if (status == STATUS_OK)
            status = session_check_signals(round->session);
        if (status == STATUS_OK)
            status = round_failed_slot(round);
        int ended = status == STATUS_OK ? pool_reap(&round->crew->pool) : -1;
        if (ended >= 0)
            status = round_ended_process(round, (unsigned)ended);
        if (status == STATUS_OK && round->progress)
            status = check_progress(round);
        if (status != STATUS_OK || condition(round))
            break;
        uint64_t now = clock_now_ns();
        if (now >= until_ns) {
            status = STATUS_TIMEOUT;
            break;
        }
        fds[0] = (struct pollfd){.fd = round->crew->pool.event_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = round->session->signal_fd, .events = POLLIN};
        for (unsigned p = 0; p < processes; p++)
            fds[p + 2] = (struct pollfd){
                .fd = round->children[p].ended ? -1 : round->children[p].pidfd, .events = POLLIN};
        /* Hung workers make no event, nor do programs without the descriptor: look at them a few
         * times a second. */
        bool looks = round->progress || point_is_program(round->point);
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
