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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/text.h"
#include "mps/control.h"
#include "mps/directory.h"

#define READY_NS (15 * NS_PER_S)
#define COMMAND_NS (5 * NS_PER_S)
#define QUIT_NS (12 * NS_PER_S)
#define GRACE_NS (3 * NS_PER_S)
/* Orphaned workers need up to three seconds to end by themselves; give them twice that. */
#define CLIENTS_NS (6 * NS_PER_S)

struct guard {
    int socket;
    const char *control_program;
    struct mps_directory directory;
    char pipe_directory[MPS_DIRECTORY_MOST + 8];
    pid_t daemon; /* 0: none */
    int daemon_pidfd;
};

static struct mps_control control_of(const struct guard *guard)
{
    return (struct mps_control){.program = guard->control_program,
                                .pipe_directory = guard->pipe_directory};
}

static void answer(const struct guard *guard, enum guard_kind kind, enum status status)
{
    struct guard_message message = {
        .kind = kind, .status = (int32_t)status, .pid = (int32_t)guard->daemon};
    const char *text = kind == GUARD_HELLO && status == STATUS_OK ? guard->directory.path
                       : status == STATUS_OK                      ? ""
                                                                  : status_text();
    snprintf(message.text, sizeof message.text, "%s", text);
    /* A failure means that the orchestrator is gone, which the next poll tells. */
    if (send(guard->socket, &message, sizeof message, MSG_NOSIGNAL) < 0)
        return;
}

/* Forgets a daemon that has ended. */
static void drop_daemon(struct guard *guard)
{
    if (guard->daemon_pidfd >= 0)
        close(guard->daemon_pidfd);
    guard->daemon_pidfd = -1;
    guard->daemon = 0;
}

static bool daemon_ended(struct guard *guard)
{
    int wait_status;
    if (!guard->daemon)
        return true;
    if (child_wait(guard->daemon, guard->daemon_pidfd, clock_now_ns(), &wait_status) != STATUS_OK)
        return false;
    drop_daemon(guard);
    return true;
}

/* The last words of a daemon that did not come up. */
static void read_output(const struct guard *guard, char *text, size_t size)
{
    char path[MPS_DIRECTORY_MOST + 32];
    snprintf(path, sizeof path, "%s/log/output", guard->directory.path);
    FILE *file = fopen(path, "re");
    text[0] = '\0';
    if (!file)
        return;
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = '\0';
    text_printable(text, strcspn(text, "\n"), text, size);
}

static enum status wait_ready(struct guard *guard)
{
    const struct mps_control control = control_of(guard);
    uint64_t deadline_ns = clock_now_ns() + READY_NS;
    for (;;) {
        if (daemon_ended(guard)) {
            char said[200];
            read_output(guard, said, sizeof said);
            return status_set(STATUS_SYSTEM, "the MPS control daemon ended at its start%s%s",
                              *said ? ": " : "", said);
        }
        pid_t servers[64];
        size_t count;
        uint64_t now = clock_now_ns();
        uint64_t limit = now + COMMAND_NS < deadline_ns ? now + COMMAND_NS : deadline_ns;
        enum status status = mps_control_servers(&control, limit, servers, 64, &count);
        if (status == STATUS_OK || status == STATUS_PROTOCOL || status == STATUS_UNSUPPORTED)
            return status;
        if (clock_now_ns() >= deadline_ns)
            return status_set(STATUS_TIMEOUT, "the MPS control daemon did not answer within %d s",
                              (int)(READY_NS / NS_PER_S));
        struct pollfd end = {.fd = guard->daemon_pidfd, .events = POLLIN};
        poll(&end, 1, 5);
    }
}

static enum status end_daemon(struct guard *guard);

