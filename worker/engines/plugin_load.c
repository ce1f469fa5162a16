#include "worker/engines/plugin_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "common/text.h"
#include "device/library.h"

#define SYMBOL "mpsweep_workload"
#define HEADER "<mpsweep/workload.h>"
#define KNOWN_CAPABILITIES                                                                         \
    (MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_THREAD_SAFE | MPSWEEP_WORKLOAD_CHECKS |        \
     MPSWEEP_WORKLOAD_STREAM_SAFE)

/* A name or version, which is shown to people. */
static enum status take_text(const char *text, const char *what, char out[PLUGIN_TEXT])
{
    size_t length = strnlen(text, PLUGIN_TEXT);
    if (length == PLUGIN_TEXT)
        return status_set(STATUS_USAGE, "describe gives a %s of more than %d characters", what,
                          PLUGIN_TEXT - 1);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return status_set(STATUS_USAGE,
                              "describe gives a %s with a byte that is not printable ASCII", what);
    memcpy(out, text, length + 1);
    return STATUS_OK;
}

static enum status take_description(const struct mpsweep_workload *calls, const char *options,
                                    struct plugin *out)
{
    struct mpsweep_description description = {.size = sizeof description};
    int result = calls->describe(options, &description);
    if (result != 0) {
        char reason[160];
        if (!description.error || !*description.error)
            return status_set(STATUS_USAGE, "describe fails with %d and without a reason", result);
        text_printable(description.error, strnlen(description.error, sizeof reason), reason,
                       sizeof reason);
        return status_set(STATUS_USAGE, "%s", reason);
    }
    if (description.capabilities & ~(unsigned)KNOWN_CAPABILITIES)
        return status_set(
            STATUS_USAGE, "describe gives capabilities 0x%x, of which ABI %d knows only 0x%x",
            (unsigned)description.capabilities, MPSWEEP_WORKLOAD_ABI, (unsigned)KNOWN_CAPABILITIES);
    out->capabilities = description.capabilities;
    if (!description.name || !*description.name)
        return status_set(STATUS_USAGE, "describe gives no name");
    enum status status = take_text(description.name, "name", out->name);
    if (status == STATUS_OK && description.version)
        status = take_text(description.version, "version", out->version);
    return status;
}

static enum status check_callbacks(const struct mpsweep_workload *calls)
{
    const struct {
        const char *name;
        bool there;
    } required[] = {
        {"describe", calls->describe != NULL},
        {"init", calls->init != NULL},
        {"iterate", calls->iterate != NULL},
        {"fini", calls->fini != NULL},
    };
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!required[i].there)
            return status_set(STATUS_USAGE, "its callback '%s' is missing (NULL)",
                              required[i].name);
    return STATUS_OK;
}

/* What a plug-in has that knows of the struct up to that field. */
#define BYTES_WITH(field)                                                                          \
    (offsetof(struct mpsweep_workload, field) + sizeof(((struct mpsweep_workload *)0)->field))

/* What one of ABI 1 has at least, whatever is added to the struct later. */
#define ABI_1_BYTES BYTES_WITH(fini)

enum status plugin_validate(const struct mpsweep_workload *calls, const char *options,
                            struct plugin *out)
{
    struct plugin plugin = {.calls = calls};
    if (calls->abi != MPSWEEP_WORKLOAD_ABI)
        return status_set(STATUS_USAGE,
                          "it is for workload ABI %u, and this mpsweep knows %d: build it with the "
                          "header " HEADER " of this mpsweep",
                          (unsigned)calls->abi, MPSWEEP_WORKLOAD_ABI);
    if (calls->size < ABI_1_BYTES)
        return status_set(STATUS_USAGE,
                          "it claims that its '" SYMBOL
                          "' has %u bytes, and that of ABI %d has %zu: "
                          "set size to sizeof(struct mpsweep_workload)",
                          (unsigned)calls->size, MPSWEEP_WORKLOAD_ABI, ABI_1_BYTES);
    enum status status = check_callbacks(calls);
    if (calls->size >= BYTES_WITH(completed))
        plugin.completed = calls->completed;
    if (status == STATUS_OK)
        status = take_description(calls, options, &plugin);
    if (status == STATUS_OK && plugin.capabilities & MPSWEEP_WORKLOAD_CHECKS && !calls->check)
        status = status_set(STATUS_USAGE, "it claims to check its results, but its callback "
                                          "'check' is missing (NULL)");
    if (status == STATUS_OK)
        *out = plugin;
    return status;
}

enum status plugin_load(const char *path, const char *options, struct plugin *out)
{
    struct stat info;
    const char *reason;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? status_set(STATUS_NOT_FOUND, "there is no such file")
                               : status_set(STATUS_NOT_FOUND, "%s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return status_set(STATUS_USAGE, "it is not a file");
    void *library = library_open(path, &reason);
    if (!library)
        return status_set(STATUS_USAGE, "it cannot be loaded as a shared object: %s", reason);
    void *symbol = dlsym(library, SYMBOL);
    if (!symbol)
        return status_set(STATUS_USAGE, "it is not a workload plug-in: it exports no '" SYMBOL
                                        "' (see " HEADER ")");
    /* Never closed: what it has started may run on. */
    return plugin_validate(symbol, options, out);
}
