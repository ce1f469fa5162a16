#include "emul/mps/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

/* -- the pipe directory ------------------------------------------------------------------------ */

static enum status open_file(const char *name, int flags, mode_t mode, int *fd)
{
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    if (!mps_link_path(name, path))
        return status_set(STATUS_USAGE, "the path of '%s' is too long", mps_link_directory());
    *fd = open(path, flags | O_CREAT | O_CLOEXEC, mode);
    if (*fd < 0)
        return status_set(STATUS_SYSTEM, "cannot open '%s': %s", path, strerror(errno));
    return STATUS_OK;
}

static enum status make_plain_files(void)
{
    static const char *const names[] = {"control_privileged", "log", "nvidia-cuda-mps-control.pid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd;
        enum status status = open_file(names[i], O_WRONLY | O_TRUNC, 0644, &fd);
        if (status != STATUS_OK)
            return status;
        if (strstr(names[i], ".pid") != NULL)
            dprintf(fd, "%d\n", (int)getpid());
        close(fd);
    }
    return STATUS_OK;
}

static enum status listen_on_socket(int *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mps_link_path("control", address.sun_path);
    /* The lock is ours, so the process that left this socket is gone. */
    unlink(address.sun_path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || bind(*fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(address.sun_path, 0666) != 0 || listen(*fd, 128) != 0)
        return status_set(STATUS_SYSTEM, "cannot listen on '%s': %s", address.sun_path,
                          strerror(errno));
    return STATUS_OK;
}

enum status control_open(struct control *control, bool log_to_output)
{
    sigset_t signals;
    memset(control, 0, sizeof *control);
    control->listener_fd = control->signals_fd = -1;
    control->default_percentage = 100.0;
    control->quit_deadline_ns = UINT64_MAX;
    control->visible = visible_parse(getenv("CUDA_VISIBLE_DEVICES"), EMUL_DEVICES_MAX);

    mkdir(mps_link_directory(), 0755);
    enum status status = open_file("control_lock", O_RDWR, 0644, &control->lock_fd);
    if (status != STATUS_OK)
        return status;
    if (flock(control->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return status_set(STATUS_BUSY, "An instance of this daemon is already running");
    status = make_plain_files();
    if (status == STATUS_OK)
        status = listen_on_socket(&control->listener_fd);
    if (status != STATUS_OK)
        return status;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    control->signals_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (control->signals_fd < 0)
        return status_set(STATUS_SYSTEM, "cannot receive signals: %s", strerror(errno));
    control_log_open(control, log_to_output);
    return STATUS_OK;
}

static void drop(struct control *control, struct connection *connection)
{
    enum connection_state state = connection->state;
    close(connection->fd);
    connection->state = CONNECTION_FREE;
    if (state == CONNECTION_CLIENT)
        control_client_left(control, connection);
    else if (state == CONNECTION_UI)
        control_log(control, "UI closed");
}

/* -- the server -------------------------------------------------------------------------------- */

static _Noreturn void be_server(pid_t parent)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0); /* died before the line above */
    prctl(PR_SET_NAME, "mps-server");
    /* Not even the lock: the directory is free as soon as the daemon is gone. */
    close_range(3, ~0U, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (;;)
        pause();
}

void control_start_server(struct control *control)
{
    if (control->server != 0)
        return;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        be_server(parent);
    if (pid < 0) {
        control_log(control, "cannot start a server: %s", strerror(errno));
        return;
    }
    control->server = pid;
    control->server_draining = control->server_fault = false;
    control->server_has_context = true;
    control->server_percentage = control->default_percentage;
    control->server_limit_mib = control->default_limit_mib;
    control_log_server_start(control);
}

static void drop_clients(struct control *control)
{
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        if (control->connections[i].state == CONNECTION_CLIENT)
            drop(control, &control->connections[i]);
}

void control_end_server(struct control *control)
{
    drop_clients(control);
    if (control->server == 0)
        return;
    kill(control->server, SIGTERM);
    while (waitpid(control->server, NULL, 0) < 0 && errno == EINTR)
        ;
    control_log(control, "Server %d exited with status 0", (int)control->server);
    control->server = 0;
}

static void reap(struct control *control)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == control->server) {
            drop_clients(control);
            control_log(control, "Server %d exited with status %d", (int)pid, status);
            control->server = 0;
        }
}

/* -- connections ------------------------------------------------------------------------------- */

void control_reply(struct connection *connection, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof connection->out - connection->out_length;
    va_start(arguments, format);
    int length = vsnprintf(connection->out + connection->out_length, room, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < room)
        connection->out_length += (size_t)length;
}

/* Logs the answer to a control program, line by line. */
static void log_answer(struct control *control, const struct connection *ui, size_t from)
{
    while (from < ui->out_length) {
        const char *line = ui->out + from, *end = memchr(line, '\n', ui->out_length - from);
        int length = (int)(end != NULL ? end - line : (ptrdiff_t)(ui->out_length - from));
        control_log(control, "%.*s", length, line);
        from += (size_t)length + 1;
    }
}

static void take_command(struct control *control, struct connection *connection, const char *line)
{
    size_t from = connection->out_length;
    if (connection->state != CONNECTION_UI)
        control_log(control, "NEW UI");
    connection->state = CONNECTION_UI;
    control_log(control, "Cmd:%s", line);
    bool answered = control_command(control, connection, line);
    log_answer(control, connection, from);
    /* The NUL byte marks the end of the answer. */
    if (answered && connection->out_length < sizeof connection->out)
        connection->out[connection->out_length++] = '\0';
}

