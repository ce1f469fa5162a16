#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/random.h"
#include "orchestrator/crew/pool.h"
#include "orchestrator/crew/environment.h"
#include "orchestrator/probe/internal.h"

/* For its end, once it must end. */
#define END_NS (4 * NS_PER_S)

#define CLIENTS_MOST 64

/* How often to look for a process that ended without a report. */
#define LOOK_MS 200

struct crowd {
    struct probing *probing;
    const struct probe *probe;
    const struct probe_arm *arm;
    struct probe_arm_data *data;
    struct probe_shm shm;
    struct pool pool;
};

static bool over_mps(const struct crowd *crowd)
{
    return crowd->arm->flags & PROBE_ARM_OVER_MPS;
}

static enum status make(struct crowd *crowd, uint64_t seed)
{
    const struct session *session = &crowd->probing->session;
    unsigned count = probe_arm_processes(crowd->arm);
    enum status status = probe_shm_create(count, &crowd->shm);
    if (status == STATUS_OK)
        status = pool_make(count, &crowd->pool);
    if (status != STATUS_OK)
        return status;
    struct probe_shm_header *header = crowd->shm.header;
    header->over_mps = over_mps(crowd);
    header->gpus = crowd->probe->gpus;
    header->measure_ns = crowd->probe->measure_ns;
    header->seed = seed;
    for (unsigned i = 0; i < header->gpus; i++)
        snprintf(header->uuids[i], sizeof header->uuids[i], "%s",
                 (i == 0 ? gpu_at(session->gpus, 0) : gpu_beside(session->gpus))->uuid);
    return STATUS_OK;
}

/* What gpu_environment_make() gives, with the arm's own entry in the place of one of its name, and
 * all GPUs of the probe visible. Points into the arguments. */
static void adjust_environment(struct crowd *crowd, const char *gpus,
                               const struct gpu_environment *variables,
                               const char *set[GPU_ENVIRONMENT_SET + 3])
{
    size_t count = 0;
    const char *own = crowd->arm->environment;
    for (size_t i = 0; variables->set[i]; i++) {
        const char *entry = variables->set[i];
        size_t name = strcspn(entry, "=") + 1;
        if (own && strncmp(entry, own, name) == 0)
            continue;
        /* In the place of the one GPU that a worker would see. */
        if (*gpus && strncmp(entry, gpus, name) == 0)
            continue;
        set[count++] = entry;
    }
    if (*gpus)
        set[count++] = gpus;
    if (own)
        set[count++] = own;
    set[count] = NULL;
}

static enum status spawn(struct crowd *crowd, unsigned index)
{
    const struct session *session = &crowd->probing->session;
    struct gpu_environment variables;
    char gpus[160] = "";
    const char *set[GPU_ENVIRONMENT_SET + 3];
    struct word_list words = {0};
    if (crowd->probe->gpus == 2)
        snprintf(gpus, sizeof gpus, "CUDA_VISIBLE_DEVICES=%s,%s", gpu_at(session->gpus, 0)->uuid,
                 gpu_beside(session->gpus)->uuid);
    const struct point point = {
        .layout = over_mps(crowd) ? LAYOUT_PROCESSES_MPS : LAYOUT_PROCESSES,
        .connections = crowd->arm->connections,
    };
    enum status status = gpu_environment_make(session, &point, 0, index, &variables);
    if (status != STATUS_OK)
        return status;
    adjust_environment(crowd, gpus, &variables, set);
    word_list_add(&words, "%s", crowd->probing->program);
    pool_add_words(&crowd->pool, crowd->shm.fd, index, &words);
    session_add_driver(session, &words);
    word_list_add(&words, "%s", crowd->probe->name);
    word_list_add(&words, "%s", crowd->arm->name);
    const struct pool_start start = {
        .argv = &words, .set = set, .unset = variables.unset, .keep_fd = crowd->shm.fd};
    status = pool_spawn(&crowd->pool, session, index, &start);
    word_list_release(&words);
    return status;
}

static bool all_ready(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->pool.count; i++)
        if (!atomic_load(&probe_shm_process(&crowd->shm, i)->ready))
            return false;
    return true;
}

static bool all_ended(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->pool.count; i++)
        if (!crowd->pool.children[i].ended)
            return false;
    return true;
}

/* Ends the others, which may wait for a process that was killed. */
static void end_after_the_dead(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->pool.count; i++)
        if (crowd->pool.children[i].ended &&
            !atomic_load(&probe_shm_process(&crowd->shm, i)->ended))
            probe_shm_end(&crowd->shm);
}

/* Waits. STATUS_WORKER when a process has ended, which need not be an error; STATUS_TIMEOUT at the
 * given moment. */
