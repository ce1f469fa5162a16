#include "orchestrator/emit/deployment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/text.h"
#include "common/paths.h"
#include "orchestrator/results/settings.h"

#define PORT_DEFAULT 8000
#define PORT_MOST 65535
#define NAME_PREFIX "mpsweep-"
#define IMAGE_PLACEHOLDER "edit-me.invalid/your-image:tag"

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

static enum status read_command(struct deployment *deployment)
{
    static const char *const placeholder[] = {DEPLOYMENT_EDIT_ME, NULL};
    const struct emit_request *request = deployment->request;
    deployment->has_command = request->command && request->command[0];
    deployment->command =
        deployment->has_command ? (const char *const *)request->command : placeholder;
    for (size_t i = 0; deployment->command[i]; i++) {
        /* A program's workload may have the same words, with the same placeholders. */
        enum status status =
            text_is_utf8(deployment->command[i])
                ? placeholders_check(deployment->command[i])
                : status_set(STATUS_USAGE, "word %zu of the command is not UTF-8", i + 1);
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
    deployment->seed = integer_at(request->header, "seed");
    deployment->image = request->image ? request->image : IMAGE_PLACEHOLDER;
    if (!*deployment->image || !text_is_utf8(deployment->image))
        return status_set(STATUS_USAGE, "the image has no name, or one that is not UTF-8");
    deployment->working_directory = getcwd(NULL, 0);
    if (!deployment->working_directory)
        return status_set(STATUS_SYSTEM, "cannot find the working directory: %s", strerror(errno));
    if (!text_is_utf8(deployment->working_directory) ||
        strpbrk(deployment->working_directory, "\n\r"))
        return status_set(STATUS_USAGE, "the working directory's name is not UTF-8 in one line");
    return STATUS_OK;
}

enum status deployment_make(const struct emit_request *request, struct deployment *out)
{
    struct deployment deployment = {.request = request};
    make_name(&deployment);
    enum status status = deployment_read(&deployment);
    if (status == STATUS_OK)
        status = read_command(&deployment);
    if (status != STATUS_OK) {
        deployment_release(&deployment);
        return status;
    }
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
    for (unsigned p = 0; deployment->process && p < deployment->processes; p++) {
        hwloc_bitmap_free(deployment->process[p].cpus);
        free(deployment->process[p].cpus_text);
    }
    free(deployment->process);
    free(deployment->working_directory);
    *deployment = (struct deployment){0};
}

static void add(struct deployment_environment *out, const char *name, const char *value)
{
    if (out->count < DEPLOYMENT_VARIABLES)
        out->variable[out->count++] = (struct deployment_variable){name, value};
}

/* What the environment carries of the point's settings, as of the workers that were measured. */
static void add_settings(struct deployment_environment *out, const struct deployment *deployment,
                         unsigned process)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        int64_t value = 0;
        if (row->setting.type == SETTING_SHARES)
            value = deployment_share(deployment, process, row);
        else if (row->setting.variable)
            value = settings_number(deployment->request->point, row);
        if (out->count < DEPLOYMENT_VARIABLES &&
            setting_variable_text(row, value, out->number[out->count], sizeof out->number[0]))
            add(out, row->setting.variable, out->number[out->count]);
    }
}

static void add_number(struct deployment_environment *out, const char *name, int64_t number)
{
    if (out->count == DEPLOYMENT_VARIABLES)
        return;
    char *text = out->number[out->count];
    snprintf(text, sizeof out->number[0], "%" PRId64, number);
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
    add_settings(out, deployment, process);
    add_number(out, "MPSWEEP_PROCESS", process);
    add_number(out, "MPSWEEP_PROCESSES", deployment->processes);
    add_number(out, "MPSWEEP_THREADS", deployment->threads);
    add_number(out, "MPSWEEP_PORT", deployment->port + process);
    add_number(out, "MPSWEEP_SEED", deployment->seed);
    add_number(out, "MPSWEEP_MPS", deployment->mps);
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

struct placeholders deployment_placeholders(const struct deployment *deployment, unsigned process)
{
    return (struct placeholders){
        .process = process,
        .processes = deployment->processes,
        .threads = deployment->threads,
        .port = deployment->port + process,
        .seed = deployment->seed,
        .gpu = deployment_gpu_of(deployment, process),
    };
}

bool deployment_uses(const struct deployment *deployment, enum placeholder placeholder)
{
    for (size_t i = 0; deployment->command[i]; i++)
        if (placeholders_use(deployment->command[i], placeholder))
            return true;
    return false;
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
