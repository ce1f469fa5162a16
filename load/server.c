#include "load/server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/process_tree.h"
#include "wire/program.h"

/* What a server gets to end after its SIGTERM, and again after SIGKILL, which a process that is
 * stuck in the driver does not take at once; and how often to look. */
#define STOP_NS (5 * NS_PER_S)
#define LOOK_NS (10 * NS_PER_MS)

/* Each connection asks for the CPU times at the begin of a window, when all are at work. */
#define CPU_KEPT_NS (10 * NS_PER_MS)

enum status server_start(const struct load_options *options, struct server *out)
{
    /* It is measured from outside, even if it could count iterations itself. And it serves points
     * with fewer connections, too. */
    static const char *const unset[] = {CLIENT_VARIABLE, "MPSWEEP_THREADS", "MPSWEEP_STREAMS",
                                        NULL};
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
    enum status status = child_spawn(&spawn, &out->pid, NULL);
    free(environment);
    return status;
}

enum status server_check(struct server *server)
{
    if (!server->ended)
        server->ended = waitpid(server->pid, &server->wait_status, WNOHANG) == server->pid;
    return server->ended ? status_set(STATUS_WORKER, "the server has ended") : STATUS_OK;
}

void server_read_cpu(void *data, uint64_t *wall_ns, uint64_t *used_ns)
{
    struct server *server = data;
    if (clock_now_ns() - server->cpu_read_ns > CPU_KEPT_NS) {
        server->cpu_ns = process_tree_cpu_ns(server->pid);
        server->cpu_read_ns = clock_now_ns();
    }
    *wall_ns = server->cpu_read_ns;
    *used_ns = server->cpu_ns;
}

static void await_end(struct server *server)
{
    uint64_t until_ns = clock_now_ns() + STOP_NS;
    while (server_check(server) == STATUS_OK && clock_now_ns() < until_ns)
        clock_sleep_until(clock_now_ns() + LOOK_NS);
}

bool server_stop(struct server *server)
{
    process_tree_terminate(getpid());
    await_end(server);
    if (server->ended)
        return true;
    process_tree_signal(getpid(), SIGKILL);
    await_end(server);
    return false;
}

void server_exit_like(const struct server *server)
{
    const struct rlimit no_core = {0};
    if (WIFSIGNALED(server->wait_status)) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(WTERMSIG(server->wait_status), SIG_DFL);
        raise(WTERMSIG(server->wait_status));
    }
    _exit(WIFEXITED(server->wait_status) ? WEXITSTATUS(server->wait_status) : EXIT_FAILURE);
}
