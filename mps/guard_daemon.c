#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/process_tree.h"
#include "common/text.h"
#include "mps/directory.h"
#include "mps/guard.h"

#define READY_NS (15 * NS_PER_S)
#define COMMAND_NS (5 * NS_PER_S)
/* For one that mpsweep has left behind: nothing of it stays for more than five seconds. */
#define ANSWER_NS (2 * NS_PER_S)
#define LISTENING_NS (50 * NS_PER_MS)
/* Between two questions at first, and at most. */
#define READY_PAUSE_MS 5
#define CLIENTS_PAUSE_MS 20
#define PAUSE_MOST_MS 160
#define TERMINATE_NS (3 * NS_PER_S)
#define QUIT_NS (5 * NS_PER_S)
#define GRACE_NS (3 * NS_PER_S)
#define CLIENTS_MOST 4096

/* Forgets a daemon that has ended. */
static void drop(struct guard_daemon *daemon)
{
    if (daemon->pidfd >= 0)
        close(daemon->pidfd);
    daemon->pidfd = -1;
    daemon->pid = 0;
}

bool guard_daemon_has_ended(struct guard_daemon *daemon)
{
    int wait_status;
    if (!daemon->pid)
        return true;
    if (child_wait(daemon->pid, daemon->pidfd, clock_now_ns(), &wait_status) != STATUS_OK)
        return false;
    child_ending_text(wait_status, daemon->ending, sizeof daemon->ending);
    drop(daemon);
    return true;
}

/* Reads the last line that a daemon printed before it ended, without the prefix of its log. */
static void read_output(const struct guard_daemon *daemon, char *text, size_t size)
{
    char path[128], line[256];
    snprintf(path, sizeof path, "%s/log/output", daemon->directory);
    FILE *file = fopen(path, "re");
    text[0] = '\0';
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *words = line;
        /* "[2026-11-21 06:14:28.968 Control   439] An instance of this daemon is already running"
         */
        if (line[0] == '[' && strchr(line, ']'))
            words = strchr(line, ']') + 1;
        words += strspn(words, " ");
        if (*words)
            text_printable(words, strlen(words), text, size);
    }
    if (file)
        fclose(file);
}

