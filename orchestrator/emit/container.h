/*
 * What Kubernetes and Compose have in common: a container a worker, which share process numbers,
 * IPC and a directory with that of the daemon.
 */
#pragma once

#include "orchestrator/emit/internal.h"

#define CONTAINER_RUN "/run/mpsweep"
#define CONTAINER_SCRIPTS "/mpsweep"
/* The driver's container toolkit puts the daemon's programs into it. */
#define CONTAINER_DAEMON_IMAGE "debian:12-slim"
#define CONTAINER_USER 1000

/* The worker's words as a YAML list in one line, with the script that becomes it in front. */
void container_write_command(FILE *file, const struct deployment *deployment, unsigned process);

/* Calls write for each environment variable of a container: of a worker, or with process
 * CONTAINER_DAEMON of the daemon, with the next numbers of further daemons. */
#define CONTAINER_DAEMON 0x10000U
void container_write_environment(FILE *file, const struct deployment *deployment, unsigned process,
                                 const char *gpu,
                                 void (*write)(FILE *file, const char *name, const char *value));

/* The scripts that containers run. */
void container_copy_scripts(struct emit_output *output);
