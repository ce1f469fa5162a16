#include "orchestrator/emit/deployment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/paths.h"
#include "orchestrator/results/point.h"

#define WORKERS_MOST 1024
#define PORT_DEFAULT 8000
#define PORT_MOST 65535
#define NAME_PREFIX "mpsweep-"
#define IMAGE_PLACEHOLDER "edit-me.invalid/your-image:tag"

static enum status bad_point(const struct deployment *deployment, const char *what)
{
    return status_set(STATUS_USAGE, "point %lld of '%s' %s",
                      (long long)point_integer(deployment->request->point, "id"),
                      deployment->request->results, what);
}

/* What may stand in every syntax without quotes. */
static bool is_gpu(const char *uuid)
{
    if (strncmp(uuid, "GPU-", 4) != 0 && strncmp(uuid, "MIG-", 4) != 0)
        return false;
    size_t length = strlen(uuid);
    for (size_t i = 4; i < length; i++)
        if (!isalnum((unsigned char)uuid[i]) && uuid[i] != '-')
            return false;
    return length > 4 && length < 80;
}

/* From the directory's own name: what units, pods and jobs may be called. */
static void make_name(struct deployment *deployment)
{
    char *name = deployment->name;
    char resolved[PATH_MAX];
    const char *directory = deployment->request->directory;
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    snprintf(resolved, sizeof resolved, "%.*s", (int)length, directory);
    const char *base = path_file_name(resolved);
    if (strncmp(base, NAME_PREFIX, sizeof NAME_PREFIX - 1) == 0)
        base += sizeof NAME_PREFIX - 1;
    size_t used = sizeof NAME_PREFIX - 1;
    memcpy(name, NAME_PREFIX, used);
    for (; *base && used < DEPLOYMENT_NAME_BYTES - 8; base++)
        if (isalnum((unsigned char)*base) && (unsigned char)*base < 0x80)
            name[used++] = (char)tolower((unsigned char)*base);
        else if (name[used - 1] != '-')
            name[used++] = '-';
    while (used > 1 && name[used - 1] == '-')
        used--;
    name[used] = '\0';
    if (used < sizeof NAME_PREFIX)
        snprintf(name, DEPLOYMENT_NAME_BYTES, "%sdeployment", NAME_PREFIX);
}

static const struct {
    const char *field;
    int64_t unit;
    double least, most;
} shares[DEPLOYMENT_SHARES] = {
    [SHARE_PERCENTAGE] = {"active_thread_percentage", 1, 1, 100},
    [SHARE_PRIORITY] = {"priority", 1, 0, 1},
    [SHARE_MEMORY_MIB] = {"memory_limit", 1 << 20, 1 << 20, 0x1p50},
};

/* What somebody else's daemon gave to processes that asked for nothing; -1: everything. */
static int64_t external_default(const struct deployment *deployment, enum deployment_share share)
{
    static const double without[] = {[SHARE_PERCENTAGE] = 100, [SHARE_PRIORITY] = 0};
    const json_t *external = json_object_get(deployment->request->header, "external_mps");
    double value = point_number(external, shares[share].field);
    if (!deployment->mps || !(value >= shares[share].least && value <= shares[share].most) ||
        (share != SHARE_MEMORY_MIB && value == without[share]))
        return -1;
    return (int64_t)value / shares[share].unit;
}

/* A setting that is absent, a number for all processes, or an array of one for each. */
static enum status read_share(struct deployment *deployment, enum deployment_share share)
{
    const json_t *value = json_object_get(deployment->request->point, shares[share].field);
    bool any_without = false;
    int64_t most = -1;
    if (json_is_array(value) &&
        json_array_size(value) != deployment->processes / deployment->gpu_count)
        return bad_point(deployment, "has another number of shares than processes");
    for (unsigned p = 0; p < deployment->processes; p++) {
        const json_t *item =
            json_is_array(value) ? json_array_get(value, p / deployment->gpu_count) : value;
        int64_t *out = &deployment->process[p].share[share];
        double number = json_is_integer(item) ? (double)json_integer_value(item) : -1;
        if (!item || json_is_null(item))
            *out = external_default(deployment, share);
        else if (number >= shares[share].least && number <= shares[share].most)
            *out = json_integer_value(item) / shares[share].unit;
        else
            return status_set(STATUS_USAGE, "point %lld of '%s' has a '%s' that cannot be",
                              (long long)point_integer(deployment->request->point, "id"),
                              deployment->request->results, shares[share].field);
        any_without |= *out < 0;
        most = *out > most ? *out : most;
    }
    deployment->most[share] = any_without ? -1 : most;
    return STATUS_OK;
}

