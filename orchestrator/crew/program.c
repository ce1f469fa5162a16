#include "orchestrator/crew/program.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/program.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/paths.h"
#include "common/process_tree.h"
#include "orchestrator/crew/environment.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/crew/ports.h"

/* For those that were killed to be gone. */
#define ORPHANS_NS NS_PER_S

/* Texts, ended by NULL, as many as fit; all owned. */
struct list {
    char **texts;
    size_t count, capacity;
    bool failed;
};

static void list_release(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->texts[i]);
    free(list->texts);
}

/* NULL stands for no memory. */
static void list_take(struct list *list, char *text)
{
    if (list->count + 1 >= list->capacity) {
        size_t wanted = list->capacity ? 2 * list->capacity : 32;
        char **larger = realloc(list->texts, wanted * sizeof *larger);
        if (larger) {
            list->texts = larger;
            list->capacity = wanted;
        }
    }
    if (!text || list->count + 1 >= list->capacity) {
        free(text);
        list->failed = true;
        return;
    }
    list->texts[list->count++] = text;
    list->texts[list->count] = NULL;
}

__attribute__((format(printf, 2, 3))) static void list_add(struct list *list, const char *format,
                                                           ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    list_take(list, text);
}

static bool uses_port(char *const *command)
{
    for (; *command; command++)
        if (placeholders_use(*command, PLACEHOLDER_PORT))
            return true;
    return false;
}

/* One search for all processes of a crew. */
static enum status find_ports(struct crew *crew)
{
    const struct point *point = &crew->started_for;
    if (crew->port)
        return STATUS_OK;
    enum status status = ports_find(point->program.port, point_processes(point), &crew->port);
    /* It need not be one that listens. */
    return uses_port(point->program.command) ? status : STATUS_OK;
}

static enum status find_log(const struct point *point, unsigned index, char path[PATH_MAX])
{
    const char *directory = point->program.log;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return status_set(STATUS_SYSTEM, "cannot make '%s': %s", directory, strerror(errno));
    int length =
        snprintf(path, PATH_MAX, "%s/point-%u-process-%u.log", directory, point->id, index);
    return length < PATH_MAX ? STATUS_OK
                             : status_set(STATUS_USAGE, "'%s' is too long a path", directory);
}

static enum status make_words(const struct crew *crew, const struct session *session,
                              unsigned index, struct list *words)
{
    const struct point *point = &crew->started_for;
    char log[PATH_MAX];
    list_add(words, "%s", session->worker_program);
    list_add(words, "--run");
    list_add(words, "--shm");
    list_add(words, "%d", crew->shm.fd);
    list_add(words, "--event");
    list_add(words, "%d", crew->event_fd);
    list_add(words, "--life");
    list_add(words, "%d", crew->life_read_fd);
    list_add(words, "--process");
    list_add(words, "%u", index);
    list_add(words, "--files");
    list_add(words, "%" PRIu64, session->files);
    if (session->machine_fd >= 0) {
        list_add(words, "--keep");
        list_add(words, "%d", session->machine_fd);
    }
    if (point->program.log) {
        enum status status = find_log(point, index, log);
        if (status != STATUS_OK)
            return status;
        list_add(words, "--log");
        list_add(words, "%s", log);
    }
    list_add(words, "--");
    const struct placeholders values = {
        .process = index,
        .processes = point_processes(point),
        .threads = point->threads,
        .port = crew->port + index,
        .seed = point->program.seed,
        .gpu = gpu_at(session->gpus, point_gpu_of(point, index))->uuid,
    };
    for (char *const *word = point->program.command; *word; word++)
        list_take(words, placeholders_fill(*word, &values));
    return words->failed ? status_set(STATUS_MEMORY, "out of memory") : STATUS_OK;
}

/* For mpsweep.py: itself, behind what the user has, and the library that it loads. Where they are
 * not installed the program says so, if it needs them. */
static void add_client(struct list *set)
{
    char path[PATH_MAX];
    if (path_find_library(CLIENT_LIBRARY, path, sizeof path) == STATUS_OK)
        list_add(set, CLIENT_LIBRARY_VARIABLE "=%s", path);
    if (path_find_data("client/mpsweep.py", path, sizeof path) == STATUS_OK) {
        const char *own = getenv("PYTHONPATH");
        int length = (int)(path_file_name(path) - path) - 1;
        bool any = own && *own;
        list_add(set, "PYTHONPATH=%s%s%.*s", any ? own : "", any ? ":" : "", length, path);
    }
}

