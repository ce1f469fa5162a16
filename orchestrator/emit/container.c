#include "orchestrator/emit/container.h"

#include <string.h>

void container_write_command(FILE *file, const struct deployment *deployment, unsigned process)
{
    fprintf(file, "[\"sh\", \"" CONTAINER_SCRIPTS "/worker\", \"%u\"", process);
    for (size_t i = 0; deployment->command[i]; i++) {
        const char *at = deployment->command[i];
        const struct placeholders values = deployment_placeholders(deployment, process);
        struct placeholder_piece piece;
        fputs(", \"", file);
        while (placeholders_next(&at, &piece))
            if (piece.placeholder == PLACEHOLDER_LETTERS)
                emit_yaml_bytes(file, piece.text, piece.bytes, true);
            else
                placeholders_write(file, &piece, &values);
        fputc('"', file);
    }
    fputc(']', file);
}

/* An image may have it, too: what a worker had not got is empty, and its script drops it. */
static void write_unset(FILE *file, const struct deployment_environment *environment,
                        void (*write)(FILE *file, const char *name, const char *value))
{
    static const char *const optional[] = {
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "CUDA_MPS_CLIENT_PRIORITY",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    };
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        bool set = false;
        for (size_t k = 0; k < environment->count; k++)
            set |= strcmp(environment->variable[k].name, optional[i]) == 0;
        if (!set)
            write(file, optional[i], "");
    }
}

void container_write_environment(FILE *file, const struct deployment *deployment, unsigned process,
                                 const char *gpu,
                                 void (*write)(FILE *file, const char *name, const char *value))
{
    struct deployment_environment environment;
    char text[32], pipe_directory[sizeof CONTAINER_RUN + 32];
    char log[sizeof pipe_directory + 8];
    bool is_daemon = process >= CONTAINER_DAEMON;
    snprintf(
        pipe_directory, sizeof pipe_directory, CONTAINER_RUN "/%s",
        deployment_pipe_name(deployment, is_daemon ? process - CONTAINER_DAEMON : process, text));
    write(file, "NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
    write(file, "MPSWEEP_RUN", CONTAINER_RUN);
    if (is_daemon) {
        write(file, "CUDA_MPS_PIPE_DIRECTORY", pipe_directory);
        snprintf(log, sizeof log, CONTAINER_RUN "/log%s",
                 pipe_directory + strlen(CONTAINER_RUN "/mps"));
        write(file, "CUDA_MPS_LOG_DIRECTORY", log);
        if (gpu)
            write(file, "CUDA_VISIBLE_DEVICES", gpu);
        write(file, "MPSWEEP_MPS_PERCENTAGE", deployment_percentage_text(deployment, text));
        write(file, "MPSWEEP_MPS_MEMORY", deployment_memory_text(deployment, text));
        snprintf(text, sizeof text, "%d", DEPLOYMENT_STOP_TIMEOUT);
        write(file, "MPSWEEP_STOP_TIMEOUT", text);
        snprintf(text, sizeof text, "%u", deployment->gpu_count);
        if (deployment->gpu_count > 1 && deployment->daemons == 1)
            write(file, "MPSWEEP_MPS_GPUS", text);
        return;
    }
    deployment_environment(deployment, process, gpu, pipe_directory, &environment);
    /* cpuset, or requests.cpu, has a container's CPUs. */
    for (size_t i = 0; i < environment.count; i++)
        if (strcmp(environment.variable[i].name, "MPSWEEP_CPUS") != 0)
            write(file, environment.variable[i].name, environment.variable[i].value);
    write_unset(file, &environment, write);
}

void container_copy_scripts(struct emit_output *output)
{
    emit_output_copy(output, "emit/mps", "mps", false);
    emit_output_copy(output, "emit/container-worker", "worker", false);
    emit_output_copy(output, "emit/container-check", "check", false);
}
