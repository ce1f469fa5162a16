#include "device/cupti.h"

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/library.h"

#define ROW(field, symbol, version, need, parameters)                                              \
    {#symbol, version, LIBRARY_##need, offsetof(struct cupti, field)},

static const struct library_symbol rows[] = {CUPTI_SYMBOLS(ROW)};

/* By SONAME, newest first, then where the toolkit has it though the loader does not know. */
static const char *const places[] = {
    "libcupti.so.13",
    "libcupti.so.12",
    "libcupti.so",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
    "/usr/local/cuda/lib64/libcupti.so",
};

/*
 * A program that uses CUDA may bring a CUPTI of its own, as Python's packages do: one that it has
 * loaded already is taken, since two would not know of each other, else one that lies where its
 * CUDA libraries are, of the same release. Packages for CUDA 12 have a folder for each library.
 */
static const char *const beside[] = {
    "libcupti.so.13",
    "libcupti.so.12",
    "../../cuda_cupti/lib/libcupti.so.12",
    "../../cuda_cupti/lib/libcupti.so.13",
};

static char found[PATH_MAX];

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static int find_loaded(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!begins(name_in(object->dlpi_name), "libcupti.so"))
        return 0;
    snprintf(found, sizeof found, "%s", object->dlpi_name);
    return 1;
}

static int find_beside(struct dl_phdr_info *object, size_t size, void *unused)
{
    const char *path = object->dlpi_name, *name = name_in(path);
    (void)size, (void)unused;
    if (!strstr(path, "/nvidia/") && !begins(name, "libcudart.so"))
        return 0;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        int length = snprintf(found, sizeof found, "%.*s%s", (int)(name - path), path, beside[i]);
        if (length < (int)sizeof found && access(found, R_OK) == 0)
            return 1;
    }
    return 0;
}

static void *open_of_program(void)
{
    const char *reason;
    void *library = NULL;
    if (dl_iterate_phdr(find_loaded, NULL))
        library = library_open(found, &reason);
    if (!library && dl_iterate_phdr(find_beside, NULL))
        library = library_open(found, &reason);
    return library;
}

static void *open_any(const char *path, const char **name)
{
    const char *reason;
    if (path) {
        void *library = library_open(path, &reason);
        *name = path;
        if (!library)
            status_record("no CUPTI: cannot load '%s': %s", path, reason);
        return library;
    }
    void *own = open_of_program();
    *name = found;
    if (own)
        return own;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        void *library = library_open(places[i], &reason);
        *name = places[i];
        if (library)
            return library;
    }
    status_record("no CUPTI: no libcupti.so.13 or .12 where the loader looks or below "
                  "'/usr/local/cuda': install the CUDA Toolkit's (cuda-cupti-13-0, or Debian's "
                  "libcupti-dev), or name it with MPSWEEP_CUPTI or LD_LIBRARY_PATH");
    return NULL;
}

enum status cupti_load(const char *path, struct cupti *out)
{
    struct cupti cupti = {0};
    cupti.library = open_any(path, &cupti.name);
    if (!cupti.library)
        return STATUS_NOT_FOUND;
    const struct library_symbol *missing =
        library_bind(cupti.library, rows, sizeof rows / sizeof rows[0], &cupti);
    enum status status = STATUS_OK;
    if (missing)
        status = status_set(STATUS_UNSUPPORTED, "'%s' is not CUPTI, or too old: it has no '%s'",
                            cupti.name, missing->name);
    else
        status = cupti_check(&cupti, cupti.get_version(&cupti.version), "cuptiGetVersion");
    if (status == STATUS_OK && cupti.version < CUPTI_VERSION_OLDEST)
        status = status_set(STATUS_UNSUPPORTED,
                            "'%s' is too old: its version is %u, and %d (CUDA 11.0) is needed",
                            cupti.name, cupti.version, CUPTI_VERSION_OLDEST);
    if (status != STATUS_OK) {
        library_close(cupti.library);
        return status;
    }
    *out = cupti;
    return STATUS_OK;
}

enum status cupti_check(const struct cupti *cupti, cupti_result result, const char *call)
{
    const char *text = NULL;
    if (result == CUPTI_SUCCESS_)
        return STATUS_OK;
    if (cupti->get_result_string(result, &text) != CUPTI_SUCCESS_ || !text)
        text = "CUPTI error";
    return status_set(STATUS_CUDA, "%s: %s (%d)", call, text, (int)result);
}
