/* Docker Compose: a service a worker, which join the daemon's IPC and process numbers. */
#include <string.h>

#include "orchestrator/emit/container.h"

static void write_variable(FILE *file, const char *name, const char *value)
{
    fprintf(file, "      %s: ", name);
    emit_yaml(file, value, true);
    fputc('\n', file);
}

/* The same for all services but the GPUs: their UUIDs, joined by ','. */
static void write_common(FILE *file, const char *gpus)
{
    fprintf(file, "    user: \"%d:%d\"\n", CONTAINER_USER, CONTAINER_USER);
    fputs("    restart: \"unless-stopped\"\n"
          "    ulimits: {memlock: -1}\n"
          "    volumes:\n"
          "      - {type: \"volume\", source: \"run\", target: \"" CONTAINER_RUN "\"}\n"
          "      - type: \"bind\"\n"
          "        source: \".\"\n"
          "        target: \"" CONTAINER_SCRIPTS "\"\n"
          "        read_only: true\n"
          "        # The short form would end at a ':' in the path.\n"
          "        bind: {create_host_path: false}\n"
          "    deploy:\n"
          "      resources:\n"
          "        reservations:\n"
          "          devices:\n"
          "            - driver: \"nvidia\"\n"
          "              capabilities: [\"gpu\"]\n"
          "              device_ids: [",
          file);
    for (const char *at = gpus; *at;) {
        size_t length = strcspn(at, ",");
        fprintf(file, "%s\"%.*s\"", at > gpus ? ", " : "", (int)length, at);
        at += length + (at[length] == ',');
    }
    fputs("]\n    environment:\n", file);
}

static void write_daemon(FILE *file, const struct deployment *deployment, unsigned daemon)
{
    char name[32], gpus[DEPLOYMENT_GPU_LIST];
    deployment_gpus_text(deployment, daemon, gpus);
    fprintf(file, "  %s:\n", deployment_daemon_name(deployment, daemon, name));
    fputs("    image: \"" CONTAINER_DAEMON_IMAGE "\"\n"
          "    command: [\"sh\", \"" CONTAINER_SCRIPTS "/mps\", \"run\"]\n"
          "    init: true\n"
          "    ipc: \"shareable\"\n"
          "    shm_size: \"1gb\"\n",
          file);
    write_common(file, gpus);
    container_write_environment(file, deployment, CONTAINER_DAEMON + daemon, gpus, write_variable);
    fprintf(file, "    stop_grace_period: \"%ds\"\n", DEPLOYMENT_STOP_TIMEOUT + 10);
    fputs("    # Healthy when it answers and has its limits: workers wait for that.\n"
          "    healthcheck:\n"
          "      test: [\"CMD\", \"sh\", \"" CONTAINER_SCRIPTS "/mps\", \"ready\"]\n"
          "      interval: \"2s\"\n"
          "      timeout: \"15s\"\n"
          "      retries: 30\n",
          file);
}

static void write_worker(FILE *file, const struct deployment *deployment, unsigned process)
{
    const char *gpu = deployment_gpu_of(deployment, process);
    char name[32];
    deployment_pipe_name(deployment, process, name);
    fprintf(file, "  worker-%u:\n    image: ", process);
    emit_yaml(file, deployment->image, true);
    fputs("\n    entrypoint: []\n    command: ", file);
    container_write_command(file, deployment, process);
    fputc('\n', file);
    if (deployment->mps)
        fprintf(file,
                "    ipc: \"service:%s\"\n"
                "    pid: \"service:%s\"\n"
                "    depends_on:\n"
                "      %s:\n"
                "        condition: \"service_healthy\"\n"
                "        restart: true\n",
                name, name, name);
    else
        fputs("    init: true\n", file);
    if (*deployment->process[process].cpus_text)
        fprintf(file, "    cpuset: \"%s\"\n", deployment->process[process].cpus_text);
    write_common(file, gpu);
    container_write_environment(file, deployment, process, gpu, write_variable);
    fprintf(file, "    stop_signal: \"SIGTERM\"\n    stop_grace_period: \"%ds\"\n",
            DEPLOYMENT_STOP_TIMEOUT);
    fprintf(file,
            "    # Healthy when it is there%s.\n"
            "    healthcheck:\n"
            "      test: [\"CMD\", \"sh\", \"" CONTAINER_SCRIPTS "/check\", \"%u\"]\n"
            "      start_period: \"%ds\"\n"
            "      interval: \"10s\"\n"
            "      timeout: \"15s\"\n"
            "      retries: 3\n",
            deployment->mps ? " and proved to be the daemon's client" : "", process,
            DEPLOYMENT_START_TIMEOUT);
}

static void write_compose(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    emit_origin_write(file, deployment);
    fprintf(file, "name: \"%s\"\nservices:\n", deployment->name);
    for (unsigned d = 0; d < deployment->daemons; d++)
        write_daemon(file, deployment, d);
    for (unsigned p = 0; p < deployment->processes; p++)
        write_worker(file, deployment, p);
    fprintf(file,
            "volumes:\n"
            "  # Private, and in memory: the daemon's socket lies in it.\n"
            "  run:\n"
            "    driver: \"local\"\n"
            "    driver_opts:\n"
            "      type: \"tmpfs\"\n"
            "      device: \"tmpfs\"\n"
            "      o: \"mode=0700,uid=%d,gid=%d\"\n",
            CONTAINER_USER, CONTAINER_USER);
}

void emit_compose_write(const struct deployment *deployment, struct emit_output *output)
{
    emit_output_file(output, "compose.yaml", false, write_compose, deployment, 0);
    container_copy_scripts(output);
}

void emit_compose_usage(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    fprintf(file,
            "With Docker Compose 2.17 or later and the NVIDIA Container Toolkit, in this "
            "directory:\n\n"
            "```sh\n"
            "docker compose up -d --wait     # returns when every worker is healthy\n"
            "docker compose exec worker-0 sh " CONTAINER_SCRIPTS "/check 0\n"
            "docker compose down --volumes   # workers first%s\n"
            "```\n\n",
            deployment->mps ? ", then the daemon" : "");
    if (!deployment->request->image)
        fprintf(file, "**EDIT ME**: no image was given; replace `%s` in `compose.yaml`.\n\n",
                deployment->image);
    fprintf(
        file,
        "A worker is healthy when it is there%s. Its image needs `sh`, `date`\nand `timeout`. "
        "All containers run as user %d: daemon and clients must be the same user.\nA "
        "container that ends is started again; SIGKILL comes %d s after SIGTERM. Compose does\n"
        "nothing about one that is unhealthy: watch `docker ps --filter health=unhealthy`.%s\n\n"
        "## Another machine\n\n"
        "Change the GPU's UUID (`nvidia-smi -L`) and `cpuset` of each service, and the user "
        "where the\nimage needs another: in all services, and in the volume.\n",
        deployment->mps ? " and proved to be a client of the daemon" : "", CONTAINER_USER,
        DEPLOYMENT_STOP_TIMEOUT,
        deployment->mps
            ? "\nWith the daemon's container its workers end, too, since they share its process "
              "numbers; one that\nDocker starts before the daemon is there cannot join it: "
              "`docker compose up -d --wait` again."
            : "");
}