static enum status wait_until(struct crowd *crowd, bool (*condition)(const struct crowd *),
                              uint64_t until_ns, bool ends)
{
    struct session *session = &crowd->probing->session;
    for (;;) {
        enum status status = session_check_signals(session);
        if (status != STATUS_OK)
            return status;
        bool ended = pool_reap(&crowd->pool) >= 0;
        if (condition(crowd))
            return STATUS_OK;
        if (ended && !ends)
            return STATUS_WORKER;
        if (ended) {
            end_after_the_dead(crowd);
            continue;
        }
        if (clock_now_ns() >= until_ns)
            return status_set(STATUS_TIMEOUT, "the deadline has passed");
        struct pollfd fds[PROBE_PROCESSES + 2] = {
            {.fd = session->signal_fd, .events = POLLIN},
            {.fd = crowd->pool.event_fd, .events = POLLIN},
        };
        for (unsigned i = 0; i < crowd->pool.count; i++)
            fds[2 + i] = (struct pollfd){
                .fd = crowd->pool.children[i].ended ? -1 : crowd->pool.children[i].pidfd,
                .events = POLLIN};
        int ms = clock_remaining_ms(until_ns);
        uint64_t dropped;
        if (poll(fds, 2 + crowd->pool.count, ms < LOOK_MS ? ms : LOOK_MS) > 0 && fds[1].revents &&
            read(crowd->pool.event_fd, &dropped, sizeof dropped) < 0)
            continue;
    }
}

/* No number over MPS without proof: the driver's word came from each process; this is the
 * daemon's. */
static enum status prove(struct crowd *crowd)
{
    pid_t clients[CLIENTS_MOST];
    size_t count = 0;
    struct probe_arm_data *data = crowd->data;
    data->attached_expected = data->attached_seen = 0;
    if (!over_mps(crowd))
        return STATUS_OK;
    enum status status =
        session_mps_clients(&crowd->probing->session, 0, clock_now_ns() + SESSION_ANSWER_NS,
                            clients, CLIENTS_MOST, &count);
    if (status != STATUS_OK)
        return status;
    data->attached_expected = crowd->pool.count;
    for (unsigned i = 0; i < crowd->pool.count; i++)
        for (size_t c = 0; c < count; c++)
            data->attached_seen += clients[c] == crowd->pool.children[i].pid;
    unsigned left = 0;
    if (data->attached_seen < crowd->pool.count)
        left = crowd->pool.count - data->attached_seen;
    if (left > 0)
        return status_set(STATUS_WORKER, "%u of %u process%s %s of the MPS daemon: no measurement",
                          left, crowd->pool.count, crowd->pool.count == 1 ? "" : "es",
                          left == 1 ? "is not a client" : "are not clients");
    return STATUS_OK;
}

/* Waits until all have ended, or must end. STATUS_OK: their parts have their results. */
static enum status see_through(struct crowd *crowd)
{
    double timeout_s = options_real(crowd->probing->options, OPTION_PROBE_TIMEOUT);
    uint64_t timeout_ns = (uint64_t)(timeout_s * 1e9);
    uint64_t ready_ns = clock_now_ns() + timeout_ns;
    enum status status = STATUS_OK;
    atomic_store(&crowd->shm.header->deadline_ns, ready_ns);
    for (unsigned i = 0; i < crowd->pool.count && status == STATUS_OK; i++)
        status = spawn(crowd, i);
    if (status != STATUS_OK)
        return status;
    /* They end themselves at a deadline, and may take some time for it. */
    status = wait_until(crowd, all_ready, ready_ns + END_NS, false);
    if (status == STATUS_TIMEOUT)
        return status_set(status, "not ready after %g s", timeout_s);
    if (status == STATUS_WORKER)
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    /* The proof has a time of its own, beside the arm's. */
    atomic_store(&crowd->shm.header->deadline_ns, clock_now_ns() + SESSION_ANSWER_NS + timeout_ns);
    status = prove(crowd);
    if (status != STATUS_OK)
        return status;
    uint64_t until_ns = clock_now_ns() + crowd->probe->measure_ns + timeout_ns;
    atomic_store(&crowd->shm.header->deadline_ns, until_ns);
    probe_shm_open_gate(&crowd->shm);
    status = wait_until(crowd, all_ended, until_ns + END_NS, true);
    if (status == STATUS_TIMEOUT)
        return status_set(status, "not finished after %g s", timeout_s);
    return status;
}

/* Finds the first failure, the cause before its consequences: the failure of one process ends the
 * others, and so does the end of the first, which is not a failure. */
