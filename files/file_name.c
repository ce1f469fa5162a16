#include "files/file_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "common/paths.h"
#include "common/text.h"

/* What has more letters, or digits, is a part of the name: ".2026-11-28", ".v2". */
#define ENDING_LETTERS 5

static bool is_of_letters(const char *ending)
{
    size_t length = 0;
    while (isalpha((unsigned char)ending[length]))
        length++;
    return length > 0 && length <= ENDING_LETTERS && !ending[length];
}

/* Whether a name ends as files of another kind do, or nearly as those of its own. */
static bool has_other_ending(const char *name, const char *wanted)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name && strcasecmp(dot, wanted) != 0 &&
           (is_of_letters(dot + 1) || text_distance(dot + 1, wanted + 1) == 1);
}

enum status file_name_check(const char *path, const char *what, const char *wanted)
{
    static const char *const others[] = {"csv", "json", "table", "-"};
    bool wrong = has_other_ending(path_file_name(path), wanted);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        wrong |= strcmp(path, others[i]) == 0;
    if (!wrong)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' is not a name for %s: name it %s%s", path, what, wanted,
                      strcmp(wanted, ".jsonl") == 0     ? " (--format is what is printed)"
                      : strcmp(what, "a timeline") == 0 ? " (--figure FILE draws it)"
                                                        : "");
}

enum status file_name_refuse_input(const char *output, const char *input)
{
    if (!input || !same_file_at(output, input))
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' is one of the files to read: give another name", output);
}
