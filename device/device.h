/*
 * What a GPU is: asked of the driver, without making a context.
 *
 * A helper process asks (cuInit is not for the orchestrator) and hands the answer over by pipe or
 * shared memory, so both structs are plain data of fixed size with no pointers. Texts are
 * NUL-terminated; unused bytes are zero.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "device/driver.h"

#define DEVICE_LIST_MAGIC UINT64_C(0x3176656470737061)
#define DEVICE_LIST_VERSION 2
#define DEVICE_LIST_MAX 16

struct device_info {
    char name[256];
    char uuid[64]; /* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" */
    char pci[32];  /* "0000:3b:00.0", lower case */
    uint64_t memory_bytes;
    int32_t sms;          /* multiprocessors; fewer than the chip's in an MPS client with a cap */
    int32_t major, minor; /* compute capability */
    int32_t compute_mode; /* CUDA_COMPUTE_MODE_... */
    int32_t clock_khz;    /* highest multiprocessor clock; 0 where it is unknown */
    int32_t mps_enabled;  /* 1: this process is an MPS client, 0: not, -1: unknown */
};

struct device_list {
    uint64_t magic;
    uint32_t version;
    uint32_t count;         /* entries of devices[] that are filled */
    uint32_t visible;       /* devices that the driver shows; more than count when over the limit */
    int32_t driver_version; /* newest CUDA that the driver supports, 1000*major + 10*minor */
    struct device_info devices[DEVICE_LIST_MAX];
};

/* Both call cuInit, which is harmless to repeat. STATUS_NOT_FOUND: no device is visible, or not
 * this ordinal; else as cuda_check(). *out is set only on success. */
enum status device_query(const struct cuda_driver *driver, int ordinal, struct device_info *out);
enum status device_list_query(const struct cuda_driver *driver, struct device_list *out);

/* STATUS_WORKER: this is not the device of that UUID, or is not over MPS as it must be.
 * STATUS_UNSUPPORTED: the driver does not report the latter. */
enum status device_prove(const struct device_info *info, const char *uuid, bool over_mps);

/* Is what came from another process a whole list of this version? STATUS_PROTOCOL if not. */
enum status device_list_check(const struct device_list *list, size_t bytes);