static void make_settings(const struct crew *crew, const struct session *session, unsigned index,
                          const struct gpu_environment *gpu, struct list *set)
{
    const struct point *point = &crew->started_for;
    for (size_t i = 0; i < gpu->count; i++)
        /* How a program's code is loaded is its own business. */
        if (strncmp(gpu->set[i], "CUDA_MODULE_LOADING=", strlen("CUDA_MODULE_LOADING=")) != 0)
            list_add(set, "%s", gpu->set[i]);
    list_add(set, "MPSWEEP_PROCESSES=%u", point_processes(point));
    list_add(set, "MPSWEEP_THREADS=%u", point->threads);
    list_add(set, "MPSWEEP_SEED=%" PRId64, point->program.seed);
    list_add(set, "MPSWEEP_GPU=%s", gpu_at(session->gpus, point_gpu_of(point, index))->uuid);
    list_add(set, "MPSWEEP_MPS=%d", point_over_mps(point));
    list_add(set, "MPSWEEP_DRIVER=%s",
             *session->driver_path ? session->driver_path : "libcuda.so.1");
    if (crew->port)
        list_add(set, "MPSWEEP_PORT=%u", crew->port + index);
    add_client(set);
}

static enum status spawn(struct crew *crew, const struct session *session, unsigned index,
                         const struct list *words, const struct list *set,
                         const struct gpu_environment *gpu)
{
    const int keep[] = {crew->shm.fd, crew->event_fd, crew->life_read_fd, session->machine_fd};
    struct gpu_child *child = &crew->children[index];
    char **environment = child_environment_new((const char *const *)set->texts, gpu->unset);
    if (!environment)
        return status_set(STATUS_MEMORY, "out of memory");
    const struct child_spawn_options options = {
        .argv = (const char *const *)words->texts,
        .environment = environment,
        .keep = keep,
        .keep_count = session->machine_fd >= 0 ? 4 : 3,
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = STDERR_FILENO,
        /* The terminal's Ctrl-C does not reach it, and it must not be ignored by the program. */
        .new_process_group = true,
    };
    /* What a supervisor that is killed leaves comes to us, and can be ended. */
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    enum status status = child_spawn(&options, &child->pid, &child->pidfd);
    free(environment);
    child->supervises = status == STATUS_OK;
    return status;
}

enum status program_spawn(struct crew *crew, const struct session *session, unsigned index)
{
    const struct point *point = &crew->started_for;
    struct gpu_environment gpu;
    struct list words = {0}, set = {0};
    enum status status = gpu_environment_of_point(session, point, index, &gpu);
    if (status == STATUS_OK)
        status = find_ports(crew);
    if (status == STATUS_OK)
        status = make_words(crew, session, index, &words);
    if (status == STATUS_OK) {
        make_settings(crew, session, index, &gpu, &set);
        status = set.failed ? status_set(STATUS_MEMORY, "out of memory")
                            : spawn(crew, session, index, &words, &set, &gpu);
    }
    list_release(&words);
    list_release(&set);
    return status;
}

/* Those of its process group; who left that is reaped when we have ended. */
static void reap_orphans(pid_t program)
{
    uint64_t until_ns = clock_now_ns() + ORPHANS_NS;
    for (;;) {
        pid_t pid = waitpid(-program, NULL, WNOHANG);
        if (pid < 0 || (pid == 0 && clock_now_ns() >= until_ns))
            return;
        if (pid == 0)
            clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
}

void program_end_orphans(const struct crew *crew)
{
    for (unsigned p = 0; p < crew->processes; p++) {
        const struct gpu_child *child = &crew->children[p];
        pid_t program = atomic_load(&shm_process_at(&crew->shm, p)->pid);
        if (!child->supervises || !child->ended || !WIFSIGNALED(child->wait_status) || program <= 1)
            continue;
        process_tree_signal_session(getpid(), program, SIGKILL);
        reap_orphans(program);
    }
}