static enum status find_failure(const struct crowd *crowd)
{
    char ending[64];
    for (unsigned i = 0; i < crowd->pool.count; i++) {
        const struct probe_shm_process *process = probe_shm_process(&crowd->shm, i);
        int wait_status = crowd->pool.children[i].wait_status;
        bool asked = process->status == STATUS_INTERRUPTED;
        if (!atomic_load(&process->ended) || WIFSIGNALED(wait_status))
            return status_set(STATUS_WORKER, "process %u of %u: %s", i, crowd->pool.count,
                              child_ending_text(wait_status, ending, sizeof ending));
        if (process->status != STATUS_OK && !asked)
            return status_set((enum status)process->status, "%.*s", (int)sizeof process->error - 1,
                              process->error);
    }
    /* By none of the others: by the deadline. */
    const struct probe_shm_process *first = probe_shm_process(&crowd->shm, 0);
    if (first->status == STATUS_INTERRUPTED)
        return status_set(STATUS_TIMEOUT, "%.*s: %g s were over (--timeout)",
                          (int)sizeof first->error - 1, first->error,
                          options_real(crowd->probing->options, OPTION_PROBE_TIMEOUT));
    /* What was measured until then is not a round. */
    if (atomic_load(&crowd->shm.header->late))
        return status_set(STATUS_TIMEOUT, "not finished after %g s (--timeout)",
                          options_real(crowd->probing->options, OPTION_PROBE_TIMEOUT));
    return STATUS_OK;
}

static enum status take_samples(const struct crowd *crowd)
{
    struct probe_arm_data *data = crowd->data;
    enum status status = STATUS_OK;
    for (unsigned m = 0; crowd->probe->metrics[m] && status == STATUS_OK; m++)
        status = probe_series_take(&crowd->shm, m, &data->series[m][data->rounds]);
    if (status == STATUS_OK && data->series[0][data->rounds].count == 0)
        status = status_set(STATUS_WORKER, "it gave no sample");
    for (unsigned i = 0; i < crowd->pool.count; i++)
        for (unsigned m = 0; m < PROBE_METRICS; m++)
            data->blocked[m] += atomic_load(&probe_shm_process(&crowd->shm, i)->blocked[m]);
    /* A round that is not whole is freed with the others. */
    if (status == STATUS_OK)
        data->rounds++;
    return status;
}

static void release(struct crowd *crowd)
{
    pool_release(&crowd->pool);
    probe_shm_release(&crowd->shm);
}

/* Records a failure of the arm, not of the run. */
static void fail(struct probe_arm_data *data, enum status status)
{
    data->status = status;
    snprintf(data->error, sizeof data->error, "%s", status_text());
}

/* The daemon as the arm needs it. One that cannot be had is not asked for again. */
static enum status set_mps(struct probing *probing, bool on)
{
    struct session *session = &probing->session;
    if (on && probing->no_mps)
        return status_set(STATUS_NOT_FOUND, "needs MPS: %s", probing->no_mps_text);
    enum status status = daemons_set(session->daemons, on, false);
    if (!on || status == STATUS_OK || status == STATUS_INTERRUPTED)
        return status;
    probing->no_mps = true;
    snprintf(probing->no_mps_text, sizeof probing->no_mps_text, "%s", status_text());
    return status_set(STATUS_NOT_FOUND, "needs MPS: %s", probing->no_mps_text);
}

enum status probe_arm_measure(struct probing *probing, const struct probe *probe,
                              struct probe_arm_data *data, unsigned round)
{
    struct session *session = &probing->session;
    uint64_t seed =
        (uint64_t)options_integer(probing->options, OPTION_PROBE_SEED) * PROBE_ROUNDS + round;
    struct crowd crowd = {.probing = probing,
                          .probe = probe,
                          .arm = data->arm,
                          .data = data,
                          .shm = PROBE_SHM_NONE,
                          .pool = POOL_EMPTY};
    struct status_saved saved;
    bool tainted = false;
    enum status status = set_mps(probing, over_mps(&crowd));
    /* This ends the run: what the arm did in the rounds before holds. */
    if (status == STATUS_INTERRUPTED)
        return status;
    if (status != STATUS_OK) {
        fail(data, status);
        return !over_mps(&crowd) ? status : STATUS_OK;
    }
    status = make(&crowd, random_next(&seed));
    if (status == STATUS_OK)
        status = see_through(&crowd);
    status_save(status, &saved);
    if (crowd.shm.header)
        probe_shm_end(&crowd.shm);
    enum status ended = pool_end(&crowd.pool, session, over_mps(&crowd), END_NS, &tainted);
    if (ended != STATUS_OK) {
        release(&crowd);
        return ended;
    }
    status = status == STATUS_OK ? find_failure(&crowd) : status_restore(&saved);
    if (status == STATUS_OK)
        status = take_samples(&crowd);
    /* A client that crashed or was killed may leave the server in a fault state. */
    if (over_mps(&crowd) && (tainted || status != STATUS_OK))
        daemons_taint(session->daemons, 0);
    /* Of an arm that means that there is no MPS. A program or a GPU that is gone is a failure. */
    if (status == STATUS_NOT_FOUND)
        status = STATUS_WORKER;
    if (status != STATUS_OK && status != STATUS_INTERRUPTED)
        fail(data, status);
    release(&crowd);
    return session->interrupted ? status_set(STATUS_INTERRUPTED, "interrupted") : STATUS_OK;
}

void probe_arm_data_release(struct probe_arm_data *data)
{
    for (unsigned m = 0; m < PROBE_METRICS; m++)
        for (unsigned r = 0; r < PROBE_ROUNDS; r++)
            free(data->series[m][r].us);
}
