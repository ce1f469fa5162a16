/* systemd: a target, the daemon's service, a template of the workers, drop-ins for their CPUs. */
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/emit/internal.h"

/* The user who measured: daemon and clients must be the same one. */
static void write_user(FILE *file)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const struct passwd *user = getpwuid(geteuid());
    if (user && *user->pw_name && user->pw_name[strspn(user->pw_name, letters)] == '\0')
        fprintf(file, "User=%s\n", user->pw_name);
    else
        fprintf(file, "User=%u\n", (unsigned)geteuid());
}

static void write_wants(FILE *file, const struct deployment *deployment)
{
    for (unsigned p = 0; p < deployment->processes; p++)
        fprintf(file, "Wants=%s-worker@%u.service\n", deployment->name, p);
}

/* Of one daemon for each GPU the service is a template; what differs is in drop-ins. */
static bool is_split(const struct deployment *deployment)
{
    return deployment->daemons > 1;
}

/* The workers that a daemon of several takes with it. */
static void write_daemon_workers(FILE *file, const struct deployment *deployment, unsigned daemon)
{
    fputs("[Unit]\n", file);
    for (unsigned p = daemon; p < deployment->processes; p += deployment->gpu_count)
        fprintf(file, "Wants=%s-worker@%u.service\n", deployment->name, p);
}

static void write_worker_daemon(FILE *file, const struct deployment *deployment, unsigned process)
{
    unsigned daemon = process % deployment->gpu_count;
    fprintf(file,
            "[Unit]\n# After the daemon when starting, and so before it when stopping.\n"
            "BindsTo=%s-mps@%u.service\nAfter=%s-mps@%u.service\n",
            deployment->name, daemon, deployment->name, daemon);
}

static void write_target(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    emit_origin_write(file, deployment);
    fprintf(file, "[Unit]\nDescription=%u worker processes on ", deployment->processes);
    if (deployment->gpu_count > 1)
        fprintf(file, "%u GPUs", deployment->gpu_count);
    else
        fputs("a GPU", file);
    fputs(deployment->mps ? " over MPS\n" : "\n", file);
    write_wants(file, deployment);
    /* By default a target comes after what it wants, and what wants it after that. */
    fputs("# It is reached when all workers are proved. No boot waits for that: where a daemon "
          "cannot "
          "start, it\n# is tried for ever.\n"
          "DefaultDependencies=no\nConflicts=shutdown.target\nBefore=shutdown.target\n",
          file);
    for (unsigned p = 0; p < deployment->processes; p++)
        fprintf(file, "After=%s-worker@%u.service\n", deployment->name, p);
    fputs("\n[Install]\nWantedBy=multi-user.target\n", file);
}

/* Where GPUs are joined by NVSwitch, CUDA does not start before the fabric manager is there. What
 * is not installed is not waited for. */
static void write_driver(FILE *file)
{
    fputs("# A GPU that is not ready yet, or is reset, may take longer than a few attempts.\n"
          "StartLimitIntervalSec=0\n"
          "After=nvidia-persistenced.service nvidia-fabricmanager.service\n",
          file);
}

/* As from a shell on most machines with GPUs: a service has 1024 files, and 8 MiB of locked memory.
 */
static void write_limits(FILE *file)
{
    fputs("LimitNOFILE=65536\nLimitMEMLOCK=infinity\n", file);
}

static void write_daemon(FILE *file, const struct deployment *deployment, unsigned process)
{
    const char *name = deployment->name;
    const char *which = is_split(deployment) ? "-%i" : "";
    (void)process;
    emit_origin_write(file, deployment);
    fprintf(file, "[Unit]\nDescription=MPS daemon%s of %s\nPartOf=%s.target\n",
            is_split(deployment) ? " %i" : "", name, name);
    write_driver(file);
    fputs("# Workers end with the daemon: one that is started again starts them again.\n", file);
    if (!is_split(deployment))
        write_wants(file, deployment);
    fputs("\n[Service]\nType=exec\n", file);
    write_user(file);
    fprintf(file,
            "# The daemon's private directory: mode 0700, and gone when it ends.\n"
            "RuntimeDirectory=%s/mps%s\nRuntimeDirectoryMode=0700\n"
            "# Its logs stay.\n"
            "LogsDirectory=%s/mps%s\nLogsDirectoryMode=0700\n"
            "EnvironmentFile=/etc/%s/mps%s.env\n"
            "Environment=CUDA_MPS_PIPE_DIRECTORY=/run/%s/mps%s\n"
            "Environment=CUDA_MPS_LOG_DIRECTORY=/var/log/%s/mps%s\n"
            "ExecStart=/usr/bin/env nvidia-cuda-mps-control -f\n"
            "# It counts as started when it answers and has its limits: workers wait for that.\n"
            "ExecStartPost=/bin/sh /usr/local/lib/%s/mps configure $MAINPID\n"
            "ExecStop=/bin/sh /usr/local/lib/%s/mps quit\n",
            name, which, name, which, name, which, name, which, name, which, name, name);
    write_limits(file);
    fprintf(file,
            "KillMode=mixed\nTimeoutStopSec=%d\n"
            "# Also after a quit from outside: only systemctl stop ends it.\n"
            "Restart=always\nRestartSec=2\n",
            DEPLOYMENT_STOP_TIMEOUT + 10);
}

