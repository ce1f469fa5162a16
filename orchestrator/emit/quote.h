/*
 * Quotes words of users and values of files for what reads them.
 *
 * All texts are UTF-8 without NUL bytes: deployment_make() checks it. Each reads back as the very
 * same bytes, whatever they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes a value behind NAME= in systemd's EnvironmentFile; a shell reads it the same way. */
void emit_environment_value(FILE *file, const char *text);

/* Writes the inside of a double-quoted word of a unit's ExecStart=, where % and $ have a meaning.
 */
void emit_unit_bytes(FILE *file, const char *text, size_t bytes);

/* Writes a unit's value that systemd takes as it is but for specifiers and line ends:
 * WorkingDirectory=. */
void emit_unit_path(FILE *file, const char *text);

/* Writes a double-quoted YAML scalar. dollars: doubles each $, as Compose files and the commands of
 * Kubernetes' containers want it. */
void emit_yaml(FILE *file, const char *text, bool dollars);

/* Writes the inside of one; what no parser takes if memory ran out. */
void emit_yaml_bytes(FILE *file, const char *text, size_t bytes, bool dollars);

/* Writes one line for people, in a comment or in Markdown text: printable ASCII without backticks,
 * angle brackets and pipes, '?' for all else. */
void emit_plain(FILE *file, const char *text);
