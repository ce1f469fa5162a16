#include "common/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/descriptor.h"
#include "common/process.h"
#include "common/process_tree.h"

#define KILL_WAIT_NS (5 * NS_PER_S)

/* Between two looks at adopted children that were killed. */
#define AGAIN_NS (5 * NS_PER_MS)

enum step { STEP_REDIRECT, STEP_KEEP, STEP_SESSION, STEP_DEATH_SIGNAL, STEP_EXEC };

static const char *const step_names[] = {
    [STEP_REDIRECT] = "redirecting its input and output",
    [STEP_KEEP] = "handing on a descriptor",
    [STEP_SESSION] = "making its session",
    [STEP_DEATH_SIGNAL] = "asking for a parent-death signal",
    [STEP_EXEC] = "exec",
};

/* What a child reports before it gives up; written in one piece, shorter than PIPE_BUF. */
struct start_failure {
    enum step step;
    int error;
};

static int executable_error(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return errno;
    if (!S_ISREG(info.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* execvp() may allocate; the search is done before the fork instead. Returns an errno. */
static int find_program(const char *name, char path[PATH_MAX])
{
    int length;
    if (name[0] == '\0')
        return ENOENT;
    if (strchr(name, '/') != NULL) {
        length = snprintf(path, PATH_MAX, "%s", name);
        return length < PATH_MAX ? 0 : ENAMETOOLONG;
    }
    int found = ENOENT;
    const char *search = getenv("PATH");
    if (search == NULL)
        search = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t bytes = strcspn(search, ":");
        length = snprintf(path, PATH_MAX, "%.*s/%s", bytes > 0 ? (int)bytes : 1,
                          bytes > 0 ? search : ".", name);
        if (length < PATH_MAX) {
            int error = executable_error(path);
            if (error == 0)
                return 0;
            if (error == EACCES)
                found = EACCES;
        }
        if (search[bytes] == '\0')
            return found;
        search += bytes + 1;
    }
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static enum status start_error(const char *program, int error)
{
    struct stat info;
    enum status code = error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_SYSTEM;
    /* A name that is looked for on PATH may be that of a file in the working directory. */
    bool is_here = error == ENOENT && !strchr(program, '/') && is_file(program);
    if (is_here && access(program, X_OK) == 0)
        return status_set(code, "cannot run '%s': %s; did you mean './%s'?", program,
                          strerror(error), program);
    if (is_here)
        return status_set(code,
                          "cannot run '%s': the file of that name here is not executable: write "
                          "its interpreter before it",
                          program);
    bool refused = error == EACCES && strchr(program, '/') && stat(program, &info) == 0;
    if (refused && S_ISDIR(info.st_mode))
        return status_set(code, "cannot run '%s': it is a directory", program);
    if (refused && !(info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
        return status_set(code,
                          "cannot run '%s': it is not executable: 'chmod +x' makes it so, or write "
                          "its interpreter before it",
                          program);
    return status_set(code, "cannot run '%s': %s", program, strerror(error));
}

/* The kernel's error, which of a script may be about its interpreter. */
static enum status exec_error(const char *program, int error)
{
    if (error == ENOENT && is_file(program))
        return status_set(STATUS_SYSTEM,
                          "cannot run '%s': its interpreter is missing: look at its first line, "
                          "which may end as on Windows",
                          program);
    if (error == ENOEXEC)
        return status_set(STATUS_SYSTEM,
                          "cannot run '%s': %s: a script begins with #! and its interpreter",
                          program, strerror(error));
    return start_error(program, error);
}

enum status child_find_program(const char *name, char path[PATH_MAX])
{
    int error = find_program(name, path);
    if (error == 0 && strchr(name, '/') != NULL)
        error = executable_error(path);
    return error == 0 ? STATUS_OK : start_error(name, error);
}

/* From here to run_program(): between fork and exec, so async-signal-safe calls only. */

static void give_up(int report_fd, enum step step)
{
    struct start_failure failure = {.step = step, .error = errno};
    ssize_t written = write(report_fd, &failure, sizeof failure);
    (void)written;
    _exit(127);
}

static void reset_signals(bool ignore_interrupts)
{
    struct sigaction to_default = {.sa_handler = SIG_DFL};
    struct sigaction to_ignore = {.sa_handler = SIG_IGN};
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) != 0)
            continue;
        bool ours = now.sa_handler != SIG_IGN && now.sa_handler != SIG_DFL;
        if (ours || number == SIGPIPE || number == SIGCHLD)
            sigaction(number, &to_default, NULL);
    }
    if (ignore_interrupts) {
        sigaction(SIGINT, &to_ignore, NULL);
        sigaction(SIGQUIT, &to_ignore, NULL);
    }
}

static bool redirect(const struct child_spawn_options *options)
{
    /* All three are moved out of the way first: one may sit on another's number. */
    int from[3] = {options->stdin_fd, options->stdout_fd, options->stderr_fd};
    for (int i = 0; i < 3; i++) {
        if (from[i] < 0 && (from[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
            return false;
        from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 3);
        if (from[i] < 0)
            return false;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(from[i], i) < 0)
            return false;
    return true;
}

static bool keep_open(const struct child_spawn_options *options)
{
    for (size_t i = 0; i < options->keep_count; i++) {
        int flags = fcntl(options->keep[i], F_GETFD);
        if (flags < 0 || fcntl(options->keep[i], F_SETFD, flags & ~FD_CLOEXEC) != 0)
            return false;
    }
    return true;
}

static void run_program(const struct child_spawn_options *options, const char *path, pid_t parent,
                        int report_fd)
{
    /* execve() takes unqualified strings but changes none. */
    union {
        const char *const *given;
        char *const *taken;
    } argv = {.given = options->argv};
    sigset_t none;

    reset_signals(options->ignore_interrupts);
    if (report_fd < 3) {
        int moved = fcntl(report_fd, F_DUPFD_CLOEXEC, 3);
        if (moved < 0)
            give_up(report_fd, STEP_REDIRECT);
        report_fd = moved;
    }
    if (options->parent_death_signal != 0) {
        if (prctl(PR_SET_PDEATHSIG, options->parent_death_signal) != 0)
            give_up(report_fd, STEP_DEATH_SIGNAL);
        if (getppid() != parent)
            _exit(127);
    }
    if (options->new_session && setsid() < 0)
        give_up(report_fd, STEP_SESSION);
    if (options->new_process_group && !options->new_session && setpgid(0, 0) != 0)
        give_up(report_fd, STEP_SESSION);
    if (!keep_open(options))
        give_up(report_fd, STEP_KEEP);
    if (!redirect(options))
        give_up(report_fd, STEP_REDIRECT);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(path, argv.taken, options->environment != NULL ? options->environment : environ);
    give_up(report_fd, STEP_EXEC);
}

/* Returns when the child has called exec (the pipe ends) or has reported why not. */
static enum status await_exec(const char *program, int report_fd)
{
    struct start_failure failure;
    ssize_t bytes = TEMP_FAILURE_RETRY(read(report_fd, &failure, sizeof failure));
    if (bytes == 0)
        return STATUS_OK;
    if (bytes != (ssize_t)sizeof failure)
        return status_set(STATUS_SYSTEM, "cannot run '%s': its process ended without a report",
                          program);
    if (failure.step == STEP_EXEC)
        return exec_error(program, failure.error);
    return status_set(STATUS_SYSTEM, "cannot run '%s': %s: %s", program, step_names[failure.step],
                      strerror(failure.error));
}

/* The children that child_spawn() has started and that were not reaped yet: another child of this
 * process was adopted. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t *children;
static size_t child_count, child_room;
static bool adopts;

static bool add_child(pid_t pid)
{
    if (child_count == child_room) {
        size_t more = child_room ? 2 * child_room : 64;
        pid_t *larger = realloc(children, more * sizeof *children);
        if (!larger)
            return false;
        children = larger;
        child_room = more;
    }
    children[child_count++] = pid;
    return true;
}

static size_t find_child(pid_t pid)
{
    size_t i = 0;
    while (i < child_count && children[i] != pid)
        i++;
    return i;
}

static void forget_child(pid_t pid)
{
    pthread_mutex_lock(&lock);
    size_t i = find_child(pid);
    if (i < child_count)
        children[i] = children[--child_count];
    pthread_mutex_unlock(&lock);
}

static void reap(pid_t pid)
{
    (void)TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    forget_child(pid);
}

enum status child_spawn(const struct child_spawn_options *options, pid_t *pid, int *pidfd)
{
    const char *program = options->argv[0];
    char path[PATH_MAX];
    int report[2] = {-1, -1};
    int watch = -1;
    sigset_t all, before;
    enum status status;

    int error = find_program(program, path);
    if (error != 0)
        return start_error(program, error);
    /* Before the pipe below can take the number of a closed one. */
    for (size_t i = 0; i < options->keep_count; i++)
        if (fcntl(options->keep[i], F_GETFD) < 0)
            return status_set(STATUS_SYSTEM, "cannot hand descriptor %d to '%s': %s",
                              options->keep[i], program, strerror(errno));
    if (pipe2(report, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot run '%s': %s", program, strerror(errno));

    /* Blocked over the fork: a handler of ours must not run in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    /* Locked, so that no thread takes the new child for an adopted one. */
    pthread_mutex_lock(&lock);
    pid_t child = fork();
    error = errno;
    if (child == 0)
        run_program(options, path, parent, report[1]);
    bool noted = child < 0 || add_child(child);
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    descriptor_close(&report[1]);
    if (child < 0) {
        status = status_set(STATUS_SYSTEM, "cannot run '%s': %s", program, strerror(error));
        goto out;
    }
    status = noted ? await_exec(program, report[0]) : status_set(STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK && pidfd != NULL) {
        watch = (int)syscall(SYS_pidfd_open, child, 0);
        if (watch < 0)
            status = status_set(STATUS_SYSTEM, "cannot watch process %d ('%s'): %s", (int)child,
                                program, strerror(errno));
    }
    if (status != STATUS_OK) {
        kill(child, SIGKILL);
        reap(child);
        goto out;
    }
    if (pidfd != NULL)
        *pidfd = watch;
    *pid = child;
out:
    descriptor_close(&report[0]);
    return status;
}

/* True if it has ended by the deadline; it is not reaped. */
static bool has_ended(int pidfd, uint64_t deadline_ns)
{
    struct pollfd watch = {.fd = pidfd, .events = POLLIN};
    /* Each try with the time that is left. */
    return TEMP_FAILURE_RETRY(
               poll(&watch, 1, deadline_ns == 0 ? -1 : clock_remaining_ms(deadline_ns))) > 0;
}

/* It has ended; a debugger that holds it must let go first. */
static enum status collect(pid_t pid, int *wait_status)
{
    uint64_t deadline_ns = clock_now_ns() + KILL_WAIT_NS;
    pid_t got;
    while ((got = waitpid(pid, wait_status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (clock_now_ns() >= deadline_ns)
            return status_set(STATUS_TIMEOUT,
                              "process %d has ended, but a debugger or tracer holds it", (int)pid);
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    if (got < 0)
        return status_set(STATUS_SYSTEM, "cannot wait for process %d: %s", (int)pid,
                          strerror(errno));
    forget_child(pid);
    return STATUS_OK;
}

enum status child_wait(pid_t pid, int pidfd, uint64_t deadline_ns, int *wait_status)
{
    if (!has_ended(pidfd, deadline_ns))
        return status_set(STATUS_TIMEOUT, "process %d has not ended in time", (int)pid);
    return collect(pid, wait_status);
}

enum status child_end(pid_t pid, int pidfd, uint64_t grace_ns, int *wait_status)
{
    /* Not reaped yet, so its number cannot have been given to another process. */
    kill(-pid, SIGTERM);
    bool ended = has_ended(pidfd, clock_now_ns() + grace_ns);
    kill(-pid, SIGKILL);
    if (!ended && !has_ended(pidfd, clock_now_ns() + KILL_WAIT_NS))
        return status_set(STATUS_TIMEOUT, "process %d does not end, not even by SIGKILL", (int)pid);
    return collect(pid, wait_status);
}

/* Some child that child_spawn() did not start, 0 if there is none. Under the lock. */
static pid_t some_other(void)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    pid_t other = 0;
    while (directory && !other && (entry = readdir(directory)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && process_parent(pid) == getpid() && find_child(pid) == child_count)
            other = pid;
    }
    if (directory)
        closedir(directory);
    return other;
}

void child_adopt(void)
{
    pthread_mutex_lock(&lock);
    if (!adopts && !some_other())
        adopts = prctl(PR_SET_CHILD_SUBREAPER, 1UL) == 0;
    pthread_mutex_unlock(&lock);
}

/* Kills one adopted child, or reaps it if it has ended. Only this function reaps it, so that the
 * PID still belongs to it. Returns the PID, 0 if there was none. */
static pid_t end_some(void)
{
    pthread_mutex_lock(&lock);
    pid_t pid = adopts ? some_other() : 0;
    pthread_mutex_unlock(&lock);
    if (pid && waitpid(pid, NULL, WNOHANG) == 0) {
        process_tree_signal(pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    return pid;
}

enum status child_end_adopted(uint64_t deadline_ns)
{
    pid_t pid;
    while ((pid = end_some()) != 0) {
        if (clock_now_ns() >= deadline_ns)
            return status_set(STATUS_TIMEOUT,
                              "cannot end process %d, which a program has left: it does not react "
                              "even to SIGKILL",
                              (int)pid);
        clock_sleep_until(clock_now_ns() + AGAIN_NS);
    }
    return STATUS_OK;
}

static bool names_variable(const char *entry, const char *name, size_t name_bytes)
{
    return strncmp(entry, name, name_bytes) == 0 && entry[name_bytes] == '=';
}

static bool is_replaced(const char *entry, const char *const *set, const char *const *unset)
{
    for (; set != NULL && *set != NULL; set++)
        if (names_variable(entry, *set, strcspn(*set, "=")))
            return true;
    for (; unset != NULL && *unset != NULL; unset++)
        if (names_variable(entry, *unset, strlen(*unset)))
            return true;
    return false;
}

char **child_environment_new(const char *const *set, const char *const *unset)
{
    size_t count = 1;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        count++;
    for (const char *const *entry = set; entry != NULL && *entry != NULL; entry++)
        count++;
    char **result = malloc(count * sizeof *result);
    if (result == NULL)
        return NULL;
    size_t used = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (!is_replaced(*entry, set, unset))
            result[used++] = *entry;
    for (; set != NULL && *set != NULL; set++)
        memcpy(&result[used++], set, sizeof *result);
    result[used] = NULL;
    return result;
}

const char *child_ending_text(int wait_status, char *text, size_t size)
{
    if (WIFSIGNALED(wait_status))
        snprintf(text, size, "killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(text, size, "exit status %d", WEXITSTATUS(wait_status));
    return text;
}
