#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "orchestrator/console/report.h"
#include "orchestrator/mps/internal.h"

#define CLIENTS_MOST 4096

static int failed(void)
{
    report(STATUS_SYSTEM);
    return MPS_RUN_FAILED;
}

/* Passes on a signal that a user sent to us; those of the terminal reach the command anyway. */
static void hand_on(int signal_fd, pid_t child)
{
    struct signalfd_siginfo info;
    if (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_code != SI_KERNEL)
        kill(child, (int)info.ssi_signo);
}

/* Starts the command with the limits and signals that the user had. */
static enum status spawn_unchanged(const struct child_spawn_options *spawn,
                                   const struct rlimit *files, pid_t *child, int *pidfd)
{
    setrlimit(RLIMIT_NOFILE, files);
    signal(SIGXFSZ, SIG_DFL);
    enum status status = child_spawn(spawn, child, pidfd);
    signal(SIGXFSZ, SIG_IGN);
    return status;
}

static enum status run_child(const struct session *session, const struct options *options,
                             const struct rlimit *files, char *const *argv, int *wait_status,
                             pid_t *child)
{
    struct mps_environment variables;
    int pidfd = -1;
    enum status status = mps_command_environment(mps_command_daemon(session)->directory,
                                                 mps_command_gpu(options, session), &variables);
    if (status != STATUS_OK)
        return status;
    char **environment = child_environment_new(variables.set, variables.unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory");
    const struct child_spawn_options spawn = {
        .argv = (const char *const *)argv,
        .environment = environment,
        .stdin_fd = STDIN_FILENO,
        .stdout_fd = STDOUT_FILENO,
        .stderr_fd = STDERR_FILENO,
        .parent_death_signal = SIGTERM,
    };
    status = spawn_unchanged(&spawn, files, child, &pidfd);
    free(environment);
    if (status != STATUS_OK)
        return status;
    for (;;) {
        struct pollfd fds[2] = {{.fd = pidfd, .events = POLLIN},
                                {.fd = session->signal_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            status =
                status_set(STATUS_SYSTEM, "cannot wait for '%s': %s", argv[0], strerror(errno));
            break;
        }
        if (fds[1].revents)
            hand_on(session->signal_fd, *child);
        if (fds[0].revents) {
            status = child_wait(*child, pidfd, clock_now_ns(), wait_status);
            break;
        }
    }
    close(pidfd);
    return status;
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* Prints which processes were clients, by the daemon's own log, without those before the command.
 */
static void print_proof(const struct session *session, pid_t child, const pid_t *before,
                        size_t before_count)
{
    static pid_t now[CLIENTS_MOST];
    size_t count = 0, seen = 0;
    if (mps_controller_past_clients(mps_command_daemon(session), now, CLIENTS_MOST, &count) !=
        STATUS_OK) {
        fprintf(stderr, "mpsweep: cannot list the MPS clients: %s\n", status_text());
        return;
    }
    for (size_t i = 0; i < count; i++)
        seen += !is_among(now[i], before, before_count);
    if (seen == 0) {
        fputs("mpsweep: warning: no process of the command was an MPS client: it used no GPU, or "
              "looked for a daemon elsewhere\n",
              stderr);
        return;
    }
    fprintf(stderr, "mpsweep: %zu process%s of the command ran over MPS:", seen,
            seen == 1 ? "" : "es");
    for (size_t i = 0; i < count; i++)
        if (!is_among(now[i], before, before_count))
            fprintf(stderr, " %d%s", (int)now[i], now[i] == child ? " (the command itself)" : "");
    fputc('\n', stderr);
}

/* Warns of processes that the command left on the GPU: they end with the daemon. */
static void warn_of_rest(const struct session *session)
{
    pid_t clients[ASK_CLIENTS];
    size_t count = 0;
    if (mps_control_clients(&mps_command_daemon(session)->control, clock_now_ns() + ASK_NS, clients,
                            ASK_CLIENTS, &count) != STATUS_OK ||
        count == 0)
        return;
    fprintf(stderr,
            "mpsweep: warning: the command has ended, but left %zu MPS client%s, terminated "
            "now:",
            count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %d", (int)clients[i]);
    fputc('\n', stderr);
}

int mps_command_run(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    char *const *argv = invocation->rest;
    static pid_t before[CLIENTS_MOST];
    struct session session;
    size_t before_count = 0;
    int wait_status = 0;
    pid_t child = 0;
    struct rlimit files = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(RLIMIT_NOFILE, &files);
    enum status status = mps_command_open(options, &session);
    if (status == STATUS_INTERRUPTED)
        fprintf(stderr, "mpsweep: interrupted before the command began\n");
    if (status != STATUS_OK)
        return status == STATUS_INTERRUPTED ? MPS_RUN_FAILED : failed();
    if (mps_controller_past_clients(mps_command_daemon(&session), before, CLIENTS_MOST,
                                    &before_count) != STATUS_OK)
        before_count = 0;
    status = run_child(&session, options, &files, argv, &wait_status, &child);
    int result;
    if (status != STATUS_OK && !child)
        result = status == STATUS_NOT_FOUND ? MPS_RUN_NOT_FOUND : MPS_RUN_NOT_RUN;
    else if (status != STATUS_OK)
        result = MPS_RUN_FAILED;
    else
        result = WIFSIGNALED(wait_status) ? MPS_RUN_SIGNALLED + WTERMSIG(wait_status)
                                          : WEXITSTATUS(wait_status);
    if (status != STATUS_OK) {
        failed();
    } else {
        mps_controller_set_interrupt(mps_command_daemon(&session), -1);
        warn_of_rest(&session);
        if (!options_switch(options, OPTION_QUIET))
            print_proof(&session, child, before, before_count);
        if (mps_controller_check(mps_command_daemon(&session)) != STATUS_OK)
            fprintf(stderr, "mpsweep: warning: %s, while the command ran\n", status_text());
        /* session_close() reports what is left of it. */
        if (mps_controller_daemon_stop(mps_command_daemon(&session)) != STATUS_OK)
            fprintf(stderr, "mpsweep: warning: %s\n", status_text());
    }
    if (session_close(&session) != STATUS_OK)
        result = failed();
    return result;
}
