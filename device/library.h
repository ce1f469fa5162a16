/*
 * Vendor libraries by table: what device/driver.c and device/nvml.c share.
 */
#pragma once

#include <stddef.h>

/* The words of a table's need column. */
enum library_need { LIBRARY_OPTIONAL, LIBRARY_REQUIRED };

/* One row: an exported symbol and where in the caller's struct its function pointer goes. */
struct library_symbol {
    const char *name;
    int version; /* that brought it, 1000*major + 10*minor; 0: all we support have it */
    enum library_need need;
    size_t offset;
};

/* Opens the library at path. NULL when that fails, and *reason is why, without the path; the text
 * is good until the next call in this thread. */
void *library_open(const char *path, const char **reason);

/* Fills the function pointers of `target` from the library, NULL where a symbol is absent. Returns
 * the first REQUIRED row that is, or NULL. */
const struct library_symbol *library_bind(void *library, const struct library_symbol *rows,
                                          size_t count, void *target);

/* Closes the handle; the code stays mapped. NULL is fine. */
void library_close(void *library);
