/*
 * hold_process [-z] PID...: makes processes that cannot be ended, in the eyes of their parents.
 *
 * It traces them and does nothing until its standard input ends; then it lets them go. One that is
 * killed meanwhile stops on its way out and is not a zombie yet: as if it were stuck in the kernel,
 * it ends neither for waitpid() nor for a pidfd. With -z it does become a zombie, but one that its
 * parent cannot reap: the pidfd reports that it has ended, and waitpid() waits until it is let go.
 * In both cases other signals than SIGKILL stop it as soon as they come.
 *
 * Prints "holding" when all are held. Exit status 77 where tracing is not permitted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define SKIPPED 77

int main(int argc, char **argv)
{
    char byte;
    int zombies = argc > 1 && strcmp(argv[1], "-z") == 0;
    for (int i = 1 + zombies; i < argc; i++) {
        pid_t pid = (pid_t)strtol(argv[i], NULL, 10);
        if (ptrace(PTRACE_SEIZE, pid, NULL, zombies ? 0 : PTRACE_O_TRACEEXIT) != 0) {
            fprintf(stderr, "cannot hold process %s: %s\n", argv[i], strerror(errno));
            return errno == EPERM || errno == ENOSYS || errno == EACCES ? SKIPPED : 1;
        }
    }
    puts("holding");
    fflush(stdout);
    /* What is traced is let go by our end, also by one through a signal. */
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
