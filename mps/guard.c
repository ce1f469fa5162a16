#include "mps/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "files/ending_signals.h"
#include "mps/directory.h"
#include "mps/state.h"

/* Orphaned workers need up to three seconds to end by themselves; give them twice that. */
#define CLIENTS_NS (6 * NS_PER_S)
#define COMMAND_NS (5 * NS_PER_S)
/* One request a connection, and the guard does not wait for a late one. */
#define REQUEST_NS NS_PER_S

struct guard {
    int socket;   /* to the orchestrator; -1 once detached */
    int listener; /* DIR/guard; -1 before */
    int signals;
    /* pidfds of processes after the end of all of which the guard goes. */
    int awaited[GUARD_AWAITED_MOST];
    unsigned awaited_count;
    bool stays;   /* a process cannot be awaited: goes on until a request to stop */
    bool leaving; /* a request or a signal ends it: clean up and go */
    char gpu[MPS_GPUS_TEXT];
    struct mps_directory directory;
    struct guard_daemon daemon;
};

static void answer(int socket, const struct guard *guard, const struct guard_message *request,
                   enum status status, const char *text)
{
    struct guard_message message = {
        .magic = GUARD_MAGIC,
        .kind = request->kind,
        .serial = request->serial,
        .status = (int32_t)status,
        .pid = (int32_t)guard->daemon.pid,
    };
    snprintf(message.text, sizeof message.text, "%s", status == STATUS_OK ? text : status_text());
    /* A failure means that the other side is gone, which the next poll shows. */
    if (send(socket, &message, sizeof message, MSG_NOSIGNAL) < 0)
        return;
}

static void send_unasked(const struct guard *guard, enum guard_kind kind, enum status status,
                         const char *text)
{
    const struct guard_message unasked = {.kind = kind};
    answer(guard->socket, guard, &unasked, status, text);
}

/* -- going on by itself ------------------------------------------------------------------------ */

static enum status listen_at(struct guard *guard)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" GUARD_SOCKET, guard->directory.path);
    guard->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (guard->listener < 0 ||
        bind(guard->listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(address.sun_path, 0600) != 0 || listen(guard->listener, 8) != 0)
        return status_set(STATUS_SYSTEM, "cannot listen on '%s': %s", address.sun_path,
                          strerror(errno));
    return STATUS_OK;
}

/* As before: the orchestrator's end is the guard's again. */
static void stop_listening(struct guard *guard)
{
    if (guard->listener < 0)
        return;
    close(guard->listener);
    guard->listener = -1;
    unlinkat(guard->directory.fd, GUARD_SOCKET, 0);
}

static enum status detach(struct guard *guard, pid_t awaited)
{
    struct mps_state state = {.guard = process_identify(getpid()),
                              .daemon = process_identify(guard->daemon.pid),
                              .directory_was_there = guard->directory.was_there};
    if (awaited > 0 && guard->awaited_count == GUARD_AWAITED_MOST)
        return status_set(STATUS_USAGE, "the guard waits for %d processes at most",
                          GUARD_AWAITED_MOST);
    snprintf(state.gpu, sizeof state.gpu, "%s", guard->gpu);
    snprintf(state.control_program, sizeof state.control_program, "%s",
             guard->daemon.control.program);
    clock_wall_iso8601(state.started);
    bool again = guard->listener >= 0;
    enum status status = again ? STATUS_OK : listen_at(guard);
    if (status == STATUS_OK)
        status = mps_state_write(guard->directory.fd, &state);
    if (status == STATUS_OK && awaited > 0) {
        int process = (int)syscall(SYS_pidfd_open, awaited, 0);
        if (process >= 0)
            guard->awaited[guard->awaited_count++] = process;
        else if (errno != ESRCH) /* it may live, and need the daemon */
            guard->stays = true;
        guard->leaving = guard->awaited_count == 0 && !guard->stays;
    }
    if (status != STATUS_OK && !again)
        stop_listening(guard);
    return status;
}

static bool is_own_user(int connection)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static enum status stop_if_idle(struct guard *guard, bool force)
{
    size_t clients = 0;
    /* One that does not answer may have clients all the same. */
    if (!force && guard_daemon_count_clients(&guard->daemon, clock_now_ns() + COMMAND_NS,
                                             &clients) != STATUS_OK)
        return status_prefix(STATUS_BUSY, "cannot find out whether the daemon has clients: ");
    if (clients > 0)
        return status_set(STATUS_BUSY, "%zu client%s the daemon", clients,
                          clients == 1 ? " uses" : "s use");
    enum status status = guard_daemon_end(&guard->daemon, 0);
    guard->leaving = status == STATUS_OK;
    return status;
}

