/* Whether a program is likely to have as many threads as a layout asks for. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/record/record.h"
#include "orchestrator/tune/internal.h"

/* How a program learns of its threads: from its environment, or in Python from our library. */
#define VARIABLE "MPSWEEP_THREADS"
#define FUNCTION "thread_count"

static bool has(const char *text, size_t bytes, const char *wanted)
{
    return memmem(text, bytes, wanted, strlen(wanted)) != NULL;
}

/* Whether a file has one of both; one that cannot be read may have. */
static bool file_names_threads(const char *path)
{
    char text[1 << 16];
    size_t kept = 0, bytes;
    bool found = false;
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    while (!found && (bytes = fread(text + kept, 1, sizeof text - kept, file)) > 0) {
        bytes += kept;
        found = has(text, bytes, VARIABLE) || has(text, bytes, FUNCTION);
        /* What a word at the end of this part may begin with. */
        kept = bytes < sizeof VARIABLE ? bytes : sizeof VARIABLE;
        memmove(text, text + bytes - kept, kept);
    }
    found |= ferror(file) != 0;
    fclose(file);
    return found;
}

bool tune_heeds_threads(const struct tune *tune, const struct point *point)
{
    const struct options *options = tune->campaign.options;
    char *const *command = point->program.command;
    if (options_is_given(options, OPTION_MAX_THREADS) || options_is_given(options, OPTION_LAYOUT) ||
        point_uses_placeholder(point, PLACEHOLDER_THREADS))
        return true;
    for (char *const *word = command; *word; word++)
        if (strstr(*word, VARIABLE))
            return true;
    char found[PATH_MAX];
    for (size_t i = 0; command[i]; i++) {
        const char *path = record_command_file(command, i, found);
        if (path && file_names_threads(path))
            return true;
    }
    return false;
}