/* A name without a slash is looked for by env, as in a shell; a relative path is made absolute. */
static void write_exec(FILE *file, const struct deployment *deployment)
{
    const struct placeholders values = deployment_placeholders(deployment, 0);
    for (size_t i = 0; deployment->command[i]; i++) {
        const char *at = deployment->command[i];
        struct placeholder_piece piece;
        if (i == 0 && !strchr(at, '/'))
            fputs("/usr/bin/env --", file);
        fputs(i == 0 && strchr(at, '/') ? "\"" : " \"", file);
        if (i == 0 && at[0] != '/' && strchr(at, '/')) {
            emit_unit_bytes(file, deployment->working_directory,
                            strlen(deployment->working_directory));
            fputc('/', file);
        }
        while (placeholders_next(&at, &piece))
            if (piece.placeholder == PLACEHOLDER_LETTERS)
                emit_unit_bytes(file, piece.text, piece.bytes);
            else if (piece.placeholder == PLACEHOLDER_PROCESS)
                fputs("%i", file);
            else if (piece.placeholder == PLACEHOLDER_PORT)
                fputs("${MPSWEEP_PORT}", file);
            else if (piece.placeholder == PLACEHOLDER_GPU)
                fputs("${MPSWEEP_GPU}", file);
            else
                placeholders_write(file, &piece, &values);
        fputc('"', file);
    }
}

static void write_worker(FILE *file, const struct deployment *deployment, unsigned process)
{
    const char *name = deployment->name;
    (void)process;
    emit_origin_write(file, deployment);
    fprintf(file, "[Unit]\nDescription=Worker %%i of %s\nPartOf=%s.target\n", name, name);
    write_driver(file);
    if (deployment->mps && !is_split(deployment))
        fprintf(file,
                "# After the daemon when starting, and so before it when stopping.\n"
                "BindsTo=%s-mps.service\nAfter=%s-mps.service\n",
                name, name);
    fputs("\n[Service]\nType=exec\n", file);
    write_user(file);
    fprintf(file, "EnvironmentFile=/etc/%s/worker-%%i.env\nWorkingDirectory=", name);
    emit_unit_path(file, deployment->working_directory);
    if (deployment->has_command) {
        fputs("\nExecStart=", file);
        write_exec(file, deployment);
    } else {
        fputs("\n# Put your program here, as in: ExecStart=/usr/bin/python3 /srv/serve.py --port "
              "${MPSWEEP_PORT}\n"
              "ExecStart=/bin/sh -c \"echo " DEPLOYMENT_EDIT_ME
              ": this unit has no command yet >&2; exit 78\"",
              file);
    }
    fputc('\n', file);
    if (deployment->mps)
        fprintf(file,
                "# It counts as started when it is proved to be a client of the daemon.\n"
                "ExecStartPost=/bin/sh /usr/local/lib/%s/mps await %d $MAINPID\n",
                name, DEPLOYMENT_START_TIMEOUT);
    write_limits(file);
    fprintf(file,
            "TimeoutStartSec=%d\nKillSignal=SIGTERM\nTimeoutStopSec=%d\nRestart=on-failure\n"
            "RestartSec=2\nRestartPreventExitStatus=78\n",
            DEPLOYMENT_START_TIMEOUT + 10, DEPLOYMENT_STOP_TIMEOUT);
}

static void write_daemon_environment(FILE *file, const struct deployment *deployment,
                                     unsigned process)
{
    char text[32], gpus[DEPLOYMENT_GPU_LIST];
    emit_setting(file, "CUDA_VISIBLE_DEVICES", deployment_gpus_text(deployment, process, gpus));
    if (deployment->gpu_count > 1 && !is_split(deployment))
        emit_setting_number(file, "MPSWEEP_MPS_GPUS", deployment->gpu_count);
    emit_setting(file, "MPSWEEP_MPS_PERCENTAGE", deployment_percentage_text(deployment, text));
    emit_setting(file, "MPSWEEP_MPS_MEMORY", deployment_memory_text(deployment, text));
    emit_setting_number(file, "MPSWEEP_STOP_TIMEOUT", DEPLOYMENT_STOP_TIMEOUT);
}

