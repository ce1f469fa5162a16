/* One description for other programs; docs/deploying.md has its fields. */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "common/paths.h"
#include "orchestrator/emit/internal.h"
#include "orchestrator/results/point.h"

#define DESCRIPTION_VERSION 1
/* Stands for the daemon's private directory, which whoever starts it makes. */
#define PRIVATE_DIRECTORY "{run}"

static json_t *share(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *make_daemon(const struct deployment *deployment, unsigned daemon)
{
    char gpus[DEPLOYMENT_GPU_LIST], name[32], directory[64], log[64];
    if (daemon >= deployment->daemons)
        return json_null();
    snprintf(directory, sizeof directory, PRIVATE_DIRECTORY "/%s",
             deployment_daemon_name(deployment, daemon, name));
    snprintf(log, sizeof log, PRIVATE_DIRECTORY "/log%s", name + strlen("mps"));
    return json_pack("{s:[s,s], s:{s:s, s:s, s:s}, s:o, s:o}", "command", "nvidia-cuda-mps-control",
                     "-f", "environment", "CUDA_VISIBLE_DEVICES",
                     deployment_gpus_text(deployment, daemon, gpus), "CUDA_MPS_PIPE_DIRECTORY",
                     directory, "CUDA_MPS_LOG_DIRECTORY", log, "default_active_thread_percentage",
                     share(deployment->most[SHARE_PERCENTAGE]), "default_memory_limit_mib",
                     share(deployment->most[SHARE_MEMORY_MIB]));
}

static json_t *make_cpus(const struct deployment_process *process)
{
    if (!*process->cpus_text)
        return json_null();
    json_t *cpus = json_array();
    for (unsigned cpu = 0; cpu < SHM_CPUS; cpu++)
        if (process->cpus[cpu / 64] >> (cpu % 64) & 1)
            json_array_append_new(cpus, json_integer(cpu));
    return cpus;
}

static json_t *make_worker(const struct deployment *deployment, unsigned process)
{
    struct deployment_environment environment;
    json_t *command = deployment->has_command ? json_array() : json_null();
    json_t *variables = json_object();
    bool failed = false;
    char name[32], directory[64];
    snprintf(directory, sizeof directory, PRIVATE_DIRECTORY "/%s",
             deployment_pipe_name(deployment, process, name));
    deployment_environment(deployment, process, deployment_gpu_of(deployment, process), directory,
                           &environment);
    for (size_t i = 0; i < environment.count; i++)
        json_object_set_new(variables, environment.variable[i].name,
                            json_string(environment.variable[i].value));
    for (size_t i = 0; deployment->has_command && deployment->command[i]; i++) {
        char *word = deployment_expand(deployment, process, deployment->command[i]);
        failed |= !word || json_array_append_new(command, json_string(word)) != 0;
        free(word);
    }
    if (failed) {
        json_decref(command);
        command = NULL; /* which packs to nothing */
    }
    return json_pack("{s:i, s:i, s:o, s:o, s:o}", "process", (int)process, "port",
                     (int)(deployment->port + process), "cpus",
                     make_cpus(&deployment->process[process]), "command", command, "environment",
                     variables);
}

static json_t *make_origin(const struct deployment *deployment)
{
    const struct emit_request *request = deployment->request;
    json_t *point = json_deep_copy(request->point);
    json_object_del(point, "per_worker");
    return json_pack("{s:s, s:s*, s:O*, s:O*, s:O*, s:O*, s:o}", "results",
                     path_file_name(request->results), "chosen", request->chosen, "started",
                     json_object_get(request->header, "started"), "host",
                     json_object_get(request->header, "host"), "driver",
                     json_object_get(request->header, "driver"), "gpu",
                     json_object_get(request->header, "gpu"), "point", point);
}

static json_t *make_description(const struct deployment *deployment)
{
    json_t *workers = json_array();
    for (unsigned p = 0; p < deployment->processes; p++)
        if (json_array_append_new(workers, make_worker(deployment, p)) != 0) {
            json_decref(workers);
            return NULL;
        }
    /* One GPU's is as it was before there were several. */
    json_t *description = json_pack(
        "{s:s, s:i, s:s, s:s, s:b, s:s, s:b, s:i, s:i, s:s, s:i, s:i, s:o, s:o, s:o}", "type",
        "deployment", "version", DESCRIPTION_VERSION, "mpsweep", PACKAGE_VERSION, "name",
        deployment->name, "emulated", (int)deployment->emulated, "gpu", deployment->gpu, "mps",
        (int)deployment->mps, "processes", (int)deployment->processes, "threads",
        (int)deployment->threads, "working_directory", deployment->working_directory,
        "start_timeout_s", DEPLOYMENT_START_TIMEOUT, "stop_timeout_s", DEPLOYMENT_STOP_TIMEOUT,
        "daemon", make_daemon(deployment, 0), "workers", workers, "origin",
        make_origin(deployment));
    if (deployment->gpu_count < 2)
        return description;
    json_t *gpus = json_array(), *daemons = json_array();
    for (unsigned g = 0; g < deployment->gpu_count; g++)
        json_array_append_new(gpus, json_string(deployment->gpus[g]));
    for (unsigned d = 0; d < deployment->daemons; d++)
        json_array_append_new(daemons, make_daemon(deployment, d));
    json_object_set_new(description, "gpus", gpus);
    json_object_set_new(description, "daemons", daemons);
    return description;
}

void emit_json_write(const struct deployment *deployment, struct emit_output *output)
{
    json_t *description = make_description(deployment);
    char *text = description ? json_dumps(description, JSON_INDENT(2)) : NULL;
    emit_output_text(output, "deployment.json", text);
    free(text);
    json_decref(description);
    emit_output_copy(output, "emit/mps", "mps", false);
}

void emit_json_usage(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    fputs("`deployment.json` is for a program that starts workers in its own way; "
          "docs/deploying.md of\n"
          "mpsweep describes its fields. It is to:\n\n",
          file);
    if (deployment->mps)
        fputs(
            "1. make a private directory of mode 0700 and at most 71 characters, which `{run}` "
            "stands for;\n"
            "2. start the daemon: `sh ./mps run` with the environment of `daemon`, and its limits "
            "as\n   `MPSWEEP_MPS_PERCENTAGE` and `MPSWEEP_MPS_MEMORY`; wait until `sh ./mps ready` "
            "succeeds;\n"
            "3. start the workers with their environment, bound to their CPUs;\n"
            "4. check: `sh ./mps await SECONDS PID...` proves that each is a client;\n"
            "5. stop: SIGTERM to the workers, then to the daemon.\n",
            file);
    else
        fputs("1. make an empty directory, which `{run}/off` stands for: no MPS daemon is found "
              "there;\n"
              "2. start the workers with their environment, bound to their CPUs;\n"
              "3. stop: SIGTERM to the workers.\n",
              file);
    if (deployment->gpu_count > 1)
        fprintf(file,
                "\nThere are %u GPUs in `gpus`; each worker's environment names its own one. "
                "`daemons` has\n%s.\n",
                deployment->gpu_count,
                deployment->daemons > 1    ? "a daemon for each: start all of them"
                : deployment->daemons == 1 ? "the one daemon again, which sees them all"
                                           : "none");
    fputs("\n## Another machine\n\nChange `gpu`, the same in each environment, and each worker's "
          "`cpus`.\n",
          file);
}