static enum status read_shares(struct deployment *deployment)
{
    enum status status = STATUS_OK;
    for (int share = 0; share < DEPLOYMENT_SHARES && status == STATUS_OK; share++)
        status = read_share(deployment, (enum deployment_share)share);
    return status;
}

/* Adds "0-3,8" to a mask. False: it is no such list. */
static bool add_cpus(const char *text, uint64_t mask[BIND_WORDS])
{
    while (*text) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-') {
            text = end + 1;
            if (!isdigit((unsigned char)*text))
                return false;
            last = strtoul(text, &end, 10);
        }
        if (last >= SHM_CPUS || first > last || (*end && (*end != ',' || !end[1])))
            return false;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        text = end + (*end == ',');
    }
    return true;
}

static unsigned count_cpus(const uint64_t mask[BIND_WORDS])
{
    unsigned count = 0;
    for (size_t i = 0; i < BIND_WORDS; i++)
        count += (unsigned)__builtin_popcountll(mask[i]);
    return count;
}

/* A process is bound to the CPUs of all its workers: which of them a thread takes is the program's
 * own matter. */
static void read_cpus(struct deployment *deployment)
{
    const json_t *workers = json_object_get(deployment->request->point, "per_worker");
    const json_t *worker;
    uint64_t all[BIND_WORDS] = {0};
    size_t index;
    unsigned total = 0;
    if (strcmp(point_string(deployment->request->point, "bind"), "none") == 0)
        return;
    json_array_foreach(workers, index, worker)
    {
        json_int_t process = point_integer(worker, "process");
        const char *cpus = point_string(worker, "cpus");
        if (process < 0 || process >= deployment->processes || !*cpus || strcmp(cpus, "none") == 0)
            continue;
        if (!add_cpus(cpus, deployment->process[process].cpus))
            deployment->cpus_unknown = true;
    }
    for (unsigned p = 0; p < deployment->processes; p++) {
        struct deployment_process *process = &deployment->process[p];
        unsigned count = count_cpus(process->cpus);
        if (count)
            bind_cpus_text(process->cpus, process->cpus_text, sizeof process->cpus_text);
        deployment->cpus_unknown |= strchr(process->cpus_text, '.') != NULL;
        total += count;
        for (size_t i = 0; i < BIND_WORDS; i++)
            all[i] |= process->cpus[i];
    }
    for (unsigned p = 0; p < deployment->processes && deployment->cpus_unknown; p++) {
        deployment->process[p].cpus_text[0] = '\0';
        memset(deployment->process[p].cpus, 0, sizeof deployment->process[p].cpus);
    }
    unsigned have = count_cpus(all);
    if (!have || deployment->cpus_unknown || deployment->processes == 0)
        return;
    deployment->cpus_all = have;
    /* Processes that share their CPUs have a part of them each. */
    deployment->cpus_each = total / deployment->processes;
    if (total > have)
        deployment->cpus_each = have / deployment->processes;
    if (deployment->cpus_each < 1)
        deployment->cpus_each = 1;
}

