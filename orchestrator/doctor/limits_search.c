#include "orchestrator/doctor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

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
    unsigned connections;
    unsigned count;   /* of started clients */
    struct pool pool; /* clients end when its life does */
};

/* Starts a client; its answer comes from *answer_fd. */
static enum status start_client(struct crowd *crowd, int *answer_fd)
{
    const struct session *session = crowd->session;
    struct gpu_environment variables;
    struct word_list words = {0};
    int answer[2];
    const struct point point = {.layout = LAYOUT_PROCESSES_MPS, .connections = crowd->connections};
    enum status status = gpu_environment_make(session, &point, 0, crowd->count, &variables);
    if (status != STATUS_OK)
        return status;
    if (pipe2(answer, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    word_list_add(&words, "%s", session->worker_program);
    word_list_add(&words, "--probe");
    session_add_driver(session, &words);
    const struct pool_start start = {
        .argv = &words, .set = variables.set, .unset = variables.unset, .answer_fd = answer[1]};
    status = pool_spawn(&crowd->pool, session, crowd->count, &start);
    word_list_release(&words);
    close(answer[1]);
    if (status != STATUS_OK) {
        close(answer[0]);
        return status;
    }
    crowd->count++;
    *answer_fd = answer[0];
    return STATUS_OK;
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
        return status_set(STATUS_WORKER, "MPS client %u (connections: %u) ended without an answer",
                          crowd->count, crowd->connections);
    return worker_probe_check(probe, bytes);
}

/* Starts one more client. *refused: it got no context; row->clients counts those that did. */
static enum status add_client(struct crowd *crowd, struct mps_limits_row *row, bool *refused)
{
    struct worker_probe probe = {0};
    int answer_fd = -1;
    enum status status = start_client(crowd, &answer_fd);
    if (status != STATUS_OK)
        return status;
    status = read_answer(crowd, answer_fd, &probe);
    close(answer_fd);
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

/* Clients of one number of connections, over a daemon that has had no others. */
static enum status fill_row(struct session *session, limits_progress progress, void *data,
                            struct mps_limits_row *row)
{
    struct crowd crowd = {.session = session, .connections = row->connections};
    struct status_saved saved;
    bool refused = false, tainted = false;
    daemons_taint(session->daemons, 0);
    enum status status = pool_make(MPS_LIMITS_MOST_CLIENTS, &crowd.pool);
    if (status == STATUS_OK)
        status = daemons_set(session->daemons, 1, false);
    while (status == STATUS_OK && !refused && row->clients < MPS_LIMITS_MOST_CLIENTS) {
        progress(data, row->connections, row->clients);
        status = session_check_signals(session);
        if (status == STATUS_OK)
            status = add_client(&crowd, row, &refused);
    }
    status_save(status, &saved);
    pool_hang_up(&crowd.pool);
    enum status ended = pool_end(&crowd.pool, session, true, END_NS, &tainted);
    pool_release(&crowd.pool);
    if (ended != STATUS_OK)
        return ended;
    return status == STATUS_OK ? session_check_signals(session) : status_restore(&saved);
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
