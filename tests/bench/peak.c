/*
 * Runs a command, and prints its seconds, peak memory and exit status: peak COMMAND [ARGUMENT...]
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

int main(int argc, char **argv)
{
    struct rusage usage;
    int ending;
    uint64_t begin_ns = clock_now_ns();
    if (argc < 2)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        fprintf(stderr, "peak: cannot run '%s': %s\n", argv[1], strerror(errno));
        _exit(127);
    }
    if (child < 0 || wait4(child, &ending, 0, &usage) != child)
        return 1;
    fprintf(stderr, "%8.1f s %8.1f MB  status %d\n", (double)(clock_now_ns() - begin_ns) / 1e9,
            (double)usage.ru_maxrss / 1024, WIFEXITED(ending) ? WEXITSTATUS(ending) : -1);
    return 0;
}
