/* Entry points for queries about the driver and the device. */
#include "emul/cuda/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emul/model/device_names.h"

#define DEVICE_CLOCK_KHZ 1000000
/* Small: each worker whose kernels load from it has a set of a third of it. */
#define DEVICE_L2_BYTES (4 << 20)
#define DRIVER_VERSION 13000

/* For tests of what refuses a GPU: compute capability times ten, and CUDA_COMPUTE_MODE_... */
#define CAPABILITY_VARIABLE "MPSWEEP_EMULATED_CAPABILITY"
#define RUNTIME_INSUFFICIENT_DRIVER 35
#define COMPUTE_MODE_VARIABLE "MPSWEEP_EMULATED_COMPUTE_MODE"

static const char device_uuid[16] = DEVICE_UUID_LETTERS; /* and no end */

/* Each code with its name and text, as the driver has them. */
#define ERROR(name, text)                                                                          \
    {                                                                                              \
        CUDA_##name, "CUDA_ERROR_" #name, text                                                     \
    }

static const struct {
    cuda_result result;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS_, "CUDA_SUCCESS", "no error"},
    ERROR(INVALID_VALUE, "invalid argument"),
    ERROR(OUT_OF_MEMORY, "out of memory"),
    ERROR(NOT_INITIALIZED, "initialization error"),
    ERROR(DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    ERROR(NO_DEVICE, "no CUDA-capable device is detected"),
    ERROR(INVALID_DEVICE, "invalid device ordinal"),
    ERROR(INVALID_IMAGE, "device kernel image is invalid"),
    ERROR(INVALID_CONTEXT, "invalid device context"),
    ERROR(NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    ERROR(PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    ERROR(UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    ERROR(INVALID_HANDLE, "invalid resource handle"),
    ERROR(NOT_FOUND, "named symbol not found"),
    ERROR(NOT_READY, "device not ready"),
    ERROR(ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ERROR(LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ERROR(PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    ERROR(PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    ERROR(CONTEXT_IS_DESTROYED, "context is destroyed"),
    ERROR(LAUNCH_FAILED, "unspecified launch failure"),
    ERROR(NOT_PERMITTED, "operation not permitted"),
    ERROR(NOT_SUPPORTED, "operation not supported"),
    ERROR(MPS_CONNECTION_FAILED,
          "MPS client failed to connect to the MPS control daemon or the MPS server"),
    ERROR(MPS_RPC_FAILURE,
          "the remote procedural call between the MPS server and the MPS client failed"),
    ERROR(MPS_SERVER_NOT_READY, "MPS server is not ready to accept new MPS client requests"),
    ERROR(MPS_MAX_CLIENTS_REACHED,
          "the hardware resources required to create MPS client have been exhausted"),
    ERROR(MPS_MAX_CONNECTIONS_REACHED,
          "the hardware resources required to support device connections have been exhausted"),
    ERROR(MPS_CLIENT_TERMINATED, "the MPS client has been terminated by the server"),
    ERROR(STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ERROR(UNKNOWN, "unknown error"),
    /* What the CUDA runtime gives where it finds no driver of its own: a plug-in passes it on. */
    {RUNTIME_INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver",
     "the emulated GPU has no CUDA runtime; what uses it takes a real GPU"},
};

#undef ERROR

cuda_result cuDriverGetVersion(int *version)
{
    ENTER_IF_VALID(driver_get_version, NEED_NOTHING, version != NULL);
    *version = DRIVER_VERSION;
    return CUDA_SUCCESS_;
}

static cuda_result find_error(cuda_result error, bool name, const char **text)
{
    if (text == NULL)
        return CUDA_INVALID_VALUE;
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == error)
            *text = name ? errors[i].name : errors[i].text;
    return *text != NULL ? CUDA_SUCCESS_ : CUDA_INVALID_VALUE;
}

cuda_result cuGetErrorName(cuda_result error, const char **text)
{
    ENTER_OR_RETURN(get_error_name, NEED_NOTHING);
    return find_error(error, true, text);
}

cuda_result cuGetErrorString(cuda_result error, const char **text)
{
    ENTER_OR_RETURN(get_error_string, NEED_NOTHING);
    return find_error(error, false, text);
}

cuda_result cuDeviceGetCount(int *count)
{
    ENTER_IF_VALID(device_get_count, NEED_INIT, count != NULL);
    *count = (int)process.visible.count;
    return CUDA_SUCCESS_;
}

cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
    ENTER_IF_VALID(device_get, NEED_INIT, device != NULL);
    if (!process_is_device(ordinal))
        return CUDA_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS_;
}

/* Begins an entry point that asks about a device. */
static cuda_result enter_device(enum entry entry, const void *out, cuda_device device)
{
    ENTER(entry, NEED_INIT);
    if (result != CUDA_SUCCESS_)
        return result;
    if (!process_is_device(device))
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

int process_shared_most(void)
{
    int capability = number_from_environment(CAPABILITY_VARIABLE, 90);
    return 1024 * (capability >= 90 ? 227 : capability == 80 ? 163 : 99);
}

cuda_result cuDeviceGetAttribute(int *value, cuda_device_attribute attribute, cuda_device device)
{
    cuda_result result = enter_device(ENTRY_device_get_attribute, value, device);
    if (result != CUDA_SUCCESS_)
        return result;
    int capability = number_from_environment(CAPABILITY_VARIABLE, 90);
    const struct {
        cuda_device_attribute attribute;
        int value;
    } known[] = {
        {CUDA_ATTRIBUTE_CLOCK_RATE, DEVICE_CLOCK_KHZ},
        {CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, (int)process_multiprocessors()},
        {CUDA_ATTRIBUTE_COMPUTE_MODE,
         number_from_environment(COMPUTE_MODE_VARIABLE, CUDA_COMPUTE_MODE_DEFAULT)},
        {CUDA_ATTRIBUTE_PCI_BUS_ID, (int)process.visible.devices[device]},
        {CUDA_ATTRIBUTE_PCI_DEVICE_ID, 0},
        {CUDA_ATTRIBUTE_PCI_DOMAIN_ID, 0},
        {CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability / 10},
        {CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability % 10},
        {CUDA_ATTRIBUTE_SHARED_MEMORY_OPTIN, process_shared_most()},
        {CUDA_ATTRIBUTE_L2_CACHE_BYTES, DEVICE_L2_BYTES},
        {CUDA_ATTRIBUTE_MPS_ENABLED, process.mps.fd >= 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return CUDA_SUCCESS_;
        }
    return CUDA_INVALID_VALUE;
}
