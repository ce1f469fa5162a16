#include "load/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "common/child.h"
#include "wire/program.h"

enum status server_start(const struct load_options *options, struct server *out)
{
    /* It is measured from outside, even if it could count iterations itself. */
    static const char *const unset[] = {CLIENT_VARIABLE, NULL};
    char **environment = child_environment_new(NULL, unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory for the server's environment");
    const struct child_spawn_options spawn = {
        .argv = (const char *const *)options->command,
        .environment = environment,
        .stdin_fd = -1,
        .stdout_fd = 1,
        .stderr_fd = 2,
        .parent_death_signal = SIGKILL,
    };
    enum status status = child_spawn(&spawn, &out->pid, &out->pidfd);
    free(environment);
    return status;
}

enum status server_check(const struct server *server)
{
    char ending[64];
    int wait_status;
    pid_t pid = waitpid(server->pid, &wait_status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return STATUS_OK;
    if (pid < 0)
        return status_set(STATUS_WORKER, "the server has ended");
    return status_set(STATUS_WORKER, "the server ended with %s",
                      child_ending_text(wait_status, ending, sizeof ending));
}
