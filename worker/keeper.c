#include "worker/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/process_tree.h"

/* Between two rounds of killing, and how long a process may take that is stuck in the kernel. */
#define AGAIN_NS (10 * (long)NS_PER_MS)
#define KILL_NS (10 * NS_PER_S)

/* The supervisor's death. Each signal is blocked, since those to all descendants of the supervisor
 * mean the program. */
#define DEATH_SIGNAL SIGUSR2

#define REPORT_FD 3

/* The first message of a keeper: the start. Its second one is an int, the end of the program. */
struct start {
    pid_t program;
    struct status_saved saved;
};

/* Reports the end of the program; its reader may be gone. False: no child is left. */
static bool reap(pid_t program, int report)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        if (pid == program && write(report, &wait_status, sizeof wait_status) < 0)
            return true;
    return pid == 0;
}

static void keep(pid_t program, pid_t supervisor, int report)
{
    const struct timespec again = {.tv_nsec = AGAIN_NS};
    uint64_t until_ns = 0;
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, DEATH_SIGNAL);
    while (reap(program, report)) {
        bool orphan = getppid() != supervisor;
        if (orphan && until_ns == 0)
            until_ns = clock_now_ns() + KILL_NS;
        if (orphan && clock_now_ns() >= until_ns)
            return;
        if (orphan)
            process_tree_signal(getpid(), SIGKILL);
        sigtimedwait(&heard, NULL, orphan ? &again : NULL);
    }
}

static _Noreturn void live(const struct child_spawn_options *options, pid_t supervisor, int report)
{
    struct start start = {.program = 0};
    enum status status;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "keeper");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1UL) != 0 ||
        prctl(PR_SET_PDEATHSIG, (unsigned long)DEATH_SIGNAL) != 0)
        status = status_set(STATUS_SYSTEM, "cannot keep a program: %s", strerror(errno));
    else if (getppid() != supervisor)
        _exit(EXIT_FAILURE);
    else
        status = child_spawn(options, &start.program, NULL);
    status_save(status, &start.saved);
    /* What others wait for the end of must not be held open. */
    dup2(report, REPORT_FD);
    syscall(SYS_close_range, REPORT_FD + 1u, ~0u, 0u);
    if (write(REPORT_FD, &start, sizeof start) < 0)
        process_tree_signal(getpid(), SIGKILL);
    keep(start.program, supervisor, REPORT_FD);
    _exit(EXIT_SUCCESS);
}

enum status keeper_spawn(const struct child_spawn_options *options, struct keeper *out)
{
    int report[2];
    struct start start;
    ssize_t bytes;
    enum status status = STATUS_OK;
    pid_t supervisor = getpid();
    if (pipe2(report, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        live(options, supervisor, report[1]);
    if (pid < 0)
        status = status_set(STATUS_SYSTEM, "cannot start a process: %s", strerror(errno));
    close(report[1]);
    do
        bytes = read(report[0], &start, sizeof start);
    while (bytes < 0 && errno == EINTR);
    if (status == STATUS_OK && bytes != (ssize_t)sizeof start)
        status = status_set(STATUS_SYSTEM, "the keeper of the program has ended");
    else if (status == STATUS_OK)
        status = status_restore(&start.saved);
    if (status != STATUS_OK) {
        close(report[0]);
        return status;
    }
    *out = (struct keeper){.program = start.program, .fd = report[0]};
    return STATUS_OK;
}

bool keeper_read(const struct keeper *keeper, int *wait_status)
{
    struct pollfd fds = {.fd = keeper->fd, .events = POLLIN};
    return poll(&fds, 1, 0) > 0 &&
           read(keeper->fd, wait_status, sizeof *wait_status) == (ssize_t)sizeof *wait_status;
}
