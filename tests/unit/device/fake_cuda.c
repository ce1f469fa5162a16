/*
 * A driver with as many devices as FAKE_CUDA_DEVICES sets (default 1), for
 * tests/unit/device/test_device. It has the names that CUDA gives to out of memory and to no other
 * error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_abi.h"

#define DECLARE(field, symbol, version, need, parameters) cuda_result symbol parameters;
CUDA_DRIVER_SYMBOLS(DECLARE)

static int devices(void)
{
    const char *text = getenv("FAKE_CUDA_DEVICES");
    return text ? atoi(text) : 1;
}

cuda_result cuInit(unsigned int flags)
{
    (void)flags;
    return devices() ? CUDA_SUCCESS_ : CUDA_NO_DEVICE;
}

cuda_result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS_;
}

cuda_result cuGetErrorName(cuda_result result, const char **text)
{
    if (result != CUDA_OUT_OF_MEMORY)
        return CUDA_INVALID_VALUE;
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS_;
}

cuda_result cuGetErrorString(cuda_result result, const char **text)
{
    if (result != CUDA_OUT_OF_MEMORY)
        return CUDA_INVALID_VALUE;
    *text = "out of memory";
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGetCount(int *count)
{
    *count = devices();
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= devices())
        return CUDA_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGetName(char *name, int length, cuda_device device)
{
    snprintf(name, (size_t)length, "Fake GPU %d", device);
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGetUuid_v2(cuda_uuid *uuid, cuda_device device)
{
    (void)device;
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(0xf0 + i);
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device)
{
    (void)device;
    *bytes = (size_t)8 << 30;
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGetPCIBusId(char *text, int length, cuda_device device)
{
    snprintf(text, (size_t)length, "0000:%02X:00.0", 0x3b + (unsigned)device);
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGetAttribute(int *value, cuda_device_attribute attribute, cuda_device device)
{
    (void)device;
    switch (attribute) {
    case CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_COMPUTE_MODE:
        *value = CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_CLOCK_RATE:
        *value = 1980000;
        return CUDA_SUCCESS_;
    default: /* among them whether MPS is on: an older driver cannot report it */
        return CUDA_INVALID_VALUE;
    }
}
