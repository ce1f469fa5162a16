/* The formats of deployments, and writing one. */
#include <string.h>

#include "orchestrator/emit/emit.h"
#include "orchestrator/emit/internal.h"

static const struct format {
    const char *name;
    emit_format_check *check; /* NULL: it runs all commands */
    emit_format_write *write;
    emit_writer *usage;
} formats[] = {
    {"env", NULL, emit_env_write, emit_env_usage},
    {"systemd", emit_systemd_check, emit_systemd_write, emit_systemd_usage},
    {"slurm", NULL, emit_slurm_write, emit_slurm_usage},
    {"kubernetes", emit_kubernetes_check, emit_kubernetes_write, emit_kubernetes_usage},
    {"compose", NULL, emit_compose_write, emit_compose_usage},
};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static void write_readme(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    emit_readme_write(file, deployment, find_format(deployment->request->format)->usage);
}

static enum status check_format(const struct format *format, const struct deployment *deployment)
{
    return format->check ? format->check(deployment) : STATUS_OK;
}

enum status emit_check(const char *format_name, const char *directory, char *const *command)
{
    const struct emit_request request = {
        .format = format_name, .directory = directory, .command = command};
    const struct format *format = find_format(format_name);
    struct deployment deployment;
    if (!format)
        return status_set(STATUS_USAGE, "'%s' is not a format of a deployment", format_name);
    enum status status = emit_output_check(directory);
    if (status != STATUS_OK)
        return status;
    status = deployment_make_command(&request, &deployment);
    if (status != STATUS_OK)
        return status;
    status = check_format(format, &deployment);
    deployment_release(&deployment);
    return status;
}

enum status emit_write(const struct emit_request *request)
{
    struct deployment deployment;
    struct emit_output output;
    const struct format *format = find_format(request->format);
    if (!format)
        return status_set(STATUS_USAGE, "'%s' is not a format of a deployment", request->format);
    enum status status = deployment_make(request, &deployment);
    if (status != STATUS_OK)
        return status;
    status = check_format(format, &deployment);
    if (status == STATUS_OK)
        status = emit_output_open(request->directory, &output);
    if (status == STATUS_OK) {
        format->write(&deployment, &output);
        emit_output_file(&output, "README.md", false, write_readme, &deployment, 0);
        status = emit_output_close(&output);
    }
    deployment_release(&deployment);
    return status;
}
