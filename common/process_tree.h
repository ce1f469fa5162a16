/*
 * The descendants of a process, as /proc shows them. Those of a subreaper (prctl(2)) stay its
 * descendants when the processes between have ended.
 */
#pragma once

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a process is `ancestor` or descends from it. */
bool process_descends(pid_t pid, pid_t ancestor);

/* Signals all descendants of a process, but not the process itself. It checks each again right
 * before, and skips what is not a descendant any more. Returns how many got the signal; those that
 * they start meanwhile are met by the next call. */
size_t process_tree_signal(pid_t root, int signal);

/* Asks all descendants of a process, stopped ones too, to end: a stopped process acts on SIGTERM
 * only after SIGCONT. */
void process_tree_terminate(pid_t root);

/* A descendant of a process that runs, and in whose environment, as it began its program with it,
 * no variable has the text; 0: there is none. One of which that cannot be read is passed over. */
pid_t process_tree_find_without(pid_t root, const char *text);

/* What a process and its descendants have used of CPUs, with those that have ended and were waited
 * for. It reads what belongs to them alone, however many other processes there are; a kernel
 * without /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN) shows no descendants that run. */
uint64_t process_tree_cpu_ns(pid_t root);

/* Binds all threads of all descendants of a process, not its own, to CPUs: bit n of the bytes is
 * CPU n, as sched_setaffinity(2) takes them. Those that end meanwhile are no error. Returns 0, or
 * the errno of the first refusal, or of what kept it from listing all processes. */
int process_tree_bind(pid_t root, const uint64_t *cpus, size_t bytes);

/* Does the same to one thread, 0: the calling one, and so to all processes that it starts later.
 * The kernel takes a mask of any length, laid out as ours on 64-bit machines. */
_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "CPU masks are arrays of long");
static inline int process_bind_thread(pid_t thread, const uint64_t *cpus, size_t bytes)
{
    return sched_setaffinity(thread, bytes, (const cpu_set_t *)(const void *)cpus) == 0 ? 0 : errno;
}

/* And to all threads of one process. */
int process_bind_threads(pid_t pid, const uint64_t *cpus, size_t bytes);
