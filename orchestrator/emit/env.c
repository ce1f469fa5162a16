/* Scripts for one machine without a service manager: start, check, stop. */
#include <stdlib.h>

#include "common/shell_word.h"
#include "orchestrator/emit/internal.h"

void emit_setting(FILE *file, const char *name, const char *value)
{
    fprintf(file, "%s=", name);
    emit_environment_value(file, value);
    fputc('\n', file);
}

void emit_setting_number(FILE *file, const char *name, long long value)
{
    fprintf(file, "%s=%lld\n", name, value);
}

void emit_common_settings(FILE *file, const struct deployment *deployment, unsigned process)
{
    char text[32];
    (void)process;
    emit_origin_write(file, deployment);
    emit_setting(file, "MPSWEEP_MPS", deployment->mps ? "1" : "0");
    emit_setting_number(file, "MPSWEEP_PROCESSES", deployment->processes);
    if (deployment->gpu_count > 1)
        fputs("# Worker N is on GPU number N modulo the number of GPUs.\n", file);
    emit_setting_number(file, "MPSWEEP_GPUS", deployment->gpu_count);
    emit_setting_number(file, "MPSWEEP_DAEMONS", deployment->daemons);
    emit_setting(file, "MPSWEEP_WORKING_DIRECTORY", deployment->working_directory);
    fputs("# What the daemon allows each client at most; empty: everything.\n", file);
    emit_setting(file, "MPSWEEP_MPS_PERCENTAGE", deployment_percentage_text(deployment, text));
    emit_setting(file, "MPSWEEP_MPS_MEMORY", deployment_memory_text(deployment, text));
    fputs("# Seconds until all workers must be attached, and from SIGTERM to SIGKILL.\n", file);
    emit_setting_number(file, "MPSWEEP_START_TIMEOUT", DEPLOYMENT_START_TIMEOUT);
    emit_setting_number(file, "MPSWEEP_STOP_TIMEOUT", DEPLOYMENT_STOP_TIMEOUT);
    fputs("export MPSWEEP_WORKING_DIRECTORY MPSWEEP_MPS_PERCENTAGE MPSWEEP_MPS_MEMORY \\\n"
          "  MPSWEEP_STOP_TIMEOUT\n",
          file);
}

static void write_settings(FILE *file, const struct deployment *deployment, unsigned process)
{
    emit_common_settings(file, deployment, process);
    char name[32];
    if (deployment->gpu_count == 1) {
        fputs("# The GPU: nvidia-smi -L lists them.\n", file);
        emit_setting(file, "MPSWEEP_GPU", deployment->gpu);
        return;
    }
    fputs("# The GPUs: nvidia-smi -L lists them. MPSWEEP_GPU is all of them.\n", file);
    for (unsigned g = 0; g < deployment->gpu_count; g++) {
        snprintf(name, sizeof name, "MPSWEEP_GPU_%u", g);
        emit_setting(file, name, deployment->gpus[g]);
    }
    for (unsigned g = 0; g < deployment->gpu_count; g++)
        fprintf(file, "%s$MPSWEEP_GPU_%u", g == 0 ? "MPSWEEP_GPU=\"" : ",", g);
    fputs("\"\n", file);
}

/* The script start makes the daemon's directory, and deployment.env names the GPU. */
static void write_worker(FILE *file, const struct deployment *deployment, unsigned process)
{
    struct deployment_environment environment;
    char text[32];
    deployment_environment(deployment, process, NULL, NULL, &environment);
    fprintf(file, "# The environment of worker process %u of %u, for a shell to read.\n", process,
            deployment->processes);
    if (deployment->gpu_count > 1)
        fprintf(file, "MPSWEEP_GPU=\"$MPSWEEP_GPU_%u\"\n", process % deployment->gpu_count);
    fputs("export MPSWEEP_GPU CUDA_VISIBLE_DEVICES=\"$MPSWEEP_GPU\"\n", file);
    fprintf(file, "export CUDA_MPS_PIPE_DIRECTORY=\"${MPSWEEP_RUN:?is set by start}/%s\"\n",
            deployment_pipe_name(deployment, process, text));
    for (size_t i = 0; i < environment.count; i++) {
        fprintf(file, "export %s=", environment.variable[i].name);
        shell_word_quote(file, environment.variable[i].value);
        fputc('\n', file);
    }
}

