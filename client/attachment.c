#include "client/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory_file.h"
#include "wire/program.h"

struct client client = {
    .mutex = PTHREAD_MUTEX_INITIALIZER, .shm.fd = -1, .event_fd = -1, .trace = TRACE_BUFFER_EMPTY};

void client_complain(const char *text)
{
    fprintf(stderr, "mpsweep: %s\n", text);
}

/* With what /proc has behind the name, which is the beginning of the other one. */
#define MEMORY_NAME "/memfd:mpsweep "
#define TRACE_NAME "/memfd:mpsweep-trace "

static enum status reach_memory(int fd, const char *name, int supervisor, int *out)
{
    *out = memory_file_find(fd, name, supervisor);
    return *out >= 0 ? STATUS_OK
                     : status_set(STATUS_SYSTEM,
                                  "the shared memory of mpsweep cannot be reached: %s; hand on "
                                  "descriptor %d to the process that opens the handle",
                                  strerror(errno), fd);
}

static enum status attach_trace(int fd, int supervisor)
{
    int own_fd;
    enum status status = reach_memory(fd, TRACE_NAME, supervisor, &own_fd);
    if (status != STATUS_OK)
        return status;
    status = trace_buffer_attach(own_fd, &client.trace);
    if (status != STATUS_OK)
        close(own_fd);
    return status;
}

/* Whether this process has one number here and for the supervisor. */
static bool in_pid_namespace_of(int supervisor)
{
    char path[48], own[64] = "", theirs[64] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/pid", supervisor);
    return readlink("/proc/self/ns/pid", own, sizeof own - 1) > 0 &&
           readlink(path, theirs, sizeof theirs - 1) > 0 && strcmp(own, theirs) == 0;
}

static void note_fork(void)
{
    client.forks++;
}

static enum status attach(void)
{
    int version = 0, memory_fd, event_fd, supervisor, process, trace_fd, fd;
    const char *text = getenv(CLIENT_VARIABLE);
    int fields = sscanf(text, "%d %d %d %d %d %d", &version, &memory_fd, &event_fd, &supervisor,
                        &process, &trace_fd);
    if (fields < 1 || version != CLIENT_PROTOCOL)
        return status_set(STATUS_PROTOCOL,
                          "this program's libmpsweep-client speaks version %d of the protocol, and "
                          "mpsweep version %d: use both from the same release",
                          CLIENT_PROTOCOL, version);
    if (fields < 5 || process < 0)
        return status_set(STATUS_PROTOCOL, CLIENT_VARIABLE " is '%.64s', which mpsweep did not set",
                          text);
    enum status status = reach_memory(memory_fd, MEMORY_NAME, supervisor, &fd);
    if (status != STATUS_OK)
        return status;
    struct shm shm;
    status = shm_attach(fd, &shm);
    if (status != STATUS_OK) {
        close(fd);
        return status;
    }
    if ((unsigned)process >= shm.header->processes_most) {
        shm_release(&shm);
        return status_set(STATUS_PROTOCOL, "there is no process %d in the shared memory", process);
    }
    status = fields == 6 ? attach_trace(trace_fd, supervisor) : STATUS_OK;
    if (status != STATUS_OK) {
        shm_release(&shm);
        return status;
    }
    client.shm = shm;
    client.process = (unsigned)process;
    client.same_pid_namespace = in_pid_namespace_of(supervisor);
    pthread_atfork(NULL, NULL, note_fork);
    /* Where the memory was not handed on, that number is another file's by now. */
    if (memory_file_is(memory_fd, MEMORY_NAME) && memory_file_is(event_fd, "anon_inode:[eventfd]"))
        client.event_fd = fcntl(event_fd, F_DUPFD_CLOEXEC, 3);
    return STATUS_OK;
}

bool client_attach(void)
{
    pthread_mutex_lock(&client.mutex);
    if (!client.tried && getenv(CLIENT_VARIABLE)) {
        client.tried = true;
        client.attached = attach() == STATUS_OK;
        if (!client.attached)
            client_complain(status_text());
    }
    bool attached = client.attached;
    pthread_mutex_unlock(&client.mutex);
    return attached;
}

const struct shm *client_shm(void)
{
    return &client.shm;
}

unsigned client_process(void)
{
    return client.process;
}

const struct trace_buffer *client_trace(void)
{
    return client.trace.header ? &client.trace : NULL;
}

void client_wake_orchestrator(void)
{
    const uint64_t one = 1;
    /* Without the descriptor mpsweep sees it when it looks. */
    if (client.event_fd >= 0 && write(client.event_fd, &one, sizeof one) < 0)
        return;
}
