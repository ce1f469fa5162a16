/* Entry points that tell about the driver and the device. */
#include "emul/cuda/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emul/model/device_names.h"

#define DEVICE_CLOCK_KHZ 1000000
#define DRIVER_VERSION 13000

/* For tests of what refuses a GPU: compute capability times ten, and CUDA_COMPUTE_MODE_... */
#define CAPABILITY_VARIABLE "MPSWEEP_EMULATED_CAPABILITY"
#define COMPUTE_MODE_VARIABLE "MPSWEEP_EMULATED_COMPUTE_MODE"

static const char device_uuid[16] = DEVICE_UUID_LETTERS; /* and no end */

static const struct {
    cuda_result result;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS_, "CUDA_SUCCESS", "no error"},
    {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {CUDA_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {CUDA_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_MPS_CONNECTION_FAILED, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {CUDA_MPS_RPC_FAILURE, "CUDA_ERROR_MPS_RPC_FAILURE",
     "the remote procedural call between the MPS server and the MPS client failed"},
    {CUDA_MPS_SERVER_NOT_READY, "CUDA_ERROR_MPS_SERVER_NOT_READY",
     "MPS server is not ready to accept new MPS client requests"},
    {CUDA_MPS_MAX_CLIENTS_REACHED, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
     "the hardware resources required to create MPS client have been exhausted"},
    {CUDA_MPS_MAX_CONNECTIONS_REACHED, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
     "the hardware resources required to support device connections have been exhausted"},
    {CUDA_MPS_CLIENT_TERMINATED, "CUDA_ERROR_MPS_CLIENT_TERMINATED",
     "the MPS client has been terminated by the server"},
    {CUDA_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

cuda_result cuDriverGetVersion(int *version)
{
    cuda_result result = process_enter(ENTRY_driver_get_version, NEED_NOTHING, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (version == NULL)
        return CUDA_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return CUDA_SUCCESS_;
}

cuda_result cuGetErrorName(cuda_result error, const char **text)
{
    cuda_result result = process_enter(ENTRY_get_error_name, NEED_NOTHING, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (text == NULL)
        return CUDA_INVALID_VALUE;
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == error)
            *text = errors[i].name;
    return *text != NULL ? CUDA_SUCCESS_ : CUDA_INVALID_VALUE;
}

cuda_result cuGetErrorString(cuda_result error, const char **text)
{
    cuda_result result = process_enter(ENTRY_get_error_string, NEED_NOTHING, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (text == NULL)
        return CUDA_INVALID_VALUE;
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == error)
            *text = errors[i].text;
    return *text != NULL ? CUDA_SUCCESS_ : CUDA_INVALID_VALUE;
}

cuda_result cuDeviceGetCount(int *count)
{
    cuda_result result = process_enter(ENTRY_device_get_count, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (count == NULL)
        return CUDA_INVALID_VALUE;
    *count = (int)process.visible.count;
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
    cuda_result result = process_enter(ENTRY_device_get, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (device == NULL)
        return CUDA_INVALID_VALUE;
    if (ordinal < 0 || (uint32_t)ordinal >= process.visible.count)
        return CUDA_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS_;
}

/* Begins an entry point that asks about a device. */
static cuda_result enter_device(enum entry entry, const void *out, cuda_device device)
{
    cuda_result result = process_enter(entry, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (device < 0 || (uint32_t)device >= process.visible.count)
        return CUDA_INVALID_DEVICE;
    return out != NULL ? CUDA_SUCCESS_ : CUDA_INVALID_VALUE;
}

static cuda_result give_text(const char *from, char *text, int length)
{
    if (length <= 0)
        return CUDA_INVALID_VALUE;
    snprintf(text, (size_t)length, "%s", from);
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGetName(char *name, int length, cuda_device device)
{
    cuda_result result = enter_device(ENTRY_device_get_name, name, device);
    return result == CUDA_SUCCESS_ ? give_text(DEVICE_NAME, name, length) : result;
}

cuda_result cuDeviceGetPCIBusId(char *text, int length, cuda_device device)
{
    cuda_result result = enter_device(ENTRY_device_get_pci_bus_id, text, device);
    char own[] = DEVICE_PCI_BUS_ID;
    if (result == CUDA_SUCCESS_)
        own[DEVICE_PCI_DIGIT] = (char)('0' + process.visible.devices[device]);
    return result == CUDA_SUCCESS_ ? give_text(own, text, length) : result;
}

cuda_result cuDeviceGetUuid_v2(cuda_uuid *uuid, cuda_device device)
{
    cuda_result result = enter_device(ENTRY_device_get_uuid, uuid, device);
    if (result == CUDA_SUCCESS_)
        memcpy(uuid->bytes, device_uuid, sizeof uuid->bytes);
    if (result == CUDA_SUCCESS_)
        uuid->bytes[sizeof uuid->bytes - 1] += (char)process.visible.devices[device];
    return result;
}

cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device)
{
    cuda_result result = enter_device(ENTRY_device_total_mem, bytes, device);
    if (result == CUDA_SUCCESS_)
        *bytes = MODEL_MEMORY_BYTES;
    return result;
}

static int number_from_environment(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

cuda_result cuDeviceGetAttribute(int *value, cuda_device_attribute attribute, cuda_device device)
{
    cuda_result result = enter_device(ENTRY_device_get_attribute, value, device);
    if (result != CUDA_SUCCESS_)
        return result;
    switch (attribute) {
    case CUDA_ATTRIBUTE_CLOCK_RATE:
        *value = DEVICE_CLOCK_KHZ;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = (int)process_multiprocessors();
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_COMPUTE_MODE:
        *value = number_from_environment(COMPUTE_MODE_VARIABLE, CUDA_COMPUTE_MODE_DEFAULT);
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_PCI_BUS_ID:
        *value = (int)process.visible.devices[device];
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_PCI_DEVICE_ID:
    case CUDA_ATTRIBUTE_PCI_DOMAIN_ID:
        *value = 0;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        *value = 2;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = number_from_environment(CAPABILITY_VARIABLE, 90) / 10;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = number_from_environment(CAPABILITY_VARIABLE, 90) % 10;
        return CUDA_SUCCESS_;
    case CUDA_ATTRIBUTE_MPS_ENABLED:
        *value = process.mps.fd >= 0;
        return CUDA_SUCCESS_;
    default:
        return CUDA_INVALID_VALUE;
    }
}