/* A point says which GPUs it had; one of one GPU had the first of the run. */
static enum status read_gpus(struct deployment *deployment)
{
    const json_t *point = deployment->request->point, *header = deployment->request->header;
    const json_t *per_gpu = json_object_get(point, "per_gpu");
    unsigned gpus = point_gpus_of(point);
    if (gpus > DEPLOYMENT_GPUS)
        return bad_point(deployment, "has more GPUs than a machine can have");
    for (unsigned g = 0; g < gpus; g++) {
        const json_t *gpu = gpus == 1 ? json_object_get(header, "gpu") : json_array_get(per_gpu, g);
        deployment->gpus[g] = point_string(gpu, "uuid");
        if (!is_gpu(deployment->gpus[g]))
            return gpus == 1
                       ? status_set(STATUS_USAGE, "the header of '%s' names no GPU by its UUID",
                                    deployment->request->results)
                       : bad_point(deployment, "does not name each of its GPUs by its UUID");
    }
    deployment->gpu_count = gpus;
    deployment->gpu = deployment->gpus[0];
    if (deployment->mps)
        deployment->daemons =
            gpus > 1 && strcmp(point_string(point, "mps_daemons"), "per-gpu") == 0 ? gpus : 1;
    return STATUS_OK;
}

static enum status read_layout(struct deployment *deployment)
{
    const json_t *point = deployment->request->point;
    json_int_t processes = point_integer(point, "processes");
    json_int_t threads = point_integer(point, "threads");
    json_int_t connections = point_integer(point, "connections");
    if (!point_is_measured(point))
        return bad_point(deployment, "has no measurement");
    if (processes < 1 || threads < 1 || processes > WORKERS_MOST || threads > WORKERS_MOST)
        return bad_point(deployment, "has no numbers of processes and threads");
    if (connections < 0 || connections > 32)
        return bad_point(deployment, "has no number of connections");
    deployment->threads = (unsigned)threads;
    deployment->mps = json_is_true(json_object_get(point, "mps"));
    if (!json_is_true(json_object_get(point, "connections_default")))
        deployment->connections = (unsigned)connections;
    const json_t *gpu = json_object_get(deployment->request->header, "gpu");
    deployment->emulated = json_is_true(json_object_get(gpu, "emulated"));
    enum status status = read_gpus(deployment);
    if (status != STATUS_OK)
        return status;
    deployment->processes = (unsigned)processes * deployment->gpu_count;
    if (deployment->processes < 1 || deployment->processes > WORKERS_MOST)
        return bad_point(deployment, "has more processes than a deployment can have");
    deployment->process = calloc(deployment->processes, sizeof *deployment->process);
    if (!deployment->process)
        return status_set(STATUS_MEMORY, "out of memory");
    return read_shares(deployment);
}

/* The same words are a program's workload: what they may hold is the same, too. */
static enum status check_word(const char *word, size_t number)
{
    struct emit_piece piece;
    if (!emit_is_utf8(word))
        return status_set(STATUS_USAGE, "word %zu of the command is not UTF-8", number);
    for (const char *at = word; emit_next_piece(&at, &piece);)
        if (piece.placeholder == EMIT_UNKNOWN)
            return status_set(STATUS_USAGE,
                              "unknown placeholder '%.*s' in '%s': it is one of {process}, "
                              "{processes}, {threads}, {port}, {seed}, {gpu}; '{{' is a brace",
                              (int)piece.bytes, piece.text, word);
    return STATUS_OK;
}

static enum status read_command(struct deployment *deployment)
{
    static const char *const placeholder[] = {DEPLOYMENT_EDIT_ME, NULL};
    const struct emit_request *request = deployment->request;
    deployment->has_command = request->command && request->command[0];
    deployment->command =
        deployment->has_command ? (const char *const *)request->command : placeholder;
    for (size_t i = 0; deployment->command[i]; i++) {
        enum status status = check_word(deployment->command[i], i + 1);
        if (status != STATUS_OK)
            return status;
    }
    const char *program = deployment->command[0];
    if (!program || !*program)
        return status_set(STATUS_USAGE, "the command's first word is empty: it is the program");
    int64_t port = request->port ? request->port : PORT_DEFAULT;
    if (port < 1 || port + deployment->processes - 1 > PORT_MOST)
        return status_set(STATUS_USAGE, "port %" PRId64 " is not the first of %u: it takes 1 to %u",
                          port, deployment->processes, PORT_MOST + 1 - deployment->processes);
    deployment->port = (unsigned)port;
    deployment->seed = point_integer(request->header, "seed");
    deployment->image = request->image ? request->image : IMAGE_PLACEHOLDER;
    if (!*deployment->image || !emit_is_utf8(deployment->image))
        return status_set(STATUS_USAGE, "the image has no name, or one that is not UTF-8");
    deployment->working_directory = getcwd(NULL, 0);
    if (!deployment->working_directory)
        return status_set(STATUS_SYSTEM, "cannot tell the working directory: %s", strerror(errno));
    if (!emit_is_utf8(deployment->working_directory) ||
        strpbrk(deployment->working_directory, "\n\r"))
        return status_set(STATUS_USAGE, "the working directory's name is not UTF-8 in one line");
    return STATUS_OK;
}

