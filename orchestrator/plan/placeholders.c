#include "orchestrator/plan/placeholders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum name { PROCESS, PROCESSES, THREADS, PORT, SEED, GPU, SHARD, NAMES };

static const char *const names[NAMES] = {
    [PROCESS] = "process", [PROCESSES] = "processes", [THREADS] = "threads",
    [PORT] = "port",       [SEED] = "seed",           [GPU] = "gpu",
    [SHARD] = "shard",
};

/* A piece of a word: a placeholder, or letters that stand for themselves. */
struct piece {
    enum name name; /* NAMES: letters */
    const char *text;
    size_t length;
};

/* The piece at *at, which is moved behind it. False: an unknown placeholder, which the piece has as
 * letters. */
static bool next_piece(const char **at, struct piece *out)
{
    const char *begin = *at;
    *out = (struct piece){.name = NAMES, .text = begin};
    if (begin[0] != '{') {
        out->length = strcspn(begin, "{");
        *at += out->length;
        return true;
    }
    if (begin[1] == '{') {
        out->length = 1;
        *at += 2;
        return true;
    }
    size_t inside = strcspn(begin + 1, "{}");
    for (unsigned i = 0; begin[1 + inside] == '}' && i < NAMES; i++) {
        if (strlen(names[i]) == inside && strncmp(begin + 1, names[i], inside) == 0) {
            out->name = (enum name)i;
            out->length = inside + 2;
            *at += out->length;
            return true;
        }
    }
    out->length = inside + 1 + (begin[1 + inside] == '}');
    *at += out->length;
    return false;
}

enum status placeholders_check(const char *word)
{
    struct piece piece;
    for (const char *at = word; *at;)
        if (!next_piece(&at, &piece) || piece.name == SHARD)
            return status_set(STATUS_USAGE,
                              "unknown placeholder '%.*s' in '%s': it is one of {process}, "
                              "{processes}, {threads}, {port}, {seed}, {gpu}; '{{' is a brace",
                              (int)piece.length, piece.text, word);
    return STATUS_OK;
}

enum status placeholders_check_file(const char *name)
{
    struct piece piece;
    for (const char *at = name; *at;)
        if (!next_piece(&at, &piece) || (piece.name != NAMES && piece.name != SHARD))
            return status_set(STATUS_USAGE,
                              "unknown placeholder '%.*s' in '%s': a file's name may have {shard}; "
                              "'{{' is a brace",
                              (int)piece.length, piece.text, name);
    return STATUS_OK;
}

bool placeholders_use(const char *word, const char *name)
{
    struct piece piece;
    for (const char *at = word; *at;) {
        next_piece(&at, &piece);
        if (piece.name != NAMES && strcmp(names[piece.name], name) == 0)
            return true;
    }
    return false;
}

static void print_piece(FILE *out, const struct piece *piece, const struct placeholders *values)
{
    switch (piece->name) {
    case PROCESS:
        fprintf(out, "%u", values->process);
        break;
    case PROCESSES:
        fprintf(out, "%u", values->processes);
        break;
    case THREADS:
        fprintf(out, "%u", values->threads);
        break;
    case PORT:
        fprintf(out, "%u", values->port);
        break;
    case SEED:
        fprintf(out, "%" PRId64, values->seed);
        break;
    case GPU:
        fputs(values->gpu, out);
        break;
    case SHARD:
        fprintf(out, "%u", values->shard);
        break;
    default:
        fwrite(piece->text, 1, piece->length, out);
        break;
    }
}

char *placeholders_fill(const char *word, const struct placeholders *values)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    struct piece piece;
    for (const char *at = word; *at;) {
        next_piece(&at, &piece);
        print_piece(out, &piece, values);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
