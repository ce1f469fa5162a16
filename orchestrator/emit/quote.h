/*
 * Words of users and values of files, quoted for what reads them; placeholders in words.
 *
 * All texts are UTF-8 without NUL bytes (emit_text_check()). What is written reads back as the very
 * same bytes, whatever they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum emit_placeholder {
    EMIT_LITERAL,
    EMIT_PROCESS,   /* {process}: from 0 */
    EMIT_PROCESSES, /* {processes} */
    EMIT_THREADS,   /* {threads}: of each process */
    EMIT_PORT,      /* {port}: of this process */
    EMIT_SEED,      /* {seed} */
    EMIT_GPU,       /* {gpu}: its UUID */
    EMIT_UNKNOWN,   /* anything else in braces, or a brace alone; '{{' is a literal one */
};

/* A piece of a word: a placeholder, or bytes as they are. */
struct emit_piece {
    enum emit_placeholder placeholder;
    const char *text;
    size_t bytes;
};

/* The next piece at *at, which moves on; false at the end. */
bool emit_next_piece(const char **at, struct emit_piece *piece);

/* False: not UTF-8. */
bool emit_is_utf8(const char *text);

/* A value behind NAME= in systemd's EnvironmentFile; a shell reads it the same way. */
void emit_environment_value(FILE *file, const char *text);

/* The inside of a double-quoted word of a unit's ExecStart=, where % and $ have a meaning. */
void emit_unit_bytes(FILE *file, const char *text, size_t bytes);

/* A unit's value that is taken as it is but for specifiers and line ends: WorkingDirectory=. */
void emit_unit_path(FILE *file, const char *text);

/* A double-quoted YAML scalar. With dollars each $ is doubled, as Compose files and the commands of
 * Kubernetes' containers want it. */
void emit_yaml(FILE *file, const char *text, bool dollars);

/* The inside of one. */
void emit_yaml_bytes(FILE *file, const char *text, size_t bytes, bool dollars);

/* One line for people, in a comment or in Markdown text: printable ASCII without backticks, angle
 * brackets and pipes, '?' for all else. */
void emit_plain(FILE *file, const char *text);