enum status deployment_make(const struct emit_request *request, struct deployment *out)
{
    struct deployment deployment = {.request = request};
    make_name(&deployment);
    enum status status = read_layout(&deployment);
    if (status == STATUS_OK)
        status = read_command(&deployment);
    if (status != STATUS_OK) {
        deployment_release(&deployment);
        return status;
    }
    read_cpus(&deployment);
    *out = deployment;
    return STATUS_OK;
}

enum status deployment_make_command(const struct emit_request *request, struct deployment *out)
{
    struct deployment deployment = {.request = request, .processes = 1, .gpu_count = 1};
    enum status status = read_command(&deployment);
    if (status == STATUS_OK)
        *out = deployment;
    else
        deployment_release(&deployment);
    return status;
}

void deployment_release(struct deployment *deployment)
{
    free(deployment->process);
    free(deployment->working_directory);
    *deployment = (struct deployment){0};
}

static void add(struct deployment_environment *out, const char *name, const char *value)
{
    if (out->count < DEPLOYMENT_VARIABLES)
        out->variable[out->count++] = (struct deployment_variable){name, value};
}

static void add_number(struct deployment_environment *out, const char *name, const char *prefix,
                       int64_t number, const char *suffix)
{
    if (out->count == DEPLOYMENT_VARIABLES)
        return;
    char *text = out->number[out->count];
    snprintf(text, sizeof out->number[0], "%s%" PRId64 "%s", prefix, number, suffix);
    add(out, name, text);
}