static void take_line(struct control *control, struct connection *connection, const char *line)
{
    if (connection->state != CONNECTION_CLIENT && strncmp(line, "control ", 8) == 0) {
        take_command(control, connection, line + 8);
    } else if (!control_client_line(control, connection, line)) {
        control_log(control, "User did not send valid credentials");
        drop(control, connection);
    }
}

static void take_input(struct control *control, struct connection *connection)
{
    ssize_t got = recv(connection->fd, connection->in + connection->in_length,
                       sizeof connection->in - connection->in_length, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(control, connection);
        return;
    }
    connection->in_length += (size_t)got;
    char *end;
    while (connection->state != CONNECTION_FREE && connection->state != CONNECTION_CLOSING &&
           (end = memchr(connection->in, '\n', connection->in_length)) != NULL) {
        char line[MPS_LINK_LINE_BYTES];
        size_t length = (size_t)(end - connection->in);
        memcpy(line, connection->in, length);
        line[length] = '\0';
        connection->in_length -= length + 1;
        memmove(connection->in, end + 1, connection->in_length);
        take_line(control, connection, line);
    }
    if (connection->state != CONNECTION_FREE && connection->in_length == sizeof connection->in)
        drop(control, connection); /* a line longer than any we know */
}

void control_send(struct control *control, struct connection *connection)
{
    if (connection->out_length == 0)
        return;
    ssize_t sent =
        send(connection->fd, connection->out, connection->out_length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent < 0) {
        drop(control, connection);
        return;
    }
    connection->out_length -= (size_t)sent;
    memmove(connection->out, connection->out + sent, connection->out_length);
    if (connection->out_length == 0 && connection->state == CONNECTION_CLOSING)
        drop(control, connection);
}

static uid_t user_of(int fd)
{
    struct ucred peer = {.uid = geteuid()};
    socklen_t length = sizeof peer;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return peer.uid;
}

static void accept_one(struct control *control)
{
    int fd = accept4(control->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        control_log(control, "Cannot accept a connection: %s", strerror(errno));
        control->ended = true;
    }
    if (fd < 0)
        return;
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
        struct connection *connection = &control->connections[i];
        if (connection->state == CONNECTION_FREE) {
            connection->state = CONNECTION_OPEN;
            connection->fd = fd;
            connection->in_length = connection->out_length = 0;
            connection->user = user_of(fd);
            control_log(control, "Accepting connection...");
            return;
        }
    }
    close(fd);
}

/* -- the loop ---------------------------------------------------------------------------------- */

static void take_signals(struct control *control)
{
    struct signalfd_siginfo signal;
    while (read(control->signals_fd, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGCHLD) {
            reap(control);
            continue;
        }
        control_log(control, "Ended by signal %u", signal.ssi_signo);
        control->ended = control->keep_files = true;
    }
}

/* polled: count connections, those with the numbers in `which`. */
static void serve(struct control *control, const struct pollfd *polled, const size_t *which,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct connection *connection = &control->connections[which[i]];
        /* An entry that was dropped and taken again since poll() has a descriptor of its own. */
        if (connection->state == CONNECTION_FREE || polled[i].fd != connection->fd)
            continue;
        if (polled[i].revents & (POLLIN | POLLHUP | POLLERR))
            take_input(control, connection);
        if (connection->state != CONNECTION_FREE)
            control_send(control, connection);
    }
}

/* What happens when clients have left, or time has passed. */
static void settle(struct control *control)
{
    bool idle = control_count_clients(control) == 0;
    if (control->server_draining && idle) {
        control_end_server(control);
        control->server_draining = false;
    }
    if (control->quitting && (idle || clock_now_ns() >= control->quit_deadline_ns))
        control->ended = true;
}

void control_run(struct control *control)
{
    struct pollfd polled[2 + CONTROL_CONNECTIONS];
    size_t which[CONTROL_CONNECTIONS];
    while (!control->ended) {
        size_t count = 0; /* poll() refuses more entries than descriptors may be open */
        polled[0] = (struct pollfd){.fd = control->signals_fd, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = control->listener_fd, .events = POLLIN};
        for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
            const struct connection *connection = &control->connections[i];
            if (connection->state == CONNECTION_FREE)
                continue;
            which[count] = i;
            /* A client that does not read its answers is not heard any further. */
            polled[2 + count++] = (struct pollfd){
                .fd = connection->fd, .events = connection->out_length > 0 ? POLLOUT : POLLIN};
        }
        int limit_ms = control->quitting && control->quit_deadline_ns != UINT64_MAX
                           ? clock_remaining_ms(control->quit_deadline_ns)
                           : -1;
        if (poll(polled, 2 + count, limit_ms) > 0) {
            if (polled[0].revents != 0)
                take_signals(control);
            serve(control, polled + 2, which, count);
            if (polled[1].revents != 0)
                accept_one(control);
        }
        settle(control);
    }

    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    control_end_server(control);
    if (!control->keep_files && mps_link_path("control", path))
        unlink(path);
    control_log(control, "Exit");
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        if (control->connections[i].state != CONNECTION_FREE)
            drop(control, &control->connections[i]);
    close(control->listener_fd);
    close(control->signals_fd);
    close(control->lock_fd);
}
