#include "orchestrator/round_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "emul/emul_state.h"
#include "mps/control.h"

/* After terminate_client, and after SIGKILL. */
#define TERMINATE_NS (3 * NS_PER_S)
#define KILL_NS (10 * NS_PER_S)

/* What draining workers get after an interrupt, and how often to look for one. */
#define HURRY_NS (5 * NS_PER_S)
#define LOOK_NS (100 * NS_PER_MS)

static enum status set_masks(const struct round *round)
{
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    uint64_t(*masks)[BIND_WORDS] = calloc(workers, sizeof *masks);
    if (!masks)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = bind_plan(round->session->topology, point->bind, workers, masks);
    uint64_t process_mask[BIND_WORDS];
    bind_process_mask(round->session->topology, point->bind, process_mask);
    for (unsigned i = 0; i < workers && status == STATUS_OK; i++) {
        struct shm_slot *slot = shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        memcpy(slot->cpus, masks[i], sizeof slot->cpus);
    }
    for (unsigned p = 0; p < point->processes && status == STATUS_OK; p++)
        memcpy(shm_process_at(&round->shm, p)->cpus, process_mask, sizeof process_mask);
    free(masks);
    return status;
}

enum status workers_prepare(struct round *round)
{
    const struct point *point = round->point;
    struct shm_settings settings = point->work;
    int life[2];
    settings.device = 0; /* the one that CUDA_VISIBLE_DEVICES leaves */
    memcpy(settings.device_uuid, round->session->gpu.uuid, sizeof settings.device_uuid);
    /* The longest window, with room for the time until it is noticed that it is over. */
    uint64_t longest = round->limits->max_duration_ns;
    settings.slice_ns = (longest + longest / 16) / SHM_SLICES + 1;
    enum status status = shm_create(&settings, point->processes, point->threads, &round->shm);
    if (status == STATUS_OK)
        status = set_masks(round);
    if (status != STATUS_OK)
        return status;
    round->children = calloc(point->processes, sizeof *round->children);
    if (!round->children)
        return status_set(STATUS_MEMORY, "out of memory");
    for (unsigned p = 0; p < point->processes; p++)
        round->children[p].pidfd = -1;
    round->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (round->event_fd < 0 || pipe2(life, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make the workers' descriptors: %s",
                          strerror(errno));
    round->life_read_fd = life[0];
    round->life_fd = life[1];
    return STATUS_OK;
}

/* NAME=value texts of one worker's environment. */
struct worker_environment {
    char pipe_directory[MPS_ENVIRONMENT_TEXT], device[MPS_ENVIRONMENT_TEXT];
    char connections[64], percentage[64], process[64], emulated_fd[64];
    const char *set[8];
    const char *unset[68];
};

static void add_variable(struct worker_environment *environment, const char *text)
{
    size_t count = 0;
    while (environment->set[count])
        count++;
    environment->set[count] = text;
}

static void make_environment(const struct round *round, unsigned index,
                             struct worker_environment *out)
{
    const struct session *session = round->session;
    const struct point *point = round->point;
    *out = (struct worker_environment){0};
    mps_environment_inherited(out->unset, 64);
    size_t unset = 0;
    while (out->unset[unset])
        unset++;
    out->unset[unset++] = "CUDA_DEVICE_MAX_CONNECTIONS";
    out->unset[unset++] = "CUDA_LAUNCH_BLOCKING";
    out->unset[unset++] = "CUDA_VISIBLE_DEVICES";
    snprintf(out->pipe_directory, sizeof out->pipe_directory, "CUDA_MPS_PIPE_DIRECTORY=%s",
             point_over_mps(point) ? mps_controller_pipe_directory(session->mps)
                                   : mps_controller_off_directory(session->mps));
    add_variable(out, out->pipe_directory);
    add_variable(out, "CUDA_MODULE_LOADING=EAGER");
    snprintf(out->process, sizeof out->process, "MPSWEEP_PROCESS=%u", index);
    add_variable(out, out->process);
    if (session->emulated) {
        snprintf(out->emulated_fd, sizeof out->emulated_fd, EMUL_STATE_VARIABLE "=%d",
                 session->emulated_fd);
        add_variable(out, out->emulated_fd);
    } else {
        snprintf(out->device, sizeof out->device, "CUDA_VISIBLE_DEVICES=%s", session->gpu.uuid);
        add_variable(out, out->device);
    }
    if (point->connections) {
        snprintf(out->connections, sizeof out->connections, "CUDA_DEVICE_MAX_CONNECTIONS=%u",
                 point->connections);
        add_variable(out, out->connections);
    }
    if (point->active_thread_percentage) {
        snprintf(out->percentage, sizeof out->percentage, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%u",
                 point->active_thread_percentage);
        add_variable(out, out->percentage);
    }
}

enum status workers_spawn(struct round *round, unsigned index)
{
    const struct session *session = round->session;
    struct worker_environment variables;
    char shm_text[16], event_text[16], life_text[16], process_text[16];
    snprintf(shm_text, sizeof shm_text, "%d", round->shm.fd);
    snprintf(event_text, sizeof event_text, "%d", round->event_fd);
    snprintf(life_text, sizeof life_text, "%d", round->life_read_fd);
    snprintf(process_text, sizeof process_text, "%u", index);
    const char *const argv[] = {session->worker_program,
                                "--shm",
                                shm_text,
                                "--event",
                                event_text,
                                "--life",
                                life_text,
                                "--process",
                                process_text,
                                *session->driver_path ? "--driver" : NULL,
                                session->driver_path,
                                NULL};
    const int keep[] = {round->shm.fd, round->event_fd, round->life_read_fd, session->emulated_fd};
    make_environment(round, index, &variables);
    char **environment = child_environment_new(variables.set, variables.unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory");
    const struct child_spawn_options options = {
        .argv = argv,
        .environment = environment,
        .keep = keep,
        .keep_count = session->emulated_fd >= 0 ? 4 : 3,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = STDERR_FILENO, /* a sanitizer's report, or the driver's last words */
        .new_process_group = true,
        .ignore_interrupts = true,
    };
    struct worker_child *child = &round->children[index];
    enum status status = child_spawn(&options, &child->pid, &child->pidfd);
    free(environment);
    return status;
}

int workers_reap(struct round *round)
{
    for (unsigned p = 0; p < round->point->processes; p++) {
        struct worker_child *child = &round->children[p];
        if (child->pid == 0 || child->ended)
            continue;
        if (child_wait(child->pid, child->pidfd, clock_now_ns(), &child->wait_status) ==
            STATUS_OK) {
            child->ended = true;
            return (int)p;
        }
    }
    return -1;
}

static unsigned alive(const struct round *round)
{
    unsigned count = 0;
    for (unsigned p = 0; p < round->point->processes; p++)
        count += round->children[p].pid != 0 && !round->children[p].ended;
    return count;
}

/* Waits until all have ended or the deadline passes, which an interrupt brings nearer. */
static void wait_all(struct round *round, uint64_t deadline_ns)
{
    bool hurried = round->session->interrupted;
    for (unsigned p = 0; p < round->point->processes; p++) {
        struct worker_child *child = &round->children[p];
        while (child->pid && !child->ended) {
            uint64_t look_ns = clock_now_ns() + LOOK_NS;
            uint64_t until_ns = look_ns < deadline_ns ? look_ns : deadline_ns;
            if (child_wait(child->pid, child->pidfd, until_ns, &child->wait_status) == STATUS_OK)
                child->ended = true;
            else if (until_ns == deadline_ns)
                break;
            if (!hurried && session_check_signals(round->session) != STATUS_OK) {
                uint64_t soon_ns = clock_now_ns() + HURRY_NS;
                hurried = true;
                deadline_ns = soon_ns < deadline_ns ? soon_ns : deadline_ns;
            }
        }
    }
}

enum status workers_end(struct round *round, uint64_t grace_ns, bool *tainted)
{
    if (!round->children)
        return STATUS_OK;
    if (!atomic_load(&round->shm.header->stop))
        shm_stop(&round->shm, 0);
    wait_all(round, clock_now_ns() + grace_ns);
    if (alive(round) == 0)
        return STATUS_OK;
    *tainted = true;
    if (point_over_mps(round->point)) {
        for (unsigned p = 0; p < round->point->processes; p++)
            if (round->children[p].pid && !round->children[p].ended)
                mps_controller_terminate_client(round->session->mps, round->children[p].pid);
        wait_all(round, clock_now_ns() + TERMINATE_NS);
    }
    for (unsigned p = 0; p < round->point->processes; p++)
        if (round->children[p].pid && !round->children[p].ended)
            kill(round->children[p].pid, SIGKILL);
    wait_all(round, clock_now_ns() + KILL_NS);
    for (unsigned p = 0; p < round->point->processes; p++)
        if (round->children[p].pid && !round->children[p].ended)
            return status_set(STATUS_TIMEOUT,
                              "cannot end worker process %d: it does not react even to SIGKILL",
                              (int)round->children[p].pid);
    return STATUS_OK;
}

void workers_release(struct round *round)
{
    if (round->children)
        for (unsigned p = 0; p < round->point->processes; p++)
            if (round->children[p].pidfd >= 0)
                close(round->children[p].pidfd);
    free(round->children);
    round->children = NULL;
    if (round->event_fd >= 0)
        close(round->event_fd);
    if (round->life_read_fd >= 0)
        close(round->life_read_fd);
    if (round->life_fd >= 0)
        close(round->life_fd);
    shm_release(&round->shm);
}
