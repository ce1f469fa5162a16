/* The formats of deployments: the files of each, made of templates in emit/. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/emit/directory.h"
#include "orchestrator/emit/emit.h"
#include "orchestrator/emit/values.h"

#define FILES_MOST 16

/* A file, or one for each item of a list. */
struct file {
    const char *name;     /* a template itself; without any text there is no such file */
    const char *template; /* a data file */
    const char *list;     /* a name of values; NULL: one file */
    bool executable;
};

struct format {
    const char *name;
    bool in_containers;
    /* Whether it can run the command, of which alone the deployment is known; NULL: any. */
    enum status (*check)(const struct deployment *deployment);
    struct file files[FILES_MOST]; /* as many as have a name */
};

/* Of the program itself systemd expands nothing but specifiers. */
static enum status check_path(const struct deployment *deployment, const char *program)
{
    struct placeholder_piece piece;
    bool expands =
        strchr(program, '$') || (program[0] != '/' && strchr(deployment->working_directory, '$'));
    for (const char *at = program; placeholders_next(&at, &piece);)
        expands |= piece.placeholder == PLACEHOLDER_PORT || piece.placeholder == PLACEHOLDER_GPU;
    if (!expands)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "systemd expands nothing in a program's path: '%s%s%s' must have no '$', "
                      "{port} or {gpu}",
                      program[0] == '/' ? "" : deployment->working_directory,
                      program[0] == '/' ? "" : "/", program);
}

static enum status check_systemd(const struct deployment *deployment)
{
    const char *program = deployment->command[0];
    if (strchr(program, '/'))
        return check_path(deployment, program);
    /* env would take it for a variable. */
    if (strchr(program, '='))
        return status_set(STATUS_USAGE, "the program's name '%s' has a '=': give its path",
                          program);
    return STATUS_OK;
}

static enum status check_kubernetes(const struct deployment *deployment)
{
    for (size_t i = 0; deployment->command[i]; i++)
        if (placeholders_use(deployment->command[i], PLACEHOLDER_GPU))
            return status_set(STATUS_USAGE,
                              "{gpu} is not known before Kubernetes has allotted one: the worker "
                              "finds it in its environment as MPSWEEP_GPU");
    return STATUS_OK;
}

/* Only where workers take connections. */
#define READY                                                                                      \
    {                                                                                              \
        "{{#has_port}}ready{{/has_port}}", "emit/ready"                                            \
    }

static const struct format formats[] = {
    {"env",
     false,
     NULL,
     {{"deployment.env", "emit/env-deployment.env"},
      {"command", "emit/command"},
      {"worker-{{process}}.env", "emit/env-worker.env", "workers"},
      {"common.sh", "emit/env-common.sh"},
      {"start", "emit/env-start", NULL, true},
      {"stop", "emit/env-stop", NULL, true},
      {"check", "emit/env-check", NULL, true},
      {"mps", "emit/mps"},
      READY,
      {"README.md", "emit/readme-env.md"}}},
    {"systemd",
     false,
     check_systemd,
     {{"{{name}}.target", "emit/systemd.target"},
      {"{{#mps}}{{name}}-mps{{#daemon_each}}@{{/daemon_each}}.service{{/mps}}",
       "emit/systemd-mps.service"},
      {"mps{{suffix}}.env", "emit/systemd-mps.env", "daemons"},
      {"{{#daemon_each}}{{name}}-mps@{{daemon}}.service.d/workers.conf{{/daemon_each}}",
       "emit/systemd-mps-workers.conf", "daemons"},
      {"{{name}}-worker@.service", "emit/systemd-worker.service"},
      {"worker-{{process}}.env", "emit/systemd-worker.env", "workers"},
      {"{{#daemon_each}}{{name}}-worker@{{process}}.service.d/daemon.conf{{/daemon_each}}",
       "emit/systemd-worker-daemon.conf", "workers"},
      {"{{#cpus}}{{name}}-worker@{{process}}.service.d/cpus.conf{{/cpus}}",
       "emit/systemd-worker-cpus.conf", "workers"},
      {"names.sh", "emit/systemd-names.sh"},
      {"install", "emit/systemd-install", NULL, true},
      {"check", "emit/systemd-check", NULL, true},
      {"mps", "emit/mps"},
      READY,
      {"README.md", "emit/readme-systemd.md"}}},
    {"slurm",
     false,
     NULL,
     {{"job.sbatch", "emit/slurm-job.sbatch", NULL, true},
      {"deployment.env", "emit/slurm-deployment.env"},
      {"command", "emit/command"},
      {"worker-{{process}}.env", "emit/slurm-worker.env", "workers"},
      {"job.sh", "emit/slurm-job"},
      {"worker", "emit/slurm-worker"},
      {"check", "emit/slurm-check", NULL, true},
      {"mps", "emit/mps"},
      READY,
      {"README.md", "emit/readme-slurm.md"}}},
    {"kubernetes",
     true,
     check_kubernetes,
     {{"deployment.yaml", "emit/kubernetes.yaml"},
      {"{{#has_port}}service.yaml{{/has_port}}", "emit/service.yaml"},
      {"kustomization.yaml", "emit/kustomization.yaml"},
      {"mps", "emit/mps"},
      READY,
      {"worker", "emit/container-worker"},
      {"check", "emit/container-check"},
      {"README.md", "emit/readme-kubernetes.md"}}},
    {"compose",
     true,
     NULL,
     {{"compose.yaml", "emit/compose.yaml"},
      {"mps", "emit/mps"},
      READY,
      {"worker", "emit/container-worker"},
      {"check", "emit/container-check"},
      {"README.md", "emit/readme-compose.md"}}},
};