/* gpu: UUID, or "" for all. */
static enum status start_daemon(struct guard *guard, const char *gpu)
{
    char pipe_text[MPS_ENVIRONMENT_TEXT], log_text[MPS_ENVIRONMENT_TEXT];
    char gpu_text[MPS_ENVIRONMENT_TEXT], output_path[MPS_DIRECTORY_MOST + 32];
    const char *inherited[64];
    const char *const argv[] = {guard->control_program, "-f", NULL};
    const char *const set[] = {pipe_text, log_text, *gpu ? gpu_text : NULL, NULL};
    if (guard->daemon)
        return STATUS_OK;
    snprintf(pipe_text, sizeof pipe_text, "CUDA_MPS_PIPE_DIRECTORY=%s", guard->pipe_directory);
    snprintf(log_text, sizeof log_text, "CUDA_MPS_LOG_DIRECTORY=%s/log", guard->directory.path);
    if (snprintf(gpu_text, sizeof gpu_text, "CUDA_VISIBLE_DEVICES=%s", gpu) >= (int)sizeof gpu_text)
        return status_set(STATUS_USAGE, "'%s' is too long for a GPU's name", gpu);
    snprintf(output_path, sizeof output_path, "%s/log/output", guard->directory.path);
    mps_environment_inherited(inherited, sizeof inherited / sizeof inherited[0]);
    char **environment = child_environment_new(set, inherited);
    int output = open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    enum status status = STATUS_OK;
    if (!environment || output < 0)
        status = status_set(STATUS_SYSTEM, "cannot prepare the MPS daemon: %s", strerror(errno));
    if (status == STATUS_OK) {
        const struct child_spawn_options options = {
            .argv = argv,
            .environment = environment,
            .stdin_fd = -1,
            .stdout_fd = output,
            .stderr_fd = output,
            .new_process_group = true,
            .ignore_interrupts = true,
            .parent_death_signal = SIGTERM,
        };
        status = child_spawn(&options, &guard->daemon, &guard->daemon_pidfd);
        if (status == STATUS_NOT_FOUND)
            status = status_set(STATUS_NOT_FOUND,
                                "no '%s' on PATH: MPS comes with the NVIDIA driver (Debian and "
                                "Ubuntu: nvidia-cuda-mps, or nvidia-compute-utils)",
                                guard->control_program);
    }
    free(environment);
    if (output >= 0)
        close(output);
    if (status != STATUS_OK)
        return status;
    status = wait_ready(guard);
    if (status != STATUS_OK) {
        char text[512];
        snprintf(text, sizeof text, "%s", status_text());
        end_daemon(guard);
        return status_set(status, "%s", text);
    }
    return STATUS_OK;
}

/* Reaps until no child is left, or the deadline passes: then false. The daemon's server, orphaned
 * by it, becomes our child: see main(). */
static bool reap_all(uint64_t deadline_ns)
{
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return true;
        if (pid > 0)
            continue;
        if (clock_now_ns() >= deadline_ns)
            return false;
        clock_sleep_until(clock_now_ns() + 5 * NS_PER_MS);
    }
}

/* Some child of this process, 0 if there is none. */
static pid_t any_child(void)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    return (pid_t)strtol(text, NULL, 10);
}

/* What the daemon left running is ours to end. */
static enum status end_orphans(void)
{
    if (reap_all(clock_now_ns() + GRACE_NS))
        return STATUS_OK;
    pid_t child;
    uint64_t deadline_ns = clock_now_ns() + GRACE_NS;
    while ((child = any_child()) > 0 && clock_now_ns() < deadline_ns) {
        kill(child, SIGKILL);
        reap_all(clock_now_ns() + 20 * NS_PER_MS);
    }
    if (reap_all(clock_now_ns()))
        return STATUS_OK;
    return status_set(STATUS_TIMEOUT, "cannot end process %d, which the MPS daemon left",
                      (int)any_child());
}

