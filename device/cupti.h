/*
 * CUPTI, loaded at run time, for traces only: what the driver and the GPU did, as records.
 */
#pragma once

#include "common/status.h"
#include "device/cupti_abi.h"

struct cupti {
#define CUPTI_FIELD(field, symbol, version, need, parameters) cupti_result(*field) parameters;
    CUPTI_SYMBOLS(CUPTI_FIELD)
#undef CUPTI_FIELD
    void *library;
    uint32_t version; /* as cuptiGetVersion() */
    const char *name; /* what was loaded; the caller's path, or static */
};

/* Loads the library at path; NULL: the process's own, which it has loaded or which lies beside its
 * CUDA libraries, else the first that is found of the names and places where it usually is. Not
 * from several threads at once. STATUS_NOT_FOUND: there is none; the text lists the places and what to do;
 * STATUS_UNSUPPORTED: too old. *out is set only on success. */
enum status cupti_load(const char *path, struct cupti *out);

/* STATUS_OK for success, else STATUS_CUDA with "CALL: NAME (NUMBER)". */
enum status cupti_check(const struct cupti *cupti, cupti_result result, const char *call);
