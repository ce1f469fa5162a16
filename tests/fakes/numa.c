/*
 * To be preloaded: system calls about NUMA memory as a machine of several nodes would answer them.
 *
 *   MPSWEEP_FAKE_NUMA_LOG        each change of a policy appends "PID MODE LOWEST-NODE
 * HIGHEST-NODE", without nodes "PID MODE - -" MPSWEEP_FAKE_NUMA_REFUSED    set_mempolicy fails with
 * this errno MPSWEEP_FAKE_NUMA_OLD        it does not know MPOL_PREFERRED_MANY
 *   MPSWEEP_FAKE_NUMA_INHERITED  there is a policy from the start
 *   MPSWEEP_FAKE_NUMA_PAGES      the node of every page; without it the lowest one of the policy, 0
 *                                where there is none
 *
 * All other calls go to the kernel. A program built with AddressSanitizer takes it with
 * ASAN_OPTIONS=verify_asan_link_order=0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PREFERRED_MANY = 5, WORD_BITS = 8 * sizeof(unsigned long) };

static int lowest = -1, highest = -1, mode;
static long (*next_syscall)(long, ...);

__attribute__((constructor)) static void prepare(void)
{
    void *address = dlsym(RTLD_NEXT, "syscall");
    memcpy(&next_syscall, &address, sizeof address);
}

static long say(void)
{
    const char *path = getenv("MPSWEEP_FAKE_NUMA_LOG");
    char line[80];
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return 0;
    int length = lowest < 0 ? snprintf(line, sizeof line, "%d %d - -\n", (int)getpid(), mode)
                            : snprintf(line, sizeof line, "%d %d %d %d\n", (int)getpid(), mode,
                                       lowest, highest);
    if (write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
    return 0;
}

static long fail(int error)
{
    errno = error;
    return -1;
}

static long set_policy(int wanted, const unsigned long *nodes, unsigned long count)
{
    const char *refused = getenv("MPSWEEP_FAKE_NUMA_REFUSED");
    if (refused)
        return fail(atoi(refused));
    if (wanted == PREFERRED_MANY && getenv("MPSWEEP_FAKE_NUMA_OLD"))
        return fail(EINVAL);
    mode = wanted;
    lowest = highest = -1;
    for (int node = 0; nodes && node < (int)count - 1; node++)
        if (nodes[node / WORD_BITS] >> (node % WORD_BITS) & 1) {
            lowest = lowest < 0 ? node : lowest;
            highest = node;
        }
    return say();
}

static long get_policy(int *out)
{
    *out = mode == 0 && getenv("MPSWEEP_FAKE_NUMA_INHERITED") ? 2 : mode;
    return 0;
}

static long find_pages(unsigned long count, int *found)
{
    const char *node = getenv("MPSWEEP_FAKE_NUMA_PAGES");
    for (unsigned long i = 0; i < count; i++)
        found[i] = node ? atoi(node) : lowest < 0 ? 0 : lowest;
    return 0;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    switch (number) {
    case SYS_set_mempolicy:
        return set_policy((int)arguments[0], (const unsigned long *)arguments[1],
                          (unsigned long)arguments[2]);
    case SYS_get_mempolicy:
        return get_policy((int *)arguments[0]);
    case SYS_move_pages:
        return find_pages((unsigned long)arguments[1], (int *)arguments[4]);
    default:
        break;
    }
    return next_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                        arguments[4], arguments[5]);
}
