#include "tests/unit/emul/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

void built_path(const char *name, char path[BUILT_PATH_BYTES])
{
    const char *directory = getenv("MPSWEEP_BUILD_DIR");
    snprintf(path, BUILT_PATH_BYTES, "%s/%s", directory != NULL ? directory : ".", name);
}

void emul_driver_load(struct emul_driver *driver)
{
    char path[BUILT_PATH_BYTES];
    built_path("mpsweep-emulated-cuda.so", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
#define EMUL_DRIVER_FIND(field, symbol, version, need, parameters)                                 \
    {                                                                                              \
        void *address = dlsym(library, #symbol);                                                   \
        CHECK(address != NULL);                                                                    \
        memcpy(&driver->field, &address, sizeof address);                                          \
    }
    CUDA_DRIVER_SYMBOLS(EMUL_DRIVER_FIND)
}

void emul_driver_start(struct emul_driver *driver)
{
    cuda_context context;
    emul_driver_load(driver);
    CHECK_EQUAL(driver->init(0), 0);
    CHECK_EQUAL(driver->primary_ctx_retain(&context, 0), 0);
    CHECK_EQUAL(driver->ctx_set_current(context), 0);
}

pid_t start_child(void (*body)(void), const char *variable, const char *value)
{
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    alarm(60);
    if (variable != NULL)
        setenv(variable, value, 1);
    body();
    _exit(0);
}

int run_child(void (*body)(void), const char *variable, const char *value)
{
    int status = -1;
    pid_t child = start_child(body, variable, value);
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}