static void write_worker_environment(FILE *file, const struct deployment *deployment,
                                     unsigned process)
{
    struct deployment_environment environment;
    char directory[DEPLOYMENT_NAME_BYTES + 48], text[32];
    /* Without MPS a directory that is not there, so that no daemon is found. */
    snprintf(directory, sizeof directory, "/run/%s/%s", deployment->name,
             deployment_pipe_name(deployment, process, text));
    deployment_environment(deployment, process, deployment_gpu_of(deployment, process), directory,
                           &environment);
    for (size_t i = 0; i < environment.count; i++)
        emit_setting(file, environment.variable[i].name, environment.variable[i].value);
}

static void write_affinity(FILE *file, const struct deployment *deployment, unsigned process)
{
    fprintf(file, "[Service]\nCPUAffinity=%s\n", deployment->process[process].cpus_text);
}

/* For the scripts. */
static void write_names(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    fprintf(file,
            "# shellcheck shell=sh disable=SC2034\nname=%s\nprocesses=%u\nmps=%s\ndaemons=%u\n",
            deployment->name, deployment->processes, deployment->mps ? "yes" : "no",
            deployment->daemons);
}

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

enum status emit_systemd_check(const struct deployment *deployment)
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

void emit_systemd_write(const struct deployment *deployment, struct emit_output *output)
{
    char name[128];
    snprintf(name, sizeof name, "%s.target", deployment->name);
    emit_output_file(output, name, false, write_target, deployment, 0);
    if (deployment->mps) {
        snprintf(name, sizeof name, "%s-mps%s.service", deployment->name,
                 is_split(deployment) ? "@" : "");
        emit_output_file(output, name, false, write_daemon, deployment, 0);
    }
    for (unsigned d = 0; d < deployment->daemons; d++) {
        char daemon[32];
        snprintf(name, sizeof name, "%s.env", deployment_daemon_name(deployment, d, daemon));
        emit_output_file(output, name, false, write_daemon_environment, deployment, d);
        if (!is_split(deployment))
            continue;
        snprintf(name, sizeof name, "%s-mps@%u.service.d", deployment->name, d);
        emit_output_folder(output, name);
        snprintf(name, sizeof name, "%s-mps@%u.service.d/workers.conf", deployment->name, d);
        emit_output_file(output, name, false, write_daemon_workers, deployment, d);
    }
    snprintf(name, sizeof name, "%s-worker@.service", deployment->name);
    emit_output_file(output, name, false, write_worker, deployment, 0);
    for (unsigned p = 0; p < deployment->processes; p++) {
        snprintf(name, sizeof name, "worker-%u.env", p);
        emit_output_file(output, name, false, write_worker_environment, deployment, p);
        if (!*deployment->process[p].cpus_text && !is_split(deployment))
            continue;
        snprintf(name, sizeof name, "%s-worker@%u.service.d", deployment->name, p);
        emit_output_folder(output, name);
        snprintf(name, sizeof name, "%s-worker@%u.service.d/daemon.conf", deployment->name, p);
        if (is_split(deployment))
            emit_output_file(output, name, false, write_worker_daemon, deployment, p);
        if (!*deployment->process[p].cpus_text)
            continue;
        snprintf(name, sizeof name, "%s-worker@%u.service.d/cpus.conf", deployment->name, p);
        emit_output_file(output, name, false, write_affinity, deployment, p);
    }
    emit_output_file(output, "names.sh", false, write_names, deployment, 0);
    emit_output_copy(output, "emit/systemd-install", "install", true);
    emit_output_copy(output, "emit/systemd-check", "check", true);
    emit_output_copy(output, "emit/mps", "mps", false);
}

void emit_systemd_usage(FILE *file, const struct deployment *deployment, unsigned process)
{
    const char *name = deployment->name;
    (void)process;
    fprintf(file,
            "```sh\n"
            "sudo ./install                           # units, their settings and the script mps\n"
            "sudo systemctl enable --now %s.target\n"
            "sudo ./check                             # a line for each worker; status 0 if all is "
            "as measured\n"
            "sudo systemctl stop %s.target\n"
            "sudo ./install --remove\n"
            "```\n\n",
            name, name);
    fprintf(file,
            "Units and their drop-ins go to `/etc/systemd/system`, the settings to `/etc/%s`, and\n"
            "`mps` to `/usr/local/lib/%s`. %sA worker that fails is started again after 2 s; "
            "status 78 is not.\nOn stop it gets SIGTERM, and SIGKILL after %d s.\n\n"
            "## Another machine\n\n"
            "Change `User=` in the units; `CUDA_VISIBLE_DEVICES` in all `*.env` (`nvidia-smi "
            "-L`);\n"
            "`CPUAffinity=` in the drop-ins, or leave these out; `WorkingDirectory=` and "
            "`ExecStart=`\nof the workers. Then `sudo ./install` again.\n",
            name, name,
            deployment->mps ? "The daemon starts before the workers and ends after\nthem. A worker "
                              "counts as started when it is proved to be the daemon's client.\n"
                            : "",
            DEPLOYMENT_STOP_TIMEOUT);
}
