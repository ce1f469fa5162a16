#include <string.h>

#include "common/clock.h"
#include "job/options.h"
#include "orchestrator/round/internal.h"
#include "orchestrator/plan/shares.h"

static bool contains(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static bool is_worker(const struct round *round, pid_t pid)
{
    for (unsigned p = 0; p < round->crew->pool.count; p++)
        if (round->children[p].pid == pid)
            return true;
    return false;
}

bool round_is_daemon_of(const struct point *point, unsigned process, unsigned daemon)
{
    return point_daemons(point) <= 1 || point_gpu_of(point, process) == daemon;
}

enum status round_ask_clients(const struct round *round, unsigned daemon, pid_t *clients,
                              size_t capacity, size_t *count)
{
    uint64_t by_ns = clock_now_ns() + SESSION_ANSWER_NS, ready_by_ns = round->limits->ready_by_ns;
    char gpu[GPU_NAME_TEXT];
    if (ready_by_ns && ready_by_ns < by_ns)
        by_ns = ready_by_ns;
    enum status status =
        session_mps_clients(round->session, daemon, by_ns, clients, capacity, count);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED || point_daemons(round->point) <= 1)
        return status;
    return status_prefix(status, "%s: ", gpu_name(round->session->gpus, daemon, gpu));
}

enum status round_prove_attachment(struct round *round)
{
    struct round_result *result = round->result;
    const struct point *point = round->point;
    unsigned processes = point_processes(point);
    char gpus[ROUND_NAME_TEXT];
    uint32_t missing = 0;
    if (point_is_program(round->point))
        return round_program_prove(round);
    if (!point_over_mps(round->point))
        return STATUS_OK;
    result->attached_expected = processes;
    for (unsigned daemon = 0; daemon < point_daemons(point); daemon++) {
        pid_t clients[LAYOUT_MOST_WORKERS + 64];
        size_t count = 0;
        enum status status =
            round_ask_clients(round, daemon, clients, sizeof clients / sizeof clients[0], &count);
        if (status != STATUS_OK)
            return status;
        for (unsigned p = 0; p < processes; p++) {
            if (!round_is_daemon_of(point, p, daemon))
                continue;
            if (contains(clients, count, round->children[p].pid))
                result->attached_seen++;
            else
                missing |= UINT32_C(1) << point_gpu_of(point, p);
        }
        for (size_t i = 0; i < count; i++)
            result->other_clients += !is_worker(round, clients[i]);
    }
    unsigned left = processes - result->attached_seen;
    if (left > 0)
        return status_set(
            STATUS_WORKER, "%u of %u worker process%s%s %s of the MPS daemon: no measurement", left,
            processes, processes == 1 ? "" : "es", round_gpus_text(round, missing, gpus),
            left == 1 ? "is not a client" : "are not clients");
    return STATUS_OK;
}

/* What process p found is what its shares allow. */
static enum status prove_share(const struct round *round, unsigned p)
{
    const struct point *point = round->point;
    struct shm_process *process = shm_process_at(&round->shm, p);
    unsigned number = point_number_on_gpu(point, p);
    int64_t percentage = shares_at(&point->active_thread_percentage, number);
    int64_t limit = shares_at(&point->memory_limit, number);
    int found = atomic_load(&process->sms);
    int all = gpu_at(round->session->gpus, point_gpu_of(point, p))->sms;
    uint64_t memory_free = atomic_load(&process->memory_free);
    char gpu[ROUND_NAME_TEXT];
    if (percentage != OPTION_SHARE_DEFAULT && !shares_fit_multiprocessors(percentage, found, all))
        return status_set(STATUS_WORKER,
                          "worker process %u of %u%s has %d multiprocessors, but was given %d%% of "
                          "%d: no measurement",
                          p, point_processes(point), round_gpu_of_process(round, p, " (", ")", gpu),
                          found, (int)percentage, all);
    /* The context has taken its part already. */
    if (limit != OPTION_SHARE_DEFAULT && memory_free > (uint64_t)limit)
        return status_set(
            STATUS_WORKER,
            "worker process %u of %u%s has %llu MiB of memory left, but was given %lld "
            "MiB: no measurement",
            p, point_processes(point), round_gpu_of_process(round, p, " (", ")", gpu),
            (unsigned long long)memory_free >> 20, (long long)limit >> 20);
    return STATUS_OK;
}

enum status round_prove_shares(const struct round *round)
{
    enum status status = STATUS_OK;
    /* Only the program can ask its driver. */
    if (point_is_program(round->point))
        return STATUS_OK;
    for (unsigned p = 0; p < point_processes(round->point) && status == STATUS_OK; p++)
        status = prove_share(round, p);
    return status;
}

enum status round_check_binding(const struct round *round)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        char cpus[64], name[ROUND_NAME_TEXT];
        if (slot->bind_errno)
            return status_set(
                STATUS_WORKER, "%s cannot run on CPUs %s: %s", round_worker_name(round, i, name),
                bind_cpus_text(slot->cpus, cpus, sizeof cpus), strerror(slot->bind_errno));
    }
    return STATUS_OK;
}
