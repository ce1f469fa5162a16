#include "orchestrator/plan/placeholders.h"
#include "common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PLACEHOLDERS] = {
    [PLACEHOLDER_PROCESS] = "{process}", [PLACEHOLDER_PROCESSES] = "{processes}",
    [PLACEHOLDER_THREADS] = "{threads}", [PLACEHOLDER_STREAMS] = "{streams}",
    [PLACEHOLDER_PORT] = "{port}",       [PLACEHOLDER_SEED] = "{seed}",
    [PLACEHOLDER_GPU] = "{gpu}",         [PLACEHOLDER_SHARD] = "{shard}",
};

bool placeholders_next(const char **at, struct placeholder_piece *piece)
{
    const char *begin = *at;
    *piece = (struct placeholder_piece){.placeholder = PLACEHOLDER_LETTERS, .text = begin};
    if (begin[0] != '{' || begin[1] == '{') {
        piece->bytes = begin[0] == '{' ? 1 : strcspn(begin, "{");
        *at += begin[0] == '{' ? 2 : piece->bytes;
        return piece->bytes > 0;
    }
    piece->bytes = 1 + strcspn(begin + 1, "{}");
    piece->bytes += begin[piece->bytes] == '}';
    piece->placeholder = PLACEHOLDER_UNKNOWN;
    for (int i = 0; i < PLACEHOLDERS; i++)
        if (strlen(names[i]) == piece->bytes && strncmp(begin, names[i], piece->bytes) == 0)
            piece->placeholder = (enum placeholder)i;
    *at += piece->bytes;
    return true;
}

enum status placeholders_check(const char *word)
{
    struct placeholder_piece piece;
    for (const char *at = word; placeholders_next(&at, &piece);)
        if (piece.placeholder == PLACEHOLDER_UNKNOWN || piece.placeholder == PLACEHOLDER_SHARD)
            return status_set(
                STATUS_USAGE,
                "unknown placeholder '%.*s' in '%s': it is one of {process}, "
                "{processes}, {threads}, {streams}, {port}, {seed}, {gpu}; '{{' is a brace",
                (int)piece.bytes, piece.text, word);
    return STATUS_OK;
}

enum status placeholders_check_file(const char *name)
{
    struct placeholder_piece piece;
    for (const char *at = name; placeholders_next(&at, &piece);)
        if (piece.placeholder != PLACEHOLDER_LETTERS && piece.placeholder != PLACEHOLDER_SHARD)
            return status_set(STATUS_USAGE,
                              "unknown placeholder '%.*s' in '%s': a file's name may have {shard}; "
                              "'{{' is a brace",
                              (int)piece.bytes, piece.text, name);
    return STATUS_OK;
}

bool placeholders_use(const char *word, enum placeholder placeholder)
{
    struct placeholder_piece piece;
    while (placeholders_next(&word, &piece))
        if (piece.placeholder == placeholder)
            return true;
    return false;
}

static void write_piece(FILE *file, const struct placeholder_piece *piece,
                        const struct placeholders *values)
{
    const unsigned numbers[PLACEHOLDERS] = {
        [PLACEHOLDER_PROCESS] = values->process, [PLACEHOLDER_PROCESSES] = values->processes,
        [PLACEHOLDER_THREADS] = values->threads, [PLACEHOLDER_STREAMS] = values->streams,
        [PLACEHOLDER_PORT] = values->port,       [PLACEHOLDER_SHARD] = values->shard,
    };
    if (piece->placeholder >= PLACEHOLDERS)
        fwrite(piece->text, 1, piece->bytes, file);
    else if (piece->placeholder == PLACEHOLDER_SEED)
        fprintf(file, "%" PRId64, values->seed);
    else if (piece->placeholder == PLACEHOLDER_GPU)
        fputs(values->gpu, file);
    else
        fprintf(file, "%u", numbers[piece->placeholder]);
}

char *placeholders_fill(const char *word, const struct placeholders *values)
{
    struct text_stream out;
    struct placeholder_piece piece;
    if (!text_stream_open(&out))
        return NULL;
    while (placeholders_next(&word, &piece))
        write_piece(out.file, &piece, values);
    return text_stream_close(&out);
}
