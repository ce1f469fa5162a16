/*
 * The identity of a process. A process ID alone is given again to another process one day; with
 * the moment at which it started it is not. Names are never compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_identity {
    pid_t pid;           /* 0: none */
    uint64_t start_time; /* clock ticks since boot, as in /proc/PID/stat */
};

/* When a process started, in clock ticks since boot; 0 if it is gone or a zombie, which stays
 * until it is reaped and holds nothing but its number. */
uint64_t process_start_time(pid_t pid);

/* The process that has this number now; start_time is 0 if there is none. */
struct process_identity process_identify(pid_t pid);

/* Whether that very process still runs. False for none. */
bool process_is_alive(const struct process_identity *identity);

/* The parent of a process, also of a zombie; 0 where it is gone or not shown to us. */
pid_t process_parent(pid_t pid);

/* What the children of a process that have ended, and were waited for, have used of CPUs, with
 * theirs; of those that run, nothing. In ticks of the kernel, 0 if it is gone. */
uint64_t process_children_cpu_ns(pid_t pid);

/* The command line of a process, words separated by blanks, printable ASCII only, cut to fit; ""
 * if it cannot be read. Returns text. */
const char *process_command(pid_t pid, char *text, size_t size);

/* The same as it is: each word ends in a NUL, behind the last one is another. */
void process_words(pid_t pid, char *text, size_t size);

/* What the text of /proc/PID/stat holds: when the process started, 0 if it has ended; and its
 * parent, 0 where there is none. */
uint64_t process_stat_start_time(const char *text);
pid_t process_stat_parent(const char *text);
