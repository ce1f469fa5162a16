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

/* What a kind of file is called, and where it is looked for. */
static const struct {
    const char *name, *variable;
    int access_mode;
    bool only_given; /* where the variable names a directory, no other one is looked in */
    bool in_source;  /* of a program in the build tree, in the source tree, too */
    const char *beside, *installed; /* relative to the program's directory, and as configured */
} kinds[] = {
    [PATH_DATA] = {"data file", "MPSWEEP_DATA_DIR", R_OK, true, true, "/../share/mpsweep",
                   MPSWEEP_PKGDATADIR},
    [PATH_HELPER] = {"program", "MPSWEEP_LIBEXEC_DIR", X_OK, true, false, "/../libexec/mpsweep",
                     MPSWEEP_PKGLIBEXECDIR},
    [PATH_LIBRARY] = {"library", "MPSWEEP_LIBEXEC_DIR", R_OK, false, false, "/../lib",
                      MPSWEEP_LIBDIR},
};

enum status path_find(enum path_kind kind, const char *name, char *out, size_t size)
{
    struct search search = {
        .name = name, .access_mode = kinds[kind].access_mode, .out = out, .size = size};
    const char *given = getenv(kinds[kind].variable);
    bool is_given = given != NULL && given[0] != '\0';
    if (is_given)
        try_directory(&search, given, "");
    if (!is_given || !kinds[kind].only_given) {
        char own[PATH_MAX];
        executable_directory(own);
        try_directory(&search, own, "");
        if (lies_in(own, MPSWEEP_BUILD_DIR)) {
            try_directory(&search, MPSWEEP_BUILD_DIR, "");
            if (kinds[kind].in_source)
                try_directory(&search, MPSWEEP_SOURCE_DIR, "");
        }
        try_directory(&search, own, kinds[kind].beside);
        /* A build tree in its source tree that was moved, as to a machine with a GPU. */
        if (kinds[kind].in_source)
            try_directory(&search, own, "/..");
        try_directory(&search, kinds[kind].installed, "");
    }
    if (search.found)
        return STATUS_OK;
    return status_set(STATUS_NOT_FOUND, "cannot find %s '%s' in %s (%s names its directory)",
                      kinds[kind].name, name, search.looked_in, kinds[kind].variable);
}

const char *path_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
