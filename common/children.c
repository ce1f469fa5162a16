#include "common/children.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/process.h"
#include "common/process_tree.h"

/* Between two looks at what was killed. */
#define AGAIN_NS (5 * NS_PER_MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t *children;
static size_t count, room;
static bool adopts;

void children_lock(void)
{
    pthread_mutex_lock(&lock);
}

static bool add(pid_t pid)
{
    if (count == room) {
        size_t more = room ? 2 * room : 64;
        pid_t *larger = realloc(children, more * sizeof *children);
        if (!larger)
            return false;
        children = larger;
        room = more;
    }
    children[count++] = pid;
    return true;
}

enum status children_add_and_unlock(pid_t pid)
{
    bool added = pid <= 0 || add(pid);
    pthread_mutex_unlock(&lock);
    return added ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
}

static size_t find(pid_t pid)
{
    size_t i = 0;
    while (i < count && children[i] != pid)
        i++;
    return i;
}

void children_remove(pid_t pid)
{
    pthread_mutex_lock(&lock);
    size_t i = find(pid);
    if (i < count)
        children[i] = children[--count];
    pthread_mutex_unlock(&lock);
}

/* Some child that child_spawn() did not start, 0 if there is none. Under the lock. */
static pid_t some_other(void)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    pid_t other = 0;
    while (directory && !other && (entry = readdir(directory)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && process_parent(pid) == getpid() && find(pid) == count)
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

/* Ends one of them as far as it goes now. Not reaped by anyone else, so that its number is its own.
 * Returns it, 0 if there was none. */
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
