#include "files/file_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/paths.h"

enum status file_name_check(const char *path, const char *what, const char *wanted)
{
    static const char *const endings[] = {".jsonl", ".json", ".csv",  ".svg", ".png",
                                          ".pdf",   ".gp",   ".html", ".job"};
    static const char *const others[] = {"csv", "json", "table", "-"};
    const char *name = path_file_name(path), *dot = strrchr(name, '.');
    bool wrong = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        wrong |= dot && strcmp(dot, endings[i]) == 0 && strcmp(dot, wanted) != 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        wrong |= strcmp(path, others[i]) == 0;
    if (!wrong)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' is not a name for %s: name it %s%s", path, what, wanted,
                      strcmp(wanted, ".jsonl") == 0     ? " (--format is what is printed)"
                      : strcmp(what, "a timeline") == 0 ? " (--figure FILE draws it)"
                                                        : "");
}
