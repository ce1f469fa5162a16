/*
 * The CUDA driver, loaded at run time.
 *
 * Every entry point that mpsweep calls is a row of CUDA_DRIVER_SYMBOLS (device/cuda_abi.h) and a
 * field here: driver->mem_alloc(&pointer, bytes) calls cuMemAlloc_v2. Loading calls nothing in the
 * driver: a caller that wants a device calls driver->init(0) first. Only worker and helper
 * processes do; the orchestrator never initialises CUDA.
 */
#pragma once

#include "common/status.h"
#include "device/cuda_abi.h"

#define CUDA_DRIVER_LIBRARY "libcuda.so.1"

struct cuda_driver {
#define CUDA_DRIVER_FIELD(field, symbol, version, need, parameters) cuda_result(*field) parameters;
    CUDA_DRIVER_SYMBOLS(CUDA_DRIVER_FIELD)
#undef CUDA_DRIVER_FIELD
    void *library;
};

/* What the driver calls each of them, by the same names: cuda_symbols.mem_alloc. */
struct cuda_symbols {
#define CUDA_SYMBOL_FIELD(field, symbol, version, need, parameters) const char *field;
    CUDA_DRIVER_SYMBOLS(CUDA_SYMBOL_FIELD)
#undef CUDA_SYMBOL_FIELD
};
extern const struct cuda_symbols cuda_symbols;

/* Loads the library at path, NULL for the driver's own name, and looks up each row. OPTIONAL rows
 * that it lacks are NULL. STATUS_NOT_FOUND: no such library; STATUS_UNSUPPORTED: a REQUIRED row is
 * missing. *out is set only on success. */
enum status cuda_driver_load(const char *path, struct cuda_driver *out);

/* Gives the library back and zeroes the struct; no call may follow. Fine on a zeroed struct. The
 * code stays mapped, since a driver leaves threads and exit handlers behind. */
void cuda_driver_release(struct cuda_driver *driver);

/* STATUS_OK for success. Otherwise records "CALL: NAME (NUMBER): text" and the number, and returns
 * STATUS_INFEASIBLE where the driver refuses the layout (out of memory, device unavailable, too
 * many MPS clients or connections), STATUS_CUDA for all else. `call` is the C name ("cuMemAlloc"),
 * with the symbol's version ("_v2") or without it. From any thread. */
enum status cuda_check(const struct cuda_driver *driver, cuda_result result, const char *call);

/* Makes a call and checks it: `status = CUDA_CALL(driver, mem_alloc, &pointer, bytes)`. */
#define CUDA_CALL(driver, field, ...)                                                              \
    cuda_check(driver, (driver)->field(__VA_ARGS__), cuda_symbols.field)

/* The CUresult of the last failure that cuda_check() saw in this thread, 0 if none. */
int cuda_last_error(void);
