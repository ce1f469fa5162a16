#include "common/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/process.h"

/* No real tree is deeper; a PID that is reused while we look could form a cycle. */
#define DEPTH_MOST 256
/* Parents of all others, without one of their own. */
#define INIT_PID 1
#define KTHREADD_PID 2

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

/* -- all processes, each read once ------------------------------------------------------------- */

struct seen {
    pid_t pid, parent;
};

struct listing {
    struct seen *seen; /* by number */
    size_t count;
    int error; /* an errno: some are missing; 0: none */
};

static int by_number(const void *a, const void *b)
{
    const struct seen *one = a, *other = b;
    return (one->pid > other->pid) - (one->pid < other->pid);
}

static struct listing list_all(void)
{
    struct listing listing = {0};
    size_t room = 0;
    DIR *directory = opendir("/proc");
    if (!directory) {
        listing.error = errno;
        return listing;
    }
    for (pid_t pid; (pid = next_number(directory)) != 0;) {
        if (listing.count == room) {
            size_t more = room ? 2 * room : 256;
            struct seen *longer = reallocarray(listing.seen, more, sizeof *longer);
            if (!longer) {
                listing.error = ENOMEM;
                break;
            }
            listing.seen = longer;
            room = more;
        }
        listing.seen[listing.count++] = (struct seen){.pid = pid, .parent = process_parent(pid)};
    }
    closedir(directory);
    if (listing.count > 0)
        qsort(listing.seen, listing.count, sizeof *listing.seen, by_number);
    return listing;
}

/* As the listing has it, but where a process between began or ended meanwhile. */
static bool descends(const struct listing *listing, pid_t pid, pid_t root)
{
    pid_t at = pid;
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        const struct seen key = {.pid = at};
        const struct seen *found =
            bsearch(&key, listing->seen, listing->count, sizeof *listing->seen, by_number);
        if (found && found->parent == root)
            return true;
        if (at == INIT_PID || at == KTHREADD_PID)
            return false;
        if (!found || found->parent == 0)
            return depth > 0 && process_descends(pid, root);
        at = found->parent;
    }
    return false;
}

size_t process_tree_signal(pid_t root, int signal)
{
    struct listing listing = list_all();
    size_t count = 0;
    for (size_t i = 0; i < listing.count; i++) {
        pid_t pid = listing.seen[i].pid;
        if (pid != root && descends(&listing, pid, root))
            count += signal_descendant(pid, root, signal);
    }
    free(listing.seen);
    return count;
}

void process_tree_terminate(pid_t root)
{
    process_tree_signal(root, SIGTERM);
    process_tree_signal(root, SIGCONT);
}

static bool is_without(pid_t pid, const char *text)
{
    char path[48], *variable = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && getdelim(&variable, &room, '\0', file) >= 0)
        found = strstr(variable, text) != NULL;
    found |= ferror(file) != 0;
    free(variable);
    fclose(file);
    /* One that has ended has none. */
    return !found && process_start_time(pid) != 0;
}

pid_t process_tree_find_without(pid_t root, const char *text)
{
    struct listing listing = list_all();
    pid_t found = 0;
    for (size_t i = 0; i < listing.count && found == 0; i++) {
        pid_t pid = listing.seen[i].pid;
        if (pid != root && descends(&listing, pid, root) && is_without(pid, text))
            found = pid;
    }
    free(listing.seen);
    return found;
}

static uint64_t tree_cpu_ns(pid_t pid, int depth);

static uint64_t children_cpu_ns(pid_t pid, pid_t thread, int depth)
{
    char path[64];
    uint64_t used_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    for (int child; fscanf(file, "%d", &child) == 1;)
        used_ns += tree_cpu_ns(child, depth + 1);
    fclose(file);
    return used_ns;
}

static uint64_t tree_cpu_ns(pid_t pid, int depth)
{
    char path[48];
    clockid_t clock;
    uint64_t used_ns = process_children_cpu_ns(pid);
    if (clock_getcpuclockid(pid, &clock) == 0)
        used_ns += clock_read_ns(clock);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = depth < DEPTH_MOST ? opendir(path) : NULL;
    if (!directory)
        return used_ns;
    for (pid_t thread; (thread = next_number(directory)) != 0;)
        used_ns += children_cpu_ns(pid, thread, depth);
    closedir(directory);
    return used_ns;
}

uint64_t process_tree_cpu_ns(pid_t root)
{
    return tree_cpu_ns(root, 0);
}

int process_bind_threads(pid_t pid, const uint64_t *cpus, size_t bytes)
{
    char path[48];
    int refused = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return 0;
    for (pid_t thread; (thread = next_number(directory)) != 0;) {
        int error = process_bind_thread(thread, cpus, bytes);
        if (error != ESRCH && refused == 0)
            refused = error;
    }
    closedir(directory);
    return refused;
}

int process_tree_bind(pid_t root, const uint64_t *cpus, size_t bytes)
{
    struct listing listing = list_all();
    int refused = listing.error;
    for (size_t i = 0; i < listing.count && refused == 0; i++) {
        pid_t pid = listing.seen[i].pid;
        if (pid != root && descends(&listing, pid, root))
            refused = process_bind_threads(pid, cpus, bytes);
    }
    free(listing.seen);
    return refused;
}
