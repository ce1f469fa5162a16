#include "mps/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "mps/control.h"
#include "mps/directory.h"
#include "mps/guard.h"
#include "mps/probe.h"

/* Longer than anything that the guard does before it answers. */
#define ANSWER_NS (90 * NS_PER_S)
#define COMMAND_NS (5 * NS_PER_S)
/* A server comes up within a second; a refused client tries for ten (device/context.h). */
#define PROBE_NS (40 * NS_PER_S)
/* How long a foreign daemon gets to come out of a fault, and how often to look. */
#define FAULT_NS (10 * NS_PER_S)
#define LOOK_MS 100
#define LOG_MOST ((size_t)4 << 20)

static enum status guard_is_gone(const struct mps_controller *controller)
{
    return status_set(STATUS_SYSTEM, "the MPS guard (process %d) is gone", (int)controller->guard);
}

static void note_death(struct mps_controller *controller, const struct guard_message *message)
{
    controller->daemon = 0;
    snprintf(controller->death, sizeof controller->death, "%.255s", message->text);
}

/* Waits for the answer to a request; an answer to an earlier one that was given up is passed over,
 * and news that the daemon died is noted. */
static enum status receive(struct mps_controller *controller, enum guard_kind kind, uint32_t serial,
                           struct guard_message *message)
{
    uint64_t deadline_ns = clock_now_ns() + ANSWER_NS;
    for (;;) {
        struct pollfd fds[2] = {{.fd = controller->socket, .events = POLLIN},
                                {.fd = controller->interrupt, .events = POLLIN}};
        int ready = poll(fds, 2, clock_remaining_ms(deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return status_set(STATUS_TIMEOUT, "the MPS guard (process %d) does not answer",
                              (int)controller->guard);
        if (ready > 0 && !fds[0].revents)
            return status_set(STATUS_INTERRUPTED, "interrupted");
        ssize_t received = recv(controller->socket, message, sizeof *message, MSG_DONTWAIT);
        if (!guard_message_check(message, received))
            return guard_is_gone(controller);
        if (message->kind == GUARD_DIED)
            note_death(controller, message);
        if (message->kind == (uint32_t)kind && message->serial == serial)
            break;
    }
    if (message->status != STATUS_OK)
        return status_set((enum status)message->status, "%s", message->text);
    return STATUS_OK;
}

/* Sends what the message asks for, and leaves the answer in it. */
static enum status request(struct mps_controller *controller, struct guard_message *message)
{
    enum guard_kind kind = (enum guard_kind)message->kind;
    uint32_t serial = ++controller->serial;
    message->magic = GUARD_MAGIC;
    message->serial = serial;
    if (send(controller->socket, message, sizeof *message, MSG_NOSIGNAL) < 0)
        return guard_is_gone(controller);
    enum status status = receive(controller, kind, serial, message);
    if (status == STATUS_OK)
        controller->daemon = message->pid;
    return status;
}

static enum status spawn_guard(struct mps_controller *controller, int guard_socket)
{
    char socket_text[16];
    const char *directory = controller->options.directory;
    const char *const argv[] = {controller->options.guard_program,
                                "--socket",
                                socket_text,
                                "--control",
                                controller->options.control_program,
                                directory ? "--directory" : NULL,
                                directory,
                                NULL};
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
    controller->guard_pidfd = controller->socket = controller->interrupt = -1;
    enum status status;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        status = status_set(STATUS_SYSTEM, "cannot make a socket pair: %s", strerror(errno));
        goto failed;
    }
    controller->socket = sockets[0];
    controller->directory_was_there = options->directory && access(options->directory, F_OK) == 0;
    status = spawn_guard(controller, sockets[1]);
    close(sockets[1]);
    if (status == STATUS_OK)
        status = receive(controller, GUARD_HELLO, 0, &hello);
    if (status != STATUS_OK)
        goto failed;
    if (snprintf(controller->directory, sizeof controller->directory, "%s", hello.text) >=
        (int)sizeof controller->directory) {
        status = status_set(STATUS_PROTOCOL, "the MPS guard's directory has too long a name");
        goto failed;
    }
    snprintf(controller->own_pipe_directory, sizeof controller->own_pipe_directory, "%s/mps",
             controller->directory);
    controller->control = (struct mps_control){
        .program = options->control_program,
        .pipe_directory = options->external ? options->external : controller->own_pipe_directory};
    snprintf(controller->off_directory, sizeof controller->off_directory, "%s/off",
             controller->directory);
    *out = controller;
    return STATUS_OK;
failed:
    mps_controller_free(controller);
    return status;
}

/* What a guard left that could not end by itself; one that could has left it for a reason, and what
 * has its name now may belong to another user. */
static enum status clear_after_guard(const struct mps_controller *controller, int wait_status)
{
    struct mps_directory directory;
    if (!WIFSIGNALED(wait_status))
        return status_set(STATUS_SYSTEM, "the MPS guard could not remove '%s'",
                          controller->directory);
    uint64_t deadline_ns = clock_now_ns() + COMMAND_NS;
    enum status status = mps_directory_adopt(controller->directory, &directory);
    /* A child of the guard that has not come to its program yet holds the lock until it has ended
     * with it. */
    while (status == STATUS_BUSY && clock_now_ns() < deadline_ns) {
        clock_sleep_until(clock_now_ns() + 10 * NS_PER_MS);
        status = mps_directory_adopt(controller->directory, &directory);
    }
    if (status == STATUS_OK) {
        directory.was_there = controller->directory_was_there;
        return mps_directory_remove(&directory);
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status mps_controller_free(struct mps_controller *controller)
{
    enum status status = STATUS_OK;
    struct status_saved earlier;
    int wait_status;
    if (!controller)
        return STATUS_OK;
    status_save(STATUS_OK, &earlier);
    /* The end of the socket is the request to clean up and go. */
    if (controller->socket >= 0)
        close(controller->socket);
    if (controller->guard && !controller->detached) {
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
            status = clear_after_guard(controller, wait_status);
    }
    if (controller->guard_pidfd >= 0)
        close(controller->guard_pidfd);
    free(controller);
    /* Cleaning up must not replace the text of the error that led here. */
    return status == STATUS_OK ? status_restore(&earlier) : status;
}

void mps_controller_set_interrupt(struct mps_controller *controller, int fd)
{
    controller->interrupt = fd;
}

/* The daemon's first partition. */
static enum status find_partition(struct mps_controller *controller, struct mps_partition_row *out)
{
    struct mps_partition_row rows[MPS_SETTINGS_PARTITIONS];
    size_t count;
    enum status status = mps_control_partitions(&controller->control, clock_now_ns() + COMMAND_NS,
                                                rows, MPS_SETTINGS_PARTITIONS, &count);
    if (status == STATUS_OK && count == 0)
        status = status_set(STATUS_PROTOCOL, "the MPS daemon lists none of its partitions");
    if (status == STATUS_OK)
        *out = rows[0];
    return status;
}

static enum status run_probe(struct mps_controller *controller, const char *gpu,
                             const struct mps_settings *settings)
{
    struct mps_partition_row partition;
    char uuid[sizeof partition.name];
    struct mps_probe_options options = {
        .program = controller->options.probe_program,
        .driver = controller->options.probe_driver,
        .pipe_directory = controller->control.pipe_directory,
        .gpu = gpu,
        .interrupt = &controller->interrupt,
    };
    enum status status = STATUS_OK;
    if (settings->partitions > 0) {
        status = find_partition(controller, &partition);
        if (status != STATUS_OK)
            return status;
        /* The probe sees the partition's GPU only. */
        snprintf(uuid, sizeof uuid, "%.*s", (int)strcspn(partition.name, "/"), partition.name);
        options.gpu = uuid;
        options.partition = partition.name;
    }
    status = mps_probe_run(&options, clock_now_ns() + PROBE_NS, &controller->probe);
    return status == STATUS_OK ? mps_probe_check(&controller->probe, settings) : status;
}

static enum status start_own(struct mps_controller *controller, const char *gpu,
                             const struct mps_settings *settings)
{
    struct guard_message message = {.kind = GUARD_START, .settings = *settings};
    if (controller->daemon)
        return STATUS_OK;
    controller->death[0] = '\0';
    if (gpu && snprintf(message.text, sizeof message.text, "%s", gpu) >= (int)sizeof message.text)
        return status_set(STATUS_USAGE, "'%.64s...' is too long for a GPU", gpu);
    enum status status = request(controller, &message);
    if (status == STATUS_OK)
        status = run_probe(controller, gpu, settings);
    if (status == STATUS_OK || !controller->daemon)
        return status;
    struct status_saved saved;
    status_save(status, &saved);
    mps_controller_daemon_stop(controller);
    return status_restore(&saved);
}

/* A foreign daemon: looked at, never ordered. */
static enum status check_external(struct mps_controller *controller, const char *gpu,
                                  const struct mps_settings *settings)
{
    bool faulty = false;
    uint64_t deadline_ns = clock_now_ns() + FAULT_NS;
    if (controller->external_ready)
        return STATUS_OK;
    enum status status =
        mps_control_is_faulty(&controller->control, clock_now_ns() + COMMAND_NS, &faulty);
    /* Of a client of ours that has just ended, it may be about to recover. */
    while (status == STATUS_OK && faulty && clock_now_ns() < deadline_ns) {
        struct pollfd interrupt = {.fd = controller->interrupt, .events = POLLIN};
        if (poll(&interrupt, 1, LOOK_MS) > 0)
            return status_set(STATUS_INTERRUPTED, "interrupted");
        status = mps_control_is_faulty(&controller->control, clock_now_ns() + COMMAND_NS, &faulty);
    }
    if (status == STATUS_OK && faulty)
        status = status_set(STATUS_UNSUPPORTED,
                            "its server is in state FAULT: every client of it must end first");
    if (status == STATUS_OK)
        status = run_probe(controller, gpu, settings);
    if (status != STATUS_OK)
        return status_prefix(status,
                             "the MPS daemon of '%s': ", controller->control.pipe_directory);
    controller->external_ready = true;
    return STATUS_OK;
}

enum status mps_controller_daemon_start(struct mps_controller *controller, const char *gpu,
                                        const struct mps_settings *settings)
{
    struct mps_settings none;
    mps_settings_init(&none);
    if (controller->options.external)
        return check_external(controller, gpu, &none);
    return start_own(controller, gpu, settings ? settings : &none);
}

enum status mps_controller_check(struct mps_controller *controller)
{
    struct guard_message message;
    ssize_t received;
    while ((received = recv(controller->socket, &message, sizeof message, MSG_DONTWAIT)) > 0)
        if (guard_message_check(&message, received) && message.kind == GUARD_DIED)
            note_death(controller, &message);
    if (*controller->death)
        return status_set(STATUS_SYSTEM, "%s", controller->death);
    /* The daemon goes with it. */
    return received == 0 ? guard_is_gone(controller) : STATUS_OK;
}

enum status mps_controller_daemon_stop(struct mps_controller *controller)
{
    struct guard_message message = {.kind = GUARD_STOP};
    controller->external_ready = false;
    return controller->daemon ? request(controller, &message) : STATUS_OK;
}

enum status mps_controller_detach(struct mps_controller *controller, pid_t until)
{
    struct guard_message message = {.kind = GUARD_DETACH, .pid = (int32_t)until};
    /* The answer comes at once. Without it, it is unknown which side must end the guard. */
    int interrupt = controller->interrupt;
    controller->interrupt = -1;
    enum status status = request(controller, &message);
    controller->interrupt = interrupt;
    controller->detached |= status == STATUS_OK;
    return status;
}

enum status mps_controller_terminate_client(struct mps_controller *controller, pid_t client)
{
    return mps_control_terminate_client(&controller->control, clock_now_ns() + COMMAND_NS, client);
}

/* The end of the log of our own daemon; release it with free(). */
static enum status read_log(const struct mps_controller *controller, char **out, size_t *bytes)
{
    char path[MPS_DIRECTORY_MOST + 32];
    struct stat info;
    if (controller->options.external)
        return status_set(STATUS_NOT_FOUND, "the log of an external MPS daemon is not known");
    snprintf(path, sizeof path, "%s/log/output", controller->directory);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *text = NULL;
    ssize_t length = 0;
    enum status status = STATUS_OK;
    if (fd < 0 || fstat(fd, &info) != 0)
        status = status_set(STATUS_NOT_FOUND, "cannot read '%s': %s", path, strerror(errno));
    else if (!(text = malloc(LOG_MOST)))
        status = status_set(STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        off_t from = info.st_size > (off_t)LOG_MOST ? info.st_size - (off_t)LOG_MOST : 0;
        length = pread(fd, text, LOG_MOST, from);
        if (length < 0)
            status = status_set(STATUS_SYSTEM, "cannot read '%s': %s", path, strerror(errno));
    }
    if (status == STATUS_OK) {
        *bytes = (size_t)length;
        *out = text;
    } else {
        free(text);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

enum status mps_controller_last_fault(struct mps_controller *controller, struct mps_fault *out)
{
    char *log = NULL;
    size_t bytes;
    enum status status = read_log(controller, &log, &bytes);
    if (status == STATUS_OK)
        status = mps_log_fault(log, bytes, out);
    free(log);
    return status;
}

enum status mps_controller_past_clients(struct mps_controller *controller, pid_t *clients,
                                        size_t capacity, size_t *count)
{
    char *log = NULL;
    size_t bytes;
    enum status status = read_log(controller, &log, &bytes);
    if (status == STATUS_OK)
        status = mps_log_clients(log, bytes, clients, capacity, count);
    free(log);
    return status;
}
