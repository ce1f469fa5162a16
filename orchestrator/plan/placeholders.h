/*
 * Placeholders in the words of a command, {process}, {port} and so on, and in the name of a shard's
 * file, {shard}; '{{' is a brace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum placeholder {
    PLACEHOLDER_PROCESS, /* from 0 */
    PLACEHOLDER_PROCESSES,
    PLACEHOLDER_THREADS, /* of each process */
    PLACEHOLDER_STREAMS, /* of each thread */
    PLACEHOLDER_PORT,    /* of this process */
    PLACEHOLDER_SEED,
    PLACEHOLDER_GPU, /* its UUID */
    PLACEHOLDER_SHARD,
    PLACEHOLDERS,
    PLACEHOLDER_LETTERS = PLACEHOLDERS, /* letters that stand for themselves */
    PLACEHOLDER_UNKNOWN,                /* anything else in braces, or a brace alone */
};

/* A part of a word: a placeholder, or letters. */
struct placeholder_piece {
    enum placeholder placeholder;
    const char *text;
    size_t bytes;
};

/* What they stand for, in one process or in one shard. */
struct placeholders {
    unsigned process, processes, threads, streams;
    unsigned port;
    int64_t seed;
    const char *gpu; /* UUID */
    unsigned shard;
};

/* Reads the piece at *at, which moves behind it. False at the word's end. */
bool placeholders_next(const char **at, struct placeholder_piece *piece);

/* Checks that all placeholders of a word are known; STATUS_USAGE names the one that is not, and all
 * that are. */
enum status placeholders_check(const char *word);

/* The same for the name of a file, which may have {shard} alone. */
enum status placeholders_check_file(const char *name);

/* Whether a checked word has this one. */
bool placeholders_use(const char *word, enum placeholder placeholder);

/* A checked word with its placeholders filled in; the caller frees it. NULL: no memory. */
char *placeholders_fill(const char *word, const struct placeholders *values);