void emit_command_write(FILE *file, const struct deployment *deployment, unsigned process)
{
    static const char *const variable[] = {
        [PLACEHOLDER_PROCESS] = "MPSWEEP_PROCESS", [PLACEHOLDER_PROCESSES] = "MPSWEEP_PROCESSES",
        [PLACEHOLDER_THREADS] = "MPSWEEP_THREADS", [PLACEHOLDER_PORT] = "MPSWEEP_PORT",
        [PLACEHOLDER_SEED] = "MPSWEEP_SEED",       [PLACEHOLDER_GPU] = "MPSWEEP_GPU",
    };
    (void)process;
    fputs("# shellcheck shell=sh\n# What each worker becomes, with its own environment.\n", file);
    if (!deployment->has_command) {
        fputs("# Put your program here, as in: exec python3 serve.py --port \"$MPSWEEP_PORT\"\n"
              "echo '" DEPLOYMENT_EDIT_ME ": this deployment has no command yet' >&2\nexit 78\n",
              file);
        return;
    }
    fputs("exec", file);
    for (size_t i = 0; deployment->command[i]; i++) {
        const char *at = deployment->command[i];
        struct placeholder_piece piece;
        fputs(i == 0 ? " " : " \\\n  ", file);
        if (!*at)
            fputs("''", file);
        while (placeholders_next(&at, &piece))
            if (piece.placeholder == PLACEHOLDER_LETTERS)
                shell_word_quote_bytes(file, piece.text, piece.bytes);
            else
                fprintf(file, "\"$%s\"", variable[piece.placeholder]);
    }
    fputc('\n', file);
}

void emit_env_write(const struct deployment *deployment, struct emit_output *output)
{
    char name[64];
    emit_output_file(output, "deployment.env", false, write_settings, deployment, 0);
    emit_output_file(output, "command", false, emit_command_write, deployment, 0);
    for (unsigned p = 0; p < deployment->processes; p++) {
        snprintf(name, sizeof name, "worker-%u.env", p);
        emit_output_file(output, name, false, write_worker, deployment, p);
    }
    emit_output_copy(output, "emit/env-common.sh", "common.sh", false);
    emit_output_copy(output, "emit/env-start", "start", true);
    emit_output_copy(output, "emit/env-stop", "stop", true);
    emit_output_copy(output, "emit/env-check", "check", true);
    emit_output_copy(output, "emit/mps", "mps", false);
}

void emit_env_usage(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    fprintf(file,
            "```sh\n"
            "./start    # %sthe workers, then waits until each is %s\n"
            "./check    # a line for each worker; exit status 0 if all is as measured\n"
            "./stop     # SIGTERM to the workers%s; SIGKILL after %d s\n"
            "```\n\n",
            deployment->mps ? "the MPS daemon, " : "",
            deployment->mps ? "proved to be its client" : "there",
            deployment->mps ? ", then the daemon" : "", DEPLOYMENT_STOP_TIMEOUT);
    fputs("Run them as the user that the workers are to be. The link `run` names the private\n"
          "directory with the daemon's socket while it runs; `log/` has what daemon and workers\n"
          "print. A worker that ends is not started again: for that, take the systemd format.\n\n"
          "| file | what it is |\n|---|---|\n"
          "| `deployment.env` | GPU, number of workers, limits of the daemon, timeouts |\n"
          "| `worker-N.env` | the environment of worker N, for a shell to read; `MPSWEEP_CPUS` are "
          "its CPUs |\n"
          "| `command` | what each worker becomes |\n"
          "| `mps` | starts, asks and ends the daemon |\n\n"
          "## Another machine\n\n"
          "Change ",
          file);
    fputs(deployment->gpu_count > 1 ? "each `MPSWEEP_GPU_N`" : "`MPSWEEP_GPU`", file);
    fputs(" in `deployment.env` (`nvidia-smi -L`) and `MPSWEEP_CPUS` in each\n"
          "`worker-N.env` (empty: not bound), and `MPSWEEP_WORKING_DIRECTORY`.\n",
          file);
}