static void wait_for_clients(const struct guard *guard)
{
    const struct mps_control control = control_of(guard);
    uint64_t deadline_ns = clock_now_ns() + CLIENTS_NS;
    pid_t clients[4096];
    size_t count = 1;
    while (clock_now_ns() < deadline_ns) {
        if (mps_control_clients(&control, deadline_ns, clients, 4096, &count) != STATUS_OK ||
            count == 0)
            return;
        clock_sleep_until(clock_now_ns() + 20 * NS_PER_MS);
    }
}

static enum status end_daemon(struct guard *guard)
{
    if (!guard->daemon)
        return end_orphans();
    const struct mps_control control = control_of(guard);
    uint64_t deadline_ns = clock_now_ns() + QUIT_NS;
    struct child_result reply;
    int wait_status;
    if (mps_control_command(&control, "quit -t 5", deadline_ns, &reply) == STATUS_OK) {
        child_result_release(&reply);
        if (child_wait(guard->daemon, guard->daemon_pidfd, deadline_ns, &wait_status) == STATUS_OK)
            guard->daemon = 0;
    }
    if (guard->daemon) {
        enum status status =
            child_end(guard->daemon, guard->daemon_pidfd, true, GRACE_NS, &wait_status);
        if (status != STATUS_OK)
            return status_prefix(status, "the MPS control daemon: ");
    }
    drop_daemon(guard);
    return end_orphans();
}

/* False when the orchestrator is gone. */
static bool serve_request(struct guard *guard)
{
    struct guard_message request;
    ssize_t received = recv(guard->socket, &request, sizeof request, 0);
    if (received < 0 && errno == EINTR)
        return true;
    if (received <= 0)
        return false;
    if (received != (ssize_t)sizeof request)
        return true;
    switch (request.kind) {
    case GUARD_START:
        request.text[sizeof request.text - 1] = '\0';
        answer(guard, GUARD_START, start_daemon(guard, request.text));
        break;
    case GUARD_STOP:
        answer(guard, GUARD_STOP, end_daemon(guard));
        break;
    default:
        answer(guard, (enum guard_kind)request.kind,
               status_set(STATUS_PROTOCOL, "the guard does not know request %u", request.kind));
        break;
    }
    return true;
}

static void serve(struct guard *guard)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = guard->socket, .events = POLLIN},
                                {.fd = guard->daemon_pidfd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (fds[1].revents && daemon_ended(guard))
            answer(guard, GUARD_DIED,
                   status_set(STATUS_SYSTEM, "the MPS control daemon ended by itself"));
        if (fds[0].revents && !serve_request(guard))
            return;
    }
}

/* Not SIG_IGN, which the daemon would inherit and then be deaf to SIGTERM, as its server. */
static void pass_over(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    struct guard guard = {.socket = -1, .daemon_pidfd = -1, .directory.lock_fd = -1};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--socket") == 0)
            guard.socket = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--control") == 0)
            guard.control_program = argv[i + 1];
    }
    if (guard.socket < 3 || !guard.control_program) {
        fputs("mpsweep-guard: started by mpsweep, not by hand\n", stderr);
        return 64;
    }
    fcntl(guard.socket, F_SETFD, FD_CLOEXEC);
    /* A polite end is asked for by closing the socket; a terminal's or a service manager's signal
     * to everybody must not end the one that cleans up. */
    const struct sigaction outlive = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &outlive, NULL);
    sigaction(SIGTERM, &outlive, NULL);
    sigaction(SIGHUP, &outlive, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    enum status status = mps_directory_make(&guard.directory);
    snprintf(guard.pipe_directory, sizeof guard.pipe_directory, "%s/mps", guard.directory.path);
    answer(&guard, GUARD_HELLO, status);
    if (status != STATUS_OK)
        return 1;
    serve(&guard);
    if (guard.daemon)
        wait_for_clients(&guard);
    /* With a process that cannot be ended, its directory stays for whoever looks into it. */
    if (end_daemon(&guard) != STATUS_OK)
        return GUARD_EXIT_UNENDED;
    return mps_directory_remove(&guard.directory) == STATUS_OK ? 0 : 1;
}
