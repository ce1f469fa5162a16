/*
 * Quotes words of users and values of files for what reads them.
 *
 * All texts are UTF-8 without NUL bytes: deployment_make() checks it. Each reads back as the very
 * same bytes, whatever they are.
 */
#pragma once

#include <stdio.h>

/* Writes a value behind NAME= in systemd's EnvironmentFile; a shell reads it the same way. */
void emit_environment_value(FILE *file, const char *text);

/* Writes the inside of a double-quoted word of a unit's ExecStart=, where % and $ have a meaning.
 */
void emit_unit_word(FILE *file, const char *text);

/* Writes a unit's value that systemd takes as it is but for specifiers and line ends:
 * WorkingDirectory=. */
void emit_unit_path(FILE *file, const char *text);

/* Writes a double-quoted YAML scalar; what no parser takes if memory ran out. */
void emit_yaml(FILE *file, const char *text);

/* The same, and doubles each $: Compose files, and the commands of Kubernetes' containers. */
void emit_yaml_dollars(FILE *file, const char *text);

/* Writes one line for people, in a comment or in Markdown text: printable ASCII without backticks,
 * angle brackets and pipes, '?' for all else. */
void emit_plain(FILE *file, const char *text);
