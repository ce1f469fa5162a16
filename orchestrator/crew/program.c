#include "orchestrator/crew/program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/shm.h"
#include "wire/load.h"
#include "wire/program.h"
#include "wire/tick.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/paths.h"
#include "common/process_tree.h"
#include "orchestrator/crew/environment.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/crew/ports.h"

/* The time that killed processes get to end. */
#define ORPHANS_NS (10 * NS_PER_S)

/* One search for all processes of a crew. */
static enum status find_ports(const struct point *point, struct ports *ports)
{
    if (ports->first)
        return STATUS_OK;
    enum status status = ports_find(point->program.port, point_processes(point), ports);
    /* A program that does not use the port need not have one. */
    return point_uses_placeholder(point, PLACEHOLDER_PORT) ? status : STATUS_OK;
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

struct placeholders program_placeholders(const struct point *point, const struct session *session,
                                         const struct ports *ports, unsigned index)
{
    return (struct placeholders){
        .process = index,
        .processes = point_processes(point),
        .threads = point->threads,
        .streams = point_streams(point),
        .port = ports->first + index,
        .seed = point->program.seed,
        .gpu = gpu_at(session->gpus, point_gpu_of(point, index))->uuid,
    };
}

static void add_filled(const char *option, const char *text, const struct placeholders *values,
                       struct word_list *words)
{
    if (!text)
        return;
    word_list_add(words, "--%s", option);
    word_list_take(words, placeholders_fill(text, values));
}

static void add_text(const char *option, const char *text, struct word_list *words)
{
    if (!text)
        return;
    word_list_add(words, "--%s", option);
    word_list_add(words, "%s", text);
}

/* In front of a server's command: what starts it and sends it requests. */
static enum status add_load(const struct point_requests *requests,
                            const struct placeholders *values, struct word_list *words)
{
    char path[PATH_MAX];
    if (!requests->request)
        return STATUS_OK;
    enum status status = path_find(PATH_HELPER, LOAD_PROGRAM, path, sizeof path);
    if (status != STATUS_OK)
        return status;
    word_list_add(words, "%s", path);
    add_filled(LOAD_REQUEST, requests->request, values, words);
    add_filled(LOAD_READY, requests->ready, values, words);
    add_text(LOAD_HEADER, requests->header, words);
    add_text(LOAD_BODY, requests->body, words);
    add_text(LOAD_BODIES, requests->bodies, words);
    add_text(LOAD_EXPECT, requests->expect, words);
    add_text(LOAD_ARRIVALS, requests->arrivals, words);
    word_list_add(words, "--" LOAD_TIMEOUT);
    word_list_add(words, "%" PRIu64, requests->timeout_ns);
    word_list_add(words, "--");
    return STATUS_OK;
}

static enum status make_words(const struct program *program, const struct session *session,
                              unsigned index, struct word_list *words)
{
    const struct point *point = program->point;
    char log[PATH_MAX];
    word_list_add(words, "%s", session->worker_program);
    word_list_add(words, "--run");
    pool_add_words(program->pool, program->shm->fd, index, words);
    word_list_add(words, "--files");
    word_list_add(words, "%" PRIu64, session->files);
    if (session->machine_fd >= 0) {
        word_list_add(words, "--keep");
        word_list_add(words, "%d", session->machine_fd);
    }
    if (session->trace) {
        word_list_add(words, "--trace");
        word_list_add(words, "%d", session->trace->fd);
    }
    if (point->program.log) {
        enum status status = find_log(point, index, log);
        if (status != STATUS_OK)
            return status;
        word_list_add(words, "--log");
        word_list_add(words, "%s", log);
    }
    word_list_add(words, "--");
    const struct placeholders values = program_placeholders(point, session, program->ports, index);
    enum status status = add_load(&point->program.requests, &values, words);
    for (char *const *word = point->program.command; *word; word++)
        word_list_take(words, placeholders_fill(*word, &values));
    return status;
}

/* Adds what mpsweep.py needs: itself, behind the user's own path, and the library that it loads.
 * Where they are not installed, a program that needs them fails with its own error. */
static void add_client(struct word_list *set)
{
    char path[PATH_MAX];
    if (path_find(PATH_LIBRARY, CLIENT_LIBRARY, path, sizeof path) == STATUS_OK)
        word_list_add(set, CLIENT_LIBRARY_VARIABLE "=%s", path);
    if (path_find(PATH_DATA, "client/mpsweep.py", path, sizeof path) == STATUS_OK) {
        const char *own = getenv("PYTHONPATH");
        int length = (int)(path_file_name(path) - path) - 1;
        bool any = own && *own;
        word_list_add(set, "PYTHONPATH=%s%s%.*s", any ? own : "", any ? ":" : "", length, path);
    }
}

/* What the observer is loaded by. Without it a program that does not report its iterations fails
 * with its own error; a trace needs it. */
static enum status add_observer(const struct point *point, const struct session *session,
                                struct word_list *set)
{
    char path[PATH_MAX];
    struct tick tick = {.kind = TICK_NONE};
    const char *cupti = session_cupti(session), *others = getenv(OBSERVER_PRELOAD_VARIABLE);
    if (!point_is_server(point))
        tick_parse(point->program.tick, &tick);
    if (tick.kind == TICK_NONE && !session->trace)
        return STATUS_OK;
    enum status status = path_find(PATH_HELPER, OBSERVER_LIBRARY, path, sizeof path);
    if (status != STATUS_OK)
        return session->trace ? status : STATUS_OK;
    if (tick.kind != TICK_NONE && strpbrk(path, " :"))
        return status_set(STATUS_UNSUPPORTED,
                          "'%s' cannot be loaded into programs: move it to a path without spaces "
                          "and colons, or give --tick none",
                          path);
    if (session->trace)
        word_list_add(set, OBSERVER_INJECTION_VARIABLE "=%s", path);
    if (session->trace && cupti)
        word_list_add(set, OBSERVER_CUPTI_VARIABLE "=%s", cupti);
    if (tick.kind == TICK_NONE)
        return STATUS_OK;
    word_list_add(set, OBSERVER_TICK_VARIABLE "=%s", point->program.tick);
    word_list_add(set, OBSERVER_KNOWN_VARIABLE "=%u", session->known_calls);
    word_list_add(set, OBSERVER_COLD_VARIABLE "=%" PRIu64, session->cold_ns / NS_PER_MS);
    if (tick.kind == TICK_NVTX)
        word_list_add(set, OBSERVER_NVTX_VARIABLE "=%s", path);
    else /* ours first: it must see what others do */
        word_list_add(set, OBSERVER_PRELOAD_VARIABLE "=%s%s%s", path, others ? ":" : "",
                      others ? others : "");
    return STATUS_OK;
}

static void make_settings(const struct program *program, const struct session *session,
                          unsigned index, const struct gpu_environment *gpu, struct word_list *set)
{
    const struct point *point = program->point;
    for (size_t i = 0; i < gpu->count; i++)
        /* The program itself decides how its code is loaded. */
        if (strncmp(gpu->set[i], "CUDA_MODULE_LOADING=", strlen("CUDA_MODULE_LOADING=")) != 0)
            word_list_add(set, "%s", gpu->set[i]);
    word_list_add(set, "MPSWEEP_PROCESSES=%u", point_processes(point));
    word_list_add(set, "MPSWEEP_THREADS=%u", point->threads);
    word_list_add(set, "MPSWEEP_STREAMS=%u", point_streams(point));
    word_list_add(set, "MPSWEEP_SEED=%" PRId64, point->program.seed);
    word_list_add(set, "MPSWEEP_GPU=%s", gpu_at(session->gpus, point_gpu_of(point, index))->uuid);
    word_list_add(set, "MPSWEEP_MPS=%d", point_over_mps(point));
    word_list_add(set, "MPSWEEP_DRIVER=%s",
                  *session->driver_path ? session->driver_path : "libcuda.so.1");
    if (program->openmp_threads)
        word_list_add(set, POINT_OPENMP_VARIABLE "=%u", program->openmp_threads);
    if (program->ports->first)
        word_list_add(set, "MPSWEEP_PORT=%u", program->ports->first + index);
    add_client(set);
}

enum status program_spawn(const struct program *program, const struct session *session,
                          unsigned index)
{
    struct gpu_environment gpu;
    struct word_list words = {0}, set = {0};
    const struct point *point = program->point;
    enum status status =
        gpu_environment_make(session, point, point_gpu_of(point, index), index, &gpu);
    if (status == STATUS_OK)
        status = find_ports(program->point, program->ports);
    if (status == STATUS_OK)
        status = make_words(program, session, index, &words);
    if (status == STATUS_OK) {
        make_settings(program, session, index, &gpu, &set);
        status = add_observer(point, session, &set);
    }
    if (status == STATUS_OK) {
        const struct pool_start start = {.argv = &words,
                                         .set = (const char *const *)set.words,
                                         .unset = gpu.unset,
                                         .keep_fd = program->shm->fd,
                                         .trace_fd = session->trace ? session->trace->fd : 0,
                                         .supervises = true};
        /* Of what a killed supervisor leaves behind. */
        child_adopt();
        status = set.failed ? status_set(STATUS_MEMORY, "out of memory")
                            : pool_spawn(program->pool, session, index, &start);
    }
    word_list_release(&words);
    word_list_release(&set);
    return status;
}

/* Where it is bound, all of it is: a process that it has started, too, as a server. */
static void bind_one(const struct program *program, unsigned index)
{
    const struct shm_header *header = program->shm->header;
    uint64_t cpus[WORK_CPUS / 64];
    shm_cpus(program->shm, index, cpus);
    if (!work_mask_any(cpus, WORK_CPUS))
        return;
    int refused = process_tree_bind(program->pool->children[index].pid, cpus, sizeof cpus);
    for (unsigned i = 0; i < shm_slots(header); i++)
        shm_slot_at(program->shm, index, i)->bind_errno = refused;
}

void program_bind(const struct program *program)
{
    for (unsigned p = 0; p < program->shm->header->processes; p++)
        bind_one(program, p);
}

enum status program_end_orphans(const struct program *program)
{
    for (unsigned p = 0; p < program->pool->count; p++) {
        const struct gpu_child *child = &program->pool->children[p];
        if (child->supervises && child->ended && WIFSIGNALED(child->wait_status))
            return child_end_adopted(clock_now_ns() + ORPHANS_NS);
    }
    return STATUS_OK;
}