static void serve_connection(struct guard *guard)
{
    struct guard_message request = {0};
    int connection = accept4(guard->listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        return;
    struct pollfd ready = {.fd = connection, .events = POLLIN};
    if (!is_own_user(connection) || poll(&ready, 1, (int)(REQUEST_NS / NS_PER_MS)) != 1 ||
        !guard_message_check(
            &request, recv(connection, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC))) {
        close(connection);
        return;
    }
    switch (request.kind) {
    case GUARD_ASK:
        answer(connection, guard, &request, STATUS_OK, guard->daemon.ending);
        break;
    case GUARD_STOP: {
        enum status status = stop_if_idle(guard, request.force != 0);
        /* All is gone before the answer is sent. */
        if (guard->leaving)
            status = mps_directory_remove(&guard->directory);
        answer(connection, guard, &request, status, "");
        break;
    }
    default:
        answer(connection, guard, &request,
               status_set(STATUS_PROTOCOL, "the guard does not know request %u", request.kind), "");
        break;
    }
    close(connection);
}

/* -- the orchestrator -------------------------------------------------------------------------- */

static void serve_request(struct guard *guard)
{
    struct guard_message request;
    ssize_t received = recv(guard->socket, &request, sizeof request, 0);
    if (received < 0 && errno == EINTR)
        return;
    if (received <= 0) {
        close(guard->socket);
        guard->socket = -1;
        guard->leaving |= guard->listener < 0;
        return;
    }
    if (!guard_message_check(&request, received))
        return;
    enum status status;
    switch (request.kind) {
    case GUARD_START:
        snprintf(guard->gpu, sizeof guard->gpu, "%.*s", (int)sizeof guard->gpu - 1, request.text);
        status = guard_daemon_start(&guard->daemon, request.text, &request.settings);
        break;
    case GUARD_STOP:
        status = guard_daemon_end(&guard->daemon, 0);
        break;
    case GUARD_DETACH:
        status = detach(guard, request.pid);
        break;
    default:
        status = status_set(STATUS_PROTOCOL, "the guard does not know request %u", request.kind);
        break;
    }
    answer(guard->socket, guard, &request, status, "");
}

static void take_signal(struct guard *guard)
{
    struct signalfd_siginfo info;
    if (read(guard->signals, &info, sizeof info) == (ssize_t)sizeof info && guard->socket < 0)
        guard->leaving = true;
}

/* Forgets one that has ended; with the last of them the guard goes. */
static void take_ended(struct guard *guard, unsigned index)
{
    close(guard->awaited[index]);
    guard->awaited[index] = guard->awaited[--guard->awaited_count];
    guard->leaving |= guard->awaited_count == 0 && !guard->stays;
}

static void serve(struct guard *guard)
{
    while (!guard->leaving) {
        struct pollfd fds[4 + GUARD_AWAITED_MOST] = {{.fd = guard->socket, .events = POLLIN},
                                                     {.fd = guard->daemon.pidfd, .events = POLLIN},
                                                     {.fd = guard->listener, .events = POLLIN},
                                                     {.fd = guard->signals, .events = POLLIN}};
        unsigned awaited = guard->awaited_count;
        for (unsigned i = 0; i < awaited; i++)
            fds[4 + i] = (struct pollfd){.fd = guard->awaited[i], .events = POLLIN};
        if (poll(fds, 4 + awaited, -1) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (fds[1].revents && guard_daemon_has_ended(&guard->daemon) && guard->socket >= 0)
            send_unasked(guard, GUARD_DIED,
                         status_set(STATUS_SYSTEM, "the MPS control daemon ended by itself: %s",
                                    guard->daemon.ending),
                         "");
        if (fds[0].revents)
            serve_request(guard);
        if (fds[2].revents)
            serve_connection(guard);
        if (fds[3].revents)
            take_signal(guard);
        /* From the last one on, since the place of one that goes is taken by the last. */
        for (unsigned i = awaited; i-- > 0;)
            if (fds[4 + i].revents)
                take_ended(guard, i);
    }
}

/* -- its own life ------------------------------------------------------------------------------ */

/* The orchestrator asks for an end by closing the socket; a signal to the whole process group must
 * not end the process that cleans up. A detached guard obeys these signals. They are blocked, not
 * ignored: the daemon would inherit an ignored SIGTERM. */
static int watch_signals(void)
{
    sigset_t set;
    ending_signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* What the caller's shell had open, a pipe or a lock, must not be held by those that go on. */
static void close_all_but(int socket)
{
    if (socket > 3)
        syscall(SYS_close_range, 3u, (unsigned)socket - 1, 0u);
    syscall(SYS_close_range, (unsigned)socket + 1, ~0u, 0u);
}

int main(int argc, char **argv)
{
    struct guard guard = {.socket = -1,
                          .listener = -1,
                          .directory = {.fd = -1, .lock_fd = -1},
                          .daemon = {.peer = -1, .pidfd = -1}};
    const char *wanted = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--socket") == 0)
            guard.socket = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--control") == 0)
            guard.daemon.control.program = argv[i + 1];
        else if (strcmp(argv[i], "--directory") == 0)
            wanted = argv[i + 1];
    }
    if (guard.socket < 3 || !guard.daemon.control.program) {
        fputs("mpsweep-guard: started by mpsweep, not by hand\n", stderr);
        return 64;
    }
    close_all_but(guard.socket);
    fcntl(guard.socket, F_SETFD, FD_CLOEXEC);
    guard.signals = watch_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    enum status status = wanted ? mps_directory_make_at(wanted, &guard.directory)
                                : mps_directory_make(&guard.directory);
    guard.daemon.directory = guard.directory.path;
    guard.daemon.peer = guard.socket;
    snprintf(guard.daemon.pipe_directory, sizeof guard.daemon.pipe_directory, "%s/mps",
             guard.directory.path);
    guard.daemon.control.pipe_directory = guard.daemon.pipe_directory;
    /* No place is held but the directory. */
    if (chdir("/") != 0 && status == STATUS_OK)
        status = status_set(STATUS_SYSTEM, "cannot go to '/': %s", strerror(errno));
    send_unasked(&guard, GUARD_HELLO, status, guard.directory.path);
    if (status != STATUS_OK)
        return 1;
    serve(&guard);
    if (guard.directory.fd < 0)
        return 0; /* stopped and answered */
    /* With a process that cannot be ended, its directory stays for the user to look into. */
    if (guard_daemon_end(&guard.daemon, CLIENTS_NS) != STATUS_OK)
        return GUARD_EXIT_UNENDED;
    return mps_directory_remove(&guard.directory) == STATUS_OK ? 0 : 1;
}
