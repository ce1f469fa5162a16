#include "orchestrator/round_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "orchestrator/environment.h"

/* With fixed work the workers lengthen their slices as they need to, so that the first ones are
 * short enough for any work. */
#define FIXED_SLICE_NS (20 * NS_PER_US)

static enum status set_masks(const struct round *round)
{
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    uint64_t(*masks)[BIND_WORDS] = calloc(workers, sizeof *masks);
    if (!masks)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = bind_plan(round->session->topology, point->bind, workers, masks);
    uint64_t process_mask[BIND_WORDS];
    bind_process_mask(round->session->topology, point->bind, process_mask);
    for (unsigned i = 0; i < workers && status == STATUS_OK; i++) {
        struct shm_slot *slot = shm_slot_at(&round->shm, i / point->threads, i % point->threads);
        memcpy(slot->cpus, masks[i], sizeof slot->cpus);
    }
    for (unsigned p = 0; p < point->processes && status == STATUS_OK; p++)
        memcpy(shm_process_at(&round->shm, p)->cpus, process_mask, sizeof process_mask);
    free(masks);
    return status;
}

enum status workers_prepare(struct round *round)
{
    const struct point *point = round->point;
    struct shm_settings settings = point->work;
    int life[2];
    settings.device = 0; /* the one that CUDA_VISIBLE_DEVICES leaves */
    memcpy(settings.device_uuid, round->session->gpu.uuid, sizeof settings.device_uuid);
    /* The longest window, with room for the time until it is noticed that it is over. */
    uint64_t longest = round->limits->max_duration_ns;
    settings.slice_ns = (longest + longest / 16) / SHM_SLICES + 1;
    if (settings.iterations)
        settings.slice_ns = FIXED_SLICE_NS;
    enum status status = shm_create(&settings, point->processes, point->threads, &round->shm);
    if (status == STATUS_OK)
        status = set_masks(round);
    if (status != STATUS_OK)
        return status;
    round->children = calloc(point->processes, sizeof *round->children);
    if (!round->children)
        return status_set(STATUS_MEMORY, "out of memory");
    for (unsigned p = 0; p < point->processes; p++)
        round->children[p].pidfd = -1;
    round->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (round->event_fd < 0 || pipe2(life, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make the workers' descriptors: %s",
                          strerror(errno));
    round->life_read_fd = life[0];
    round->life_fd = life[1];
    return STATUS_OK;
}

enum status workers_spawn(struct round *round, unsigned index)
{
    const struct session *session = round->session;
    const struct point *point = round->point;
    struct gpu_environment variables;
    char shm_text[16], event_text[16], life_text[16], process_text[16];
    snprintf(shm_text, sizeof shm_text, "%d", round->shm.fd);
    snprintf(event_text, sizeof event_text, "%d", round->event_fd);
    snprintf(life_text, sizeof life_text, "%d", round->life_read_fd);
    snprintf(process_text, sizeof process_text, "%u", index);
    const char *const argv[] = {session->worker_program,
                                "--shm",
                                shm_text,
                                "--event",
                                event_text,
                                "--life",
                                life_text,
                                "--process",
                                process_text,
                                *session->driver_path ? "--driver" : NULL,
                                session->driver_path,
                                NULL};
    const int keep[] = {round->shm.fd, round->event_fd, round->life_read_fd, session->emulated_fd};
    const struct gpu_share share = {
        .active_thread_percentage = shares_at(&point->active_thread_percentage, index),
        .priority = shares_at(&point->priority, index),
        .memory_limit_bytes = shares_at(&point->memory_limit, index),
    };
    enum status status = gpu_environment_make(session, point_over_mps(point), index,
                                              point->connections, &share, &variables);
    if (status != STATUS_OK)
        return status;
    char **environment = child_environment_new(variables.set, variables.unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory");
    const struct child_spawn_options options = {
        .argv = argv,
        .environment = environment,
        .keep = keep,
        .keep_count = session->emulated_fd >= 0 ? 4 : 3,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = STDERR_FILENO, /* a sanitizer's report, or the driver's last words */
        .new_process_group = true,
        .ignore_interrupts = true,
    };
    struct gpu_child *child = &round->children[index];
    status = child_spawn(&options, &child->pid, &child->pidfd);
    free(environment);
    return status;
}

int workers_reap(struct round *round)
{
    return children_reap(round->children, round->point->processes);
}

enum status workers_end(struct round *round, uint64_t grace_ns, bool *tainted)
{
    if (!round->children)
        return STATUS_OK;
    if (!atomic_load(&round->shm.header->stop))
        shm_stop(&round->shm, 0);
    return children_end(round->session, round->children, round->point->processes,
                        point_over_mps(round->point), grace_ns, tainted);
}

void workers_release(struct round *round)
{
    if (round->children)
        for (unsigned p = 0; p < round->point->processes; p++)
            if (round->children[p].pidfd >= 0)
                close(round->children[p].pidfd);
    free(round->children);
    round->children = NULL;
    if (round->event_fd >= 0)
        close(round->event_fd);
    if (round->life_read_fd >= 0)
        close(round->life_read_fd);
    if (round->life_fd >= 0)
        close(round->life_fd);
    shm_release(&round->shm);
}