void deployment_environment(const struct deployment *deployment, unsigned process, const char *gpu,
                            const char *pipe_directory, struct deployment_environment *out)
{
    const struct deployment_process *of = &deployment->process[process];
    *out = (struct deployment_environment){0};
    if (gpu)
        add(out, "CUDA_VISIBLE_DEVICES", gpu);
    if (pipe_directory)
        add(out, "CUDA_MPS_PIPE_DIRECTORY", pipe_directory);
    /* As it was measured. */
    add(out, "CUDA_MODULE_LOADING", "EAGER");
    if (deployment->connections)
        add_number(out, "CUDA_DEVICE_MAX_CONNECTIONS", "", deployment->connections, "");
    if (deployment->mps && of->share[SHARE_PERCENTAGE] >= 0)
        add_number(out, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "", of->share[SHARE_PERCENTAGE], "");
    if (deployment->mps && of->share[SHARE_PRIORITY] >= 0)
        add_number(out, "CUDA_MPS_CLIENT_PRIORITY", "", of->share[SHARE_PRIORITY], "");
    if (deployment->mps && of->share[SHARE_MEMORY_MIB] >= 0)
        add_number(out, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=", of->share[SHARE_MEMORY_MIB], "M");
    add_number(out, "MPSWEEP_PROCESS", "", process, "");
    add_number(out, "MPSWEEP_PROCESSES", "", deployment->processes, "");
    add_number(out, "MPSWEEP_THREADS", "", deployment->threads, "");
    add_number(out, "MPSWEEP_PORT", "", deployment->port + process, "");
    add_number(out, "MPSWEEP_SEED", "", deployment->seed, "");
    add_number(out, "MPSWEEP_MPS", "", deployment->mps, "");
    if (gpu)
        add(out, "MPSWEEP_GPU", gpu);
    add(out, "MPSWEEP_CPUS", of->cpus_text);
}

const char *deployment_gpu_of(const struct deployment *deployment, unsigned process)
{
    return deployment->gpus[process % deployment->gpu_count];
}

const char *deployment_gpus_text(const struct deployment *deployment, unsigned daemon,
                                 char text[DEPLOYMENT_GPU_LIST])
{
    unsigned first = deployment->daemons > 1 ? daemon : 0;
    unsigned end = deployment->daemons > 1 ? daemon + 1 : deployment->gpu_count;
    size_t used = 0;
    for (unsigned g = first; g < end; g++)
        used += (size_t)snprintf(text + used, DEPLOYMENT_GPU_LIST - used, "%s%s",
                                 g > first ? "," : "", deployment->gpus[g]);
    return text;
}

const char *deployment_daemon_name(const struct deployment *deployment, unsigned daemon,
                                   char text[32])
{
    if (deployment->daemons > 1)
        snprintf(text, 32, "mps-%u", daemon);
    else
        snprintf(text, 32, "mps");
    return text;
}

const char *deployment_pipe_name(const struct deployment *deployment, unsigned process,
                                 char text[32])
{
    if (deployment->mps)
        return deployment_daemon_name(deployment, process % deployment->gpu_count, text);
    snprintf(text, 32, "off");
    return text;
}

void deployment_write_layout(const struct deployment *deployment, FILE *file)
{
    fprintf(file, "%u×%u", deployment->processes / deployment->gpu_count, deployment->threads);
    if (deployment->gpu_count > 1)
        fprintf(file, " on each of %u GPUs", deployment->gpu_count);
    fputs(deployment->mps ? " over MPS" : ", no MPS", file);
    if (deployment->gpu_count > 1 && deployment->mps)
        fputs(deployment->daemons > 1 ? ", a daemon each" : ", one daemon for all", file);
}

void deployment_write_placeholder(const struct deployment *deployment, unsigned process,
                                  enum emit_placeholder placeholder, FILE *file)
{
    switch (placeholder) {
    case EMIT_PROCESS:
        fprintf(file, "%u", process);
        break;
    case EMIT_PROCESSES:
        fprintf(file, "%u", deployment->processes);
        break;
    case EMIT_THREADS:
        fprintf(file, "%u", deployment->threads);
        break;
    case EMIT_PORT:
        fprintf(file, "%u", deployment->port + process);
        break;
    case EMIT_SEED:
        fprintf(file, "%" PRId64, deployment->seed);
        break;
    case EMIT_GPU:
        fputs(deployment_gpu_of(deployment, process), file);
        break;
    case EMIT_LITERAL:
    case EMIT_UNKNOWN:
        break;
    }
}

bool deployment_uses(const struct deployment *deployment, enum emit_placeholder placeholder)
{
    struct emit_piece piece;
    for (size_t i = 0; deployment->command[i]; i++)
        for (const char *at = deployment->command[i]; emit_next_piece(&at, &piece);)
            if (piece.placeholder == placeholder)
                return true;
    return false;
}

char *deployment_expand(const struct deployment *deployment, unsigned process, const char *word)
{
    char *text = NULL;
    size_t bytes = 0;
    struct emit_piece piece;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return NULL;
    while (emit_next_piece(&word, &piece))
        if (piece.placeholder == EMIT_LITERAL)
            fwrite(piece.text, 1, piece.bytes, file);
        else
            deployment_write_placeholder(deployment, process, piece.placeholder, file);
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

const char *deployment_memory_text(const struct deployment *deployment, char text[32])
{
    text[0] = '\0';
    if (deployment->most[SHARE_MEMORY_MIB] >= 0)
        snprintf(text, 32, "%" PRId64 "M", deployment->most[SHARE_MEMORY_MIB]);
    return text;
}

const char *deployment_percentage_text(const struct deployment *deployment, char text[32])
{
    text[0] = '\0';
    if (deployment->most[SHARE_PERCENTAGE] >= 0)
        snprintf(text, 32, "%" PRId64, deployment->most[SHARE_PERCENTAGE]);
    return text;
}
