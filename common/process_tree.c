#include "common/process_tree.h"

#include <dirent.h>
#include <signal.h>
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

size_t process_tree_signal(pid_t root, int signal)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;
    if (!directory)
        return 0;
    while ((entry = readdir(directory)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != root && process_descends(pid, root))
            count += signal_descendant(pid, root, signal);
    }
    closedir(directory);
    return count;
}
