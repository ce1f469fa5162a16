#include "common/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/process.h"

/* Deeper trees are none; a number given anew while we look could make a circle. */
#define DEPTH_MOST 256

bool process_descends(pid_t pid, pid_t ancestor)
{
    for (int depth = 0; pid > 0 && depth < DEPTH_MOST; depth++) {
        if (pid == ancestor)
            return true;
        pid = process_parent(pid);
    }
    return false;
}

/* Its number may have been given to another process since it was listed: looked at again once it is
 * held by a descriptor. */
static bool signal_descendant(pid_t pid, pid_t root, int signal)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return false;
    bool sent =
        process_descends(pid, root) && syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
    close(pidfd);
    return sent;
}

/* The next number of a folder of /proc; 0: there is none. */
static pid_t next_number(DIR *directory)
{
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        pid_t number = (pid_t)strtol(entry->d_name, NULL, 10);
        if (number > 0)
            return number;
    }
    return 0;
}

size_t process_tree_signal(pid_t root, int signal)
{
    DIR *directory = opendir("/proc");
    size_t count = 0;
    if (!directory)
        return 0;
    for (pid_t pid; (pid = next_number(directory)) != 0;)
        if (pid != root && process_descends(pid, root))
            count += signal_descendant(pid, root, signal);
    closedir(directory);
    return count;
}

static int bind_threads(pid_t pid, const uint64_t *cpus, size_t bytes)
{
    char path[48];
    int refused = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return 0;
    for (pid_t thread; (thread = next_number(directory)) != 0;)
        if (sched_setaffinity(thread, bytes, (const cpu_set_t *)(const void *)cpus) != 0 &&
            errno != ESRCH && refused == 0)
            refused = errno;
    closedir(directory);
    return refused;
}

int process_tree_bind(pid_t root, const uint64_t *cpus, size_t bytes)
{
    DIR *directory = opendir("/proc");
    int refused = 0;
    if (!directory)
        return errno;
    for (pid_t pid; (pid = next_number(directory)) != 0;)
        if (pid != root && process_descends(pid, root) && refused == 0)
            refused = bind_threads(pid, cpus, bytes);
    closedir(directory);
    return refused;
}