static bool peer_is_gone(const struct guard_daemon *daemon)
{
    struct pollfd peer = {.fd = daemon->peer, .events = POLLRDHUP};
    return daemon->peer >= 0 && poll(&peer, 1, 0) > 0 &&
           (peer.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static uint64_t sooner(uint64_t limit_ns, uint64_t deadline_ns)
{
    uint64_t limit = clock_now_ns() + limit_ns;
    return limit < deadline_ns ? limit : deadline_ns;
}

/* Waits until the daemon ends or its requester goes. False: ms passed without either. */
static bool wait_event(const struct guard_daemon *daemon, int ms)
{
    struct pollfd fds[2] = {{.fd = daemon->pidfd, .events = POLLIN},
                            {.fd = daemon->peer, .events = POLLRDHUP}};
    return poll(fds, 2, ms) > 0;
}

/* Until the daemon has its socket, or may have one of another name: asking takes a process each
 * time. */
static void wait_listening(const struct guard_daemon *daemon)
{
    char path[sizeof daemon->pipe_directory + sizeof "/control"];
    snprintf(path, sizeof path, "%s/control", daemon->pipe_directory);
    uint64_t deadline_ns = clock_now_ns() + LISTENING_NS;
    while (access(path, F_OK) != 0 && clock_now_ns() < deadline_ns && !wait_event(daemon, 1))
        ;
}

/* A question starts processes: the longer the answer is awaited, the less often it is asked. */
static int longer(int pause_ms)
{
    return pause_ms < PAUSE_MOST_MS ? 2 * pause_ms : pause_ms;
}

static enum status wait_ready(struct guard_daemon *daemon, const struct mps_settings *settings)
{
    uint64_t deadline_ns = clock_now_ns() + READY_NS;
    wait_listening(daemon);
    for (int pause_ms = READY_PAUSE_MS;; pause_ms = longer(pause_ms)) {
        if (guard_daemon_has_ended(daemon)) {
            char output[200];
            read_output(daemon, output, sizeof output);
            return status_set(STATUS_SYSTEM, "the MPS control daemon ended at its start%s%s",
                              *output ? ": " : "", output);
        }
        if (peer_is_gone(daemon))
            return status_set(STATUS_INTERRUPTED, "interrupted");
        pid_t servers[64];
        size_t count;
        enum status status = mps_control_servers(&daemon->control, sooner(COMMAND_NS, deadline_ns),
                                                 servers, 64, &count);
        if (status == STATUS_OK)
            return mps_settings_apply(settings, &daemon->control, deadline_ns);
        /* The control program could not be run, or is not understood: another try ends so, too. */
        if (status == STATUS_SYSTEM || status == STATUS_PROTOCOL || status == STATUS_UNSUPPORTED)
            return status;
        if (clock_now_ns() >= deadline_ns)
            return status_set(STATUS_TIMEOUT, "the MPS control daemon did not answer within %d s",
                              (int)(READY_NS / NS_PER_S));
        wait_event(daemon, pause_ms);
    }
}

static enum status spawn(struct guard_daemon *daemon, const char *gpu, bool partitioned)
{
    char log_directory[MPS_ENVIRONMENT_TEXT], output_path[128];
    struct mps_environment variables;
    /* Protocol 2 is what these options and replies are: newer ones are asked for by an option or
     * by a variable, of which the first is not given and the second taken out. */
    const char *const argv[] = {daemon->control.program, "-f", partitioned ? "-S" : NULL, NULL};
    snprintf(log_directory, sizeof log_directory, "%s/log", daemon->directory);
    if (!mps_environment_make(daemon->control.pipe_directory, log_directory, gpu, &variables))
        return status_set(STATUS_USAGE, "'%s' is too long for a GPU's name", gpu);
    snprintf(output_path, sizeof output_path, "%s/log/output", daemon->directory);
    char **environment = child_environment_new(variables.set, variables.unset);
    int output =
        open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
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
        pid_t pid;
        status = child_spawn(&options, &pid, &daemon->pidfd);
        if (status == STATUS_OK)
            daemon->pid = (int)pid;
        if (status == STATUS_NOT_FOUND)
            status = status_set(STATUS_NOT_FOUND,
                                "no '%s' on PATH: MPS comes with the NVIDIA driver (Debian and "
                                "Ubuntu: nvidia-cuda-mps, or nvidia-compute-utils)",
                                daemon->control.program);
    }
    free(environment);
    if (output >= 0)
        close(output);
    return status;
}

enum status guard_daemon_start(struct guard_daemon *daemon, const char *gpu,
                               const struct mps_settings *settings)
{
    if (daemon->pid)
        return STATUS_OK;
    daemon->ending[0] = '\0';
    bool partitioned = settings->partitions > 0;
    enum status status =
        partitioned ? mps_control_need_partitions(&daemon->control, clock_now_ns() + COMMAND_NS)
                    : STATUS_OK;
    if (status == STATUS_OK)
        status = spawn(daemon, gpu, partitioned);
    if (status == STATUS_OK)
        status = wait_ready(daemon, settings);
    if (status != STATUS_OK) {
        struct status_saved saved;
        status_save(status, &saved);
        guard_daemon_end(daemon, 0);
        return status_restore(&saved);
    }
    return STATUS_OK;
}

/* Reaps until no child is left, or the deadline passes: then false. The daemon's server, orphaned
 * by it, becomes our child, since the guard is a subreaper. */
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

/* What the daemon left running is ours to end. */
static enum status end_orphans(void)
{
    if (reap_all(clock_now_ns() + GRACE_NS))
        return STATUS_OK;
    uint64_t deadline_ns = clock_now_ns() + GRACE_NS;
    size_t left;
    do {
        left = process_tree_signal(getpid(), SIGKILL);
        if (reap_all(clock_now_ns() + 20 * NS_PER_MS))
            return STATUS_OK;
    } while (clock_now_ns() < deadline_ns);
    return status_set(STATUS_TIMEOUT, "cannot end %zu processes that the MPS daemon left", left);
}

enum status guard_daemon_count_clients(const struct guard_daemon *daemon, uint64_t deadline_ns,
                                       size_t *count)
{
    pid_t clients[CLIENTS_MOST];
    *count = 0;
    return daemon->pid
               ? mps_control_clients(&daemon->control, deadline_ns, clients, CLIENTS_MOST, count)
               : STATUS_OK;
}

/* Clients get their time to end by themselves. Then there is an orderly way to take them from the
 * GPU: with work in flight, quitting would wait for it. Returns whether the daemon answers. */
static bool clear_clients(const struct guard_daemon *daemon, uint64_t patience_ns)
{
    pid_t clients[CLIENTS_MOST];
    size_t count;
    uint64_t answer_ns = patience_ns > 0 ? ANSWER_NS : COMMAND_NS;
    uint64_t patient_until_ns = clock_now_ns() + patience_ns, deadline_ns = 0;
    for (int pause_ms = CLIENTS_PAUSE_MS;; pause_ms = longer(pause_ms)) {
        if (mps_control_clients(&daemon->control, clock_now_ns() + answer_ns, clients, CLIENTS_MOST,
                                &count) != STATUS_OK)
            return false;
        uint64_t now_ns = clock_now_ns();
        if (count == 0 || (deadline_ns && now_ns >= deadline_ns))
            return true;
        if (!deadline_ns && now_ns >= patient_until_ns) {
            deadline_ns = now_ns + TERMINATE_NS;
            for (size_t i = 0; i < count && clock_now_ns() < deadline_ns; i++)
                mps_control_terminate_client(&daemon->control, sooner(COMMAND_NS, deadline_ns),
                                             clients[i]);
            continue;
        }
        clock_sleep_until(clock_now_ns() + (uint64_t)pause_ms * NS_PER_MS);
    }
}

enum status guard_daemon_end(struct guard_daemon *daemon, uint64_t patience_ns)
{
    if (guard_daemon_has_ended(daemon))
        return end_orphans();
    struct child_result reply;
    int wait_status;
    /* One that does not answer will not quit when asked to. */
    if (clear_clients(daemon, patience_ns)) {
        uint64_t deadline_ns = clock_now_ns() + QUIT_NS;
        if (mps_control_command(&daemon->control, deadline_ns, &reply, "quit -t 2") == STATUS_OK &&
            child_wait(daemon->pid, daemon->pidfd, deadline_ns, &wait_status) == STATUS_OK)
            drop(daemon);
        child_result_release(&reply);
    }
    if (daemon->pid) {
        enum status status = child_end(daemon->pid, daemon->pidfd, GRACE_NS, &wait_status);
        if (status != STATUS_OK)
            return status_prefix(status, "the MPS control daemon: ");
    }
    drop(daemon);
    return end_orphans();
}
