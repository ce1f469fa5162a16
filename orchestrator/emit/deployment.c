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

/* Or a control character, as a line break is. */
static bool has_blank(const char *text)
{
    while ((unsigned char)*text > ' ')
        text++;
    return *text != '\0';
}

static enum status read_command(struct deployment *deployment)
{
    /* In place of a command that was not given: all that runs refuses it. */
    static const char *const placeholder[] = {"EDIT-ME", NULL};
    const struct emit_request *request = deployment->request;
    char shown[256];
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
    if (has_blank(deployment->image))
        return status_set(STATUS_USAGE, "image '%s' has a blank: it takes a name as %s",
                          text_displayed(deployment->image, shown, sizeof shown),
                          IMAGE_PLACEHOLDER);
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
    deployment_read_service(&deployment);
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

struct placeholders deployment_placeholders(const struct deployment *deployment, unsigned process)
{
    return (struct placeholders){
        .process = process,
        .processes = deployment->processes,
        .threads = deployment->threads,
        .streams = deployment->streams,
        .port = deployment->port + process,
        .seed = deployment->seed,
        .gpu = deployment->gpus[process % deployment->gpu_count],
    };
}
