#include "device/cupti.h"

#include <stdio.h>
#include <string.h>

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
