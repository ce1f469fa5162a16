#include "orchestrator/doctor/limits_search.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "orchestrator/crew/pool.h"
#include "orchestrator/crew/environment.h"
#include "wire/probe.h"

/* A client waits up to 20 s for a server that starts, and for the contexts made before its own. */
#define ANSWER_NS (60 * NS_PER_S)
#define END_NS (20 * NS_PER_S)

static const unsigned connection_counts[MPS_LIMITS_ROWS] = {1, 2, 4, 8, 16, 32};

/* The clients of one number of connections: those that have a context, and the refused one. */
struct crowd {
    struct session *session;
    unsigned connections, count;
    struct gpu_child children[MPS_LIMITS_MOST_CLIENTS];
    int inputs[MPS_LIMITS_MOST_CLIENTS]; /* a client ends when its input does */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Starts a client; its answer comes from *answer_fd. */
static enum status start_client(struct crowd *crowd, int *answer_fd)
{
    const struct session *session = crowd->session;
    struct gpu_environment variables;
    char **environment = NULL;
    int input[2] = {-1, -1}, answer[2] = {-1, -1};
    const char *const argv[] = {session->worker_program, "--probe",
                                *session->driver_path ? "--driver" : NULL, session->driver_path,
                                NULL};
    struct gpu_child *child = &crowd->children[crowd->count];
    enum status status = STATUS_OK;
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) {
        status = status_set(STATUS_SYSTEM, "cannot make a pipe: %s", strerror(errno));
        goto out;
    }
    status =
        gpu_environment_make(session, true, 0, crowd->count, crowd->connections, NULL, &variables);
    if (status != STATUS_OK)
        goto out;
    environment = child_environment_new(variables.set, variables.unset);
    if (!environment) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    const struct child_spawn_options options = {
        .argv = argv,
        .environment = environment,
        .keep = &session->machine_fd,
        .keep_count = session->machine_fd >= 0 ? 1 : 0,
        .stdin_fd = input[0],
        .stdout_fd = answer[1],
        .stderr_fd = STDERR_FILENO, /* a sanitizer's report, or the driver's last words */
        .new_process_group = true,
        .ignore_interrupts = true,
        /* One that hangs in the driver does not see the end of its input. */
        .parent_death_signal = SIGTERM,
    };
    *child = (struct gpu_child){.pidfd = -1};
    status = child_spawn(&options, &child->pid, &child->pidfd);
    if (status == STATUS_OK) {
        crowd->inputs[crowd->count++] = input[1];
        *answer_fd = answer[0];
        input[1] = answer[0] = -1;
    }
out:
    free(environment);
    close_fd(&input[0]);
    close_fd(&input[1]);
    close_fd(&answer[0]);
    close_fd(&answer[1]);
    return status;
}

/* Up to the end of a pipe, a whole answer, a signal or the deadline. */
static enum status read_answer(struct crowd *crowd, int fd, struct worker_probe *probe)
{
    char *at = (char *)probe;
    size_t bytes = 0;
    uint64_t deadline_ns = clock_now_ns() + ANSWER_NS;
    while (bytes < sizeof *probe) {
        struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                               {.fd = crowd->session->signal_fd, .events = POLLIN}};
        int ready = poll(fds, 2, clock_remaining_ms(deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        enum status status = session_check_signals(crowd->session);
        if (status != STATUS_OK)
            return status;
        if (ready <= 0)
            return status_set(
                STATUS_WORKER,
                "MPS client %u (connections: %u) hangs: no context and no error within "
                "%d s",
                crowd->count, crowd->connections, (int)(ANSWER_NS / NS_PER_S));
        if (fds[0].revents == 0)
            continue;
        ssize_t got = read(fd, at + bytes, sizeof *probe - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        bytes += (size_t)got;
    }
    if (bytes == 0)
        return status_set(STATUS_WORKER, "MPS client %u (connections: %u) ended without a word",
                          crowd->count, crowd->connections);
    return worker_probe_check(probe, bytes);
}

/* One more client. *refused tells that it got no context; row->clients counts those that did. */
static enum status add_client(struct crowd *crowd, struct mps_limits_row *row, bool *refused)
{
    struct worker_probe probe = {0};
    int answer_fd = -1;
    enum status status = start_client(crowd, &answer_fd);
    if (status == STATUS_OK)
        status = read_answer(crowd, answer_fd, &probe);
    close_fd(&answer_fd);
    if (status != STATUS_OK)
        return status;
    *refused = probe.cuda_error != 0;
    if (*refused) {
        row->refused = probe.cuda_error;
        snprintf(row->error, sizeof row->error, "%s", probe.error);
        return STATUS_OK;
    }
    if (strcmp(probe.uuid, gpu_at(crowd->session->gpus, 0)->uuid) != 0)
        return status_set(STATUS_WORKER, "the driver gave GPU %s instead of %s", probe.uuid,
                          gpu_at(crowd->session->gpus, 0)->uuid);
    if (probe.mps != 1)
        return status_set(STATUS_WORKER,
                          "MPS client %u is not attached to the MPS daemon: the "
                          "driver fell back to time slicing",
                          crowd->count);
    row->clients++;
    return STATUS_OK;
}

static enum status end_clients(struct crowd *crowd)
{
    bool tainted = false;
    for (unsigned i = 0; i < crowd->count; i++)
        close_fd(&crowd->inputs[i]);
    enum status status =
        children_end(crowd->session, crowd->children, crowd->count, true, END_NS, &tainted);
    for (unsigned i = 0; i < crowd->count; i++)
        close_fd(&crowd->children[i].pidfd);
    crowd->count = 0;
    return status;
}

/* Clients of one number of connections, over a daemon that has had no others. */
static enum status fill_row(struct session *session, limits_progress progress, void *data,
                            struct mps_limits_row *row)
{
    struct crowd crowd = {.session = session, .connections = row->connections};
    bool refused = false;
    daemons_taint(session->daemons, 0);
    enum status status = daemons_set(session->daemons, 1, false);
    while (status == STATUS_OK && !refused && row->clients < MPS_LIMITS_MOST_CLIENTS) {
        progress(data, row->connections, row->clients);
        status = session_check_signals(session);
        if (status == STATUS_OK)
            status = add_client(&crowd, row, &refused);
    }
    char text[512];
    snprintf(text, sizeof text, "%s", status_text());
    enum status ended = end_clients(&crowd);
    if (ended != STATUS_OK)
        return ended;
    if (status == STATUS_OK)
        return session_check_signals(session);
    return status_set(status, "%s", text);
}

enum status limits_search(struct session *session, limits_progress progress, void *data,
                          struct mps_limits *out)
{
    struct mps_limits limits = {.count = MPS_LIMITS_ROWS};
    enum status status = STATUS_OK;
    mps_limits_key_of(session, &limits.key);
    clock_wall_iso8601(limits.found);
    for (unsigned i = 0; i < MPS_LIMITS_ROWS && status == STATUS_OK; i++) {
        limits.rows[i].connections = connection_counts[i];
        status = fill_row(session, progress, data, &limits.rows[i]);
        if (status == STATUS_OK && i == 0 && limits.rows[0].clients == 0)
            status = status_set(STATUS_CUDA, "not even one MPS client gets a context: %s",
                                limits.rows[0].error);
    }
    /* The next use begins with a daemon of its own. */
    daemons_taint(session->daemons, 0);
    if (status == STATUS_OK)
        *out = limits;
    return status;
}
