#include <string.h>

#include "common/clock.h"
#include "common/process_tree.h"
#include "job/options.h"
#include "orchestrator/round/internal.h"
#include "orchestrator/plan/shares.h"

/* Whether a daemon is the one that the process may be a client of; without MPS the only daemon is
 * the user's own. */
static bool is_daemon_of(const struct point *point, unsigned process, unsigned daemon)
{
    return point_daemons(point) <= 1 || point_gpu_of(point, process) == daemon;
}

/* The clients of one of the point's daemons, with the answer not after the moment by which the
 * workers must be ready. The error names the GPU where others have daemons of their own. */
static enum status ask_clients(const struct round *round, unsigned daemon, pid_t *clients,
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

/* The process of the crew that a client is; of a program also one that a process has started. As
 * many as there are: none. */
static unsigned process_of_client(const struct round *round, pid_t client)
{
    bool program = point_is_program(round->point);
    unsigned p = 0;
    for (; p < round->crew->pool.count; p++) {
        pid_t pid = round->children[p].pid;
        if (program ? process_descends(client, pid) : client == pid)
            break;
    }
    return p;
}

/* Marks the processes of the daemon's GPUs that have a client of it. */
static enum status look_at_daemon(const struct round *round, unsigned daemon,
                                  bool attached[LAYOUT_MOST_WORKERS])
{
    const struct point *point = round->point;
    pid_t clients[LAYOUT_MOST_WORKERS + 64];
    size_t count = 0;
    enum status status =
        ask_clients(round, daemon, clients, sizeof clients / sizeof clients[0], &count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        unsigned p = process_of_client(round, clients[i]);
        if (p == round->crew->pool.count)
            round->result->other_clients++;
        else if (p < point_processes(point) && is_daemon_of(point, p, daemon))
            attached[p] = true;
    }
    return status;
}

static enum status check_attached(const struct round *round,
                                  const bool attached[LAYOUT_MOST_WORKERS])
{
    const struct point *point = round->point;
    unsigned processes = point_processes(point), left = processes - round->result->attached_seen;
    char gpus[ROUND_NAME_TEXT];
    uint32_t missing = 0;
    if (left == 0)
        return STATUS_OK;
    for (unsigned p = 0; p < processes; p++)
        if (!attached[p])
            missing |= UINT32_C(1) << point_gpu_of(point, p);
    return status_set(STATUS_WORKER,
                      "%u of %u worker process%s%s %s of the MPS daemon: no measurement", left,
                      processes, processes == 1 ? "" : "es", round_gpus_text(round, missing, gpus),
                      left == 1 ? "is not a client" : "are not clients");
}

enum status round_prove_attachment(const struct round *round)
{
    struct round_result *result = round->result;
    const struct point *point = round->point;
    bool attached[LAYOUT_MOST_WORKERS] = {false};
    bool over_mps = point_over_mps(point), program = point_is_program(point);
    /* Our own workers have asked their driver. A daemon of our own does not run without MPS. */
    if (!over_mps && !(program && daemons_at(round->session->daemons, 0)->options.external))
        return STATUS_OK;
    unsigned daemons = over_mps ? point_daemons(point) : 1;
    for (unsigned daemon = 0; daemon < daemons; daemon++) {
        enum status status = look_at_daemon(round, daemon, attached);
        if (status != STATUS_OK)
            return status;
    }
    result->attached_expected = over_mps ? point_processes(point) : 0;
    for (unsigned p = 0; p < point_processes(point); p++)
        result->attached_seen += attached[p];
    return program ? round_program_check_attached(round, attached)
                   : check_attached(round, attached);
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
