#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/random.h"
#include "orchestrator/crew/pool.h"
#include "orchestrator/crew/environment.h"
#include "orchestrator/probe/internal.h"

/* For its end, after it was told to. */
#define END_NS (4 * NS_PER_S)

#define ATTACH_NS (5 * NS_PER_S)
#define CLIENTS_MOST 64

/* How often to look whether a process has ended that has not said so. */
#define LOOK_MS 200

struct crowd {
    struct probing *probing;
    const struct probe *probe;
    const struct probe_arm *arm;
    struct probe_arm_data *data;
    struct probe_shm shm;
    int event_fd, life_read_fd, life_fd;
    unsigned count;
    struct gpu_child children[PROBE_PROCESSES];
};

static bool over_mps(const struct crowd *crowd)
{
    return crowd->arm->flags & PROBE_ARM_OVER_MPS;
}

static enum status make(struct crowd *crowd, uint64_t seed)
{
    int life[2];
    const struct session *session = &crowd->probing->session;
    enum status status = probe_shm_create(crowd->count, &crowd->shm);
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
    crowd->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (crowd->event_fd < 0 || pipe2(life, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make descriptors for an arm: %s", strerror(errno));
    crowd->life_read_fd = life[0];
    crowd->life_fd = life[1];
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
    char shm_text[16], event_text[16], life_text[16], process_text[16], gpus[160] = "";
    const char *set[GPU_ENVIRONMENT_SET + 3];
    const char *argv[16];
    size_t words = 0;
    snprintf(shm_text, sizeof shm_text, "%d", crowd->shm.fd);
    snprintf(event_text, sizeof event_text, "%d", crowd->event_fd);
    snprintf(life_text, sizeof life_text, "%d", crowd->life_read_fd);
    snprintf(process_text, sizeof process_text, "%u", index);
    const char *const options[] = {crowd->probing->program,
                                   "--shm",
                                   shm_text,
                                   "--event",
                                   event_text,
                                   "--life",
                                   life_text,
                                   "--process",
                                   process_text};
    for (; words < sizeof options / sizeof *options; words++)
        argv[words] = options[words];
    if (*session->driver_path) {
        argv[words++] = "--driver";
        argv[words++] = session->driver_path;
    }
    argv[words++] = crowd->probe->name;
    argv[words++] = crowd->arm->name;
    argv[words] = NULL;
    if (crowd->probe->gpus == 2)
        snprintf(gpus, sizeof gpus, "CUDA_VISIBLE_DEVICES=%s,%s", gpu_at(session->gpus, 0)->uuid,
                 gpu_beside(session->gpus)->uuid);
    enum status status = gpu_environment_make(session, over_mps(crowd), 0, index,
                                              crowd->arm->connections, NULL, &variables);
    if (status != STATUS_OK)
        return status;
    adjust_environment(crowd, gpus, &variables, set);
    char **environment = child_environment_new(set, variables.unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory");
    const int keep[] = {crowd->shm.fd, crowd->event_fd, crowd->life_read_fd, session->machine_fd};
    const struct child_spawn_options spawn_options = {
        .argv = argv,
        .environment = environment,
        .keep = keep,
        .keep_count = session->machine_fd >= 0 ? 4 : 3,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = STDERR_FILENO, /* a sanitizer's report, or the driver's last words */
        .new_process_group = true,
        .ignore_interrupts = true,
    };
    struct gpu_child *child = &crowd->children[index];
    status = child_spawn(&spawn_options, &child->pid, &child->pidfd);
    free(environment);
    return status;
}

static bool all_ready(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        if (!atomic_load(&probe_shm_process(&crowd->shm, i)->ready))
            return false;
    return true;
}

static bool all_ended(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        if (!crowd->children[i].ended)
            return false;
    return true;
}

/* One that was killed could not tell the others, who may wait for it. */
static void tell_of_the_dead(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        if (crowd->children[i].ended && !atomic_load(&probe_shm_process(&crowd->shm, i)->ended))
            probe_shm_end(&crowd->shm);
}

/* STATUS_WORKER when a process has ended, which is no error in itself; STATUS_TIMEOUT at the moment
 * given. */
static enum status wait_until(struct crowd *crowd, bool (*condition)(const struct crowd *),
                              uint64_t until_ns, bool ends)
{
    struct session *session = &crowd->probing->session;
    for (;;) {
        enum status status = session_check_signals(session);
        if (status != STATUS_OK)
            return status;
        bool ended = children_reap(crowd->children, crowd->count) >= 0;
        if (condition(crowd))
            return STATUS_OK;
        if (ended && !ends)
            return STATUS_WORKER;
        if (ended) {
            tell_of_the_dead(crowd);
            continue;
        }
        if (clock_now_ns() >= until_ns)
            return status_set(STATUS_TIMEOUT, "the deadline has passed");
        struct pollfd fds[PROBE_PROCESSES + 2] = {
            {.fd = session->signal_fd, .events = POLLIN},
            {.fd = crowd->event_fd, .events = POLLIN},
        };
        for (unsigned i = 0; i < crowd->count; i++)
            fds[2 + i] = (struct pollfd){
                .fd = crowd->children[i].ended ? -1 : crowd->children[i].pidfd, .events = POLLIN};
        int ms = clock_remaining_ms(until_ns);
        uint64_t dropped;
        if (poll(fds, 2 + crowd->count, ms < LOOK_MS ? ms : LOOK_MS) > 0 && fds[1].revents &&
            read(crowd->event_fd, &dropped, sizeof dropped) < 0)
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
        mps_controller_clients(daemons_at(crowd->probing->session.daemons, 0),
                               clock_now_ns() + ATTACH_NS, clients, CLIENTS_MOST, &count);
    if (status != STATUS_OK)
        return status;
    data->attached_expected = crowd->count;
    for (unsigned i = 0; i < crowd->count; i++)
        for (size_t c = 0; c < count; c++)
            data->attached_seen += clients[c] == crowd->children[i].pid;
    if (data->attached_seen < crowd->count)
        return status_set(STATUS_WORKER,
                          "%u of %u processes are not clients of the MPS daemon: no measurement",
                          crowd->count - data->attached_seen, crowd->count);
    return STATUS_OK;
}

/* Until all have ended, or must be. STATUS_OK: what there is to say of them is in their parts. */
static enum status see_through(struct crowd *crowd)
{
    double timeout_s = options_real(crowd->probing->options, OPTION_PROBE_TIMEOUT);
    uint64_t timeout_ns = (uint64_t)(timeout_s * 1e9);
    uint64_t ready_ns = clock_now_ns() + timeout_ns;
    enum status status = STATUS_OK;
    atomic_store(&crowd->shm.header->deadline_ns, ready_ns);
    for (unsigned i = 0; i < crowd->count && status == STATUS_OK; i++)
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
    /* The proof has a time of its own, which is none of the arm's. */
    atomic_store(&crowd->shm.header->deadline_ns, clock_now_ns() + ATTACH_NS + timeout_ns);
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

/* The first failure, the cause before its consequences: processes other than the first are told to
 * end by what happens to one of them, and by the end of the first, which is none. */
static enum status find_failure(const struct crowd *crowd)
{
    char ending[64];
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < crowd->count; i++) {
            const struct probe_shm_process *process = probe_shm_process(&crowd->shm, i);
            int wait_status = crowd->children[i].wait_status;
            bool told = process->status == STATUS_INTERRUPTED;
            if (!atomic_load(&process->ended) || WIFSIGNALED(wait_status))
                return status_set(STATUS_WORKER, "process %u of %u: %s", i + 1, crowd->count,
                                  child_ending_text(wait_status, ending, sizeof ending));
            if (process->status != STATUS_OK && !told)
                return status_set((enum status)process->status, "%.*s",
                                  (int)sizeof process->error - 1, process->error);
            /* By none of the others: by the deadline. */
            if (told && pass == 1 && i == 0)
                return status_set(STATUS_TIMEOUT, "%.*s: %g s were over (--timeout)",
                                  (int)sizeof process->error - 1, process->error,
                                  options_real(crowd->probing->options, OPTION_PROBE_TIMEOUT));
        }
    }
    /* What was measured until then is no round. */
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
    for (unsigned i = 0; i < crowd->count; i++)
        for (unsigned m = 0; m < PROBE_METRICS; m++)
            data->blocked[m] += atomic_load(&probe_shm_process(&crowd->shm, i)->blocked[m]);
    /* A round that is not whole is freed with the others. */
    if (status == STATUS_OK)
        data->rounds++;
    return status;
}

static void close_crowd(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        if (crowd->children[i].pidfd >= 0)
            close(crowd->children[i].pidfd);
    const int fds[] = {crowd->event_fd, crowd->life_read_fd, crowd->life_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    probe_shm_release(&crowd->shm);
}

/* Said of the arm, not of the run. */
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
                          .event_fd = -1,
                          .life_read_fd = -1,
                          .life_fd = -1,
                          .count = probe_arm_processes(data->arm)};
    bool tainted = false;
    char text[512];
    for (unsigned i = 0; i < crowd.count; i++)
        crowd.children[i].pidfd = -1;
    enum status status = set_mps(probing, over_mps(&crowd));
    /* Said of the run: what the arm did in the rounds before holds. */
    if (status == STATUS_INTERRUPTED)
        return status;
    if (status != STATUS_OK) {
        fail(data, status);
        return !over_mps(&crowd) ? status : STATUS_OK;
    }
    status = make(&crowd, random_next(&seed));
    if (status == STATUS_OK)
        status = see_through(&crowd);
    snprintf(text, sizeof text, "%s", status_text());
    if (crowd.shm.header)
        probe_shm_end(&crowd.shm);
    enum status ended =
        children_end(session, crowd.children, crowd.count, over_mps(&crowd), END_NS, &tainted);
    if (ended != STATUS_OK) {
        close_crowd(&crowd);
        return ended;
    }
    if (status == STATUS_OK)
        status = find_failure(&crowd);
    else
        status_record("%s", text);
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
    close_crowd(&crowd);
    return session->interrupted ? status_set(STATUS_INTERRUPTED, "interrupted") : STATUS_OK;
}

void probe_arm_data_release(struct probe_arm_data *data)
{
    for (unsigned m = 0; m < PROBE_METRICS; m++)
        for (unsigned r = 0; r < PROBE_ROUNDS; r++)
            free(data->series[m][r].us);
}
