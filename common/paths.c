#include "common/paths.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Looks for one file in one directory after the other, and keeps the list for the error text. */
struct search {
    const char *name;
    int access_mode;
    char *out;
    size_t size;
    bool found;
    char looked_in[512];
};

static void try_directory(struct search *search, const char *directory, const char *below)
{
    char path[PATH_MAX];
    struct stat info;
    if (search->found || directory[0] == '\0')
        return;
    int length = snprintf(path, sizeof path, "%s%s/%s", directory, below, search->name);
    if (length >= (int)sizeof path || (size_t)length >= search->size)
        return;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, search->access_mode) == 0) {
        memcpy(search->out, path, (size_t)length + 1);
        search->found = true;
        return;
    }
    size_t used = strlen(search->looked_in);
    snprintf(search->looked_in + used, sizeof search->looked_in - used, "%s'%s%s'",
             used > 0 ? ", " : "", directory, below);
}

/* The directory of this executable, without a slash at its end; "" if it is unknown. */
static void executable_directory(char directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    directory[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        *slash = '\0';
}

static bool lies_in(const char *directory, const char *tree)
{
    size_t length = strlen(tree);
    return length > 0 && strncmp(directory, tree, length) == 0 &&
           (directory[length] == '\0' || directory[length] == '/');
}

static enum status finish(const struct search *search, const char *kind, const char *variable)
{
    if (search->found)
        return STATUS_OK;
    return status_set(STATUS_NOT_FOUND, "cannot find %s '%s' in %s (%s names its directory)", kind,
                      search->name, search->looked_in, variable);
}

enum status path_find_data(const char *relative, char *out, size_t size)
{
    struct search search = {.name = relative, .access_mode = R_OK, .out = out, .size = size};
    const char *given = getenv("MPSWEEP_DATA_DIR");
    if (given != NULL && given[0] != '\0') {
        try_directory(&search, given, "");
        return finish(&search, "data file", "MPSWEEP_DATA_DIR");
    }
    char own[PATH_MAX];
    executable_directory(own);
    try_directory(&search, own, "");
    if (lies_in(own, MPSWEEP_BUILD_DIR)) {
        try_directory(&search, MPSWEEP_BUILD_DIR, "");
        try_directory(&search, MPSWEEP_SOURCE_DIR, "");
    }
    try_directory(&search, own, "/../share/mpsweep");
    try_directory(&search, MPSWEEP_PKGDATADIR, "");
    return finish(&search, "data file", "MPSWEEP_DATA_DIR");
}

enum status path_find_helper(const char *program, char *out, size_t size)
{
    struct search search = {.name = program, .access_mode = X_OK, .out = out, .size = size};
    const char *given = getenv("MPSWEEP_LIBEXEC_DIR");
    if (given != NULL && given[0] != '\0') {
        try_directory(&search, given, "");
        return finish(&search, "program", "MPSWEEP_LIBEXEC_DIR");
    }
    char own[PATH_MAX];
    executable_directory(own);
    try_directory(&search, own, "");
    if (lies_in(own, MPSWEEP_BUILD_DIR))
        try_directory(&search, MPSWEEP_BUILD_DIR, "");
    try_directory(&search, own, "/../libexec/mpsweep");
    try_directory(&search, MPSWEEP_PKGLIBEXECDIR, "");
    return finish(&search, "program", "MPSWEEP_LIBEXEC_DIR");
}

enum status path_find_library(const char *library, char *out, size_t size)
{
    struct search search = {.name = library, .access_mode = R_OK, .out = out, .size = size};
    const char *given = getenv("MPSWEEP_LIBEXEC_DIR");
    char own[PATH_MAX];
    if (given != NULL)
        try_directory(&search, given, "");
    executable_directory(own);
    try_directory(&search, own, "");
    if (lies_in(own, MPSWEEP_BUILD_DIR))
        try_directory(&search, MPSWEEP_BUILD_DIR, "");
    try_directory(&search, own, "/../lib");
    try_directory(&search, MPSWEEP_LIBDIR, "");
    return finish(&search, "library", "MPSWEEP_LIBEXEC_DIR");
}

const char *path_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
