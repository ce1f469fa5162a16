/*
 * The formats of deployments: each is one file, and a row of the table in formats.c.
 */
#pragma once

#include "orchestrator/emit/deployment.h"
#include "orchestrator/emit/directory.h"
#include "orchestrator/emit/quote.h"

/* Whether a format can run the command, of which alone the deployment is known here. */
typedef enum status emit_format_check(const struct deployment *deployment);

emit_format_check emit_systemd_check;
emit_format_check emit_kubernetes_check;

/* Writes the files of a format but README.md, of a deployment that its check takes. */
typedef void emit_format_write(const struct deployment *deployment, struct emit_output *output);

emit_format_write emit_env_write;
emit_format_write emit_systemd_write;
emit_format_write emit_slurm_write;
emit_format_write emit_kubernetes_write;
emit_format_write emit_compose_write;

/* README.md's part on how to start, check and stop it, and how to go to another machine. */
emit_writer emit_env_usage;
emit_writer emit_systemd_usage;
emit_writer emit_slurm_usage;
emit_writer emit_kubernetes_usage;
emit_writer emit_compose_usage;

/* README.md, with a format's part. */
void emit_readme_write(FILE *file, const struct deployment *deployment, emit_writer *usage);

/* Writes comment lines, behind '#', that name the file's origin. */
void emit_origin_write(FILE *file, const struct deployment *deployment);

/* The file 'command' of the formats that start workers by a shell: becomes the worker, with
 * numbers from its environment. */
emit_writer emit_command_write;

/* One setting of a file that both a shell and systemd read. */
void emit_setting(FILE *file, const char *name, const char *value);
void emit_setting_number(FILE *file, const char *name, long long value);

/* deployment.env, but for what only one format has. */
emit_writer emit_common_settings;