static enum status find_format(const char *name, const struct format **out)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0) {
            *out = &formats[i];
            return STATUS_OK;
        }
    return status_set(STATUS_USAGE, "'%s' is not a format of a deployment", name);
}

static enum status check_format(const struct format *format, const struct deployment *deployment)
{
    if (deployment->request->image && !format->in_containers)
        return status_set(STATUS_USAGE,
                          "image is for kubernetes and compose: leave it out with --target %s",
                          format->name);
    return format->check ? format->check(deployment) : STATUS_OK;
}

enum status emit_check(const char *format_name, const char *directory, char *const *command)
{
    const struct emit_request request = {
        .format = format_name, .directory = directory, .command = command};
    const struct format *format;
    struct deployment deployment;
    enum status status = find_format(format_name, &format);
    if (status == STATUS_OK)
        status = emit_output_check(directory);
    if (status == STATUS_OK)
        status = deployment_make_command(&request, &deployment);
    if (status != STATUS_OK)
        return status;
    status = check_format(format, &deployment);
    deployment_release(&deployment);
    return status;
}

static enum status write_file(struct emit_output *output, const struct file *file,
                              const struct template_values *values)
{
    char *name = NULL, *text = NULL;
    enum status status = template_text(file->name, file->name, values, emit_quotings, &name);
    if (status == STATUS_OK && *name)
        status = template_file(file->template, values, emit_quotings, &text);
    if (status == STATUS_OK && *name)
        status = emit_output_file(output, name, file->executable, text);
    free(name);
    free(text);
    return status;
}

static enum status write_files(struct emit_output *output, const struct file *file,
                               const json_t *values)
{
    const struct template_values all = {.value = values};
    if (!file->list)
        return write_file(output, file, &all);
    const json_t *list = json_object_get(values, file->list);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < json_array_size(list) && status == STATUS_OK; i++) {
        const struct template_values item = {json_array_get(list, i), i, &all};
        status = write_file(output, file, &item);
    }
    return status;
}

static enum status write_format(const struct format *format, const struct deployment *deployment)
{
    struct emit_output output;
    enum status status = emit_output_open(deployment->request->directory, &output);
    if (status != STATUS_OK)
        return status;
    json_t *values = emit_values(deployment);
    for (const struct file *file = format->files; file->name && status == STATUS_OK; file++)
        status = write_files(&output, file, values);
    json_decref(values);
    return emit_output_close(&output, status);
}

enum status emit_write(const struct emit_request *request)
{
    const struct format *format;
    struct deployment deployment;
    enum status status = find_format(request->format, &format);
    if (status == STATUS_OK)
        status = deployment_make(request, &deployment);
    if (status != STATUS_OK)
        return status;
    status = check_format(format, &deployment);
    if (status == STATUS_OK)
        status = write_format(format, &deployment);
    deployment_release(&deployment);
    return status;
}
