#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "worker/engines/process.h"

/* thread 0: the calling one. */
static int bind_thread(pid_t thread, const uint64_t cpus[SHM_CPUS / 64])
{
    /* The kernel takes a mask of any length, laid out as ours on 64-bit machines. */
    _Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "CPU masks are arrays of long");
    bool any = false;
    for (unsigned i = 0; i < SHM_CPUS / 64; i++)
        any |= cpus[i] != 0;
    if (!any)
        return 0;
    return sched_setaffinity(thread, SHM_CPUS / 8, (const cpu_set_t *)(const void *)cpus) == 0
               ? 0
               : errno;
}

int worker_bind(const uint64_t cpus[SHM_CPUS / 64])
{
    return bind_thread(0, cpus);
}

void worker_bind_all(const uint64_t cpus[SHM_CPUS / 64])
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    if (!tasks)
        return;
    while ((task = readdir(tasks)) != NULL) {
        pid_t thread = (pid_t)strtol(task->d_name, NULL, 10);
        if (thread > 0)
            bind_thread(thread, cpus); /* one that has just ended is no error */
    }
    closedir(tasks);
}
