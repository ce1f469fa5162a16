#include "orchestrator/crew/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/child.h"
#include "orchestrator/crew/environment.h"
#include "orchestrator/crew/program.h"
#include "orchestrator/plan/turns.h"

enum status crew_make(struct crew *crew, const struct point *point, unsigned threads_most,
                      const struct shm_settings *settings)
{
    int life[2];
    *crew = (struct crew)CREW_EMPTY;
    crew->started_for = *point;
    crew->processes = point_processes(point);
    enum status status = shm_create(settings, crew->processes, threads_most, &crew->shm);
    if (status != STATUS_OK)
        return status;
    crew->children = calloc(crew->processes, sizeof *crew->children);
    if (!crew->children)
        return status_set(STATUS_MEMORY, "out of memory");
    for (unsigned p = 0; p < crew->processes; p++) {
        crew->children[p].pidfd = -1;
        crew->children[p].gpu = point_gpu_of(point, p);
    }
    crew->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (crew->event_fd < 0 || pipe2(life, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make the workers' descriptors: %s",
                          strerror(errno));
    crew->life_read_fd = life[0];
    crew->life_fd = life[1];
    return STATUS_OK;
}

static void add_option(const char **argv, size_t *words, const char *name, const char *value)
{
    if (!value)
        return;
    argv[(*words)++] = name;
    argv[(*words)++] = value;
}

enum status crew_spawn(struct crew *crew, const struct session *session, unsigned index)
{
    const struct point *point = &crew->started_for;
    if (point_is_program(point))
        return program_spawn(crew, session, index);
    struct gpu_environment variables;
    char shm_text[16], event_text[16], life_text[16], process_text[16], trace_text[16];
    const struct session_trace *trace = session->trace;
    snprintf(shm_text, sizeof shm_text, "%d", crew->shm.fd);
    snprintf(event_text, sizeof event_text, "%d", crew->event_fd);
    snprintf(life_text, sizeof life_text, "%d", crew->life_read_fd);
    snprintf(process_text, sizeof process_text, "%u", index);
    snprintf(trace_text, sizeof trace_text, "%d", trace ? trace->fd : -1);
    const char *argv[20] = {session->worker_program,
                            "--shm",
                            shm_text,
                            "--event",
                            event_text,
                            "--life",
                            life_text,
                            "--process",
                            process_text};
    size_t words = 9;
    add_option(argv, &words, "--driver", *session->driver_path ? session->driver_path : NULL);
    add_option(argv, &words, "--trace", trace ? trace_text : NULL);
    add_option(argv, &words, "--cupti", trace ? trace->cupti : NULL);
    int keep[5] = {crew->shm.fd, crew->event_fd, crew->life_read_fd};
    size_t kept = 3;
    if (session->machine_fd >= 0)
        keep[kept++] = session->machine_fd;
    if (trace)
        keep[kept++] = trace->fd;
    enum status status = gpu_environment_of_point(session, point, index, &variables);
    if (status != STATUS_OK)
        return status;
    char **environment = child_environment_new(variables.set, variables.unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory");
    const struct child_spawn_options options = {
        .argv = argv,
        .environment = environment,
        .keep = keep,
        .keep_count = kept,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = STDERR_FILENO, /* a sanitizer's report, or the driver's last words */
        .new_process_group = true,
        .ignore_interrupts = true,
    };
    struct gpu_child *child = &crew->children[index];
    status = child_spawn(&options, &child->pid, &child->pidfd);
    free(environment);
    return status;
}

bool crew_is_fit(struct crew *crew, struct session *session, const struct point *point)
{
    if (crew->processes == 0 || !turns_serves(&crew->started_for, point) ||
        point->threads > crew->shm.header->threads_most)
        return false;
    if (crew_reap(crew) >= 0 || !shm_parked(&crew->shm, 0))
        return false;
    return !point_over_mps(point) ||
           (!daemons_tainted(session->daemons) && daemons_check(session->daemons) == STATUS_OK);
}

int crew_reap(struct crew *crew)
{
    return children_reap(crew->children, crew->processes);
}

enum status crew_end(struct crew *crew, struct session *session, uint64_t grace_ns, bool *tainted)
{
    if (!crew->children)
        return STATUS_OK;
    if (!atomic_load(&crew->shm.header->stop))
        shm_stop(&crew->shm, 0);
    shm_dismiss(&crew->shm);
    if (point_is_program(&crew->started_for))
        children_tell(crew->children, crew->processes, grace_ns);
    enum status status = children_end(session, crew->children, crew->processes,
                                      point_over_mps(&crew->started_for), grace_ns, tainted);
    if (point_is_program(&crew->started_for))
        program_end_orphans(crew);
    return status;
}

bool crew_taint(const struct crew *crew, struct session *session, bool failures)
{
    bool any = false;
    for (unsigned p = 0; crew->children && p < crew->processes; p++) {
        const struct gpu_child *child = &crew->children[p];
        if (!child->forced && (!failures || child->wait_status == 0))
            continue;
        daemons_taint(session->daemons, child->gpu);
        any = true;
    }
    return any;
}

enum status crew_dismiss(struct crew *crew, struct session *session, uint64_t grace_ns)
{
    bool tainted = false;
    if (crew->processes == 0)
        return STATUS_OK;
    enum status status = crew_end(crew, session, grace_ns, &tainted);
    if (point_over_mps(&crew->started_for))
        crew_taint(crew, session, true);
    crew_release(crew);
    return status;
}

enum status crew_dismiss_after(struct crew *crew, struct session *session, uint64_t grace_ns,
                               enum status status)
{
    char text[512];
    if (crew->processes == 0)
        return status;
    snprintf(text, sizeof text, "%s", status_text());
    enum status ended = crew_dismiss(crew, session, grace_ns);
    if (ended != STATUS_OK || status == STATUS_OK)
        return ended;
    return status_set(status, "%s", text);
}

void crew_release(struct crew *crew)
{
    if (crew->children)
        for (unsigned p = 0; p < crew->processes; p++)
            if (crew->children[p].pidfd >= 0)
                close(crew->children[p].pidfd);
    free(crew->children);
    if (crew->event_fd >= 0)
        close(crew->event_fd);
    if (crew->life_read_fd >= 0)
        close(crew->life_read_fd);
    if (crew->life_fd >= 0)
        close(crew->life_fd);
    shm_release(&crew->shm);
    *crew = (struct crew)CREW_EMPTY;
}
