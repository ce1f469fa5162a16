#include "device/driver.h"

#include <stddef.h>
#include <string.h>

#include "device/library.h"

#define ROW(field, symbol, version, need, parameters)                                              \
    {#symbol, version, LIBRARY_##need, offsetof(struct cuda_driver, field)},

static const struct library_symbol rows[] = {CUDA_DRIVER_SYMBOLS(ROW)};

#define SYMBOL(field, symbol, version, need, parameters) .field = #symbol,

const struct cuda_symbols cuda_symbols = {CUDA_DRIVER_SYMBOLS(SYMBOL)};

static _Thread_local int last_error;

enum status cuda_driver_load(const char *path, struct cuda_driver *out)
{
    struct cuda_driver driver = {0};
    const char *name = path ? path : CUDA_DRIVER_LIBRARY;
    const char *reason;
    driver.library = library_open(name, &reason);
    if (!driver.library)
        return status_set(STATUS_NOT_FOUND, "%scannot load '%s': %s",
                          path ? "" : "no NVIDIA driver: ", name, reason);

    const struct library_symbol *missing =
        library_bind(driver.library, rows, sizeof rows / sizeof rows[0], &driver);
    if (missing) {
        library_close(driver.library);
        return status_set(STATUS_UNSUPPORTED, "driver is too old: no '%s' (CUDA %d.%d)",
                          missing->name, missing->version / 1000, missing->version % 1000 / 10);
    }
    *out = driver;
    return STATUS_OK;
}

void cuda_driver_release(struct cuda_driver *driver)
{
    library_close(driver->library);
    memset(driver, 0, sizeof *driver);
}

/* The codes with which a driver refuses more clients, queues or buffers, as against something being
 * broken. */
static enum status class_of(cuda_result result)
{
    switch ((int)result) {
    case CUDA_OUT_OF_MEMORY:
    case CUDA_DEVICE_UNAVAILABLE:
    case CUDA_MPS_MAX_CLIENTS_REACHED:
    case CUDA_MPS_MAX_CONNECTIONS_REACHED:
        return STATUS_INFEASIBLE;
    default:
        return STATUS_CUDA;
    }
}

enum status cuda_check(const struct cuda_driver *driver, cuda_result result, const char *call)
{
    if (result == CUDA_SUCCESS_)
        return STATUS_OK;
    last_error = (int)result;

    /* A driver may not know a code that its own library passed on. */
    const char *name = NULL, *text = NULL;
    if (driver->get_error_name(result, &name) != CUDA_SUCCESS_ || !name)
        name = "CUDA error";
    if (driver->get_error_string(result, &text) != CUDA_SUCCESS_ || !text)
        text = "the driver has no text for it";
    return status_set(class_of(result), "%.*s: %s (%d): %s", (int)strcspn(call, "_"), call, name,
                      (int)result, text);
}

int cuda_last_error(void)
{
    return last_error;
}
