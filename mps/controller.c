#include "mps/controller.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "mps/control.h"
#include "mps/directory.h"
#include "mps/guard.h"

/* Longer than anything that the guard does before it answers. */
#define ANSWER_NS (90 * NS_PER_S)
#define COMMAND_NS (5 * NS_PER_S)

struct mps_controller {
    struct mps_controller_options options;
    pid_t guard;
    int guard_pidfd;
    int socket;
    pid_t daemon;
    char directory[MPS_DIRECTORY_MOST + 1];
    char pipe_directory[MPS_DIRECTORY_MOST + 8];
    char off_directory[MPS_DIRECTORY_MOST + 8];
};

static struct mps_control control_of(const struct mps_controller *controller)
{
    return (struct mps_control){.program = controller->options.control_program,
                                .pipe_directory = controller->pipe_directory};
}

/* Waits for the answer of a kind; news that the daemon died meanwhile is noted. */
static enum status receive(struct mps_controller *controller, enum guard_kind kind,
                           struct guard_message *message)
{
    uint64_t deadline_ns = clock_now_ns() + ANSWER_NS;
    for (;;) {
        struct pollfd fd = {.fd = controller->socket, .events = POLLIN};
        int ready = poll(&fd, 1, clock_remaining_ms(deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return status_set(STATUS_TIMEOUT, "the MPS guard (process %d) does not answer",
                              (int)controller->guard);
        ssize_t received = recv(controller->socket, message, sizeof *message, MSG_DONTWAIT);
        if (received != (ssize_t)sizeof *message)
            return status_set(STATUS_SYSTEM, "the MPS guard (process %d) is gone",
                              (int)controller->guard);
        message->text[sizeof message->text - 1] = '\0';
        if (message->kind == GUARD_DIED)
            controller->daemon = 0;
        if (message->kind == (uint32_t)kind)
            break;
    }
    if (message->status != STATUS_OK)
        return status_set((enum status)message->status, "%s", message->text);
    return STATUS_OK;
}

static enum status request(struct mps_controller *controller, enum guard_kind kind,
                           const char *text)
{
    struct guard_message message = {.kind = kind};
    snprintf(message.text, sizeof message.text, "%s", text);
    if (send(controller->socket, &message, sizeof message, MSG_NOSIGNAL) < 0)
        return status_set(STATUS_SYSTEM, "the MPS guard (process %d) is gone",
                          (int)controller->guard);
    enum status status = receive(controller, kind, &message);
    if (status == STATUS_OK)
        controller->daemon = kind == GUARD_START ? message.pid : 0;
    return status;
}

static enum status spawn_guard(struct mps_controller *controller, int guard_socket)
{
    char socket_text[16];
    const char *const argv[] = {
        controller->options.guard_program,   "--socket", socket_text, "--control",
        controller->options.control_program, NULL};
    snprintf(socket_text, sizeof socket_text, "%d", guard_socket);
    /* A session of its own: a signal to the orchestrator's process group must not reach it. */
    const struct child_spawn_options options = {
        .argv = argv,
        .keep = &guard_socket,
        .keep_count = 1,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = -1,
        .new_session = true,
        .ignore_interrupts = true,
    };
    return child_spawn(&options, &controller->guard, &controller->guard_pidfd);
}

enum status mps_controller_new(const struct mps_controller_options *options,
                               struct mps_controller **out)
{
    struct mps_controller *controller = calloc(1, sizeof *controller);
    struct guard_message hello;
    int sockets[2];
    if (!controller)
        return status_set(STATUS_MEMORY, "out of memory");
    controller->options = *options;
    controller->guard_pidfd = controller->socket = -1;
    enum status status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        status = status_set(STATUS_SYSTEM, "cannot make a socket pair: %s", strerror(errno));
        goto failed;
    }
    controller->socket = sockets[0];
    status = spawn_guard(controller, sockets[1]);
    close(sockets[1]);
    if (status == STATUS_OK)
        status = receive(controller, GUARD_HELLO, &hello);
    if (status != STATUS_OK)
        goto failed;
    if (snprintf(controller->directory, sizeof controller->directory, "%s", hello.text) >=
        (int)sizeof controller->directory) {
        status = status_set(STATUS_PROTOCOL, "the MPS guard's directory has too long a name");
        goto failed;
    }
    snprintf(controller->pipe_directory, sizeof controller->pipe_directory, "%s/mps",
             controller->directory);
    snprintf(controller->off_directory, sizeof controller->off_directory, "%s/off",
             controller->directory);
    *out = controller;
    return STATUS_OK;
failed:
    mps_controller_free(controller);
    return status;
}

enum status mps_controller_free(struct mps_controller *controller)
{
    enum status status = STATUS_OK;
    int wait_status;
    if (!controller)
        return STATUS_OK;
    char text[512];
    snprintf(text, sizeof text, "%s", status_text());
    /* The end of the socket is the request to clean up and go. */
    if (controller->socket >= 0)
        close(controller->socket);
    if (controller->guard) {
        status = child_wait(controller->guard, controller->guard_pidfd, clock_now_ns() + ANSWER_NS,
                            &wait_status);
        if (status != STATUS_OK)
            status =
                status_set(STATUS_TIMEOUT, "the MPS guard (process %d) still runs and holds '%s'",
                           (int)controller->guard, controller->directory);
        else if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == GUARD_EXIT_UNENDED)
            status =
                status_set(STATUS_TIMEOUT, "a process of the MPS daemon in '%s' could not be ended",
                           controller->directory);
        else if (wait_status != 0 && *controller->directory)
            status = mps_directory_remove_path(controller->directory);
    }
    if (controller->guard_pidfd >= 0)
        close(controller->guard_pidfd);
    free(controller);
    /* Cleaning up must not replace the text of the error that led here. */
    if (status == STATUS_OK)
        status_record("%s", text);
    return status;
}

enum status mps_controller_daemon_start(struct mps_controller *controller, const char *gpu)
{
    return request(controller, GUARD_START, gpu ? gpu : "");
}

enum status mps_controller_daemon_stop(struct mps_controller *controller)
{
    return controller->daemon ? request(controller, GUARD_STOP, "") : STATUS_OK;
}

enum status mps_controller_clients(struct mps_controller *controller, uint64_t deadline_ns,
                                   pid_t *clients, size_t capacity, size_t *count)
{
    const struct mps_control control = control_of(controller);
    return mps_control_clients(&control, deadline_ns, clients, capacity, count);
}

enum status mps_controller_terminate_client(struct mps_controller *controller, pid_t client)
{
    const struct mps_control control = control_of(controller);
    return mps_control_terminate_client(&control, clock_now_ns() + COMMAND_NS, client);
}

const char *mps_controller_pipe_directory(const struct mps_controller *controller)
{
    return controller->pipe_directory;
}

const char *mps_controller_off_directory(const struct mps_controller *controller)
{
    return controller->off_directory;
}

const char *mps_controller_directory(const struct mps_controller *controller)
{
    return controller->directory;
}

pid_t mps_controller_daemon_pid(const struct mps_controller *controller)
{
    return controller->daemon;
}
