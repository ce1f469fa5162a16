#include "device/library.h"

#include <dlfcn.h>
#include <string.h>

void *library_open(const char *path, const char **reason)
{
    /* RTLD_LOCAL: an emulated driver exports the real one's names and must not capture anybody
     * else's calls. RTLD_NODELETE: vendor libraries start threads that outlive the handle. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *text = dlerror();
        size_t length = strlen(path);
        if (!text)
            text = "unknown reason";
        /* "libx.so: cannot open ...": our message names the library already. */
        if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
            text += length + 2;
        *reason = text;
    }
    return library;
}

const struct library_symbol *library_bind(void *library, const struct library_symbol *rows,
                                          size_t count, void *target)
{
    const struct library_symbol *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, rows[i].name);
        /* POSIX has a data pointer carry the function's address; copied, as C has no conversion. */
        memcpy((char *)target + rows[i].offset, &symbol, sizeof symbol);
        if (!symbol && rows[i].need == LIBRARY_REQUIRED && !missing)
            missing = &rows[i];
    }
    return missing;
}

void library_close(void *library)
{
    if (library)
        dlclose(library);
}
