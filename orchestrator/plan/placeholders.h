/*
 * Placeholders in the words of a command, {process}, {port} and so on, and in the name of a shard's
 * file, {shard}; '{{' is a brace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

/* What they stand for, in one process or in one shard. */
struct placeholders {
    unsigned process, processes, threads;
    unsigned port;
    int64_t seed;
    const char *gpu; /* UUID */
    unsigned shard;
};

/* Whether all placeholders of a word are known; STATUS_USAGE names the one that is not, and all
 * that are. */
enum status placeholders_check(const char *word);

/* The same for the name of a file, which may have {shard} alone. */
enum status placeholders_check_file(const char *name);

/* Whether a checked word has this one: "port". */
bool placeholders_use(const char *word, const char *name);

/* A checked word with its placeholders filled in; to be freed. NULL: no memory. */
char *placeholders_fill(const char *word, const struct placeholders *values);
