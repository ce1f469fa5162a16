/*
 * To be preloaded: holds a child between fork and exec, so that a test can kill a process there.
 *
 *   MPSWEEP_TEST_EXEC_PAUSE  the program whose exec is held, without its folder
 *   MPSWEEP_TEST_EXEC_MARK   a file that is made when it is; the exec continues when it is gone, or
 *                            after twenty seconds. Without its folder nothing is held
 *
 * Runs in the child of a process with threads: async-signal-safe calls only, and what it needs of
 * the environment and of the C library is fetched when it is loaded. A program built with
 * AddressSanitizer takes it with ASAN_OPTIONS=verify_asan_link_order=0.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 5000000L
#define STEPS 4000

typedef int exec_function(const char *path, char *const argv[], char *const environment[]);

static exec_function *next_execve;
static const char *held, *mark;

__attribute__((constructor)) static void prepare(void)
{
    void *address = dlsym(RTLD_NEXT, "execve");
    memcpy(&next_execve, &address, sizeof address);
    held = getenv("MPSWEEP_TEST_EXEC_PAUSE");
    mark = getenv("MPSWEEP_TEST_EXEC_MARK");
}

static void hold(void)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    close(fd);
    for (int i = 0; i < STEPS && access(mark, F_OK) == 0; i++)
        nanosleep(&step, NULL);
}

__attribute__((visibility("default"))) int execve(const char *path, char *const argv[],
                                                  char *const environment[])
{
    const char *name = strrchr(path, '/');
    name = name != NULL ? name + 1 : path;
    if (held != NULL && mark != NULL && strcmp(name, held) == 0)
        hold();
    return next_execve(path, argv, environment);
}
