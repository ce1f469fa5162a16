/*
 * Child processes: a program started with fork and exec, never through a shell.
 *
 * Two levels. child_spawn() starts a program and leaves it to the caller: redirections, kept
 * descriptors, sessions, a signal at the parent's death. child_run() starts one, waits for it
 * under a deadline and returns what it wrote: for helpers that answer and end.
 *
 * A program that cannot be started is an error of the start, not an exit status of 127: the child
 * reports through a close-on-exec pipe, and the error names the program. Every descriptor of this
 * program is expected to be close-on-exec; a child gets its three standard ones and those in
 * `keep`. Safe to call from several threads.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"

struct child_spawn_options {
    /* argv[0] is the program: a path, or a name that is looked for on this process's PATH. */
    const char *const *argv;
    /* The whole environment, ended by NULL; a NULL pointer means this process's own. */
    char *const *environment;
    /* Descriptors, above 2, that the program keeps under the same numbers. */
    const int *keep;
    size_t keep_count;
    /* What becomes its 0, 1 and 2: a descriptor of ours, or -1 for /dev/null. All three must be
     * set; 0, 1 and 2 here hand on our own. */
    int stdin_fd;
    int stdout_fd;
    int stderr_fd;
    bool new_session;
    bool new_process_group;
    /* SIGINT and SIGQUIT are ignored: the terminal's Ctrl-C is ours to handle. */
    bool ignore_interrupts;
    /* Sent to the child when the thread (not just the process) that started it ends; 0 for none.
     * A parent that is gone before the request counts too: the program is then not run. */
    int parent_death_signal;
};

/* Where child_spawn() finds a program: a path itself, or the first on this process's PATH. Errors
 * as its own, and path is then of no use. */
enum status child_find_program(const char *name, char path[PATH_MAX]);

/*
 * Starts a program. It begins with an empty signal mask, without our handlers, and with SIGPIPE
 * and SIGCHLD at their defaults; signals that we ignore otherwise stay ignored.
 *
 * pid must be waited for (child_wait, child_end). pidfd becomes readable when it ends, is
 * close-on-exec and the caller's to close; NULL if not wanted. Both are set only on success.
 *
 * STATUS_NOT_FOUND: there is no such program. STATUS_SYSTEM: it cannot be run, or no resources.
 */
enum status child_spawn(const struct child_spawn_options *options, pid_t *pid, int *pidfd);

/* Waits until a child has ended or deadline_ns (0: none) passes, and reaps it. STATUS_TIMEOUT: it
 * still runs. wait_status is as from waitpid(). */
enum status child_wait(pid_t pid, int pidfd, uint64_t deadline_ns, int *wait_status);

/* Ends a child that has a session or a process group of its own: SIGTERM to the group, up to
 * grace_ns, SIGKILL to what is left of it, and reaps the child. STATUS_TIMEOUT: it does not end
 * even after SIGKILL (stuck in the kernel), and is left unreaped. */
enum status child_end(pid_t pid, int pidfd, uint64_t grace_ns, int *wait_status);

/*
 * Makes this process the parent of what its descendants leave behind when the processes between
 * have ended (a subreaper, prctl(2)). Does nothing if it already has a child that child_spawn()
 * did not start, as after a shell's exec: what that one leaves behind is not ours to end.
 */
void child_adopt(void);

/* Ends by SIGKILL what this process has adopted since, with all descendants, and reaps it.
 * STATUS_TIMEOUT names a process that is left at the deadline. */
enum status child_end_adopted(uint64_t deadline_ns);

/* This process's environment with "NAME=value" entries of set put in and names of unset taken
 * out; either may be NULL, both end with NULL. The strings are not copied: one free() releases the
 * array, which is good as long as set and the environment stay as they are. NULL: no memory. */
char **child_environment_new(const char *const *set, const char *const *unset);

struct child_options {
    const char *const *argv;
    const char *const *env_set;   /* "NAME=value", ended by NULL; may be NULL */
    const char *const *env_unset; /* names, ended by NULL; may be NULL */
    const int *keep;              /* descriptors, above 2, that it keeps under their numbers */
    size_t keep_count;
    const char *input;    /* its standard input; NULL is an empty one */
    size_t output_cap;    /* bytes of output kept; the rest is read and dropped */
    uint64_t deadline_ns; /* a moment of the clock; 0 for none */
    const int *interrupt; /* a descriptor: readable ends the program; NULL: none */
    bool merge_stderr;    /* errors go where output goes */
    bool capture_stderr;  /* errors go to child_result.errors; neither: dropped */
};

struct child_result {
    char *output; /* never NULL; has a NUL after its last byte */
    size_t output_bytes;
    bool output_cut; /* there was more than output_cap */
    char *errors;    /* standard error if it was captured, within the same cap; else NULL */
    size_t errors_bytes;
    int wait_status; /* as from waitpid() */
};

/*
 * Runs a program in a process group of its own until it ends. What it left running with its
 * output open does not delay the return: output ends with the program itself.
 *
 * A program that ends with a failure is STATUS_OK here: see wait_status. STATUS_TIMEOUT: it had
 * not ended at the deadline; it was then ended (SIGTERM, one second, SIGKILL) and reaped.
 * STATUS_INTERRUPTED: the same, since interrupt was readable. Other errors are those of
 * child_spawn(). result is set only on success; release it.
 */
enum status child_run(const struct child_options *options, struct child_result *result);

void child_result_release(struct child_result *result);

/* An ending in words: "exit status 3", "killed by signal 9 (Killed)". Returns text. */
const char *child_ending_text(int wait_status, char *text, size_t size);
